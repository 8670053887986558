"""Robustness of Tsetlin machines beside a SAT solver: ``python -m benchmarks.tsetlin [--quick]``.

A vanilla machine of tmu is trained on MNIST, pixels on above 75. The questions are those of "Verifying
Properties of Tsetlin Machines" (Przybysz, Bhattarai, Persia, Ozaki, Granmo, Sharma, 2023), as its public
script asks them: for a test image and a class, does the sign of the sum of votes of that class stay the same
under every change of at most p = 1, 3, 5 pixels? And similarity: do two machines, trained with different
seeds, give the same sign within p pixels? They are decided twice in the same run: by `verify`, with every
certificate checked, and by Glucose 4 on the clauses of that publication's construction (one variable per
clause, two sequential counters, a sequential counter of changed pixels), written here from its description.

Times include all that a question needs: encoding and solving there, deciding here; checking is timed apart.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from threading import Timer
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from sugenet.io import from_tsetlin
from tests.fuzzing.tsetlin_machines import has_tmu

__all__ = ["Cnf", "questions", "summary", "train"]

RADII = (1, 3, 5)
OUTCOMES = {sg.Proved: True, sg.Refuted: False}
CUT = 76
"""A pixel is on from here."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small machine, few images, 5 s per question")
    parser.add_argument("--clauses", type=int, help="clauses per class (default: 100; quick: 20)")
    parser.add_argument("--images", type=int, help="test images (default: 20; quick: 3)")
    parser.add_argument("--time-limit", type=float, help="seconds per question (default: 60; quick: 5)")
    options = parser.parse_args()
    zoo = _zoo.folder()
    if zoo is None or not has_tmu():
        print("Needs SUGENET_ZOO and tmu.\nRESULT {}")
        return
    clauses = options.clauses or (20 if options.quick else 100)
    images = options.images or (3 if options.quick else 20)
    limit = options.time_limit or (5.0 if options.quick else 60.0)
    figures = questions(zoo, clauses, images, limit)
    print(f"RESULT {json.dumps({**figures, **summary(figures)})}")


def train(zoo: Path, clauses: int, seed: int, samples: int = 6000, epochs: int = 6) -> tuple[Any, Any]:
    """Return literals and votes of a machine of tmu for MNIST."""
    from tmu.models.classification.vanilla_classifier import TMClassifier

    X, y = _zoo.mnist_train(zoo)
    model = TMClassifier(clauses, 15, 5.0, seed=seed)
    for _ in range(epochs):
        model.fit((X[:samples] >= CUT).astype(np.uint32), y[:samples].astype(np.uint32))
    banks = [model.clause_banks[k] for k in range(10)]
    weights = [model.weight_banks[k].get_weights() for k in range(10)]
    return np.array([bank.get_literals() for bank in banks]), np.array(weights)


class Cnf:
    """The sign of the sum of votes of one class, as clauses: votes are +1 and -1, empty clauses are off."""

    def __init__(self) -> None:
        self.clauses: list[list[int]] = []
        self.variables = 0

    def new(self, count: int) -> list[int]:
        """Return new variables."""
        self.variables += count
        return list(range(self.variables - count + 1, self.variables + 1))

    def counter(self, inputs: list[int], top: int) -> list[int]:
        """Return variables that are on iff at least 1, 2, ..., `top` of the inputs are."""
        before: list[int] = []
        for number, x in enumerate(inputs, start=1):
            after = self.new(min(number, top))
            for j, r in enumerate(after):
                carried = before[j] if j < len(before) else None
                below = before[j - 1] if j else None
                self.clauses.append([-x, r] if below is None else [-x, -below, r])
                self.clauses.append([-r, x] if carried is None else [-r, x, carried])
                if carried is not None:
                    self.clauses.append([-carried, r])
                if below is not None:
                    self.clauses.append([-r, below] if carried is None else [-r, below, carried])
            before = after
        return before

    def sign(self, x: list[int], include: Any, votes: Any) -> int:
        """Return a variable that is on iff the sum of votes is at least 0."""
        counts = []
        for vote in (1, -1):
            held = []
            for row in include[votes == vote]:
                literals = [x[i % len(x)] * (1 if i < len(x) else -1) for i in np.flatnonzero(row).tolist()]
                if literals:
                    [v] = self.new(1)
                    self.clauses += [[-v, literal] for literal in literals]
                    self.clauses.append([v, *(-literal for literal in literals)])
                    held.append(v)
            counts.append(self.counter(held, len(held)))
        plus, minus = counts
        [sign] = self.new(1)
        parts = []
        for j, more in enumerate(minus):  # j + 1 votes against need j + 1 votes for
            if j >= len(plus):
                self.clauses.append([-sign, -more])
                parts.append(more)
                continue
            self.clauses.append([-sign, -more, plus[j]])
            [lost] = self.new(1)
            self.clauses += [[-lost, more], [-lost, -plus[j]], [lost, -more, plus[j]]]
            parts.append(lost)
        self.clauses.append([sign, *parts])
        return sign

    def within(self, x: list[int], image: Any, radius: int) -> None:
        """Allow at most `radius` pixels to differ."""
        changed = [-v if on else v for v, on in zip(x, image.tolist(), strict=True)]
        self.clauses.append([-self.counter(changed, radius + 1)[radius]])

    def solve(self, limit: float) -> bool | None:
        """Return whether the clauses can hold; None if the time is up."""
        from pysat.solvers import Glucose4

        with Glucose4(bootstrap_with=self.clauses) as solver:
            timer = Timer(limit, solver.interrupt)
            timer.start()
            outcome = solver.solve_limited(expect_interrupt=True)
            timer.cancel()
            return None if outcome is None else bool(outcome)


