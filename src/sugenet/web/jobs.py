"""Questions answered by worker processes: one that hangs or dies fails its own question, and nothing else.

A worker is a fresh Python (`worker.py`) that is told questions line by line. To stop one, its worker is
interrupted; a worker that goes on regardless is killed and replaced.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from sugenet.bnn import Network
from sugenet.io import save
from sugenet.web.fields import SECONDS
from sugenet.web.worker import CHECK_SECONDS, MODEL

__all__ = ["Desk", "Job"]

_READY_SECONDS = 300.0
"""For a worker to get ready: the first one on a machine compiles its kernels."""
_GRACE = 10.0
"""Seconds after its time limit at which a question is interrupted."""
_AGAIN = 2.0
"""Seconds between two interrupts: an engine may take the first one for the end of its own part only."""
_PATIENCE = 6.0
"""Seconds after the first interrupt at which a worker is killed."""
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
        self.is_closed = False
        """Whether no more questions are taken."""
        self._slots = [_Slot(self) for _ in range(workers)]
        self._folder: TemporaryDirectory[str] | None = None

    def open(self) -> None:
        """Start the workers."""
        self._folder = TemporaryDirectory(prefix="sugenet-")
        save(self._network, Path(self._folder.name) / MODEL)
        for slot in self._slots:
            slot.begin(self._folder.name, self._warm)

    def close(self) -> None:
        """End all workers at once, whatever they do; a second call does nothing."""
        with self._change:
            self.is_closed = True
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

    def submit(self, question: dict[str, Any]) -> Job | None:
        """Take a question that `checked` found right; None when too many are open."""
        return self._take({"do": "ask", "question": question}, float(question.get("time_limit", SECONDS)))

    def submit_check(self, body: bytes) -> Job | None:
        """Take a certificate to check, as it came: a large one is read where that holds nobody up.

        None when too many are open.
        """
        return self._take({"do": "check", "body": b64encode(body).decode()}, CHECK_SECONDS)

    def _take(self, request: dict[str, Any], limit: float) -> Job | None:
        with self._change:
            self._forget()
            if self.is_closed or sum(not job.is_over for job in self._jobs.values()) >= self._open_most:
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
            self._change.wait_for(lambda: self.is_closed or self._waiting)
            if self.is_closed:
                return None
            job = self._waiting.popleft()
            job.state = "working"
            return job

    def finish(self, job: Job, error: str | None) -> None:
        """Note that a question is over, and what went wrong where something did;
        a cancelled one is never wrong.
        """
        with self._change:  # it may be cancelled at this moment
            job.request = b""
            job.ended, job.error = time.monotonic(), None if job.cancelled else error
            job.progress = "cancelled" if job.cancelled else "done" if error is None else "failed"
            job.state = job.progress  # last, since whoever sees it reads the rest
        job.tell()

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
        code = (
            "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
            "from sugenet.web.worker import work; work(sys.argv[2])"
        )
        command = [sys.executable, "-c", code, json.dumps([str(entry) for entry in sys.path]), folder]
        # a session of its own: Ctrl-C in a terminal is for the server, which ends its workers itself
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
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
                late = (
                    "did not stop when it was told to"
                    if job.cancelled
                    else f"took longer than its time limit of {job.limit:g} s"
                )
                return (
                    f"the question {late}, so its worker was ended. Ask about a smaller region, "
                    f"or allow less time."
                )
            if turn.stop_at is not None and now >= turn.stop_at:
                turn.worker.send(_line({"do": "stop", "id": job.id}))
                turn.stop_at = now + _AGAIN
            with suppress(Empty):
                message = self.inbox.get(
                    timeout=max(0.0, min(turn.kill_at, turn.stop_at or turn.kill_at) - now)
                )
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
                        "the worker process ended before it had an answer. The server goes on; ask again, or "
                        "about a smaller region."
                    )
                    self._replace()
                    return True
                # it had died before it was asked
                turn.worker, turn.asked, turn.again = (
                    self._replace(),
                    False,
                    True,
                )
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
        return (
            self.worker if self.worker is not None and self.worker.process.poll() is None else self._replace()
        )

    def _replace(self) -> _Worker:
        if self.worker is not None:
            self.worker.kill()
        return self._start()
