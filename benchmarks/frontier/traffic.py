"""Traffic signs of VNN-COMP 2023, image 8258 of the 30x30 network, in boxes between those of the set."""

from __future__ import annotations

import time
from fractions import Fraction

import sugenet as sg
from benchmarks._zoo import folder as zoo_folder
from benchmarks.frontier.row import Row
from sugenet.io import read_onnx, read_vnnlib
from sugenet.problem.query import Case, Query, QueryBox

_EPS, _LIMIT = (Fraction(3, 2), Fraction(2)), 300.0


def asked(query: Query, eps: Fraction) -> Query:
    """The query of eps 1 with a wider box around the same image."""
    (case,) = query.cases
    middle = [(low + high) / 2 for low, high in zip(case.box.lower, case.box.upper, strict=True)]
    box = QueryBox(
        [max(Fraction(0), value - eps) for value in middle],
        [min(Fraction(255), value + eps) for value in middle],
    )
    return Query(query.inputs, query.outputs, [Case(box, case.condition)])


def run(quick: bool) -> Row:
    zoo = zoo_folder()
    if zoo is None:
        return Row("traffic signs 30x30, image 8258, real boxes", "eps 1.5 and 2 open", "not measured", {})
    folder = zoo / "traffic"
    network = read_onnx(next(folder.glob("*.onnx.gz")), inputs=sg.Reals(0, 255))
    query = read_vnnlib(folder / "model_30_idx_8258_eps_1.00000.vnnlib.gz")
    said, figures = [], {}
    for eps in (Fraction(1),) if quick else _EPS:
        start = time.perf_counter()
        answer = sg.verify(network, asked(query, eps), time_limit=_LIMIT)
        seconds = time.perf_counter() - start
        checked = answer.outcome == "undecided" or bool(sg.check(answer.certificate, network))
        strict = "" if answer.outcome != "refuted" or answer.tied else ", strictly"
        said.append(f"eps {float(eps):g}: {answer.outcome}{strict} in {seconds:.0f} s")
        figures[f"traffic_eps{float(eps):g}"] = answer.outcome if checked else "certificate refused"
    return Row("traffic signs 30x30, image 8258, real boxes", "eps 1.5 and 2 open", "; ".join(said), figures)
