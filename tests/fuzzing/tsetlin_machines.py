"""Random Tsetlin machines: arrays, and models that tmu trained on random tables; each against its own votes.

``python -m tests.fuzzing.tsetlin_machines FIRST LAST`` compares models of tmu, in an environment that has it.
"""

from __future__ import annotations

import logging
import sys
import warnings
from random import Random
from typing import Any

import numpy as np

from sugenet.io import Bits, Integers, Reals, from_tsetlin
from sugenet.nn import Network

__all__ = ["compare", "compare_tmu", "has_tmu", "machine_of", "trained", "votes_of"]


class _NumPy1:
    """NumPy, except that ``np.uint32(~0)`` is the largest uint32, as it was before NumPy 2.

    tmu 0.8.3 sets the states of its clauses in this way.
    """

    class _Uint32:
        dtype = np.dtype(np.uint32)

        def __call__(self, value: int) -> Any:
            return np.uint32(value % (1 << 32))

    uint32 = _Uint32()

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def has_tmu() -> bool:
    """Return whether tmu can be imported. Its clause bank is given `_NumPy1`."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    logging.disable(logging.CRITICAL)  # it reports a missing GPU as an error
    try:
        import tmu.models.classification.vanilla_classifier  # noqa: F401
        from tmu.clause_bank import clause_bank
    except (ImportError, OSError):
        return False
    finally:  # it makes every library log everything
        logging.disable(logging.NOTSET)
        root.setLevel(level)
        root.handlers[:] = handlers
    clause_bank.np = _NumPy1()
    return True


# -- arrays --------------------------------------------------------------------------------------------------


def machine_of(random: Random, inputs: int) -> tuple[Any, Any]:
    """Literals and votes of a random machine: per class, shared, or one sum for two classes."""
    kind, classes = random.choice(["per class", "shared", "one sum"]), random.randint(2, 4)
    clauses, density = random.randint(1, 8), random.choice([0.05, 0.15, 0.3, 0.6])

    def literals() -> list[int]:
        return [int(random.random() < density) for _ in range(2 * inputs)]

    def votes() -> list[int]:
        largest = random.choice([1, 1, 9])
        return [random.randint(-largest, largest) for _ in range(clauses)]

    if kind == "per class":
        return [[literals() for _ in range(clauses)] for _ in range(classes)], [
            votes() for _ in range(classes)
        ]
    shared = [literals() for _ in range(clauses)]
    return shared, votes() if kind == "one sum" else [votes() for _ in range(classes)]


def votes_of(include: Any, weights: Any, bits: Any, clamp: int | None) -> list[int]:
    """Sums of votes by definition, literal by literal, for one sample."""
    row = [int(bit) for bit in bits]
    values = row + [1 - bit for bit in row]

    def holds(literals: Any) -> bool:
        asked = [value for value, wanted in zip(values, literals, strict=True) if wanted]
        return bool(asked) and all(asked)

    per_class = np.ndim(include) == 3
    rows = weights if np.ndim(weights) == 2 else [weights]
    sums = []
    for k, row_of_votes in enumerate(rows):
        clauses = include[k] if per_class else include
        total = sum(
            int(vote) for literals, vote in zip(clauses, row_of_votes, strict=True) if holds(literals)
        )
        sums.append(total if clamp is None else max(-clamp, min(clamp, total)))
    return sums


def _class_of(sums: list[int]) -> int:
    return int(sums[0] >= 0) if len(sums) == 1 else sums.index(max(sums))


def compare(seed: int) -> bool:
    """Return whether a random machine of arrays is read as its definition computes it, on all samples."""
    random = Random(seed)
    inputs = random.randint(1, 7)
    include, weights = machine_of(random, inputs)
    clamp = random.choice([None, None, 1, 2, 5, 100])
    cuts: list[Any] = [sorted(random.sample(range(-2, 6), random.randint(0, 3))) for _ in range(inputs)]
    while sum(map(len, cuts)) != inputs:  # as many thresholds as Booleans
        cuts = [sorted(random.sample(range(-2, 6), random.randint(0, 3))) for _ in range(inputs)]
    if random.random() < 0.3:
        random.shuffle(cuts[random.randrange(inputs)])
    given: dict[str, Any] = random.choice(
        [
            {},
            {"inputs": Bits(0, 1)},
            {"booleanizer": 3, "inputs": Integers(0, 5)},
            {"booleanizer": [cut + 0.5 for cut in range(inputs)]},
            {"booleanizer": cuts, "inputs": Integers(-3, 7)},
            {"booleanizer": cuts, "inputs": Reals(-9, 9)},
        ]
    )
    net = from_tsetlin(include, weights, clamp=clamp, prove=random.random() < 0.5, **given)
    rows, bits = _samples(random, net, inputs, given.get("booleanizer"))
    for row, on, found, scores in zip(rows, bits, net.predict(rows), net.logits(rows), strict=True):
        sums = votes_of(
            include, weights, on, clamp if net.head.outputs > 2 or len(np.shape(weights)) > 1 else None
        )
        expected = [0, sums[0] + 0.5] if len(sums) == 1 else sums
        if found != _class_of(sums) or scores.tolist() != expected:
            print(f"seed {seed}: {row} is class {found} with {scores}, not {expected}")
            return False
    return True


def _samples(random: Random, net: Network, inputs: int, booleanizer: Any) -> tuple[Any, Any]:
    """Raw samples, and their Booleans by plain comparison."""
    if booleanizer is None:
        bits = np.array(list(np.ndindex(*[2] * inputs)))
        return bits, bits
    low, high = net.encoder.codings[0].low, net.encoder.codings[0].high
    values = [v for v in np.arange(-3, 8, 0.5 if low == -9 or low == -np.inf else 1) if low <= v <= high]
    rows = np.array([[random.choice(values) for _ in range(net.encoder.features)] for _ in range(60)])
    per_feature = booleanizer if isinstance(booleanizer, list) else [booleanizer] * inputs
    bits = [
        [value >= cut for value, row in zip(sample, per_feature, strict=True) for cut in np.atleast_1d(row)]
        for sample in rows
    ]
    return rows, np.array(bits)


# -- models of tmu -------------------------------------------------------------------------------------------


def trained(random: Random, **options: Any) -> tuple[Any, Any, Any]:
    """Train a small model of tmu on a random table; return it, its booleanizer and raw rows."""
    from tmu.models.classification.coalesced_classifier import TMCoalescedClassifier
    from tmu.models.classification.vanilla_classifier import TMClassifier
    from tmu.preprocessing.standard_binarizer.binarizer import StandardBinarizer

    generator = np.random.default_rng(random.getrandbits(32))
    features, rows, classes = random.randint(2, 6), random.randint(8, 60), random.randint(2, 4)
    booleanizer = None
    raw = generator.integers(0, 2, (rows, features))
    if random.random() < 0.5:
        raw = np.round(generator.normal(size=(rows, features)), random.choice([0, 1, 3]))
        booleanizer = StandardBinarizer(max_bits_per_feature=random.choice([1, 3, 8]))
        booleanizer.fit(raw)
    bits = (raw if booleanizer is None else booleanizer.transform(raw)).astype(np.uint32)
    if not bits.shape[1]:
        return trained(random, **options)
    labels = generator.integers(0, classes, rows).astype(np.uint32)
    labels[:classes] = np.arange(classes)
    kind = random.choice([TMClassifier, TMCoalescedClassifier])
    given: dict[str, Any] = {
        "number_of_clauses": 2 * random.randint(1, 12),
        "T": random.choice([1, 3, 10, 50]),
        "s": random.choice([1.5, 3.0, 10.0]),
        "platform": random.choice(["CPU", "CPU", "CPU_sparse"]),
        "weighted_clauses": random.random() < 0.5,
        "seed": random.randint(1, 10**6),
    }
    if random.random() < 0.3:
        given["max_included_literals"] = random.randint(1, 4)
    if kind is TMClassifier:
        given |= {"incremental": random.random() < 0.7}
    model = kind(**given, **options)
    for _ in range(random.randint(1, 6)):
        model.fit(bits, labels)
    return model, booleanizer, raw


def compare_tmu(seed: int) -> bool:
    """Return whether a random model of tmu is read as it predicts."""
    random = Random(seed)
    model, booleanizer, raw = trained(random)
    clamp = model.T if random.random() < 0.4 else None
    net = from_tsetlin(model, booleanizer=booleanizer, clamp=clamp, prove=random.random() < 0.5)
    generator = np.random.default_rng(seed)
    spread = (
        generator.integers(0, 2, (60, raw.shape[1]))
        if booleanizer is None
        else generator.normal(size=(60, raw.shape[1]))
    )
    rows = np.vstack([raw, spread])
    bits = (rows if booleanizer is None else booleanizer.transform(rows)).astype(np.uint32)
    found, sums = model.predict(bits, clip_class_sum=clamp is not None, return_class_sums=True)
    same = np.array_equal(net.predict(rows), found) and np.array_equal(net.logits(rows), sums)
    if not same:
        print(f"seed {seed}: {type(model).__name__} differs")
    return same


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if not has_tmu():
        sys.exit("tmu is not installed.")
    seeds = range(*map(int, sys.argv[1:3]))
    equal = sum(map(compare_tmu, seeds))
    print(f"{equal} of {len(seeds)} models of tmu are equal")
    sys.exit(equal < len(seeds))
