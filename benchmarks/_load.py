"""The server under load, over real sockets of this machine: ``python -m benchmarks._load [--seconds 10]``.

`load`: clients that ask everyday questions about the shipped digits model, each one its next question when it
has the answer to the one before. Every question is another one: sample, kind and region change each time.
`predictions`: classes of samples, several or one in a request. `soak`: memory of the server and its workers
while clients ask for long.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import sugenet as sg
from benchmarks._measure import machine

__all__ = ["load", "predictions", "soak"]

BATCH = 100
"""Samples of one request for predictions."""
SETTLED = 120.0
"""Seconds after which memory should be flat."""
ENDED = ("done", "failed", "cancelled")
Figures = dict[str, Any]


class Client:
    """One connection that asks, waits for the answer, and asks again."""

    def __init__(self, port: int, token: str, name: str) -> None:
        self._port = port
        self._head = (
            f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nX-Sugenet: 1\r\n"
            f"X-Sugenet-Client: {name}\r\nContent-Type: application/json\r\n"
        )

    async def open(self) -> None:
        self._in, self._out = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 26)

    async def close(self) -> None:
        self._out.close()
        await self._out.wait_closed()

    async def send(self, method: str, path: str, data: Any = None) -> tuple[int, Any]:
        body = b"" if data is None else json.dumps(data).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        self._out.write(head.encode() + body)
        lines = (await self._in.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:] if line)
        found = await self._in.readexactly(int(fields["content-length"]))
        return int(lines[0].split()[1]), json.loads(found)

    async def ask(self, question: Figures) -> str:
        """How a question ended: done, failed, cancelled, or the status of a refusal."""
        status, found = await self.send("POST", "/api/questions", question)
        if status != 202:
            return str(status)
        seen, number = 0, found["id"]
        while True:
            status, found = await self.send("GET", f"/api/questions/{number}?seen={seen}&wait=20")
            if status != 200:
                return str(status)
            seen += len(found["parts"])
            if found["state"] in ENDED:
                return str(found["state"])


def everyday(number: int) -> Figures:
    """A question that people ask, another one for each number."""
    X, _ = sg.models.samples("digits")
    sample, turn = X[number % len(X)].tolist(), number // len(X)
    sample[turn % 64] = (sample[turn % 64] + 1 + turn // 64) % 17
    ball = {"kind": "L0", "radius": str(1 + number // 5 % 2)}
    kinds: tuple[Figures, ...] = (
        {"kind": "verify", "region": ball},
        {"kind": "whatif", "cost": "L0"},
        {"kind": "why", "region": ball},
        {"kind": "count", "region": ball},
        {"kind": "verify", "region": {"kind": "Hamming", "radius": "3"}},
    )
    return {"sample": sample, **kinds[number % len(kinds)]}


@contextmanager
def served() -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The digits model, served by a process of its own: the process, the port, the token."""
    command = [sys.executable, "-m", "sugenet", "serve", "digits", "--port", "0"]
    root = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join(filter(None, [str(root / "src"), os.environ.get("PYTHONPATH")]))
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
    ) as process:
        try:
            assert process.stderr is not None
            words: Iterator[str] = (word for line in process.stderr for word in line.split())
            link = urlsplit(next(word for word in words if word.startswith("http://")))
            yield process, link.port or 80, parse_qs(link.query).get("token", [""])[0]
        finally:
            process.send_signal(signal.SIGINT)


@asynccontextmanager
async def clients(number: int, port: int, token: str) -> AsyncIterator[list[Client]]:
    """Clients with an open connection each; the server closes those that ask nothing for some seconds."""
    made = [Client(port, token, f"client {name}") for name in range(number)]
    for client in made:
        await client.open()
    try:
        yield made
    finally:
        for client in made:
            await client.close()


async def _warm(port: int, token: str) -> None:
    """Let every worker load its kernels."""
    async with clients(10, port, token) as asking:
        await asyncio.gather(*(client.ask(everyday(kind)) for kind, client in enumerate(asking)))


async def _ask_on(
    client: Client, numbers: Iterator[int], end: float, took: list[float], ends: list[str]
) -> None:
    while (start := monotonic()) < end:
        ends.append(await client.ask(everyday(next(numbers))))
        took.append(monotonic() - start)
        if ends[-1] == "429":
            await asyncio.sleep(0.1)


def _share(sorted_: list[float], share: float) -> float:
    return round(1000 * sorted_[min(len(sorted_) - 1, int(share * len(sorted_)))], 1)


async def _load(port: int, token: str, number: int, seconds: float) -> Figures:
    took: list[float] = []
    ends: list[str] = []
    await _warm(port, token)
    async with clients(number, port, token) as asking:
        start, numbers = monotonic(), count(100)
        await asyncio.gather(*(_ask_on(one, numbers, start + seconds, took, ends) for one in asking))
        passed = monotonic() - start
    done = ends.count("done")
    times = sorted(time for time, how in zip(took, ends, strict=True) if how == "done")
    return {
        f"clients_{number}_p50_ms": _share(times, 0.5),
        f"clients_{number}_p99_ms": _share(times, 0.99),
        "questions_per_s": round(done / passed, 1),
        "refused_429": ends.count("429"),
        "failed": len(ends) - done - ends.count("429"),
    }


