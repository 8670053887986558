"""The server as a process of its own, and a small client that sends exactly what it is told."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

LONG = 60
"""Seconds after which a test gives up."""
JSON = {"X-Sugenet": "1", "Content-Type": "application/json"}
SERVE = """
import sugenet as sg
from sugenet.web import guards, serve, serving
{first}
X, y = sg.models.samples("digits")
notify = lambda words: print(words, flush=True)
call = lambda: serve(sg.models.digits(), X, y, title="digits", notify=notify, **{options!r})
{last}
"""


class Reply(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """Shows the token of the server with every request, except with raw bytes."""

    def __init__(self, link, process):
        self.link, self.process = link, process
        parts = urlsplit(link)
        self.host, self.port = parts.hostname, parts.port
        self.address = f"http://{parts.netloc}/"
        self.token = parse_qs(parts.query).get("token", [None])[0]
        self.bearer = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def send(self, method, path, body=None, headers=None, **options):
        return self.plain(method, path, body, self.bearer | (headers or {}), **options)

    def plain(self, method, path, body=None, headers=None, **options):
        """The same without the token."""
        connection = HTTPConnection(self.host, self.port, timeout=LONG)
        try:
            connection.request(method, path, body, headers or {}, **options)
            reply = connection.getresponse()
            return Reply(
                reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
            )
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.send(
            "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )

    def post(self, path, data):
        return self.send("POST", path, data if isinstance(data, bytes | str) else json.dumps(data), JSON)

    def raw(self, data):
        """Send bytes as they are; all that comes back until the server closes the connection or says
        nothing for a while.
        """
        with socket.create_connection((self.host, self.port), timeout=LONG) as connection:
            connection.sendall(data)
            connection.settimeout(0.4)
            found = b""
            try:
                while piece := connection.recv(65536):
                    found += piece
            except (TimeoutError, ConnectionResetError):
                pass
            return found

    def ask(self, **question):
        """The standing of a question that is over."""
        taken = self.post("/api/questions", question)
        assert taken.status == 202, taken.body
        return self.end_of(taken.json["id"])

    def end_of(self, number):
        seen, parts, give_up = 0, [], time.monotonic() + LONG
        while time.monotonic() < give_up:
            standing = self.get(f"/api/questions/{number}?seen={seen}&wait=10").json
            parts += standing["parts"]
            seen = len(parts)
            if standing["state"] in ("done", "failed", "cancelled"):
                return standing | {"parts": parts}
        raise AssertionError(f"question {number} did not end")

    def cancel(self, number):
        return self.send("DELETE", f"/api/questions/{number}", headers={"X-Sugenet": "1"})


@contextmanager
def serving(first="", last="call()", **options):
    """The digits model, served at a free port by a process of its own, in which something may be done first.

    It must say nothing else.
    """
    code = SERVE.replace("{options!r}", repr({"port": 0, "index": 7, "workers": 1} | options))
    code = code.replace("{first}", first).replace("{last}", last)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            link, told = None, []
            while link is None:
                told.append(process.stdout.readline())
                assert told[-1], "the server ended before it said its address"
                link = next((word for word in told[-1].split() if word.startswith("http://")), None)
            client = Client(link, process)
            client.told = "".join(told)
            yield client
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=LONG)
    assert not said, said


def children(pid):
    """Process numbers of the children of a process (Linux)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == pid:
            found.append(int(path.parent.name))
    return found


def folder_of(worker):
    """Where a worker has the copy of the network (Linux)."""

    def last_argument():
        return Path(Path(f"/proc/{worker}/cmdline").read_text().rstrip("\0").rpartition("\0")[2])

    # Until it runs its program, it has the arguments of its parent.
    wait_until(lambda: last_argument().is_absolute())
    return last_argument()


def is_there(pid):
    """Whether a process is there; one that is dead but not yet waited for is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(true):
    """Wait for something that soon comes true."""
    give_up = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < give_up, "it did not come true"
        time.sleep(0.02)


HAS_PROC = os.path.exists("/proc/self/stat")
