"""What the tests of sweeps share: a sweep of their own, the content of a results file with its times taken
out, and drivers in processes of their own that can be killed.
"""

import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import sugenet as sg
from sugenet.sweeps.store import reading

SAMPLES = 120


def ask(store=None, *, samples=SAMPLES, **more):
    """One question of the first of the shipped digits: all of them settled, without any limit of time."""
    X, y = sg.models.samples("digits")
    question = more.pop("question", sg.Robust(sg.each, sg.Hamming(2)))
    return sg.sweep(sg.models.digits(), X[:samples], question, y=y[:samples], store=store, **more)


def timeless(data):
    """JSON without the times in it."""
    match data:
        case dict():
            return {name: timeless(value) for name, value in data.items() if name not in ("seconds", "made")}
        case list():
            return [timeless(value) for value in data]
    return data


def content(path):
    """Everything that a results file says, times aside."""
    store = reading(path)
    try:
        store.inspect()
        rows = store.rows()
        hashes = dict(store.hashes())
        answers = {
            row.sample: (timeless(asdict(row)), hashes[row.sample], timeless(store.answer(row.sample)))
            for row in rows
        }
        return timeless(store.about()), store.network(), answers
    finally:
        store.close()


def seconds(path):
    """The time that each stored answer took: as good as a name, since none takes as long as another."""
    store = reading(path)
    try:
        return {row.sample: row.seconds for row in store.rows()}
    finally:
        store.close()


def answered(path):
    """How many answers a file has that may be being written, or not be there yet."""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    except sqlite3.Error:
        return 0
    try:
        return connection.execute("SELECT count(*) FROM answers").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        connection.close()


class Driver:
    """The command that asks what `ask` does, in a process group of its own."""

    def __init__(self, path, jobs=2):
        asked = ["digits", "--ask", "verify", "--hamming", "2", "--first", str(SAMPLES)]
        self.path, self.mark = path, secrets.token_hex(16).encode()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sugenet", "sweep", *asked, "--jobs", str(jobs), "--quiet", "-o", path],
            env={**os.environ, "SUGENET_TEST": self.mark.decode()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def until(self, count):
        """Wait until so many answers are in the file; whether the driver still runs."""
        while self.process.poll() is None and answered(self.path) < count:
            time.sleep(0.01)
        return self.process.poll() is None

    def workers(self):
        """Numbers of the processes that it started to work for it."""
        return [number for number in self.family() if b"LokyProcess" in read(f"/proc/{number}/cmdline")]

    def family(self):
        """Numbers of all living processes that come from it, its own among them, whoever their parent is."""
        numbers = filter(str.isdigit, os.listdir("/proc"))
        return [int(number) for number in numbers if self.mark in read(f"/proc/{number}/environ")]

    def kill(self):
        """End it as a crash would."""
        self.process.kill()
        return self.end()

    def interrupt(self):
        """Press Ctrl-C: everyone of the group gets it."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.end()

    def end(self):
        """Its exit code, and what it said."""
        said, complained = self.process.communicate(timeout=300)
        return self.process.returncode, said, complained


def read(path):
    """A file in /proc; nothing of a process that has ended."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def is_alive(number):
    """Whether a process runs; one that only waits to be counted does not."""
    state = read(f"/proc/{number}/stat").rpartition(b")")[2].split()[:1]
    return state not in ([], [b"Z"], [b"X"])
