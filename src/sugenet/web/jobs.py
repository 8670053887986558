"""Questions answered by worker processes: one that hangs or dies fails its own question, and nothing else.

A worker is a fresh Python that reads lines of JSON and writes lines of JSON. It loads the network once and answers one question after
another. To stop a question, its worker is interrupted as by Ctrl-C, so that the engines give what is known; one that goes on regardless
is killed and replaced. A worker whose server is gone reads the end of its input, removes the copy of the network, and ends too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from _thread import interrupt_main
from base64 import b64decode, b64encode
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import IO, Any

from sugenet.bnn import Network
from sugenet.errors import CertificateError, SugenetError
from sugenet.io import load, save
from sugenet.reason import check
from sugenet.web.guards import parse_json
from sugenet.web.questions import SECONDS, ask

__all__ = ["Desk", "Job", "work"]

CHECK_SECONDS = 60.0
"""For checking a certificate."""
_READY_SECONDS = 300.0
"""For a worker to get ready: the first one on a machine compiles its kernels."""
_GRACE = 10.0
"""Seconds after its time limit at which a question is interrupted."""
_AGAIN = 2.0
"""Seconds between two interrupts: an engine may take the first one for the end of its own part only."""
_PATIENCE = 6.0
"""Seconds after the first interrupt at which a worker is killed."""
_MOST_BYTES = 16 << 20
"""Of one answer, and of its parts together; beyond, certificates are left out."""
_LEAST_MEMORY = 4 << 30
"""Bytes of address space that a worker may take on any machine; else half of what the machine has."""
_MODEL = "model.sugenet"
_CLOSING = "the server is being shut down."
_ENDED = ("done", "failed", "cancelled")


@dataclass(eq=False)
class Job:
    """One question on its way."""

    id: str
    request: bytes
    """What its worker is told: a line of JSON."""
    limit: float
    state: str = "waiting"
    """waiting, working, done, failed or cancelled."""
    progress: str = ""
    parts: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    error: str | None = None
    begun: float | None = None
    ended: float | None = None
    size: int = 0
    """Bytes that its worker wrote."""
    cancelled: bool = False
    listeners: set[Callable[[], None]] = field(default_factory=set)
    """Called, from any thread, when something is new."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in _ENDED

    def data(self, seen: int = 0) -> dict[str, Any]:
        """How it stands, with the parts after the first `seen`."""
        end = time.monotonic() if self.ended is None else self.ended
        return {
            "id": self.id,
            "state": self.state,
            "progress": self.progress,
            "seconds": 0.0 if self.begun is None else round(end - self.begun, 3),
            "parts": self.parts[seen:],
            "answer": self.answer,
            "error": self.error,
        }

    def tell(self) -> None:
        """Say that something is new."""
        for listener in tuple(self.listeners):
            listener()


