"""Whole data sets: 1 against 2 processes, a Dask cluster against joblib's own processes, and what a sweep
that was killed has lost or done twice: ``python -m benchmarks.sweep [--quick]``.

The question is whether 3 flipped bits can change the class, of the shipped digits (359 samples; without
``--quick`` three times over). Workers are started and warm before the clock starts; the systems take turns,
and the shortest time of each counts. One process is the calling one, without any worker. The killed sweep is
a process of its own, ended by SIGKILL at several points, and gone on with.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import sugenet as sg
from benchmarks._measure import machine

QUESTION = sg.Robust(sg.each, sg.Hamming(3))
KILLED = """
import sys
from benchmarks.sweep import ask
ask(1, store=sys.argv[1], jobs=2)
"""


def ask(times, count=None, **how):
    X, y = sg.models.samples("digits")
    X, y = X[:count], y[:count]
    network = sg.models.digits()
    for _ in range(times):
        with sg.sweep(network, X, QUESTION, y=y, **how) as found:
            assert len(found) == len(X)
    return times * len(X)


def speeds(times, rounds):
    """The shortest times of one and two processes, and then of two processes and Dask: an idle cluster takes
    some of the machine, so it is started only for the second comparison.
    """
    from distributed import Client, LocalCluster

    alone = take_turns({"1 process": {"jobs": 1}, "2 processes": {"jobs": 2}}, times, rounds)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp") as cluster,
        Client(cluster),
    ):
        beside = take_turns({"2 processes": {"jobs": 2}, "Dask": {"backend": "dask"}}, times, rounds)
    return alone, beside


def take_turns(systems, times, rounds):
    best = dict.fromkeys(systems, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        for how in systems.values():
            ask(2, 40, **how)  # everything is loaded and compiled
        for turn in range(rounds):
            for name, how in systems.items():
                stores = [Path(folder) / f"{name} {turn} {k}.db" for k in range(times)]
                start = time.perf_counter()
                for store in stores:
                    ask(1, store=store, **how)
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def kept(count):
    """How much a sweep can keep: predictions of random images on two processes, and going on with the file;
    samples a second, bytes a sample, seconds.
    """
    X = np.random.default_rng(0).integers(0, 17, (count, 64)).astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        path, seconds = Path(folder) / "kept.db", []
        for _ in range(2):
            start = time.perf_counter()
            sg.sweep(sg.models.digits(), X, sg.Predict(sg.each), store=path, jobs=2).close()
            seconds.append(time.perf_counter() - start)
        return count / seconds[0], path.stat().st_size / count, seconds[1]


def killed(points):
    """Kill a sweep when so many answers are there, and go on; answers that were lost, and done twice."""
    lost = repeated = 0
    with tempfile.TemporaryDirectory() as folder:
        path, kept = Path(folder) / "killed.db", {}
        for point in [*points, None]:
            driver = subprocess.Popen(
                [sys.executable, "-c", KILLED, path],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stderr=subprocess.DEVNULL,
            )
            while driver.poll() is None and (point is None or len(seen(path)) < point):
                time.sleep(0.02)
            driver.kill()
            driver.wait()
            now = seen(path)
            lost += sum(sample not in now for sample in kept)
            repeated += sum(now.get(sample, seconds) != seconds for sample, seconds in kept.items())
            kept = now
        lost += 359 - len(kept)
        with sg.read_results(path) as found:
            checked = found.check(jobs=2)
        width = path.stat().st_size / 359
    return lost, repeated, checked, width


def seen(path):
    try:
        with sg.read_results(path) as found:
            return {row.sample: row.seconds for row in found.rows()}
    except sg.errors.FileError:
        return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="end within 50 s")
    quick = parser.parse_args().quick
    print(machine())
    times, rounds = (1, 2) if quick else (3, 5)
    alone, beside = speeds(times, rounds)
    count = times * 359
    for title, best in (("", alone), (", beside an idle Dask cluster", beside)):
        for name, seconds in best.items():
            where = title if name != "Dask" else ", 2 workers"
            print(f"{name + where:42}  {seconds:7.2f} s  {count / seconds:7.1f} samples a second")
    size = 5_000 if quick else 20_000
    speed, width, again = kept(size)
    print(f"{size:,} predictions: {speed:.0f} samples a second, {width:.0f} bytes each; again: {again:.2f} s")
    lost, repeated, checked, width = killed([100, 250] if quick else range(20, 350, 20))
    print(f"killed and gone on with: {lost} lost, {repeated} done twice; {width:.0f} bytes a sample")
    print(checked)
    figures = {
        "speedup_2_processes": round(alone["1 process"] / alone["2 processes"], 2),
        "dask_overhead": round(beside["Dask"] / beside["2 processes"] - 1, 3),
        "samples_per_s": round(count / alone["2 processes"], 1),
        "resume_lost": lost,
        "resume_repeated": repeated,
    }
    print(f"RESULT {json.dumps(figures)}")


if __name__ == "__main__":
    main()
