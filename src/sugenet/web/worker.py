"""Worker process: it loads the network, reads questions and writes answers, one after another.

Each message is a line of JSON, followed by the bytes of a body if it names their `size`.

To stop a question, the worker is interrupted as by Ctrl-C, so that the engines return partial results. If the
server has ended, the worker reads the end of its input, removes the copy of the network, and ends too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from _thread import interrupt_main
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, NoReturn

from sugenet.errors import CertificateError, CheckLimitError, SugenetError
from sugenet.io import load
from sugenet.nn import Network
from sugenet.reason import check
from sugenet.web.asking import ask
from sugenet.web.guards import parse_json

__all__ = ["CHECK_MEMORY", "CHECK_SECONDS", "MODEL", "work"]

CHECK_SECONDS = 60.0
"""Seconds for checking a certificate."""
CHECK_MEMORY = 1 << 30
"""Bytes for checking a certificate."""
MODEL = "model.sugenet"
"""File name of the copy of the network, in the worker's folder."""
_MOST_BYTES = 16 << 20
"""Maximum number of bytes of one answer, and of its parts together; beyond it, certificates are left out."""
_LEAST_MEMORY = 4 << 30
"""Bytes of address space that a worker may use on any machine; if half of the machine's memory is more, that
much.
"""


def work(folder: str) -> None:
    """Answer questions from standard input on standard output until the input ends: the main function of a
    worker.

    Parameters
    ----------
    folder
        Folder with the copy of the network. If the server has ended, the worker removes it.
    """
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a library is not an answer
    _limit_memory()
    _Bench(out, folder).run()