class Desk:
    """Takes questions, hands them to workers, and keeps the answers for a while.

    Parameters
    ----------
    network
        What the questions are about.
    warm
        A raw sample that each worker tries itself on, so that its first question does not wait for kernels.
    workers
        How many questions are answered at a time.
    open_most
        Questions that may wait or be worked on; more are not taken.
    kept, kept_bytes, kept_seconds
        How many answers are kept, of how many bytes in all, for how long.
    """

    def __init__(
        self,
        network: Network,
        *,
        warm: Any = None,
        workers: int = 2,
        open_most: int = 16,
        kept: int = 200,
        kept_bytes: int = 64 << 20,
        kept_seconds: float = 1800.0,
    ) -> None:
        self._network, self._warm, self._open_most = network, warm, open_most
        self._kept, self._kept_bytes, self._kept_seconds = kept, kept_bytes, kept_seconds
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: deque[Job] = deque()
        self._change = threading.Condition()
        self._closed = False
        self._slots = [_Slot(self) for _ in range(workers)]
        self._folder: TemporaryDirectory[str] | None = None

    def open(self) -> None:
        """Start the workers."""
        self._folder = TemporaryDirectory(prefix="sugenet-")
        save(self._network, Path(self._folder.name) / _MODEL)
        for slot in self._slots:
            slot.begin(self._folder.name, self._warm)

    def close(self) -> None:
        """End all workers at once, whatever they do; a second call does nothing."""
        with self._change:
            self._closed = True
            for job in self._waiting:
                job.error, job.ended = _CLOSING, time.monotonic()
                job.state = "failed"
                job.tell()
            self._waiting.clear()
            self._change.notify_all()
        for slot in self._slots:
            slot.end()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def pids(self) -> list[int]:
        """Process numbers of the workers."""
        return [slot.worker.process.pid for slot in self._slots if slot.worker is not None]

    def submit(self, question: dict[str, Any]) -> Job | None:
        """Take a question that `checked` found right; None when too many are open."""
        return self._take({"do": "ask", "question": question}, float(question.get("time_limit", SECONDS)))

    def submit_check(self, body: bytes) -> Job | None:
        """Take a certificate to check, as it came: a large one is read where that holds nobody up. None when too many are open."""
        return self._take({"do": "check", "body": b64encode(body).decode()}, CHECK_SECONDS)

    def _take(self, request: dict[str, Any], limit: float) -> Job | None:
        with self._change:
            self._forget()
            if self._closed or sum(not job.is_over for job in self._jobs.values()) >= self._open_most:
                return None
            number = token_hex(16)
            job = Job(number, _line({**request, "id": number}), limit, progress="waiting for a worker")
            self._jobs[job.id] = job
            self._waiting.append(job)
            self._change.notify()
        return job

    def find(self, id_: str) -> Job | None:
        """The question of this number, while it is kept."""
        with self._change:
            self._forget()
            return self._jobs.get(id_)

    def cancel(self, job: Job) -> None:
        """Stop a question: one that waits is over at once; one that is worked on ends with what is known."""
        with self._change:
            if job.is_over or job.cancelled:
                return
            job.cancelled = True
            if job.state == "waiting":
                self._waiting.remove(job)
                job.progress, job.ended = "cancelled", time.monotonic()
                job.state = "cancelled"
        job.tell()
        for slot in self._slots:
            if slot.job is job:
                slot.inbox.put({"said": "cancel", "id": job.id})

    def drop(self, job: Job) -> None:
        """Cancel a question and forget it when it is over, since nobody will ask for its answer."""
        self.cancel(job)
        with self._change:
            if job.is_over:
                self._jobs.pop(job.id, None)

    def next(self) -> Job | None:
        """The next question, for a worker that has nothing to do; None when the desk is closed."""
        with self._change:
            self._change.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return None
            job = self._waiting.popleft()
            job.state = "working"
            return job

    def finish(self, job: Job, error: str | None) -> None:
        """Note that a question is over, and what went wrong where something did; a cancelled one is never wrong."""
        with self._change:  # it may be cancelled at this moment
            job.request = b""
            job.ended, job.error = time.monotonic(), None if job.cancelled else error
            job.progress = "cancelled" if job.cancelled else "done" if error is None else "failed"
            job.state = job.progress  # last, since whoever sees it reads the rest
        job.tell()

    @property
    def is_closed(self) -> bool:
        """Whether no more questions are taken."""
        return self._closed

    def _forget(self) -> None:
        """Let old answers go, but the last one only for its age."""
        over = [job for job in self._jobs.values() if job.is_over]
        total, now = sum(job.size for job in over), time.monotonic()
        for number, job in enumerate(over):
            old = job.ended is not None and now - job.ended > self._kept_seconds
            too_many = len(over) - number > self._kept or total > self._kept_bytes
            if old or (too_many and job is not over[-1]):
                del self._jobs[job.id]
                total -= job.size


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


