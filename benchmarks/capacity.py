"""Capacities: Sugeno integral, additive Moebius and Shapley against pyfmtools 5.4.1 on the same data; focal
sets of 400 weights.

Run ``python -m benchmarks.capacity [--quick]``. pyfmtools is optional: ``CXXFLAGS="-include cstring" pip
install pyfmtools==5.4.1``.

pyfmtools documents two ways to call it: its Python functions, and its C functions through CFFI with pointers
kept between calls. Both are timed for the integral. In the last line, ``sugeno_batch_vs_pyfmtools`` is
against the Python function called per sample, ``sugeno_batch_vs_pyfmtools_cffi`` against the C function
called per sample through CFFI; the others have only a Python function.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from sugenet.capacity import Dense, WeightedThreshold, additive_moebius, shapley, sugeno

try:
    import pyfmtools
    from _pyfmtools import ffi, lib
except ImportError as error:
    pyfmtools = None
    MISSING = f"pyfmtools cannot be imported ({error}); its figures are null"


def best(function: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The answer and the least time of several runs."""
    answer, times = None, []
    for _ in range(repeats):
        start = perf_counter()
        answer = function()
        times.append(perf_counter() - start)
    return answer, min(times)


def random_table(rng: np.random.Generator, n: int) -> np.ndarray:
    """Values of a capacity by mask: sums of a random additive one,
    spread by a power for each set and made monotone.
    """
    weights = rng.random(n)
    table = np.zeros(1)
    for weight in weights / weights.sum():
        table = np.concatenate([table, table + weight])
    table = np.clip(table, 0, 1) ** rng.uniform(0.3, 3, table.size)
    for place in range(n):
        pairs = table.reshape(-1, 2, 1 << place)
        np.maximum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
    table[0], table[-1] = 0, 1
    return table


def report(
    name: str, ours: float, theirs: dict[str, tuple[str, float | None]], agreement: str
) -> dict[str, float | None]:
    """Print one comparison; `theirs` gives for each key of the last line how the peer was called and
    how long that took.
    """
    print(f"{name:<44} sugenet {ours * 1e3:10.3f} ms")
    ratios: dict[str, float | None] = {}
    for key, (way, time) in theirs.items():
        ratios[key] = None if time is None else round(time / ours, 2)
        if time is not None:
            print(f"{'':<44} {way:<44} {time * 1e3:10.3f} ms   {time / ours:9.1f} times as long ({key})")
    if agreement:
        print(f"{'':<44} {agreement}")
    return ratios


def sugeno_batch(rng: np.random.Generator, repeats: int) -> dict[str, float | None]:
    n, samples = 20, 100_000
    table, X = random_table(rng, n), rng.random((samples, n))
    mu = Dense(n, table)
    answer, ours = best(lambda: sugeno(mu, X), repeats)
    python = cffi = None
    agreement = ""
    if pyfmtools is not None:
        env = pyfmtools.fm_init(n)
        values, inputs = ffi.cast("double *", table.ctypes.data), ffi.cast("double *", X.ctypes.data)
        other, python = best(lambda: [pyfmtools.Sugeno(x, table, env) for x in X], repeats)
        direct, cffi = best(
            lambda: [lib.py_Sugeno(inputs + at, values, env) for at in range(0, samples * n, n)], repeats
        )
        pyfmtools.fm_free(env)
        differ = int(np.count_nonzero((np.asarray(answer) != other) | (np.asarray(other) != direct)))
        agreement = f"{differ} mismatches in {samples:,} samples"
    theirs = {
        "sugeno_batch_vs_pyfmtools": ("pyfmtools.Sugeno, called per sample", python),
        "sugeno_batch_vs_pyfmtools_cffi": ("lib.py_Sugeno by CFFI, called per sample", cffi),
    }
    return report(f"Sugeno integral, n = {n}, {samples:,} samples", ours, theirs, agreement)


def moebius_n15(rng: np.random.Generator, repeats: int) -> dict[str, float | None]:
    n = 15
    table = random_table(rng, n)
    mu = Dense(n, table)
    answer, ours = best(lambda: additive_moebius(mu), 20 * repeats)
    python, agreement = None, ""
    if pyfmtools is not None:
        env = pyfmtools.fm_init(n)
        other, python = best(lambda: pyfmtools.Mobius(table, env), repeats)
        pyfmtools.fm_free(env)
        agreement = (
            f"largest difference {np.abs(answer - other).max():.1e}, largest value {np.abs(other).max():.1e}"
        )
    return report(
        f"additive Moebius, n = {n}",
        ours,
        {"moebius_n15_vs_pyfmtools": ("pyfmtools.Mobius", python)},
        agreement,
    )


def shapley_n20(rng: np.random.Generator, repeats: int) -> dict[str, float | None]:
    n = 20
    table = random_table(rng, n)
    mu = Dense(n, table)
    answer, ours = best(lambda: shapley(mu), 5 * repeats)
    python, agreement = None, ""
    if pyfmtools is not None:
        env = pyfmtools.fm_init(n)
        other, python = best(lambda: pyfmtools.Shapley(table, env), 2 * repeats)
        pyfmtools.fm_free(env)
        agreement = f"largest difference {np.abs(np.array(list(answer.values())) - other).max():.1e}"
    return report(
        f"Shapley values, n = {n}",
        ours,
        {"shapley_n20_vs_pyfmtools": ("pyfmtools.Shapley", python)},
        agreement,
    )


def focal_sets(rng: np.random.Generator, repeats: int) -> tuple[float, float]:
    n, wanted = 400, 10_000
    weights = rng.integers(1, 101, n).tolist()
    mu = WeightedThreshold(weights, sum(weights) // 2)
    count, counting = best(mu.focal_count, repeats)
    listed, listing = best(lambda: list(islice(mu.focal_sets(), wanted)), repeats)
    shortest, ranking = best(lambda: list(islice(mu.focal_sets(by="size"), wanted)), 1)
    print(
        f"{f'number of focal sets, n = {n} weights 1..100':<44} sugenet {counting * 1e3:10.3f} ms   "
        f"about {float(count):.2e}"
    )
    print(f"{f'first {len(listed):,} of them':<44} sugenet {listing * 1e3:10.3f} ms")
    sizes = [len(focal.members) for focal in shortest]
    print(
        f"{f'first {len(shortest):,}, shortest first':<44} sugenet {ranking * 1e3:10.3f} ms   {sizes[0]} to "
        f"{sizes[-1]} criteria"
    )
    assert sizes == sorted(sizes)
    return round(counting, 4), round(listing, 4)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats, well under a minute")
    repeats = 2 if parser.parse_args().quick else 7
    rng = np.random.default_rng(2024)
    if pyfmtools is None:
        print(MISSING)
    ratios = {**sugeno_batch(rng, repeats), **moebius_n15(rng, repeats), **shapley_n20(rng, repeats)}
    counting, listing = focal_sets(rng, repeats)
    print(
        "RESULT "
        + json.dumps({**ratios, "focal_count_n400_s": counting, "focal_first_10000_n400_s": listing})
    )


if __name__ == "__main__":
    main()
