"""Questions answered by worker processes: one that hangs or dies fails its own question, and nothing else.

A worker is a new Python process (`worker.py`) that receives questions one by one. To stop a question, its
worker is interrupted; a worker that continues anyway is killed and replaced.

Clients take turns: each has its own queue, and while others wait, no client has all workers. Answers stay the
JSON text that the worker wrote.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from sugenet.io import save
from sugenet.nn import Network
from sugenet.web.fields import SECONDS
from sugenet.web.worker import CHECK_SECONDS, MODEL

__all__ = ["OPEN_MOST", "Desk", "Job", "TooManyError"]

OPEN_MOST = 64
"""Maximum number of open questions of one client."""
_OPEN_IN_ALL = 1024
"""Maximum number of open questions of all clients."""
_OPEN_BYTES = 64 << 20
"""Maximum number of bytes of all open questions."""

_READY_SECONDS = 300.0
"""Seconds for a worker to get ready: the first one on a machine compiles its kernels."""
_GRACE = 10.0
"""Seconds after its time limit at which a question is interrupted."""
_AGAIN = 2.0
"""Seconds between two interrupts: an engine may treat the first one as the end of only its own part."""
_PATIENCE = 6.0
"""Seconds after the first interrupt at which a worker is killed."""
_CLOSING = "the server is being shut down."
_ENDED = ("done", "failed", "cancelled")


class TooManyError(Exception):
    """Question that is refused, since too many are open."""

    def __init__(self, sentence: str, *, own: bool) -> None:
        super().__init__(sentence)
        self.own = own
        """Whether all of them are from the same client."""


@dataclass(eq=False)
class Job:
    """State of one question."""

    id: str
    client: str
    do: str
    """Task of its worker: ask or check."""
    body: bytes
    """The question or certificate, as JSON."""
    limit: float
    state: str = "waiting"
    """waiting, working, done, failed or cancelled."""
    progress: str = ""
    parts: list[bytes] = field(default_factory=list)
    """Parts of the answer so far, as JSON."""
    answer: bytes | None = None
    """The answer as JSON."""
    error: str | None = None
    begun: float | None = None
    ended: float | None = None
    size: int = 0
    """Bytes of the answer and its parts."""
    cancelled: bool = False
    listeners: set[Callable[[], None]] = field(default_factory=set)
    """Functions that are called, from any thread, when something is new."""

    @property
    def is_over(self) -> bool:
        """Whether the question has ended."""
        return self.state in _ENDED

    def text(self, seen: int = 0, index: int | None = None) -> bytes:
        """Return the status as JSON, with the parts after the first `seen` and its position in the queue."""
        end = time.monotonic() if self.ended is None else self.ended
        known = {
            "id": self.id,
            "state": self.state,
            "place": index,
            "progress": self.progress,
            "seconds": 0.0 if self.begun is None else round(end - self.begun, 3),
            "error": self.error,
        }
        parts, answer = b", ".join(self.parts[seen:]), self.answer or b"null"
        return b'%b, "parts": [%b], "answer": %b}' % (json.dumps(known).encode()[:-1], parts, answer)

    def tell(self) -> None:
        """Notify the listeners."""
        for listener in tuple(self.listeners):
            listener()


class Desk:
    """Queue that accepts questions, passes them to workers, and keeps the answers for a while.

    Parameters
    ----------
    network
        The network of the questions.
    warm
        A raw sample for a first test of each worker, so that its first question does not wait for kernels.
    workers
        Number of questions that are answered at a time; while others wait, at most one fewer per client.
    kept, kept_bytes, kept_seconds
        Limits on the kept answers: number, total bytes, and age.
    """

    def __init__(
        self,
        network: Network,
        *,
        warm: Any = None,
        workers: int = 3,
        kept: int = 1000,
        kept_bytes: int = 64 << 20,
        kept_seconds: float = 1800.0,
    ) -> None:
        self._network, self._warm = network, warm
        self._kept, self._kept_bytes, self._kept_seconds = kept, kept_bytes, kept_seconds
        self._jobs: dict[str, Job] = {}
        self._waiting: OrderedDict[str, deque[Job]] = OrderedDict()
        """A queue for each waiting client; the first client is next."""
        self._change = threading.Condition()
        self.is_closed = False
        """Whether no more questions are accepted."""
        self._slots = [_Slot(self) for _ in range(workers)]
        self._folder: TemporaryDirectory[str] | None = None

    def open(self) -> None:
        """Start the workers."""
        self._folder = TemporaryDirectory(prefix="sugenet-")
        save(self._network, Path(self._folder.name) / MODEL)
        for slot in self._slots:
            slot.begin(self._folder.name, self._warm)

    @property
    def folder(self) -> str:
        """Return a folder that only this user can read; it is removed when the desk is closed."""
        assert self._folder is not None
        return self._folder.name

    def close(self) -> None:
        """End all workers at once, whatever they do; a second call does nothing."""
        with self._change:
            self.is_closed = True
            for job in [job for queue in self._waiting.values() for job in queue]:
                self._end(job, "failed", _CLOSING)
                job.tell()
            self._waiting.clear()
            self._change.notify_all()
        for slot in self._slots:
            slot.end()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def submit(self, question: dict[str, Any], client: str = "") -> Job:
        """Accept a question that `checked` has validated.

        Raises
        ------
        TooManyError
            If too many are open.
        """
        limit = float(question.get("time_limit", SECONDS))
        return self._take(client, "ask", json.dumps(question).encode(), limit)

    def submit_check(self, body: bytes, client: str = "") -> Job:
        """Accept a certificate to check, unparsed: a large one is parsed in the worker, where nobody else
        waits.

        Raises
        ------
        TooManyError
            If too many are open.
        """
        return self._take(client, "check", body, CHECK_SECONDS)

    def _take(self, client: str, do: str, body: bytes, limit: float) -> Job:
        with self._change:
            self._forget()
            waiting = self._open
            if sum(job.client == client for job in waiting) >= OPEN_MOST:
                raise TooManyError(
                    f"you have {OPEN_MOST} open questions. Ask again when one is done.", own=True
                )
            if (
                self.is_closed
                or len(waiting) >= _OPEN_IN_ALL
                or sum(len(job.body) for job in waiting) + len(body) > _OPEN_BYTES
            ):
                raise TooManyError(
                    _CLOSING if self.is_closed else "the server's queue is full. Ask again later.", own=False
                )
            job = Job(token_hex(16), client, do, body, limit, progress="waiting for a worker")
            self._jobs[job.id] = job
            self._waiting.setdefault(client, deque()).append(job)
            self._change.notify_all()
        return job

    def place(self, job: Job) -> int | None:
        """Return the position of a question in the queue, from 1; None if it does not wait."""
        with self._change:
            if job.state != "waiting" or job.client not in self._waiting:
                return None
            turn, is_before, ahead = self._waiting[job.client].index(job), True, 0
            for client, queue in self._waiting.items():
                if client == job.client:
                    is_before = False
                else:
                    ahead += min(len(queue), turn + is_before)
            return ahead + turn + 1

    def find(self, id_: str) -> Job | None:
        """The question of this number, while it is kept."""
        with self._change:
            self._forget()
            return self._jobs.get(id_)

    def cancel(self, job: Job) -> None:
        """Stop a question: a waiting one is over at once; a running one ends with partial results."""
        with self._change:
            if job.is_over or job.cancelled:
                return
            job.cancelled = True
            if job.state == "waiting":
                self._leave(job)
                self._end(job, "cancelled")
        job.tell()
        for slot in self._slots:
            if slot.job is job:
                slot.inbox.put({"said": "cancel", "id": job.id})

    def drop(self, job: Job) -> None:
        """Cancel a question and forget it when it is over, since nobody will fetch its answer."""
        self.cancel(job)
        with self._change:
            if job.is_over:
                self._jobs.pop(job.id, None)

    def next(self) -> Job | None:
        """Return the next question for an idle worker; None when the desk is closed."""
        with self._change:
            self._change.wait_for(lambda: self.is_closed or self._turn() is not None)
            client = self._turn()
            if self.is_closed or client is None:
                return None
            job = self._waiting[client][0]
            self._leave(job)
            if client in self._waiting:
                self._waiting.move_to_end(client)
            job.state = "working"
            return job

    def _turn(self) -> str | None:
        """Return the client whose question is next.

        No client has all workers, so that a new one does not wait for a long question.
        """
        limit = max(1, len(self._slots) - 1)
        working = Counter(job.client for job in self._jobs.values() if job.state == "working")
        return next((client for client in self._waiting if working[client] < limit), None)

    @property
    def _open(self) -> list[Job]:
        """Return the questions that have not ended."""
        return [job for job in self._jobs.values() if not job.is_over]

    def _leave(self, job: Job) -> None:
        queue = self._waiting[job.client]
        queue.remove(job)
        if not queue:
            del self._waiting[job.client]

    def is_shared(self) -> bool:
        """Return whether other questions are waiting or running."""
        with self._change:
            return len(self._open) > 1

    def finish(self, job: Job, error: str | None) -> None:
        """Record that a question is over, and its error if there is one; a cancelled question has none."""
        with self._change:  # it may be cancelled at this moment
            state = "cancelled" if job.cancelled else "done" if error is None else "failed"
            self._end(job, state, None if job.cancelled else error)
            self._change.notify_all()  # its client may have another one
        job.tell()

    def _end(self, job: Job, state: str, error: str | None = None) -> None:
        job.body, job.ended, job.error, job.progress = b"", time.monotonic(), error, state
        job.state = state  # last, since readers of it read the rest

    def _forget(self) -> None:
        """Drop old answers; the last one is only dropped by age."""
        over = sorted((job for job in self._jobs.values() if job.is_over), key=lambda job: job.ended or 0.0)
        size, oldest = sum(job.size for job in over), time.monotonic() - self._kept_seconds
        for index, job in enumerate(over):
            left = len(over) - index
            is_much = left > 1 and (left > self._kept or size > self._kept_bytes)
            if not is_much and (job.ended or 0.0) >= oldest:
                return
            del self._jobs[job.id]
            size -= job.size


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


_CODE = """
import json, os, shutil, sys, threading, time
paths, server, folder = sys.argv[1:]
def watch():
    while os.name != "posix" or os.getppid() == int(server):
        time.sleep(0.2)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
