"""The results file: an SQLite database with the question, the network and every answer; one writer at a time.

Table ``about`` has one JSON document under ``about`` and the network's own file under ``network``. Table
``answers`` has one row per sample, with the compressed JSON data of its answer. SQLite transactions are
atomic even if the process is killed, but SQLite does not detect bytes that a disk has changed. So every row
has a digest of its columns, including the digest of its answer. A digest shows damage, not forgery. Whether
an answer is true is shown by its certificate.

Locks are released when their process ends in any way. Two things need protection from other writers: the
file, which can have several names, and the log next to it, which is found by name. So there is a lock on the
name, held by a separate file next to it, and one on the file itself. A file with several names is refused: if
a sweep was killed, the log of one name would be missing under the other.
"""

import hashlib
import json
import os
import sqlite3
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sugenet.checker.form import exact
from sugenet.errors import CertificateError, FileError
from sugenet.files import advice, check_owner, target_of
from sugenet.io.native.container import canonical
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.plain.texts import strict_json
from sugenet.sweeps.samples import Row

__all__ = ["LARGEST", "SAMPLES", "Entry", "Lock", "Store", "reading", "writing"]


class Lock:
    """The right to write to a results file, until it is released or the process ends.

    The system releases the locks when a process is killed, so no stale lock remains. The holder of the lock
    on the name removes its lock file at the end. No other process may remove it.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._beside = path, path.with_name(path.name + "-lock")
        with ExitStack() as stack:
            try:
                self._handle = self._taken()
                stack.callback(self._let_go)
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644)
                stack.callback(os.close, self._file)
                _lock_file(self._file)
                stack.callback(_unlock_file, self._file)
            except BlockingIOError:
                raise FileError(
                    f"another sweep is writing to '{path}'. Wait for it to end, or give another file."
                ) from None
            except OSError as error:
                raise FileError(f"'{path}' cannot be written: {advice(error)}") from error
            if (names := os.fstat(self._file).st_nlink) > 1:
                raise FileError(
                    f"'{path}' has {names} names (hard links), but a results file can have only one. "
                    f"Copy it, and give the copy."
                )
            self._ends = stack.pop_all()

    def _taken(self) -> int:
        while True:
            handle = os.open(self._beside, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
            try:
                _lock(handle)
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(handle), os.stat(self._beside)):
                        return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # its holder removed it between the two lines

    def _let_go(self) -> None:
        with suppress(OSError):  # if open files cannot be removed, it stays, which is harmless
            os.unlink(self._beside)
        os.close(self._handle)

    def check(self) -> None:
        """Raise `FileError` if the path no longer leads to the file that is being written."""
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._file), os.stat(self._path)):
                return
        raise FileError(
            f"'{self._path}' was removed or replaced while this sweep wrote to it. Give the command again."
        )

    def release(self) -> None:
        """Release the locks. Close the database connection first, since this drops SQLite's locks, too."""
        self._ends.close()


_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _lock(handle: int) -> None:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            raise BlockingIOError from None

    def _lock_file(handle: int, how: int = 0) -> None:
        """Do nothing: there is only the lock on the name, and SQLite's own."""

    def _unlock_file(handle: int) -> None:
        """Do nothing: there is no lock."""

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_file(handle: int, how: int = fcntl.F_WRLCK) -> None:
        """Lock the first byte for this open file; SQLite locks other bytes, so the locks do not conflict."""
        if hasattr(fcntl, "F_OFD_SETLK"):
            first = struct.pack("hhqqi", how, os.SEEK_SET, 0, 1, 0)
            try:
                fcntl.fcntl(handle, fcntl.F_OFD_SETLK, first)
            except BlockingIOError:
                raise
            except PermissionError:  # some systems raise this
                raise BlockingIOError from None
            except OSError:  # not every file system has such locks; then the lock on the name must suffice
                pass

    def _unlock_file(handle: int) -> None:
        """Unlock the file, also for processes that were forked in the meantime and have it open."""
        _lock_file(handle, fcntl.F_UNLCK)


