"""Kills at random moments: a sweep whose driver or workers are killed loses nothing, repeats nothing, and
leaves no process behind.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.sweeps.content import SAMPLES, Driver, answered, ask, content, read, seconds

__all__ = ["GONE", "all_gone", "kills"]

GONE = 5.0
"""Seconds after a kill in which every process must be gone."""
_ROBBED = 3
"""Workers of one driver that are killed at most: a sweep gives up where they all end."""


def kills(n: int, seed: int) -> dict[str, float]:
    """Kill drivers and workers of `sugenet sweep` at `n` random moments, and resume after each.

    Returns
    -------
    dict
        The number of ``kills``, and how many of them were of ``drivers``, and while processes were
        ``starting``; the answers that were ``lost`` or ``repeated``; the processes alive five seconds after
        their driver (``orphans``), and the ``worst_s`` until all were gone.
    """
    rng = random.Random(seed)
    found = dict.fromkeys(("kills", "drivers", "starting", "lost", "repeated", "orphans"), 0) | {
        "worst_s": 0.0
    }
    with TemporaryDirectory() as folder:
        ask(Path(folder) / "undisturbed.db", jobs=1).close()
        undisturbed = content(Path(folder) / "undisturbed.db")
        while found["kills"] < n:
            path = Path(folder) / f"{found['kills']}.db"
            for kept in _survive(path, rng, n, found):
                now = _answers(path)
                found["lost"] += len(kept.keys() - now.keys())
                found["repeated"] += sum(now[sample] != kept[sample] for sample in kept.keys() & now.keys())
            about, network, answers = content(path)
            found["lost"] += sum(answers.get(sample) != undisturbed[2][sample] for sample in range(SAMPLES))
            assert (about, network) == undisturbed[:2]
    return found


def _survive(path: Path, rng: random.Random, n: int, found: dict[str, float]) -> Iterator[dict[int, float]]:
    """Kill until the sweep is through; after each driver, yield what there was before it."""
    while True:
        kept = _answers(path)
        driver, robbed = Driver(path, jobs=rng.choice((1, 2, 2, 3))), 0
        while found["kills"] < n:
            moment = rng.choice(("start", "workers", "answers"))
            if not _wait(driver, moment, rng):
                break
            workers = driver.workers()
            found["starting"] += moment != "answers"
            if workers and robbed < _ROBBED and rng.random() < 0.3:
                os.kill(rng.choice(workers), signal.SIGKILL)
                robbed += 1
                found["kills"] += 1
                continue
            driver.process.kill()
            found["kills"] += 1
            found["drivers"] += 1
            orphans, took = all_gone(driver)
            found["orphans"] += len(orphans)
            found["worst_s"] = max(found["worst_s"], took)
            break
        code, _, complained = driver.end()
        assert code in (0, -signal.SIGKILL), complained
        yield kept
        if code == 0:
            return


def _wait(driver: Driver, moment: str, rng: random.Random) -> bool:
    """Wait for a moment: any at the start, when workers start, or when some more answers are there.

    Returns
    -------
    bool
        Whether the driver still runs then.
    """
    match moment:
        case "start":
            time.sleep(rng.uniform(0.0, 2.0))
        case "workers":
            while driver.process.poll() is None and not driver.workers():
                time.sleep(0.01)
            time.sleep(rng.uniform(0.0, 1.0))
        case _:
            driver.until(answered(driver.path) + rng.randrange(1, 40))
            time.sleep(rng.uniform(0.0, 0.05))
    return driver.process.poll() is None


def all_gone(driver: Driver) -> tuple[list[bytes], float]:
    """Commands of the processes of a killed driver that lived too long, and the seconds until all were gone.

    Those that stay are killed then.
    """
    driver.process.wait()
    start, orphans = time.monotonic(), list[bytes]()
    while family := driver.family():
        if time.monotonic() - start > GONE and not orphans:
            orphans = [read(f"/proc/{process}/cmdline") for process in family]
        if time.monotonic() - start > 2 * GONE:
            for process in family:
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)
    return orphans, time.monotonic() - start


def _answers(path: Path) -> dict[int, float]:
    """The answers in a file, which may not be there yet, by the time that each took."""
    return seconds(path) if answered(path) else {}
