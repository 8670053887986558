"""Capacities: integrals, transforms and indices against pyfmtools 5.4.1 on the same data; what costs how many
passes over the table; focal sets of 400 weights.

Run ``python -m benchmarks.capacity [--quick]``. pyfmtools is optional: ``CXXFLAGS="-include cstring" pip
install pyfmtools==5.4.1``. kappalab needs R and is not compared here.

pyfmtools documents two ways to call it: its Python functions, and its C functions through CFFI with pointers
kept between calls. Both are timed for the integrals. In the last line, ``sugeno_batch_vs_pyfmtools`` is
against the Python function called per sample, ``sugeno_batch_vs_pyfmtools_cffi`` against the C function
called per sample through CFFI; the others have only a Python function.

NumPy and pyfmtools use one thread. One pass is the additive Moebius transform of the table by NumPy: n sweeps
over 2^n floats. ``passes`` in the last line has the cost of each function in passes, in CPU time.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from itertools import islice
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # pyfmtools uses one thread, too

import numpy as np

from sugenet.capacity import (
    Dense,
    WeightedThreshold,
    additive_moebius,
    additivity,
    banzhaf,
    choquet,
    entropy_float,
    favor,
    interactions,
    is_belief,
    is_necessity,
    is_self_conjugate,
    is_supermodular,
    is_symmetric,
    maxitivity,
    minitivity,
    orness,
    shapley,
    sugeno,
    transforms,
    variance,
    veto,
)

try:
    import pyfmtools
    from _pyfmtools import ffi, lib
except ImportError as error:
    pyfmtools = None
    MISSING = f"pyfmtools cannot be imported ({error}); its figures are null"


def best(
    function: Callable[[], Any], repeats: int, clock: Callable[[], float] = perf_counter
) -> tuple[Any, float]:
    """The answer and the least time of several runs."""
    answer, times = None, []
    for _ in range(repeats):
        start = clock()
        answer = function()
        times.append(clock() - start)
    return answer, min(times)


def random_table(rng: np.random.Generator, n: int) -> np.ndarray:
    """Values of a capacity by mask: sums of a random additive one,
    spread by a power for each set and made monotone.
    """
    table = sums(rng.random(n).tolist())
    table = table ** rng.uniform(0.3, 3, table.size)
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


def integral_batch(
    rng: np.random.Generator, repeats: int, integral: Callable[..., Any], name: str
) -> dict[str, float | None]:
    """The integrals of many samples; `name` is that of the functions of pyfmtools."""
    n, samples = 20, 100_000
    table, X = random_table(rng, n), rng.random((samples, n))
    mu = Dense(n, table)
    answer, ours = best(lambda: integral(mu, X), repeats)
    python = cffi = None
    agreement = ""
    if pyfmtools is not None:
        env = pyfmtools.fm_init(n)
        values, inputs = ffi.cast("double *", table.ctypes.data), ffi.cast("double *", X.ctypes.data)
        by_python, by_c = getattr(pyfmtools, name), getattr(lib, f"py_{name}")
        other, python = best(lambda: [by_python(x, table, env) for x in X], repeats)
        direct, cffi = best(
            lambda: [by_c(inputs + at, values, env) for at in range(0, samples * n, n)], repeats
        )
        pyfmtools.fm_free(env)
        largest = max(np.abs(np.asarray(answer) - theirs).max() for theirs in (other, direct))
        agreement = f"largest difference {largest:.1e} in {samples:,} samples"
    theirs = {
        f"{name.lower()}_batch_vs_pyfmtools": (f"pyfmtools.{name}, called per sample", python),
        f"{name.lower()}_batch_vs_pyfmtools_cffi": (f"lib.py_{name} by CFFI, called per sample", cffi),
    }
    return report(f"{name} integral, n = {n}, {samples:,} samples", ours, theirs, agreement)


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


def index_rows(rng: np.random.Generator, repeats: int) -> dict[str, float | None]:
    """Indices of one large table, and of a smaller one where the peer takes 3^n steps."""
    ratios: dict[str, float | None] = {}
    rows: list[tuple[str, int, Callable[[Dense], Any], str, Callable[[Any], Any]]] = [
        ("Shapley", 20, shapley, "Shapley values", lambda found: found),
        ("Banzhaf", 20, banzhaf, "Banzhaf values", lambda found: found),
        (
            "Entropy",
            20,
            lambda mu: {0: entropy_float(mu, normalized=False)},
            "entropy",
            lambda found: [found],
        ),
        (
            "Interaction",
            12,
            lambda mu: interactions(mu, 2),
            "interactions of pairs",
            lambda found: [found[1 << i | 1 << j] for i in range(12) for j in range(i + 1, 12)],
        ),
    ]
    for name, n, ours_of, label, pick in rows:
        table = random_table(rng, n)
        mu = Dense(n, table)
        answer, ours = best(lambda ours_of=ours_of, mu=mu: ours_of(mu), 5 * repeats)
        python, agreement = None, ""
        if pyfmtools is not None:
            env = pyfmtools.fm_init(n)
            call = getattr(pyfmtools, name)
            other, python = best(lambda call=call, table=table, env=env: call(table, env), repeats)
            pyfmtools.fm_free(env)
            largest = np.abs(np.array(list(answer.values())) - np.array(pick(other))).max()
            agreement = f"largest difference {largest:.1e}"
        ratios |= report(
            f"{label}, n = {n}",
            ours,
            {f"{name.lower()}_n{n}_vs_pyfmtools": (f"pyfmtools.{name}", python)},
            agreement,
        )
    return ratios


TABLE_FUNCTIONS: dict[str, Callable[[Dense], Any]] = {
    "check of a table": lambda mu: Dense(len(mu.criteria), mu.table()),
    "shapley": shapley,
    "banzhaf": banzhaf,
    "interactions, pairs": lambda mu: interactions(mu, 2),
    "interactions, triples": lambda mu: interactions(mu, 3),
    "orness": orness,
    "veto": veto,
    "favor": favor,
    "variance": variance,
    "entropy_float": entropy_float,
    "conjugate": lambda mu: mu.conjugate(),
    "focal_count": lambda mu: mu.focal_count(),
    "maxitivity": maxitivity,
    "minitivity": minitivity,
    "additivity": additivity,
    "is_belief": is_belief,
    "is_supermodular": is_supermodular,
    "is_symmetric": is_symmetric,
    "is_self_conjugate": is_self_conjugate,
    "is_necessity": is_necessity,
}


def sums(weights: list[float]) -> np.ndarray:
    """Sums of the weights of all sets, by mask."""
    table = np.zeros(1)
    for weight in weights:
        table = np.concatenate([table, table + weight])
    return np.minimum(table / table[-1], 1)


def passes(rng: np.random.Generator, n: int, repeats: int) -> dict[str, float]:
    """The cost of each function of a table, in passes over it: the slowest of four tables. Three are
    additive: one with rounding, and two exact ones, with few bits and with 53, so that no test of a
    property ends early.
    """
    weights = [1 / 32] * (2 * n - 32) + [1 / 16] * (32 - n)  # exact floats with the sum 1
    fine = (rng.integers(1, (1 << 53) // n, n - 1) / 2.0**53).tolist()
    fine.append(1 - sum(fine))
    tables = [Dense(n, random_table(rng, n)), *(Dense(n, sums(row)) for row in ([1 / n] * n, weights, fine))]
    _, unit = best(lambda: transforms.additive_moebius(tables[0].table()), 3 * repeats, process_time)
    print(f"one pass (additive Moebius by NumPy), n = {n:<6} NumPy   {unit * 1e3:10.3f} ms")
    costs = {}
    for name, function in TABLE_FUNCTIONS.items():
        times = [
            best(lambda function=function, mu=mu: function(mu), repeats, process_time)[1] for mu in tables
        ]
        costs[name] = round(max(times) / unit, 2)
        print(f"{f'{name}, n = {n}':<44} sugenet {max(times) * 1e3:10.3f} ms   {costs[name]:9.2f} passes")
    return costs


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
    ratios = {
        **integral_batch(rng, repeats, sugeno, "Sugeno"),
        **integral_batch(rng, repeats, choquet, "Choquet"),
        **moebius_n15(rng, repeats),
        **index_rows(rng, repeats),
    }
    costs = passes(rng, 20, repeats)
    counting, listing = focal_sets(rng, repeats)
    print(
        "RESULT "
        + json.dumps(
            {
                **ratios,
                "passes": costs,
                "focal_count_n400_s": counting,
                "focal_first_10000_n400_s": listing,
            }
        )
    )


if __name__ == "__main__":
    main()