class _Worker:
    """A worker process, seen from the server; what it says comes to the inbox of its slot."""

    def __init__(self, folder: str, inbox: SimpleQueue[dict[str, Any]]) -> None:
        code = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from sugenet.web.jobs import work; work(sys.argv[2])"
        command = [sys.executable, "-c", code, json.dumps([str(entry) for entry in sys.path]), folder]
        # a session of its own: Ctrl-C in a terminal is for the server, which ends its workers itself
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.is_ready = False
        self._inbox, self._outbox = inbox, SimpleQueue[bytes | None]()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._write)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):
                self._inbox.put({**json.loads(line), "size": len(line), "from": self})
        self._inbox.put({"said": "gone", "from": self})

    def _write(self) -> None:
        assert self.process.stdin is not None
        while (line := self._outbox.get()) is not None:
            with suppress(OSError):  # one that is gone is noticed by the reader
                self.process.stdin.write(line)
                self.process.stdin.flush()

    def send(self, line: bytes) -> None:
        """Write a line, without waiting for a worker that does not read."""
        self._outbox.put(line)

    def kill(self) -> None:
        """End it now, and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


@dataclass
class _Turn:
    """One question in the hands of a worker, and until when it is waited for."""

    worker: _Worker
    kill_at: float
    again: bool = False
    """Whether another worker was dead before it took the question."""
    stop_at: float | None = None
    asked: bool = False
    taken: bool = False
    error: str | None = None

    def ask(self, job: Job) -> None:
        """Hand the question over; from now on its time runs."""
        self.worker.send(job.request)
        self.asked, job.begun = True, time.monotonic()
        self.stop_at = job.begun + job.limit + _GRACE
        self.kill_at = self.stop_at + _PATIENCE
        job.tell()


class _Slot:
    """A place for a worker: takes questions from the desk, and puts a new worker where one is gone."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.inbox: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.worker: _Worker | None = None
        self.job: Job | None = None
        self._thread: threading.Thread | None = None
        self._folder, self._warm = "", None

    def begin(self, folder: str, warm: Any) -> None:
        """Start the worker and wait for questions."""
        self._folder, self._warm = folder, warm
        self._start()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _start(self) -> _Worker:
        self.worker = _Worker(self._folder, self.inbox)
        self.worker.send(_line({"do": "warm", "sample": self._warm}))
        return self.worker

    def end(self) -> None:
        """End the thread and the worker."""
        self.inbox.put({"said": "close"})
        if self._thread is not None:
            self._thread.join()
        if self.worker is not None:
            self.worker.kill()
            self.worker = None

    def _run(self) -> None:
        while (job := self.desk.next()) is not None:
            self.job = job
            try:
                error = self._work(job)
            except Exception as problem:  # no memory, no process, no thread: the next question may find some
                error = f"no worker could be started: {getattr(problem, 'strerror', None) or problem}."
            self.desk.finish(job, error)
            self.job = None

    def _work(self, job: Job) -> str | None:
        """Have a question answered; what went wrong, where something did."""
        job.progress, job.begun = "the worker is getting ready", time.monotonic()
        job.tell()
        turn = _Turn(self._fit(), time.monotonic() + _READY_SECONDS)
        while True:
            if self.desk.is_closed:
                return _CLOSING
            if job.cancelled and not turn.asked:
                return None
            if turn.worker.is_ready and not turn.asked:
                turn.ask(job)
            now = time.monotonic()
            if now >= turn.kill_at:
                self._replace()
                late = "did not stop when it was told to" if job.cancelled else f"took longer than its time limit of {job.limit:g} s"
                return f"the question {late}, so its worker was ended. Ask about a smaller region, or allow less time."
            if turn.stop_at is not None and now >= turn.stop_at:
                turn.worker.send(_line({"do": "stop", "id": job.id}))
                turn.stop_at = now + _AGAIN
            with suppress(Empty):
                message = self.inbox.get(timeout=max(0.0, min(turn.kill_at, turn.stop_at or turn.kill_at) - now))
                if self._hear(job, turn, message):
                    return turn.error

    def _hear(self, job: Job, turn: _Turn, message: dict[str, Any]) -> bool:
        """Take in what was said; whether the question is over."""
        if message["said"] == "cancel" and message["id"] == job.id:
            turn.stop_at = time.monotonic()
            turn.kill_at = min(turn.kill_at, turn.stop_at + _PATIENCE)
        if message.get("from") is not turn.worker:  # the last words of one that was replaced
            return False
        match message["said"]:
            case "ready":
                turn.worker.is_ready = True
            case "gone":
                if turn.taken or turn.again:
                    turn.error = (
                        "the worker process ended before it had an answer. The server goes on; ask again, or about a smaller region."
                    )
                    self._replace()
                    return True
                turn.worker, turn.asked, turn.again = self._replace(), False, True  # it had died before it was asked
                turn.stop_at, turn.kill_at = None, time.monotonic() + _READY_SECONDS
            case said if message.get("id") == job.id:
                turn.taken = True
                job.size += message["size"]
                if said in ("done", "failed"):
                    job.answer, turn.error = message.get("answer"), message.get("error")
                    return True
                if said == "part":
                    job.parts.append(message["part"])
                else:
                    job.progress = message["words"]
                job.tell()
        return False

    def _fit(self) -> _Worker:
        """A worker that is there, after all that was said while nobody was asked."""
        while not self.inbox.empty():
            message = self.inbox.get()
            if self.worker is None or message.get("from") != self.worker:
                continue
            if message["said"] == "ready":
                self.worker.is_ready = True
            elif message["said"] == "gone":
                self._replace()
        return self.worker if self.worker is not None and self.worker.process.poll() is None else self._replace()

    def _replace(self) -> _Worker:
        if self.worker is not None:
            self.worker.kill()
        return self._start()


