"""Files are written whole or not at all, and in one place only."""

import ast
import errno
import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import sugenet
from sugenet import files
from sugenet.errors import FileError
from sugenet.files import check_writable, write_bytes, write_text

SOURCE = Path(sugenet.__file__).parent


# -- all or nothing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "match"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "cannot be written: No space left on device. Check the disk .* Nothing was changed",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied"),
            "cannot be written: permission is denied. Choose another folder",
        ),
        (KeyboardInterrupt(), None),
    ],
)
@pytest.mark.parametrize("step", ["replace", "fsync", "write", "open"])
@pytest.mark.parametrize("old", [None, b"an old file"])
@pytest.mark.parametrize("named", [False, True])
def test_a_failing_write_leaves_everything_as_it_was(tmp_path, monkeypatch, failure, match, step, old, named):
    path = tmp_path / "net.sugenet"
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    if old is not None:
        path.write_bytes(old)

    def fail(*_, **__):
        raise failure

    class HalfWritten(io.FileIO):
        def write(self, data):
            super().write(data[: len(data) // 2])
            raise failure

    if step in ("replace", "fsync"):
        monkeypatch.setattr(os, step, fail)
    else:
        monkeypatch.setattr(files, "open", fail if step == "open" else HalfWritten, raising=False)
    with pytest.raises(
        KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else FileError, match=match
    ):
        write_bytes(path, b"a new file")
    assert os.listdir(tmp_path) == ([] if old is None else ["net.sugenet"])
    assert old is None or path.read_bytes() == old


@pytest.mark.skipif(os.name != "posix", reason="limits of a process as on POSIX")
@pytest.mark.parametrize("old", [None, b"an old file"])
def test_a_disk_that_is_really_full_leaves_everything_as_it_was(tmp_path, old):
    path = tmp_path / "page.html"
    if old is not None:
        path.write_bytes(old)
    code = (
        "import resource, signal, sys\n"
        "from sugenet.errors import FileError\n"
        "from sugenet.files import write_bytes\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "write_bytes(sys.argv[1] + '.small', bytes(5000))\n"
        "try:\n"
        "    write_bytes(sys.argv[1], bytes(5001))\n"
        "except FileError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, env=os.environ
    )
    assert "page.html' cannot be written: File too large. Check the disk" in done.stdout
    assert (tmp_path / "page.html.small").stat().st_size == 5000
    assert sorted(os.listdir(tmp_path)) == ["page.html"] * (old is not None) + ["page.html.small"]
    assert old is None or path.read_bytes() == old


KILLED = """
import os, resource, signal, sys
from sugenet.files import write_bytes
if sys.argv[2] == "named":
    vars(os).pop("O_TMPFILE", None)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
write_bytes(sys.argv[1], bytes(100_000))
"""
"""A process that the kernel kills in the middle of its writing."""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="locks and files without a name as on Linux")
@pytest.mark.parametrize("how", ["nameless", "named"])
def test_a_killed_process_leaves_nothing_that_the_next_write_does_not_remove(tmp_path, how):
    path = tmp_path / "net.sugenet"
    path.write_bytes(b"an old file")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), how], check=False)
    assert done.returncode == -signal.SIGXFSZ
    assert path.read_bytes() == b"an old file"
    assert len(os.listdir(tmp_path)) == (1 if how == "nameless" else 2)
    stranger = tmp_path / f".00000000-{'0' * 16}.sugenet.tmp"  # of another machine, where it may be written
    stranger.write_bytes(b"half of it")
    write_bytes(tmp_path / "another", b"a new file")
    assert sorted(os.listdir(tmp_path)) == [stranger.name, "another", "net.sugenet"]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="locks as on Linux")
def test_what_is_being_written_is_no_leftover(tmp_path, monkeypatch):
    """Another write to the folder comes between the first one's last byte and its end."""
    monkeypatch.delattr(os, "O_TMPFILE")
    sync, synced = os.fsync, []

    def meanwhile(handle):
        sync(handle)
        if not synced:
            synced.append(handle)
            write_bytes(tmp_path / "second", b"2")

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_bytes(tmp_path / "first", b"1")
    assert sorted(os.listdir(tmp_path)) == ["first", "second"]
    assert (tmp_path / "first").read_bytes() == b"1"


# -- places --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [lambda path: write_text(path, "new"), check_writable])
def test_places_that_cannot_be_written(tmp_path, write):
    with pytest.raises(
        FileError,
        match=r"missing/net.sugenet' cannot be written: there is no folder '.*missing'. Make it first",
    ):
        write(tmp_path / "missing" / "net.sugenet")
    with pytest.raises(FileError, match=r"it is a folder\. Add the name of a file to the path"):
        write(tmp_path)
    with pytest.raises(FileError, match=r"it is not a file. Choose another path."):
        write(os.devnull)
    with pytest.raises(FileError, match="null"):
        write(f"{tmp_path}/a\0b")
    with pytest.raises(FileError, match="name too long"):
        write(tmp_path / ("a" * 300))
    assert os.listdir(tmp_path) == []
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "net.sugenet"
    write_text(path, "old")
    monkeypatch.setattr(os, "access", lambda place, _: Path(place) != path)
    for write in (lambda path: write_text(path, "new"), check_writable):
        with pytest.raises(FileError, match="permission is denied"):
            write(path)
    assert path.read_text() == "old"