def load(clients: int = 50, seconds: float = 60.0) -> Figures:
    """Ask everyday questions, each client its next when it has its answer."""
    with served() as (_, port, token):
        return asyncio.run(_load(port, token, clients, seconds))


async def _predict_on(client: Client, samples: list[Any], labels: list[int], size: int, end: float) -> int:
    answered, start = 0, 0
    while monotonic() < end:
        batch = samples[start : start + size]
        status, found = await client.send("POST", "/api/predict", {"samples": batch})
        classes = [one["class"] for one in found["predictions"]]
        if status != 200 or classes != labels[start : start + size]:
            raise AssertionError(f"status {status}, classes {classes[:9]}")
        answered += len(batch)
        start = (start + size) % (len(samples) - size)
    return answered


async def _predictions(port: int, token: str, seconds: float) -> Figures:
    X = sg.models.samples("digits")[0]
    samples, labels = X.tolist(), sg.models.digits().predict(X).tolist()
    found: Figures = {}
    async with clients(8, port, token) as asking:
        for name, size in (("predictions_per_s", BATCH), ("single_predictions_per_s", 1)):
            await _predict_on(asking[0], samples, labels, size, 0.0)
            start = monotonic()
            end = start + seconds / 2
            answered = await asyncio.gather(*(_predict_on(one, samples, labels, size, end) for one in asking))
            found[name] = round(sum(answered) / (monotonic() - start))
    return found


def predictions(seconds: float = 10.0) -> Figures:
    """Ask for classes: half of the time many samples in a request, half of it one."""
    with served() as (_, port, token):
        return asyncio.run(_predictions(port, token, seconds))


def _resident(process: int) -> dict[int, float]:
    """Megabytes in memory of a process and of those that it started (Linux)."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    ours = [process, *(child for child, parent in parents.items() if parent == process)]
    page = os.sysconf("SC_PAGE_SIZE") / 1e6
    return {one: int(Path(f"/proc/{one}/statm").read_text().split()[1]) * page for one in ours}


async def _watch(process: int, end: float, seen: list[tuple[float, dict[int, float]]]) -> None:
    while monotonic() < end:
        seen.append((monotonic(), _resident(process)))
        await asyncio.sleep(min(1.0, max(0.0, end - monotonic())))


async def _soak(process: int, port: int, token: str, number: int, seconds: float) -> Figures:
    X = sg.models.samples("digits")[0]
    samples, labels = X.tolist(), sg.models.digits().predict(X).tolist()
    took: list[float] = []
    ends: list[str] = []
    seen: list[tuple[float, dict[int, float]]] = []
    await _warm(port, token)
    async with clients(number + 1, port, token) as asking:
        start, numbers = monotonic(), count(100)
        end = start + seconds
        await asyncio.gather(
            _watch(process, end, seen),
            _predict_now_and_then(asking[0], samples, labels, end),
            *(_ask_on(one, numbers, end, took, ends) for one in asking[1:]),
        )
        passed = monotonic() - start
    settled = [sizes for moment, sizes in seen if moment - start >= min(SETTLED, seconds / 4)]
    tenth = max(1, len(settled) // 10)
    growth = {
        one: median(sizes[one] for sizes in settled[-tenth:])
        / median(sizes[one] for sizes in settled[:tenth])
        - 1
        for one in settled[-1]
        if one in settled[0]
    }
    return {
        "seconds": round(passed),
        "questions": ends.count("done"),
        "refused_429": ends.count("429"),
        "failed": len(ends) - ends.count("done") - ends.count("429"),
        "server_mb": round(settled[-1][process], 1),
        "workers_mb": [round(size, 1) for one, size in settled[-1].items() if one != process],
        "server_growth_percent": round(100 * growth.pop(process), 2),
        "worst_worker_growth_percent": round(100 * max(growth.values(), default=0.0), 2),
        "workers_replaced": len(settled[-1].keys() - settled[0].keys()),
    }


async def _predict_now_and_then(client: Client, samples: list[Any], labels: list[int], end: float) -> None:
    while monotonic() < end:
        await _predict_on(client, samples, labels, BATCH, monotonic() + 0.01)
        await asyncio.sleep(0.2)


def soak(seconds: float = 1200.0, clients: int = 10) -> Figures:
    """Ask for long, and see whether memory grows after the first two minutes (a quarter of a shorter run)."""
    with served() as (process, port, token):
        return asyncio.run(_soak(process.pid, port, token, clients, seconds))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each part (default: 10)")
    parser.add_argument("--part", choices=("load", "predictions", "soak"), action="append")
    options = parser.parse_args()
    found: Figures = {}
    for part in options.part or ("load", "predictions"):
        found |= {"load": load, "predictions": predictions, "soak": soak}[part](seconds=options.seconds)
    print(machine())
    for name, figure in found.items():
        print(f"{name:<32}{figure!s:>12}")
    print("RESULT " + json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
