"""Random networks of look-up tables, each against looking up, on all inputs."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from sugenet.io import Integers, from_tables

__all__ = ["compare", "looked_up", "network_of"]


def network_of(random: Random) -> tuple[int, list[tuple[Any, Any]], Any, Any]:
    """Number of inputs, layers, votes and bias of a random network."""
    inputs, width = random.randint(1, 7), 0
    layers, before = [], inputs
    for _ in range(random.randint(1, 3)):
        outputs = random.choice([1, 1, 1, 2, 3])
        connections, tables = [], []
        for _ in range(random.randint(1, 5)):
            wires = [random.randrange(before) for _ in range(random.randint(0, min(5, before + 1)))]
            likely = random.choice([0.1, 0.5, 0.9])
            rows = [[int(random.random() < likely) for _ in range(outputs)] for _ in range(1 << len(wires))]
            connections.append(wires)
            tables.append(rows if outputs > 1 else [row[0] for row in rows])
        layers.append((connections, tables))
        before = width = outputs * len(tables)
    classes = random.randint(2, 4)
    votes = [[random.randint(-4, 4) for _ in range(width)] for _ in range(classes)]
    bias = random.choice([None, [random.randint(-3, 3) for _ in range(classes)]])
    return inputs, layers, votes, bias


def looked_up(layers: Any, votes: Any, bias: Any, bits: Any) -> list[int]:
    """Scores by definition, for one sample."""
    values = list(map(int, bits))
    for connections, tables in layers:
        after: list[int] = []
        for wires, table in zip(connections, tables, strict=True):
            entry = table[sum(values[wire] * 2**place for place, wire in enumerate(wires))]
            after += entry if isinstance(entry, list) else [entry]
        values = after
    return [
        sum(vote * value for vote, value in zip(row, values, strict=True)) + (0 if bias is None else bias[k])
        for k, row in enumerate(votes)
    ]


def compare(seed: int) -> bool:
    """Return whether a random network is read as looking up computes it, on all inputs."""
    random = Random(seed)
    inputs, layers, votes, bias = network_of(random)
    cut = random.choice([None, None, 2])
    given: dict[str, Any] = {} if cut is None else {"booleanizer": cut, "inputs": Integers(0, 3)}
    net = from_tables(layers, votes, bias, features=inputs, prove=random.random() < 0.5, **given)
    bits = list(product((0, 1), repeat=inputs))
    rows = bits if cut is None else [[value * 2 + random.randint(0, 1) for value in row] for row in bits]
    for row, found, scores in zip(bits, net.predict(rows), net.logits(rows), strict=True):
        expected = looked_up(layers, votes, bias, row)
        if scores.tolist() != expected or found != expected.index(max(expected)):
            print(f"seed {seed}: {row} is class {found} with {scores}, not {expected}")
            return False
    return True