_APPLICATION = 0x53474E52
_VERSION = 1
_MAGIC = b"SQLite format 3\x00"
LARGEST = 64 << 20
"""Maximum size of an uncompressed answer, in bytes."""
_NETWORK = 256 << 20
"""Maximum size of an uncompressed network, in bytes."""
_MORE = 1 << 20
"""Maximum number of bytes by which compression may enlarge incompressible data."""
SAMPLES = 1 << 22
"""Maximum number of samples of a file; those without an answer are listed, too."""
_ABOUT = 16 << 20
"""Maximum size of the description of a file, in bytes."""
_LONGEST = 1 << 16
"""Maximum size of any other value of a row, in bytes."""
_PARTS = 1 << 22
"""Maximum number of values of an answer. An object counts as four, like its memory."""
_STEPS = 1_000_000
"""Maximum steps of SQLite's virtual machine to read the names of two tables; more mean circular pages."""
_NAMES = tuple(field.name for field in fields(Row))
_FLAGS = ("settled", "certified")
_TYPES = {
    "sample": "INTEGER PRIMARY KEY",
    "index": "INTEGER NOT NULL",
    "truth": "INTEGER",
    "outcome": "TEXT NOT NULL",
    "settled": "INTEGER NOT NULL",
    "certified": "INTEGER NOT NULL",
    "engine": "TEXT",
    "seconds": "REAL NOT NULL",
    "time_limit": "REAL",
    "cost": "TEXT",
    "lower": "TEXT",
    "version": "TEXT NOT NULL",
}
_WRITTEN = ", ".join(f'"{name}" {_TYPES[name]}' for name in _NAMES)
_SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID",
    f"CREATE TABLE answers ({_WRITTEN}, "
    f"hash BLOB NOT NULL, packed BLOB NOT NULL, digest BLOB NOT NULL, answer BLOB NOT NULL)",
)
_COLUMNS = ", ".join(
    f'iif(length("{name}") > {_LONGEST}, NULL, "{name}")' for name in (*_NAMES, "hash", "packed", "digest")
)
_RETRY = "Restore a copy of it, or give another file and start again."


@dataclass(frozen=True)
class Entry:
    """A row with the hash of its sample and its answer."""

    row: Row
    hash: bytes
    """Hash of the raw sample."""
    answer: bytes
    """JSON data of the answer, compressed."""