threading.Thread(target=watch, daemon=True).start()
sys.path[:] = json.loads(paths)
from sugenet.web.worker import work
work(folder)
"""
"""Code of a worker.

It checks from the start whether its server still runs: later it would read the end of its input, but before
that it imports for seconds.
"""


class _Worker:
    """Worker process, as seen from the server; its messages go to the inbox of its slot."""

    def __init__(self, folder: str, inbox: SimpleQueue[dict[str, Any]]) -> None:
        paths = json.dumps([str(entry) for entry in sys.path])
        command = [sys.executable, "-c", _CODE, paths, str(os.getpid()), folder]
        # its own session: Ctrl-C in a terminal is for the server, which ends its workers itself
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.is_ready = False
        self._inbox, self._outbox = inbox, SimpleQueue[bytes | None]()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._write)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while line := out.readline():
            with suppress(ValueError):
                message = json.loads(line)
                body = out.read(message.get("size", 0))
                if len(body) < message.get("size", 0):  # it ended while writing
                    break
                self._inbox.put({**message, "body": body, "from": self})
        self._inbox.put({"said": "gone", "from": self})

    def _write(self) -> None:
        assert self.process.stdin is not None
        while (line := self._outbox.get()) is not None:
            with suppress(OSError):  # the reader notices a worker that is gone
                self.process.stdin.write(line)
                self.process.stdin.flush()

    def send(self, line: bytes) -> None:
        """Write a line, without waiting for a worker that does not read."""
        self._outbox.put(line)

    def kill(self) -> None:
        """End it now, and wait until it has ended."""
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
    """One question in a worker, with its deadlines."""

    worker: _Worker
    kill_at: float
    again: bool = False
    """Whether another worker was already dead before it received the question."""
    stop_at: float | None = None
    asked: bool = False
    taken: bool = False
    error: str | None = None

    def ask(self, job: Job, threads: int | None) -> None:
        """Send the question; its time starts now."""
        about = {"do": job.do, "id": job.id, "threads": threads, "size": len(job.body)}
        self.worker.send(_line(about) + job.body)
        self.asked, job.begun = True, time.monotonic()
        self.stop_at = job.begun + job.limit + _GRACE
        self.kill_at = self.stop_at + _PATIENCE
        job.tell()


class _Slot:
    """Slot for a worker: takes questions from the desk, and replaces a worker that has ended."""

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
            except Exception as problem:  # out of memory, processes or threads: the next question may succeed
                error = f"no worker could be started: {getattr(problem, 'strerror', None) or problem}."
            self.desk.finish(job, error)
            self.job = None

    def _work(self, job: Job) -> str | None:
        """Have a question answered; return the error, if there is one."""
        job.progress, job.begun = "the worker is getting ready", time.monotonic()
        job.tell()
        turn = _Turn(self._fit(), time.monotonic() + _READY_SECONDS)
        while True:
            if self.desk.is_closed:
                return _CLOSING
            if job.cancelled and not turn.asked:
                return None
            if turn.worker.is_ready and not turn.asked:
                turn.ask(job, 1 if self.desk.is_shared() else None)
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
        """Process a message; return whether the question is over."""
        if message["said"] == "cancel" and message["id"] == job.id:
            turn.stop_at = time.monotonic()
            turn.kill_at = min(turn.kill_at, turn.stop_at + _PATIENCE)
        if message.get("from") is not turn.worker:  # late messages of a replaced worker
            return False
        match message["said"]:
            case "ready":
                turn.worker.is_ready = True
            case "gone":
                if turn.taken or turn.again:
                    turn.error = (
                        "the worker process ended before it had an answer. The server still runs: ask again, "
                        "or about a smaller region."
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
                job.size += len(message["body"])
                if said in ("done", "failed"):
                    job.answer, turn.error = message["body"] or None, message.get("error")
                    return True
                if said == "part":
                    job.parts.append(message["body"])
                else:
                    job.progress = message["words"]
                job.tell()
        return False

    def _fit(self) -> _Worker:
        """Return a running worker, after processing all messages from idle times."""
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