def test_a_folder_that_takes_no_file_is_refused_first(tmp_path, monkeypatch):
    """Even where the file itself could be written: the new one is made beside it."""
    path = tmp_path / "net.sugenet"
    for _ in ("no file yet", "an old file"):
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda place, _: Path(place) != tmp_path)
            with pytest.raises(FileError, match=r"permission is denied\. Choose another folder"):
                check_writable(path)
        check_writable(path)
        write_text(path, "old")


@pytest.mark.skipif(os.name != "posix", reason="permission bits and links as on POSIX")
def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "net.sugenet", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(str(link), "new, ümläut")
    assert link.is_symlink()
    assert link.read_text("utf-8") == path.read_text("utf-8") == "new, ümläut"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def give_away(path, monkeypatch):
    """Make a file, folder or link that of another user."""
    if os.geteuid() == 0:
        os.lchown(path, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 65534)


@pytest.mark.skipif(os.name != "posix", reason="owners and links as on POSIX")
@pytest.mark.parametrize("mode", [0o1777, 0o777])
@pytest.mark.parametrize("kind", ["link", "link of a link", "folder", "file"])
@pytest.mark.parametrize("write", [lambda path: write_text(path, "new"), check_writable])
def test_links_and_files_of_others_in_shared_folders_are_refused(tmp_path, monkeypatch, mode, kind, write):
    shared, private = tmp_path / "shared", tmp_path / "private"
    shared.mkdir(), private.mkdir()
    shared.chmod(mode)
    kept, theirs = private / "kept", shared / "theirs"
    kept.write_text("old")
    given = theirs
    if kind == "file":
        theirs.write_text("old")
    elif kind == "folder":
        theirs.symlink_to(private)
        given = theirs / "kept"
    else:
        theirs.symlink_to(os.path.relpath(kept, shared))
    if kind == "link of a link":
        given = private / "mine"
        given.symlink_to(theirs)
    write(given)
    kept.write_text("old")
    with monkeypatch.context() as patch:
        give_away(theirs, patch)
        with pytest.raises(
            FileError, match=r"theirs' is a (file|link) of another user in a folder that ever"
        ):
            write(given)
        assert kept.read_text() == "old"
        shared.chmod(0o755)
        write(given)
    write(shared / "new")


@pytest.mark.skipif(os.name != "posix", reason="links as on POSIX")
def test_links_that_lead_to_themselves_are_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for write in (lambda path: write_text(path, "new"), check_writable):
        with pytest.raises(FileError, match=r"Too many levels of symbolic links"):
            write(tmp_path / "a")


# -- nobody else writes --------------------------------------------------------------------------------------

ELSEWHERE = {
    ("compiling.py", "open"): "a lock beside the compiled kernels",
    ("data/train.py", "savez_compressed"): "into memory",
    ("fit/loop.py", "save"): "into memory",
    ("io/larq/keras_file.py", "open"): "into a folder that is gone when it is read",
    ("io/plain/gzipped.py", "write_bytes"): "into a folder that is gone when it is read",
    ("io/samples.py", "save"): "into memory",
    ("web/serving.py", "write_text"): "into a private folder that is gone when the server ends",
    ("web/worker.py", "fdopen"): "a pipe",
    ("web/worker.py", "write_text"): "/proc, not a file of anybody's",
}
"""Calls outside `files.py` that look like writing a file, and why they may."""

WRITING = {
    "replace",
    "rename",
    "renames",
    "write_text",
    "write_bytes",
    "touch",
    "tofile",
    "savefig",
    "savetxt",
}


def writes(path: Path) -> list[str]:
    """The calls of a source file that would write a file on their own."""
    found = []
    for call in [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]:
        match call.func:
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                pass
            case ast.Attribute(attr=name):
                owner = "?"
            case ast.Name(id=name):
                owner = ""
            case _:
                continue
        if name in ("open", "fdopen"):
            words = [word.value for word in ast.walk(call) if isinstance(word, ast.Constant)]
            writing = any(
                isinstance(word, str) and set(word) & set("wax+") and len(word) < 4 for word in words
            )
        elif name in ("replace", "rename", "renames"):
            writing = owner == "os"
        elif name.startswith("save"):
            writing = owner in ("np", "torch", "image") or name == "savefig"
        else:
            writing = name in WRITING and owner != ""  # bare names are those of `files`
        if writing:
            found.append(name)
    return found


def test_only_one_file_writes():
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.py")
        for name in writes(path)
        if path != SOURCE / "files.py"
    }
    assert found == set(ELSEWHERE)


@pytest.mark.parametrize(
    "line",
    [
        'open(p, "w")',
        'open(p, mode="ab")',
        'Path(p).open("x")',
        "p.write_text(t)",
        "Path(p).write_bytes(b)",
        "os.replace(p, q)",
        "np.savez(p, x=x)",
        "torch.save(x, p)",
        "figure.savefig(p)",
    ],
)
def test_the_test_of_writing_can_fail(tmp_path, line):
    (tmp_path / "bad.py").write_text(f"{line}\n")
    assert len(writes(tmp_path / "bad.py")) == 1
    (tmp_path / "good.py").write_text('open(p, "rb")\nt.replace(a, b)\nwrite_text(p, t)\nsave(network, p)\n')
    assert writes(tmp_path / "good.py") == []