class Store:
    """An open results file, or one in memory."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None, lock: Lock | None = None) -> None:
        self._connection, self.path, self._lock = connection, path, lock
        self._logged = False

    @property
    def name(self) -> str:
        """The name in error messages."""
        return "the store in memory" if self.path is None else f"'{self.path}'"

    # -- reading ---------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Return the description of the sweep: question, network and samples."""
        try:
            data = strict_json(self._value("about", _ABOUT).decode())
        except ValueError as error:
            raise self.damaged(str(error)) from error
        self.refuse_if(not isinstance(data, dict), "its description is not a JSON object")
        return data  # type: ignore[no-any-return]

    def network(self) -> bytes:
        """Return the file of the network."""
        return self._unpacked(self._value("network", _NETWORK + _MORE), _NETWORK, "its network")

    def _value(self, name: str, limit: int) -> bytes:
        with self._told():
            record = self._connection.execute(
                "SELECT iif(length(value) > ?, NULL, value), digest FROM about WHERE name = ?", (limit, name)
            ).fetchone()
        known = record is not None and all(isinstance(part, bytes) for part in record)
        self.refuse_if(not known, f"it does not say {name}")
        self.refuse_if(_digest(name, record[0]) != record[1], f"the digest of {name} is another")
        return bytes(record[0])

    def rows(self) -> list[Row]:
        """Return all rows by index of the sample, without their answers."""
        return [row for row, _, _ in self._rows()]

    def hashes(self) -> Iterator[tuple[int, bytes]]:
        """Yield the index and the hash of every sample with an answer."""
        return ((row.sample, known) for row, known, _ in self._rows())

    def _rows(self, where: str = "", *values: int) -> Iterator[tuple[Row, bytes, bytes]]:
        with self._told():
            cursor = self._connection.execute(
                f"SELECT {_COLUMNS} FROM answers {where} ORDER BY sample", values
            )
            for *columns, known, packed, digest in cursor:
                named = dict(zip(_NAMES, columns, strict=True))
                which = f"the row of sample {str(columns[0])[:20]}"
                if digest != _digest(columns, known, packed):
                    raise self.damaged(f"{which} is not as it was written")
                if not _is_row(named):
                    raise self.damaged(f"{which} is not one that a sweep writes")
                row = Row(**named | {name: bool(named[name]) for name in _FLAGS})
                yield row, bytes(known), bytes(packed)

    def row(self, sample: int) -> tuple[Row, bytes] | None:
        """Return the row of a sample and the hash of its values; None if it has no answer."""
        record = next(self._rows("WHERE sample = ?", sample), None)
        return None if record is None else record[:2]

    def answer(self, sample: int) -> dict[str, Any] | None:
        """Return the JSON data of the answer about a sample; None if it has none."""
        record = next(self._rows("WHERE sample = ?", sample), None)
        if record is None:
            return None
        try:
            data = strict_json(self._text(sample, record[2]))
        except FileError:
            raise
        except (ValueError, RecursionError) as error:
            raise self.damaged(f"the answer of sample {sample} is not JSON: {error}") from error
        self.refuse_if(not isinstance(data, dict), f"the answer of sample {sample} is not a JSON object")
        return data  # type: ignore[no-any-return]

    def _text(self, sample: int, packed: bytes) -> str:
        which = f"the answer of sample {sample}"
        raw = self._unpacked(self._packed(sample, packed), LARGEST, which)
        parts = 4 * raw.count(b"{") + raw.count(b"[") + raw.count(b",")
        self.refuse_if(parts > _PARTS, f"{which} has more parts than any can have")
        return raw.decode()

    def _unpacked(self, packed: bytes, limit: int, which: str) -> bytes:
        """Decompress data, unless it has more than `limit` bytes."""
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(packed, limit + 1)
        except zlib.error as error:
            raise self.damaged(f"{which}: {error}") from error
        self.refuse_if(len(data) > limit, f"{which} unpacks to more than {limit >> 20} MiB")
        self.refuse_if(not unpacker.eof, f"{which} ends too early")
        return data

    def packed(self, sample: int) -> bytes:
        """Return the compressed answer about a sample that has one."""
        _, _, packed = next(self._rows("WHERE sample = ?", sample))
        return self._packed(sample, packed)

    def _packed(self, sample: int, packed: bytes) -> bytes:
        with self._told():
            cursor = self._connection.execute(
                "SELECT iif(length(answer) > ?, NULL, answer) FROM answers WHERE sample = ?",
                (LARGEST + _MORE, sample),
            )
            (answer,) = cursor.fetchone()
        same = isinstance(answer, bytes) and hashlib.sha256(answer).digest() == packed
        self.refuse_if(not same, f"the answer of sample {sample} is not as it was written")
        return answer  # type: ignore[no-any-return]

    def inspect(self) -> None:
        """Read all relevant bytes, and refuse a file that is not as it was written."""
        self.about(), self.network()
        for row, _, packed in self._rows():
            self._packed(row.sample, packed)

    # -- writing ---------------------------------------------------------------------------------------------

    def begin(self, about: Mapping[str, Any], network: bytes) -> None:
        """Initialize an empty file."""
        refuse_if(
            len(network) > _NETWORK,
            f"the network has {len(network) >> 20:,} MiB, but a results file keeps at most "
            f"{_NETWORK >> 20}. Give a smaller one.",
        )
        with self._writing():
            for table in _SCHEMA:
                self._connection.execute(table)
            self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {_VERSION}")
            self._say("network", zlib.compress(network, 9))
            self._say("about", canonical(about).encode())

    def amend(self, about: Mapping[str, Any]) -> None:
        """Replace the description of the sweep."""
        with self._writing():
            self._say("about", canonical(about).encode())

    def _say(self, name: str, value: bytes) -> None:
        row = (name, value, _digest(name, value))
        self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?, ?)", row)

    def put(self, entries: Iterable[Entry]) -> None:
        """Store answers, all in one transaction."""
        marks = ", ".join("?" * (len(_NAMES) + 4))
        with self._writing():
            for entry in entries:
                columns = [int(part) if isinstance(part, bool) else part for part in astuple(entry.row)]
                packed = hashlib.sha256(entry.answer).digest()
                digest = _digest(columns, entry.hash, packed)
                row = (*columns, entry.hash, packed, digest, entry.answer)
                self._connection.execute(f"INSERT OR REPLACE INTO answers VALUES ({marks})", row)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._lock is not None:
            self._lock.check()
        with self._told():
            if self._lock is not None and not self._logged:  # at the first write: reading changes nothing
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
                self._logged = True
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    # -- ends ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file, and remove the log next to it if nobody else reads it."""
        if self._logged:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA busy_timeout = 1000")  # closing must not wait long
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # then the file alone is complete
                self._connection.execute("PRAGMA journal_mode = DELETE")
        with suppress(sqlite3.Error):
            self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def damaged(self, what: str) -> FileError:
        """Return the error for a damaged file."""
        return FileError(f"{self.name} is damaged: {what}. {_RETRY}")

    def refuse_if(self, wrong: object, what: str) -> None:
        """Raise the error for a damaged file if something is wrong."""
        if wrong:
            raise self.damaged(what)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Translate SQLite's errors into helpful messages."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(error) from error
        except UnicodeDecodeError as error:  # SQLite's error for invalid names
            raise self.damaged("its tables are others") from error

    def _error(self, error: sqlite3.Error) -> FileError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        match code:
            case sqlite3.SQLITE_FULL:
                message = (
                    f"the disk of {self.name} is full. All answers before are kept: free some space, "
                    f"and the same command resumes."
                )
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                message = f"another program writes to {self.name}. Wait for it to end."
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
                message = f"{self.name} cannot be written: {error}. Check the disk and the permissions."
            case sqlite3.SQLITE_IOERR:
                message = (
                    f"{self.name} cannot be read or written: {error}. Check the disk; all answers before are "
                    f"kept, and the same command resumes."
                )
            case _:
                return self.damaged(str(error))
        return FileError(message)