def questions(zoo: Path, clauses: int, images: int, limit: float) -> dict[str, Any]:
    """Train two machines, ask all questions twice, and return the figures."""
    include, votes = train(zoo, clauses, 1)
    other = train(zoo, clauses, 2)
    X, y = _zoo.mnist(zoo)
    bits = (X >= CUT).astype(np.int64)
    whole = from_tsetlin(include, votes)
    figures: dict[str, Any] = {"accuracy": round(float((whole.predict(bits) == y).mean()), 4)}
    figures |= {"clauses_per_class": clauses, "images": images, "time_limit_s": limit}
    chosen = np.random.default_rng(0).choice(len(bits), images, replace=False)
    signs = [from_tsetlin(include[k], votes[k]) for k in range(10)]
    others = [from_tsetlin(other[0][k], other[1][k]) for k in range(10)]
    cnf = [_encoded((include[k], votes[k])) for k in range(10)]
    joint = [_encoded((include[k], votes[k]), (other[0][k], other[1][k])) for k in range(10)]
    for kind, pairs, formulas in (("robust", [None] * 10, cnf), ("similar", others, joint)):
        for radius in RADII:
            tally = _Tally()
            for index in chosen.tolist():
                for k in range(10):
                    tally.ask(signs[k], pairs[k], formulas[k], bits[index], radius, limit)
            figures[f"{kind}_{radius}"] = tally.figures()
            print(kind, radius, figures[f"{kind}_{radius}"], flush=True)
    return figures


def summary(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of all kinds of questions together: asked, decided by each, and contradictions."""
    kinds = [figures[f"{kind}_{radius}"] for kind in ("robust", "similar") for radius in RADII]

    def decided(who: str) -> int:
        return sum(kind.get(f"{who} {outcome}", 0) for kind in kinds for outcome in (True, False))

    asked = sum(n for kind in kinds for name, n in kind.items() if name.startswith("ours "))
    different = sum(kind["different"] for kind in kinds)
    return {"asked": asked, "decided": decided("ours"), "sat_decided": decided("sat"), "different": different}


class _Formula(NamedTuple):
    """A formula that holds iff a claim is violated, for the part that all questions share."""

    cnf: Cnf
    x: list[int]
    signs: list[int]


def _encoded(*machines: tuple[Any, Any]) -> _Formula:
    cnf = Cnf()
    x = cnf.new(machines[0][0].shape[1] // 2)
    signs = [cnf.sign(x, *machine) for machine in machines]
    if len(signs) == 2:
        cnf.clauses += [[signs[0], signs[1]], [-signs[0], -signs[1]]]
    return _Formula(cnf, x, signs)


def _solved(formula: _Formula, image: Any, was_on: bool, radius: int, limit: float) -> bool | None:
    """Return whether a claim holds near an image; None if the time is up."""
    cnf = Cnf()
    cnf.clauses, cnf.variables = list(formula.cnf.clauses), formula.cnf.variables
    cnf.within(formula.x, image, radius)
    if len(formula.signs) == 1:
        cnf.clauses.append([-formula.signs[0] if was_on else formula.signs[0]])
    outcome = cnf.solve(limit)
    return None if outcome is None else not outcome


class _Tally:
    """Answers and times of both."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self.times: dict[str, list[float]] = {"ours": [], "check": [], "sat": []}
        self.different = 0

    def ask(
        self,
        net: sg.Network,
        other: sg.Network | None,
        formula: _Formula,
        image: Any,
        radius: int,
        limit: float,
    ) -> None:
        """Ask one question twice: whether a sign stays, or is that of another machine."""
        begin = perf_counter()
        on = bool(net.predict(image[None])[0])
        if other is None:
            answer, nets = sg.verify(net, image, sg.Hamming(radius), time_limit=limit), (net,)
        else:
            claim = sg.Agree(other, sample=image, region=sg.L0(radius))
            answer, nets = sg.verify(net, claim, time_limit=limit), (net, other)
        ours, between = OUTCOMES.get(type(answer)), perf_counter()
        if ours is not None and not sg.check(answer, *nets):
            raise AssertionError("a certificate is refused.")
        after = perf_counter()
        theirs = _solved(formula, image, on, radius, limit)
        self.times["ours"].append(between - begin)
        self.times["check"].append(after - between)
        self.times["sat"].append(perf_counter() - after)
        self.answers[f"ours {ours}"] += 1
        self.answers[f"sat {theirs}"] += 1
        self.different += ours is not None and theirs is not None and ours != theirs

    def figures(self) -> dict[str, Any]:
        """Return counts, and mean and longest times in seconds."""
        times = {
            name: {"mean_s": round(float(np.mean(row)), 4), "max_s": round(max(row), 3)}
            for name, row in self.times.items()
        }
        return {**dict(sorted(self.answers.items())), "different": self.different, **times}


if __name__ == "__main__":
    main()