def _limit_memory() -> None:
    """Limit memory, so that a question that takes too much fails alone, if the system supports that."""
    # Linux: if memory is short, this process is killed first, not the server or another program
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(ImportError, OSError, ValueError, AttributeError):  # not on every system
        import resource

        limit = max(_LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(
            resource.RLIMIT_AS, (limit if soft == resource.RLIM_INFINITY else min(soft, limit), hard)
        )


class _Bench:
    """Worker state: the main thread answers, another one listens."""

    def __init__(self, out: IO[bytes], folder: str) -> None:
        self._out, self._folder = out, folder
        self._lock = threading.Lock()
        self._requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._now: str | None = None
        """The question that is being answered."""
        self._unwanted: str | None = None
        """The question to stop."""
        self._writing = self._late = False
        self._told = 0.0
        self._parts = 0
        """Bytes of the parts of this answer."""

    def watch(self) -> None:
        """Let interrupts stop the question that is being answered, from now on."""
        signal.signal(signal.SIGINT, self._interrupted)
        sys.unraisablehook = self._lost

    def run(self) -> None:
        self.watch()
        threading.Thread(target=self._listen, daemon=True).start()
        path = Path(self._folder) / MODEL
        try:
            network = load(path)
        except SugenetError:
            if path.exists():
                raise
            _wait_for_the_end()  # another worker noticed first that the server is gone
        while True:
            request = self._requests.get()
            if request["do"] == "warm":
                if request["sample"] is not None:
                    _warm_up(network, request["sample"])
                self._say({"said": "ready"})
                continue
            self._say({"said": "progress", "id": request["id"], "words": "working"})
            self._now, self._parts = request["id"], 0
            try:
                if self._unwanted == self._now:  # stopped before it began
                    raise KeyboardInterrupt
                reply = self._answer(network, request)
            except KeyboardInterrupt:
                reply = {"said": "failed", "error": "the question was stopped before anything was known."}
            self._now = None  # from here on no interrupt is raised
            self._say({"id": request["id"]} | reply)

    def _listen(self) -> None:
        try:
            while line := sys.stdin.buffer.readline():
                request = json.loads(line)
                self._take(request | {"body": sys.stdin.buffer.read(request.get("size", 0))})
            # the server is gone; workers that remove the folder at once can conflict
            for _ in range(20):
                shutil.rmtree(self._folder, ignore_errors=True)
                if not os.path.exists(self._folder):
                    break
                time.sleep(0.05)
        finally:
            os._exit(0)  # also without memory for a line: a worker that cannot receive messages must not stay

    def _take(self, request: dict[str, Any]) -> None:
        if request["do"] != "stop":
            self._requests.put(request)
            return
        self._unwanted = request["id"]
        if self._now == request["id"]:
            self._interrupt()

    def _interrupt(self) -> None:
        if hasattr(signal, "pthread_kill"):  # wakes the main thread if it waits for others
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            interrupt_main()

    def _interrupted(self, _signal: int, _frame: object) -> None:
        """Handle an interrupt in the main thread, between two steps, so that a finished question is never
        interrupted.
        """
        if self._now is None or self._unwanted != self._now:
            return
        if self._writing:  # half a line would not be JSON
            self._late = True
            return
        raise KeyboardInterrupt

    def _lost(self, lost: sys.UnraisableHookArgs) -> None:
        """Raise an interrupt again that came while an object was finalized: Python drops such exceptions."""
        if lost.exc_type is KeyboardInterrupt:
            threading.Timer(0.01, self._interrupt).start()  # not before this call is over
        else:
            sys.__unraisablehook__(lost)

    def _answer(self, network: Network, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if request["do"] == "check":
                return {"said": "done", "body": _check(network, request["body"])}
            question, threads = parse_json(request["body"]), request["threads"]
            answer = ask(network, question, on_part=self._part, notify=self._progress, threads=threads)
        except SugenetError as error:
            return {"said": "failed", "error": str(error)}
        except MemoryError:
            return {
                "said": "failed",
                "error": "there is not enough memory for this question. Ask about a smaller region.",
            }
        except RecursionError:
            return {"said": "failed", "error": "the question is nested too deeply."}
        except Exception as error:
            return {
                "said": "failed",
                "error": f"a bug in sugenet, please report it: {type(error).__name__}: {error}",
            }
        return {"said": "done", "body": _small(answer, _MOST_BYTES)}

    def _part(self, part: dict[str, Any]) -> None:
        small = _small(part, _MOST_BYTES - self._parts)
        self._parts += len(small)
        self._say({"said": "part", "id": self._now, "body": small})

    def _progress(self, message: str) -> None:
        now = time.monotonic()
        if now - self._told >= 0.1:
            self._told = now
            self._say({"said": "progress", "id": self._now, "words": message[:200]})

    def _say(self, message: dict[str, Any]) -> None:
        body = message.pop("body", b"")
        line = json.dumps(message | {"size": len(body)}).encode() + b"\n" + body
        ours = threading.current_thread() is threading.main_thread()
        if ours:
            self._writing = True
        with self._lock:
            try:
                self._out.write(line)
                self._out.flush()
            except BrokenPipeError:
                _wait_for_the_end()
        if ours:
            self._writing = False
            if self._late:
                self._late = False
                if self._now is not None:
                    raise KeyboardInterrupt


def _wait_for_the_end() -> NoReturn:
    """Wait until the process ends, since the server is gone.

    The listening thread also notices this, cleans up and ends the process. Ending it here could leave an
    empty folder.
    """
    while True:
        time.sleep(60)


def _check(network: Network, body: bytes) -> bytes:
    return json.dumps(_checked(network, body)).encode()


def _checked(network: Network, body: bytes) -> dict[str, Any]:
    """Return whether the certificate of a body holds; an HTTP status and a sentence if there is none in
    it.
    """
    try:
        data = parse_json(body)
    except SugenetError as error:
        return {"status": 400, "error": str(error)}
    if (
        not isinstance(data, dict)
        or set(data) != {"certificate"}
        or not isinstance(data["certificate"], dict)
    ):
        return {"status": 422, "error": 'the body must be {"certificate": {...}}.'}
    try:
        return {
            "holds": True,
            "said": check(data["certificate"], network, time_limit=CHECK_SECONDS, memory_limit=CHECK_MEMORY),
        }
    except CheckLimitError as error:
        return {"holds": None, "said": f"{error} Use `sugenet check`, which takes other limits."}
    except CertificateError as error:
        return {"holds": False, "said": str(error)}
    except KeyboardInterrupt:
        return {
            "holds": None,
            "said": f"not finished after {CHECK_SECONDS:g} s. Use `sugenet check`, which takes its time.",
        }


def _small(answer: dict[str, Any], max_bytes: int) -> bytes:
    """Return an answer as JSON, without its certificates if it would have more than `max_bytes` bytes.

    Such an answer is too large to keep and to show.
    """
    text = json.dumps(answer, allow_nan=False).encode()
    if len(text) <= max_bytes:
        return text
    note = f"certificates beyond {_MOST_BYTES >> 20} MB are left out: the command line writes them to a file."
    short: dict[str, Any] = _without_certificates(answer)
    return json.dumps(short | {"note": note}).encode()


def _without_certificates(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            name: None if name == "certificate" else _without_certificates(value)
            for name, value in data.items()
        }
    return [_without_certificates(value) for value in data] if isinstance(data, list) else data


def _warm_up(network: Network, sample: list[Any]) -> None:
    """Load the kernels that most questions need, by asking small ones."""
    ball = {"kind": "Hamming", "radius": "1"}
    for question in (
        {"kind": "whatif", "sample": sample},
        {"kind": "verify", "sample": sample, "region": ball},
        {"kind": "why", "sample": sample, "region": {"kind": "AnyInput"}},
        {"kind": "count", "sample": sample, "region": ball},
    ):
        with suppress(SugenetError):
            ask(network, {**question, "time_limit": 0.5})