# -- opening -------------------------------------------------------------------------------------------------


def writing(path: str | os.PathLike[str] | None) -> tuple[Store, bool]:
    """Open a results file for writing, alone, and return whether it is still empty. None: in memory."""
    if path is None:
        return Store(_connected(":memory:"), None), True
    file = _resolved(path)
    try:
        target_of(path)
        for beside in ("-lock", "-wal", "-shm", "-journal"):
            check_owner(file.with_name(file.name + beside))
    except (OSError, ValueError) as error:
        raise FileError(f"{os.fspath(path)!r} cannot be written: {advice(error)}") from error
    _is_fresh(file)
    with ExitStack() as on_error:
        lock = Lock(file)
        on_error.callback(lock.release)
        fresh = _is_fresh(file)
        store = Store(_connected(str(file)), file, lock)
        on_error.callback(store.close)
        empty = fresh or not _tables(store)
        if not empty:
            _refuse_strangers(store)
        on_error.pop_all()
    return store, empty


def reading(path: str | os.PathLike[str]) -> Store:
    """Open a results file for reading, also while it is being written."""
    file = _resolved(path)
    refuse_if(_is_fresh(file), f"{os.fspath(path)!r} cannot be read: it is empty, or there is no such file.")
    where = f"file:{quote(os.fsencode(file))}?mode=ro"
    store = Store(_connected(where), file)
    try:
        _tables(store)
    except FileError as error:
        store.close()
        code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
        if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        log = file.with_name(file.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise FileError(
                f"'{file}' cannot be read where nothing may be written: '{log.name}' beside it has answers, "
                f"too. Copy both to another folder, and read them there."
            ) from error
        store = Store(_connected(f"{where}&immutable=1"), file)  # there is no log, and none can be created
    try:
        _refuse_strangers(store)
    except BaseException:
        store.close()
        raise
    return store


def _resolved(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file, with links resolved."""
    try:
        return Path(os.fsdecode(os.path.realpath(path)))
    except ValueError as error:
        raise FileError(f"{os.fspath(path)!r} is not a path: {error}. Give the name of a file.") from error


def _tables(store: Store) -> int:
    """Return the number of tables and similar objects; if there are many, only that there are too many."""
    connection = store._connection
    connection.set_progress_handler(lambda: True, _STEPS)  # SQLite reads all their names before anything else
    try:
        with store._told():
            return len(connection.execute("SELECT 1 FROM sqlite_master LIMIT 3").fetchall())
    finally:
        connection.set_progress_handler(None, 0)


def _connected(where: str) -> sqlite3.Connection:
    """Return a connection that does not trust the contents of a file."""
    connection = sqlite3.connect(where, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _NETWORK + _MORE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _is_fresh(file: Path) -> bool:
    """Return whether the file is still empty; refuse a file that is not a database."""
    try:
        if not stat.S_ISREG(file.stat().st_mode) and not file.is_dir():
            raise FileError(f"'{file}' cannot be used as a results file. Give the name of one.")
        with file.open("rb") as stream:
            head = stream.read(len(_MAGIC))
    except FileNotFoundError:
        return True
    except OSError as error:
        raise FileError(f"'{file}' cannot be read: {advice(error)}") from error
    refuse_if(
        head and head != _MAGIC,
        f"'{file}' is not a results file. Give one that sugenet sweep wrote, or a new name.",
    )
    return not head


def _refuse_strangers(store: Store) -> None:
    """Refuse databases of other programs, of later versions, and damaged ones."""
    with store._told():
        ask = store._connection.execute
        application = ask("PRAGMA application_id").fetchone()[0]
        version = ask("PRAGMA user_version").fetchone()[0]
        refuse_if(
            application != _APPLICATION,
            f"{store.name} is a database of another program, or damaged. Give one that sugenet sweep "
            f"wrote, or a new name.",
        )
        refuse_if(
            version > _VERSION,
            f"{store.name} is of version {version}, written by a newer sugenet; this one reads version "
            f"{_VERSION}. Update sugenet.",
        )
        store.refuse_if(version != _VERSION, f"there is no version {version}")
        tables = ask(f"SELECT sql FROM sqlite_master ORDER BY rowid LIMIT {len(_SCHEMA) + 1}").fetchall()
        # There are no views or triggers either.
        store.refuse_if(tables != [(table,) for table in _SCHEMA], "its tables are others")
        verdict = str(ask("PRAGMA quick_check(1)").fetchone()[0])
        store.refuse_if(verdict != "ok", verdict.replace("\n", " ")[:200])


def _is_row(columns: Mapping[str, Any]) -> bool:
    """Return whether these values are valid for a row."""
    texts, numbers = ("engine", "outcome", "version"), ("seconds", "time_limit")
    return (
        all(isinstance(columns[name], str) or (name == "engine" and columns[name] is None) for name in texts)
        and all(type(columns[name]) is int for name in ("sample", "index", *_FLAGS))
        and all(columns[name] in (0, 1) for name in _FLAGS)
        and (columns["truth"] is None or type(columns["truth"]) is int)
        and columns["seconds"] is not None
        and all(columns[name] is None or _is_time(columns[name]) for name in numbers)
        and all(columns[name] is None or _is_exact(columns[name]) for name in ("cost", "lower"))
    )


def _is_time(value: Any) -> bool:
    return isinstance(value, float) and 0 <= value < inf


def _is_exact(value: Any) -> bool:
    with suppress(CertificateError, OverflowError):
        float(exact(value, least=0))  # messages show it rounded
        return isinstance(value, str)
    return False


# -- bytes ---------------------------------------------------------------------------------------------------


def _digest(*parts: Any) -> bytes:
    text = json.dumps([part.hex() if isinstance(part, bytes) else part for part in parts], default=repr)
    return hashlib.sha256(text.encode()).digest()
