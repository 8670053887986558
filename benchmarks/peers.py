"""The same questions to sugenet and to other solvers, in turns: ``python -m benchmarks.peers [--quick]
[--seconds S] [--samples N] [--processor]``.

The others are Exact, SCIP, HiGHS, CP-SAT, Glucose and CaDiCaL (of PySAT) and Marabou. Each gets an
environment of its own outside the tree, which is made once. A package that cannot be installed is named.
Questions are robustness of sparse and of dense networks, minimum changes, counts, and queries about quantized
networks.

The solvers read the files that `sugenet verify --export` writes: OPB, MPS for HiGHS and CNF for PySAT. There,
the neurons that our bounds settle are already constant. Writing them is not counted; reading them is.
Marabou gets the same gates as signs of sums, and each bit as the sign of a free real. The time of sugenet is
that of the question, with its certificate, which is checked afterwards. All have the same limit, and as many
threads as they use, up to one per core. Every violation is replayed by the definition. A row compares times
over the questions that sugenet or the solver decided; an open one counts with the limit. On a machine that
others use, ``--processor`` compares the processor time of all threads instead.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks import _zoo
from benchmarks._measure import Watch, machine
from benchmarks.frontier.sparse import network_of
from benchmarks.levels import qnn
from sugenet.bits import prepare
from sugenet.errors import CertificateError, QuestionError, TooLargeError
from sugenet.io.exports import export, sample_of
from sugenet.problem import Formula, Problem
from sugenet.reason import problems_of

PACKAGES = {
    "Exact": ["exact"],
    "SCIP": ["pyscipopt"],
    "HiGHS": ["highspy"],
    "CP-SAT": ["ortools"],
    "Glucose": ["python-sat"],
    "CaDiCaL": ["python-sat"],
    "Marabou": ["maraboupy"],
}
NAMES = {"Glucose": "glucose42", "CaDiCaL": "cadical195"}
GRACE = 1.0
"""Seconds after the limit before a solver is stopped."""
LATE = 1.2
"""Answers after more than this many times the limit do not count."""
DECIDED = ("some", "none", "optimum", "number")
CLAUSES = 1_000_000
"""Largest number of clauses that are written; beyond, solvers for clauses are not asked."""
FLOOR = 0.01
"""Seconds of sugenet from which on it should be ahead of every solver on every question."""


@dataclass
class Case:
    """A question, and what everybody answered."""

    kind: str
    name: str
    network: sg.Network
    sample: Any
    region: sg.Region
    asks: str = "decide"
    answers: dict[str, tuple[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    """Seconds of all threads."""

    @property
    def question(self) -> Any:
        return sg.Robust(self.sample, self.region)


# -- questions ----------------------------------------------------------------------------------------------


def cases(zoo: Path, quick: bool, few: int) -> Iterator[Case]:
    """Yield all questions, about a few samples of each network."""
    digits, (samples, _) = sg.models.digits(), sg.models.samples("digits")
    for number in (1, 4, 7, 12, 13, 14)[:few]:
        x = samples[number].tolist()
        yield Case("dense", f"digits {number}, Hamming 3", digits, x, sg.Hamming(3))
        yield Case("dense", f"digits {number}, L0 2", digits, x, sg.L0(2))
        yield Case("minimum", f"digits {number}, L0", digits, x, sg.L0(digits.encoder.features), "minimum")
        yield Case("count", f"digits {number}, Hamming 2", digits, x, sg.Hamming(2), "count")
    mnist, (X, y) = _zoo.msakai(zoo), _zoo.mnist(zoo)
    for number, x in enumerate(_zoo.right(mnist, X, y, few)):
        if not quick:
            yield Case("dense", f"msakai {number}, Hamming 2", mnist, x.tolist(), sg.Hamming(2))
        yield Case("dense", f"msakai {number}, L-inf 1", mnist, x.tolist(), sg.Linf(1))
    for name, network, inputs in _zoo.quanalyst(zoo)[: 1 if quick else 3]:
        x = inputs[0].tolist()
        yield Case("dense", f"{name}, Hamming 3", network, x, sg.Hamming(3))
        yield Case("count", f"{name}, Hamming 2", network, x, sg.Hamming(2), "count")
        if not quick:
            every = sg.Hamming(network.encoder.features)
            yield Case("minimum", f"{name}, Hamming", network, x, every, "minimum")
    sparse = network_of(zoo, (64,) if quick else (128, 64), 0.9, {"epochs": 2}, 2000 if quick else 20_000)
    for number, x in enumerate(_zoo.right(sparse, X, y, few)):
        for radius in (25, 76) if quick else (25, 51, 76, 100):
            yield Case("sparse", f"sparse {number}, L-inf {radius}", sparse, x.tolist(), sg.Linf(radius))
    data = np.load(zoo / "qnn" / "mnist_mlp.npz")
    for number in range(few):
        for radius in (1,) if quick else (1, 2):
            yield Case(
                "quantized", f"qnn {number}, L-inf {radius}", qnn(data), data["x"][number].tolist(),
                sg.Linf(radius),
            )  # fmt: skip


def ours(case: Case, limit: float) -> None:
    """Ask sugenet; certificates are checked outside of the time."""
    start, used = time.perf_counter(), time.process_time()
    if case.asks == "minimum":
        cost = {"L0": sg.L0, "Hamming": sg.Hamming}[type(case.region).__name__]
        answer: Any = sg.whatif(case.network, case.sample, cost, time_limit=limit)
    elif case.asks == "count":
        answer = sg.count(case.network, case.sample, case.region, time_limit=limit)
    else:
        answer = sg.verify(case.network, case.question, time_limit=limit)
    case.seconds["sugenet"] = time.perf_counter() - start
    case.processor["sugenet"] = time.process_time() - used
    outcome: tuple[str, Any] = ("open", None)
    if case.asks == "minimum" and answer.is_found and answer.is_minimum:
        outcome = "optimum", int(answer.cost)
    elif isinstance(answer, sg.Counted):
        own = int(case.network.predict([case.sample])[0])
        counts = list(answer.counts.values()) if isinstance(answer.counts, dict) else list(answer.counts)
        outcome = "number", sum(counts) - counts[own]
    elif isinstance(answer, sg.Proved | sg.Refuted):
        outcome = ("none" if isinstance(answer, sg.Proved) else "some"), None
    if outcome[0] != "open":
        try:
            sg.check(answer, case.network, time_limit=120)
        except CertificateError as error:
            outcome = "wrong", str(error)
    case.answers["sugenet"] = outcome


# -- the others ---------------------------------------------------------------------------------------------


class Peer:
    """Another solver, in a process of its own environment."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.version = name, ""
        self.python = environment(folder, PACKAGES[name])
        self.process: subprocess.Popen[str] | None = None
        self.reason = "" if self.python else f"{PACKAGES[name][0]} could not be installed"
        if self.python:
            self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            [str(self.python), str(Path(__file__).with_name("_solvers.py")), self.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            cwd=self.python.parent,  # some write files where they run
        )  # fmt: skip
        first = self._read(60)
        if first is None:
            self.reason, self.process = "it does not start", None
        else:
            self.version = first["version"]

    def _read(self, seconds: float) -> dict[str, Any] | None:
        """Return the next answer; None, and no process, if there is none in time."""
        assert self.process is not None
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return dict(json.loads(line) or {})
        self.close()
        return None

    def ask(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return an answer; empty if the solver does not read such questions."""
        if self.process is None:
            self._start()
        if self.process is None or self.process.stdin is None:
            return {}
        print(json.dumps(data), file=self.process.stdin, flush=True)
        found = self._read(data["limit"] + GRACE)
        return {"outcome": "open", "seconds": data["limit"]} if found is None else found

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def environment(folder: Path, packages: list[str]) -> Path | None:
    """Return the Python of an environment with packages, made if it is not there; None without them."""
    home = folder / packages[0]
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"making the environment {home}", flush=True)
        for command in (
            [sys.executable, "-m", "venv", str(home)],
            [str(python), "-m", "pip", "install", "--quiet", *packages],
        ):
            if subprocess.run(command, capture_output=True, check=False).returncode:
                return None
        (home / "ready").touch()
    return python


def files(case: Case, folder: Path) -> tuple[Problem, dict[str, Any]]:
    """Write a question for everybody; return its problem, and what the solvers are told."""
    (problem,), _ = problems_of(case.network, case.question)
    is_minimum = case.asks == "minimum"
    data: dict[str, Any] = {"kind": case.asks, "steps": problem.cascade.steps, "cnf": None, "gates": None}
    for ending in ("opb", "mps"):
        data[ending] = str(folder / f"question.{ending}")
        side = export(problem, data[ending], objective=is_minimum)
        data["cost"] = json.loads(side.read_text(encoding="utf-8")).get("cost")
    if case.asks == "decide":
        try:
            export(problem, folder / "question.cnf", limit=CLAUSES)
            data["cnf"] = str(folder / "question.cnf")
        except TooLargeError:
            pass
        data["gates"] = str(folder / "question.json")
        Path(data["gates"]).write_text(json.dumps(gates(problem)), encoding="ascii")
    return problem, data


def gates(problem: Problem) -> dict[str, Any]:
    """Return the gates and rows of a problem over variables that are 0 or 1."""
    formula = Formula.of(problem)

    def row(one: Any) -> tuple[list[tuple[int, int]], int]:
        weights, variables, least = one.signed()
        return list(zip(map(int, weights), map(int, variables), strict=True)), int(least)

    clauses = []
    for clause in formula.clauses:
        terms = [(1 if literal > 0 else -1, abs(literal)) for literal in clause]
        clauses.append((terms, 1 - sum(literal < 0 for literal in clause)))
    return {
        "variables": formula.variables,
        "gates": [(gate.variable, *row(gate.sum)) for gate in formula.gates],
        "rows": [*map(row, formula.sums), *clauses],
    }


def theirs(case: Case, peer: Peer, problem: Problem, data: dict[str, Any]) -> None:
    """Ask another solver, and replay its violation."""
    found = peer.ask(data | {"solver": NAMES.get(peer.name)})
    if not found:
        return
    case.seconds[peer.name] = found["seconds"]
    case.processor[peer.name] = found.get("cpu", found["seconds"])
    outcome = found["outcome"]
    if found["seconds"] > LATE * data["limit"] and outcome in DECIDED:
        outcome = "open"  # not all of them heed their limit
    if outcome == "some" and "true" in found:
        try:
            sample_of(problem, found["true"])
        except QuestionError as error:
            outcome = f"wrong: {error}"
    elif outcome == "error":
        outcome = f"error: {found['error']}"
    value = found.get("value")
    if outcome == "optimum":  # the file counts from another number
        value = int(Fraction(data["cost"]["unit"]) * (data["cost"]["offset"] + value))
    case.answers[peer.name] = outcome, value


# -- the table ----------------------------------------------------------------------------------------------


def disagreements(case: Case) -> list[str]:
    """Say who does not agree with sugenet, and which solutions are not violations or proofs not valid."""
    said = []
    mine = case.answers["sugenet"]
    for name, answer in case.answers.items():
        if answer[0].startswith("wrong"):
            said.append(f"{case.name}: {name}: {answer[0]}")
        elif answer[0] in DECIDED and mine[0] in DECIDED and answer != mine:
            said.append(f"{case.name}: sugenet {mine}, {name} {answer}")
    return said


def table(every: list[Case], peers: list[Peer], limit: float) -> dict[str, Any]:
    """Print a row for each kind and solver, and return the ratios."""
    rows: dict[str, list[Case]] = {}
    for case in every:
        outcome = case.answers["sugenet"][0]
        kind = case.kind
        if case.asks == "decide":
            known = next((a[0] for a in case.answers.values() if a[0] in ("some", "none")), outcome)
            kind += {"some": ", fails", "none": ", holds"}.get(known, ", open")
        rows.setdefault(kind, []).append(case)
    figures: dict[str, Any] = {}
    print(f"\n{'questions':18}{'solver':10}{'asked':>6}{'decided':>8}{'ours':>6}{'mean s':>10}{'ours':>9}{'ratio':>8}{'behind':>8}")  # fmt: skip  # noqa: E501
    for kind in sorted(rows):
        for peer in peers:
            asked = [case for case in rows[kind] if peer.name in case.answers]
            if not asked:
                continue
            mine = sum(case.answers["sugenet"][0] in DECIDED for case in asked)
            decided = sum(case.answers[peer.name][0] in DECIDED for case in asked)
            pairs = [
                (spent(case, peer.name, limit), spent(case, "sugenet", limit))
                for case in asked
                if any(case.answers[name][0] in DECIDED for name in (peer.name, "sugenet"))
            ]
            ratio = exp(mean(log(a / b) for a, b in pairs)) if pairs else None
            behind = sum(a < b and b > FLOOR for a, b in pairs)
            means = [mean(column) if pairs else 0.0 for column in zip(*pairs, strict=True)] or [0.0, 0.0]
            shown = "-" if ratio is None else f"{ratio:.1f}"
            print(f"{kind:18}{peer.name:10}{len(asked):6}{decided:8}{mine:6}{means[0]:10.3f}{means[1]:9.3f}{shown:>8}{behind:8}")  # fmt: skip  # noqa: E501
            figures[f"{kind}: {peer.name}"] = {
                "asked": len(asked), "decided": decided, "ours": mine, "behind": behind,
                "ratio": None if ratio is None else round(ratio, 2),
            }  # fmt: skip
    return figures


def spent(case: Case, name: str, limit: float) -> float:
    """Seconds of an answer; the limit if it is open."""
    return max(case.seconds[name], 1e-4) if case.answers[name][0] in DECIDED else max(limit, 1e-4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few questions, within 50 s")
    parser.add_argument("--seconds", type=float, help="limit of each question (default: 20; quick: 0.5)")
    parser.add_argument("--samples", type=int, help="samples of each network (default: 4; quick: 1)")
    parser.add_argument("--processor", action="store_true", help="compare processor time of all threads")
    parser.add_argument("--only", nargs="+", choices=PACKAGES, default=list(PACKAGES), help="these solvers")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    parser.add_argument("--environments", type=Path, default=cache / "sugenet-peers", metavar="FOLDER")
    options = parser.parse_args()
    zoo = _zoo.folder()
    if zoo is None:
        print("RESULT " + json.dumps({"questions": None}))
        return
    limit = options.seconds or (0.5 if options.quick else 20.0)
    prepare()
    peers = [Peer(name, options.environments) for name in options.only]
    print(machine())
    for peer in peers:
        print(f"{peer.name}: {peer.reason or peer.version}")
    there = [peer for peer in peers if not peer.reason]
    watch, every = Watch(), list(cases(zoo, options.quick, options.samples or (1 if options.quick else 4)))
    with tempfile.TemporaryDirectory() as name:
        for case in every:
            case.network.predict([case.sample])
            ours(case, min(limit, 0.2))  # kernels that it needs are compiled
            ours(case, limit)
            try:
                problem, data = files(case, Path(name))
            except TooLargeError as error:
                print(f"{case.name}: no files: {error}"[:120])
                problem = None
            for peer in there if problem is not None else ():
                theirs(case, peer, problem, data | {"limit": limit, "threads": os.cpu_count() or 1})
            said = ", ".join(
                f"{who} {answer[0][:5]} {case.seconds[who]:.3f}" for who, answer in case.answers.items()
            )
            print(f"{case.name}: {said}", flush=True)
    for peer in peers:
        peer.close()
    if options.processor:
        for case in every:
            case.seconds = case.processor
    figures = table(every, there, limit)
    wrong = [line for case in every for line in disagreements(case)]
    print("\n" + ("\n".join(wrong) if wrong else "no two answers differ"))
    for peer in there:
        errors = [c.answers[peer.name][0] for c in every if peer.name in c.answers]
        errors = [error for error in errors if error.startswith("error")]
        if errors:
            print(f"{peer.name}: {len(errors)} errors, the first: {errors[0]}")
    print(f"limit {limit:g} s; other programs took {watch.others():.0%} of the machine")
    result = {
        "questions": len(every),
        "decided": sum(case.answers["sugenet"][0] in DECIDED for case in every),
        "disagreements": len(wrong),
        "missing": [peer.name for peer in peers if peer.reason],
        "by": figures,
    }
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
