"""Verification formats: queries of both versions of VNNLIB, Marabou's input queries, counterexamples.

The peer is the definition: the same query written in version 1, and the equations of the file in fractions.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import sugenet as sg
from benchmarks.files.kind import Kind, Outcome, Read, Refused
from sugenet.bnn import DenseLayer, Encoder, Head, Network, threshold
from sugenet.io import import_file, read_ipq, read_query, write_counterexample
from sugenet.problem.query import Query
from tests.fuzzing.input_queries import random_query, samples


def _tensors(folder: Path) -> Outcome:
    """Two hundred boxes of 12 inputs in both versions."""
    random, different = np.random.default_rng(0), 0
    for number in range(200):
        center = random.integers(0, 9, 12)
        query = Query.within(center - 1, center + 1, number % 3, 3)
        text = query.to_text()
        new = "(vnnlib-version <2.0>)\n(declare-network f (declare-input X Real [1,3,4])\n"
        new += "(declare-output Y Real [3]))\n"
        for line in text.splitlines():
            if not line.startswith("(declare-const"):
                for i in reversed(range(12)):
                    line = line.replace(f"X_{i} ", f"X[0,{i // 4},{i % 4}] ")
                for k in range(3):
                    line = line.replace(f"Y_{k}", f"Y[{k}]")
                new += line + "\n"
        (folder / "new.vnnlib").write_text(new)
        different += read_query(folder / "new.vnnlib") != query
    return Read(200, different)


def _input_query(folder: Path) -> Outcome:
    random = np.random.default_rng(1)
    made = random_query(random)
    (folder / "net.ipq").write_text(made.text())
    found = read_ipq(folder / "net.ipq").report
    X = samples(random, made, 200)
    scores = found.network.head.scores(found.network.match_counts(X))
    wrong = sum(list(map(Fraction, row)) != made.outputs_at(x) for row, x in zip(scores, X, strict=True))
    return Read(len(X), wrong)


def _told(name: str, text: str, way: str) -> Kind:
    def attempt(folder: Path) -> Outcome:
        (folder / name).write_text(text)
        try:
            import_file(folder / name)
        except sg.errors.FileError as error:
            said = str(error)
            return Refused(way) if way in said else Read(0, 1)
        return Read(0, 1)

    return Kind(name, "Marabou", attempt)


def _counterexamples(folder: Path) -> Outcome:
    """Read back as floats, each lies in its box and changes the class."""
    random, wrong, count = np.random.default_rng(2), 0, 0
    for _ in range(40):
        weights = random.choice([-1, 1], (5, 6))
        net = Network(
            Encoder([threshold(float(c)) for c in random.normal(0, 1, 6)]),
            [DenseLayer(weights, tau=[3] * 5)],
            Head(random.choice([-1, 1], (2, 5))),
        )
        x = [Fraction(int(v), 10) for v in random.integers(-20, 20, 6)]
        label = int(net.predict([[float(v) for v in x]])[0])
        query = Query.around(net, x, 1, label)
        answer = sg.verify(net, query)
        write_counterexample(answer, folder / "result.txt")
        word, _, rest = (folder / "result.txt").read_text().partition("\n")
        if word == "sat":
            floats = [float(part.split()[1].strip("()")) for part in rest.split("\n") if "X_" in part]
            scores = net.head.scores(net.match_counts([floats]))[0]
            count += 1
            wrong += not query.violated_by([Fraction(v) for v in floats], list(scores))
    return Read(count, wrong)


def kinds() -> Iterator[Kind]:
    yield Kind("VNNLIB 2", "the same in version 1", _tensors)
    yield Kind("input query of signs (.ipq)", "its equations", _input_query)
    yield Kind("counterexamples of VNN-COMP", "floats read back", _counterexamples)
    relu = "2\n0\n0\n0\n1\n1\n0,0\n1\n0,1\n0,relu,1,0"
    yield _told("relu.ipq", relu, "Networks of signs are")
    yield _told("acas.nnet", "// ReLU\n", "query.saveQuery('net.ipq')")
