"""Certified accuracy of the public network lfcW1A1 (784-1024-1024-1024-10, zoo bnn_pynq) on MNIST test images
under L-inf: ``python -m benchmarks.certified [--quick]``.

One sweep a radius, each into a results file of its own in ``--folder``; run again, it goes on. With
``--retry`` the undecided are asked again with a longer ``--time-limit``. Every proof has a certificate:
``sugenet results FILE --check`` checks them again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np

import sugenet as sg
from benchmarks import _zoo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="40 images and 1 s each, in a temporary folder")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="the first N test images")
    parser.add_argument("--radii", type=int, nargs="+", default=[8, 16, 25], metavar="R")
    parser.add_argument("--time-limit", type=float, default=6.0, metavar="SECONDS")
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--jobs", type=int, metavar="N", help="worker processes, one a core unless given")
    parser.add_argument("--folder", default="certified", metavar="FOLDER")
    options = parser.parse_args()
    zoo = _zoo.folder()
    if zoo is None:
        print("RESULT {}")
        return
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            run(zoo, Path(folder), 40, options.radii, 1.0, False, options.jobs)
    else:
        folder = Path(options.folder)
        folder.mkdir(parents=True, exist_ok=True)
        run(zoo, folder, options.count, options.radii, options.time_limit, options.retry, options.jobs)


def run(zoo, folder, count, radii, limit, retry, jobs):
    network = _zoo.lfc(zoo)
    X, y = (part[:count].astype(int) for part in _zoo.mnist(zoo))
    print("radius  pixels  samples    right  certified  refuted  undecided  cpu s  bytes a sample")
    figures = {}
    for radius in radii:
        found = sg.sweep(
            network,
            X,
            sg.Robust(sg.each, sg.Linf(radius)),
            y=y,
            store=folder / f"linf{radius}.db",
            time_limit=limit,
            retry=retry,
            jobs=jobs,
        )
        rows = found.rows()
        right = [row for row in rows if row.index == row.truth]
        kinds = Counter(row.outcome for row in right if row.certified or row.outcome != "proved")
        seconds = sum(row.seconds for row in rows)
        size = (folder / f"linf{radius}.db").stat().st_size / count
        # pixels that the radius lets cross the threshold
        near = (np.minimum(X + radius, 255) > 127).sum(axis=1) - (np.maximum(X - radius, 0) > 127).sum(axis=1)
        print(
            f"{radius:6}  {median(near):6.0f}  {len(rows):7}  {len(right) / count:7.2%}  "
            f"{kinds['proved'] / count:9.2%}  "
            f"{kinds['refuted'] / count:7.2%}  {kinds['undecided'] / count:9.2%}  {seconds:5.0f}  {size:.0f}",
            flush=True,
        )
        figures[str(radius)] = {
            "accuracy": len(right) / count,
            "certified": kinds["proved"] / count,
            "refuted": kinds["refuted"] / count,
            "undecided": kinds["undecided"] / count,
        }
        found.close()
    print(f"RESULT {json.dumps({'samples': count, 'time_limit_s': limit, 'linf': figures})}")


if __name__ == "__main__":
    main()