# -- the worker's side -----------------------------------------------------------------------------------------------------------


def work(folder: str) -> None:
    """Answer questions from standard input on standard output until the input ends; the main function of a worker process.

    Parameters
    ----------
    folder
        Where the copy of the network is. A server that is gone could not remove it, so the worker does.
    """
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _limit_memory()
    _Bench(out, folder).run()


def _limit_memory() -> None:
    """Let a question that takes too much memory fail alone, where the system can see to that."""
    with suppress(OSError):  # Linux: when memory is short, this process goes first, not the server or another program
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(ImportError, OSError, ValueError, AttributeError):  # not everywhere
        import resource

        most = max(_LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard))


class _Bench:
    """A worker from inside: the main thread answers, another one listens."""

    def __init__(self, out: IO[bytes], folder: str) -> None:
        self._out, self._folder = out, folder
        self._lock = threading.Lock()
        self._requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._now: str | None = None
        """The question that is being answered."""
        self._unwanted: str | None = None
        """The question that shall stop."""
        self._writing = self._late = False
        self._told = 0.0
        self._parts = 0
        """Bytes of the parts of this answer."""

    def run(self) -> None:
        signal.signal(signal.SIGINT, self._interrupted)
        threading.Thread(target=self._listen, daemon=True).start()
        path = Path(self._folder) / _MODEL
        try:
            network = load(path)
        except SugenetError:
            if path.exists():
                raise
            os._exit(0)  # the server is gone, and who noticed first has cleared up; the other thread still reads
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
                if self._unwanted == self._now:  # told to stop before it began
                    raise KeyboardInterrupt
                said = self._answer(network, request)
            except KeyboardInterrupt:
                said = {"said": "failed", "error": "the question was stopped before anything was known."}
            self._now = None  # from here on no interrupt is raised
            self._say(said | {"id": request["id"]})

    def _listen(self) -> None:
        try:
            for line in sys.stdin.buffer:
                self._take(json.loads(line))
            shutil.rmtree(self._folder, ignore_errors=True)  # the server is gone
        finally:
            os._exit(0)  # also where there is no memory for a line: who cannot be told anything must not stay

    def _take(self, request: dict[str, Any]) -> None:
        if request["do"] != "stop":
            self._requests.put(request)
            return
        self._unwanted = request["id"]
        if self._now != request["id"]:
            return
        if hasattr(signal, "pthread_kill"):  # wakes the main thread up where it waits for others
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            interrupt_main()

    def _interrupted(self, _signal: int, _frame: object) -> None:
        """In the main thread, between two of its steps: so a question that is over is never interrupted."""
        if self._now is None or self._unwanted != self._now:
            return
        if self._writing:  # half a line would be no JSON
            self._late = True
            return
        raise KeyboardInterrupt

    def _answer(self, network: Network, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if request["do"] == "check":
                return {"said": "done", "answer": _check(network, b64decode(request["body"]))}
            answer = ask(network, request["question"], on_part=self._part, notify=self._progress)
        except SugenetError as error:
            return {"said": "failed", "error": str(error)}
        except MemoryError:
            return {"said": "failed", "error": "there is not enough memory for this question. Ask about a smaller region."}
        except RecursionError:
            return {"said": "failed", "error": "the question is nested too deeply."}
        except Exception as error:
            return {"said": "failed", "error": f"a bug in sugenet, please report it: {type(error).__name__}: {error}"}
        return {"said": "done", "answer": _small(answer, _MOST_BYTES)}

    def _part(self, part: dict[str, Any]) -> None:
        small = _small(part, _MOST_BYTES - self._parts)
        self._parts += len(json.dumps(small))
        self._say({"said": "part", "id": self._now, "part": small})

    def _progress(self, words: str) -> None:
        now = time.monotonic()
        if now - self._told >= 0.1:
            self._told = now
            self._say({"said": "progress", "id": self._now, "words": words[:200]})

    def _say(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, allow_nan=False).encode() + b"\n"
        ours = threading.current_thread() is threading.main_thread()
        if ours:
            self._writing = True
        with self._lock:
            self._out.write(line)
            self._out.flush()
        if ours:
            self._writing = False
            if self._late:
                self._late = False
                if self._now is not None:
                    raise KeyboardInterrupt


def _check(network: Network, body: bytes) -> dict[str, Any]:
    """Whether the certificate of a body holds; or a status of HTTP and a sentence, where there is none in it."""
    try:
        data = parse_json(body)
    except SugenetError as error:
        return {"status": 400, "error": str(error)}
    if not isinstance(data, dict) or set(data) != {"certificate"} or not isinstance(data["certificate"], dict):
        return {"status": 422, "error": 'the body must be {"certificate": {...}}.'}
    try:
        return {"holds": True, "said": check(data["certificate"], network)}
    except CertificateError as error:
        return {"holds": False, "said": str(error)}
    except KeyboardInterrupt:
        return {"holds": None, "said": f"not finished after {CHECK_SECONDS:g} s. Use `sugenet check`, which takes its time."}


def _small(answer: dict[str, Any], most: int) -> dict[str, Any]:
    """An answer without its certificates where it has more than `most` bytes with them: too large to keep and to show."""
    if len(json.dumps(answer)) <= most:
        return answer
    note = f"certificates beyond {_MOST_BYTES >> 20} MB are left out: the command line writes them to a file."
    short: dict[str, Any] = _without_certificates(answer)
    return short | {"note": note}


def _without_certificates(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: None if name == "certificate" else _without_certificates(value) for name, value in data.items()}
    return [_without_certificates(value) for value in data] if isinstance(data, list) else data


def _warm_up(network: Network, sample: list[Any]) -> None:
    """Load the kernels that most questions need, by asking small ones."""
    ball = {"kind": "Hamming", "radius": "1"}
    for question in (
        {"kind": "whatif", "sample": sample},
        {"kind": "verify", "sample": sample, "region": ball},
        {"kind": "why", "sample": sample, "region": {"kind": "Anything"}},
        {"kind": "count", "sample": sample, "region": ball},
    ):
        with suppress(SugenetError):
            ask(network, {**question, "time_limit": 0.5})
