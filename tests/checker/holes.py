"""Certificates that were accepted once though they are false, each built by hand from the definition; and
true ones beside them. Every checker must tell them apart.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import inf
from typing import Any
from zlib import compress

from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, RealLayer, threshold
from tests.checker.typed import law_data

__all__ = ["HOLES", "Hole", "every", "high_from"]

BOUNDS = {"kind": "bound"}


@dataclass(frozen=True)
class Hole:
    """A certificate, whether it is true, and words of the refusal if it is not."""

    network: Network
    certificate: dict[str, Any]
    is_true: bool
    words: str | None = None


def high_from(cut, *, whole=False):
    """Class high iff x is at least the cut."""
    return Network(Encoder([threshold(cut, whole=whole)], ["x"]), [], Head([[-1], [1]]), ["low", "high"])


def certificate(network, question, answer, proof=None, witness=None, **more):
    about = {"format": "sugenet certificate", "version": 3, "network": network.fingerprint}
    contents = {"question": question, "answer": answer, "witness": witness, "proof": proof, **more}
    if answer == "counted":
        del contents["witness"]
    return json.loads(json.dumps(about | contents))


def about(sample, label):
    return {"sample": sample, "label": label, "target": None, "ties": "lowest"}


def whatif(sample, label, cost, region=None):
    fields = {"cost": {"kind": cost}, "movable": [*range(len(sample))], "region": region, "limit": None}
    return {"kind": "whatif", **about(sample, label), **fields}


def patches() -> Iterator[Hole]:
    """A multiplier belongs to a patch."""
    first = RealLayer([[1], [1]], [1, 3])  # on iff x >= 1, iff x >= 3
    net = Network(Encoder.of_reals(1, 0, 4, names=["x"]), [first], Head([[1, 1], [1, -1]]), ["a", "b"])
    case = {"lower": [2], "upper": [4], "condition": [[[[[0, 1], [1, -1]], 1]]]}  # violated: Y_0 - Y_1 >= 1
    question = {"kind": "query", "inputs": 1, "outputs": 2, "cases": [case]}
    yield Hole(net, certificate(net, question, "refuted", witness=[4]), True)
    for patch in (0.5, True, "0", None, -1, 1, 2**63):
        forged = {
            "by": "split",
            "neuron": 0,
            "on": {"by": "multipliers", "mix": [1], "shares": [[patch, 0, 1000]]},
            "off": {"by": "impossible", "shares": [[0, 1]]},
        }
        proof = {"kind": "patches", "cases": [{"grid": 1, "patches": [[1]], "closures": [forged]}]}
        yield Hole(net, certificate(net, question, "proved", proof), False)


def conjunctions() -> Iterator[Hole]:
    """An empty conjunction is always met."""
    layer = DenseLayer([[1, 1], [1, -1]], tau=[1, 1])
    net = Network(Encoder.of_bits(2), [layer], Head([[1, -1], [-1, 1]]))
    case = {"lower": [0, 0], "upper": [1, 1], "condition": [[], [[[[0, 1]], 1000000]]]}
    question = {"kind": "query", "inputs": 2, "outputs": 2, "cases": [case]}
    yield Hole(net, certificate(net, question, "refuted", witness=[0, 0]), True)
    for proof in (
        BOUNDS,
        {"kind": "enumerate"},
        {"kind": "dual", "cases": [0, 0], "multipliers": ""},
        {"kind": "dual", "cases": [0], "multipliers": ""},
    ):
        yield Hole(net, certificate(net, question, "proved", proof), False, "always met")


def boxes() -> Iterator[Hole]:
    """A box holds its sample."""
    net = high_from(10.0)
    for limit in ([12, 20], {"one of": [12]}, [6, 7]):
        region = {"kind": "Box", "limits": [[0, limit]]}
        asked = whatif([5], 0, "L1", region)
        robust = {"kind": "robust", **about([5], 0), "region": region}
        for data in (
            certificate(net, asked, "none", BOUNDS),
            certificate(net, asked, "counterfactual", None, [12], value="7", lower="0"),
            certificate(net, asked, "counterfactual", BOUNDS, [20], value="15", lower="15"),
            certificate(net, robust, "proved", BOUNDS),
        ):
            yield Hole(net, data, False, "outside the box")


def floats() -> Iterator[Hole]:
    """A value is a float64, or it is none."""
    net, v = high_from(5.0), 5 - Fraction(3, 4) / 2**50  # below 5, above the float before 5
    regions = [
        {"kind": "L1", "radius": str(10 - v)},
        {"kind": "Linf", "radius": str(10 - v)},
        {"kind": "Box", "limits": [[0, [str(v), 20]]]},
    ]
    case = {"lower": [str(v)], "upper": [20], "condition": [[[[[0, 1], [1, -1]], 0]]]}
    for question in (
        *({"kind": "robust", **about([10], 1), "region": region} for region in regions),
        {"kind": "always", "label": 1, "where": [[0, [str(v), 20]]]},
        {"kind": "query", "inputs": 1, "outputs": 2, "cases": [case]},
    ):
        yield Hole(net, certificate(net, question, "proved", BOUNDS), True)
        yield Hole(net, certificate(net, question, "refuted", witness=[str(v)]), False, "not a value")


def integers() -> Iterator[Hole]:
    """Integers beyond the floats are values too."""
    big = 2**53
    net = high_from(float(big + 2), whole=True)
    question = {"kind": "robust", **about([big + 10], 1), "region": {"kind": "L1", "radius": 9}}
    yield Hole(net, certificate(net, question, "refuted", witness=[big + 1]), True)
    yield Hole(net, certificate(net, question, "proved", BOUNDS), False)


def counts() -> Iterator[Hole]:
    """Counts take region and limits together; nobody names moves."""
    net = high_from(10.0)
    proof = {"kind": "partition", "order": [], "parts": [[None, [0, 1]]]}
    for region, where in (({"kind": "L1", "radius": 5}, [12, 20]), ({"kind": "L0", "radius": 0}, [6, 7])):
        question = {"kind": "count", "sample": [5], "region": region, "where": [[0, where]]}
        forged = certificate(net, question, "counted", proof, counts=[0, 1], total=1, method="walk")
        yield Hole(net, forged, False, "no input")
    moves = {"kind": "Moves", "moves": [[0, 1, 15, 1]], "budget": None}
    question = {"kind": "count", "sample": [5], "region": moves, "where": []}
    forged = certificate(net, question, "counted", proof, counts=[1, 1], total=2, method="walk")
    yield Hole(net, forged, False)


LITERALS = (
    "-9223372036854775808 0 0",
    "9223372036854775808 0 0",
    "-2147483648 0 0",
    "4294967296 0 0",
    "-0 0",
    "00 0",
    "1-1 0 0",
    "- 0 0",
    "0",
)


def literals() -> Iterator[Hole]:
    """Literals are seen before they are cast."""
    net = Network(Encoder.of_bits(4), [DenseLayer([[1, 1, 1, 1]], [2])], Head([[-1], [1]]), ["off", "on"])
    question = {"kind": "robust", **about([1, 1, 0, 0], 1), "region": {"kind": "L0", "radius": 2}}
    yield Hole(net, certificate(net, question, "refuted", witness=[0, 0, 0, 0]), True)
    fields = {"kind": "lemma", "variables": variables_of(net, question), "facts": [], "cuts": []}
    for text in LITERALS:
        packed = b64encode(compress(f"{text}\n".encode())).decode()
        proof = {**fields, "clauses": packed, "encoding": "zlib+base64"}
        yield Hole(net, certificate(net, question, "proved", proof), False)


def variables_of(network, question):
    from sugenet.checker.accelerate.integers import array_problem
    from sugenet.checker.accelerate.thresholds import thresholds_of
    from sugenet.checker.limit import Limit
    from sugenet.checker.setting import setting_of
    from tests.checker.typed import asked_of

    return thresholds_of(array_problem(setting_of(asked_of(question, network), Limit()), Limit())).starts[-1]


def infinities() -> Iterator[Hole]:
    """Infinity is not a value."""
    for cut, label, value in ((inf, 0, inf), (-1.7976931348623157e308, 1, -inf)):
        net = high_from(cut)
        question = {"kind": "always", "label": label, "where": []}
        yield Hole(net, certificate(net, question, "proved", BOUNDS), True)
        yield Hole(net, certificate(net, question, "refuted", witness=[value]), False)


def bits() -> Iterator[Hole]:
    """A bit that is off is one value."""
    net = Network.of_bits([DenseLayer([[1, 1, 1]], [1])], Head([[-1], [1]]), classes=["off", "on"])
    question = whatif([-1, -1, -1], 0, "L0")
    for off in (0, -1):
        data = certificate(net, question, "counterfactual", None, [1, off, off], value="1", lower="0")
        yield Hole(net, data, True)
        yield Hole(net, {**data, "value": "3"}, False, "costs 1, not 3")
    data = certificate(net, question, "counterfactual", None, [True, 0, 0], value="1", lower="0")
    yield Hole(net, data, False)


def proofs() -> Iterator[Hole]:
    """There is no proof beside a bound of nothing."""
    net = high_from(10.0)
    data = certificate(net, whatif([5], 0, "L1"), "counterfactual", None, [10], value="5", lower="0")
    yield Hole(net, data, True)
    yield Hole(net, {**data, "proof": BOUNDS}, False, "nothing to prove")
    yield Hole(net, {**data, "lower": "-1"}, False)
    yield Hole(net, {**data, "lower": "6"}, False)


def categories() -> Iterator[Hole]:
    """Categories are told apart by type."""
    net = Network(Encoder([OneHot((1, "2", 2.5, None, False))]), [], Head([[1] * 5, [-1] * 5]))
    for value, other in ((1, True), ("2", 2), (2.5, "2.5"), (None, "None"), (False, 0), (1, 1.0)):
        where = [[0, {"one of": [value]}]]
        never = {"kind": "never", "label": 1, "where": where}  # 1 of 5 bits on: class 1 wins
        yield Hole(net, certificate(net, never, "refuted", witness=[value]), True)
        yield Hole(net, certificate(net, never, "refuted", witness=[other]), False)


def queries() -> Iterator[Hole]:
    """A query whose box holds no value is about nothing."""
    net = high_from(2.0, whole=True)
    case = {"lower": [0.25], "upper": [0.75], "condition": [[[[[0, 1]], 0]]]}
    question = {"kind": "query", "inputs": 1, "outputs": 2, "cases": [case]}
    yield Hole(net, certificate(net, question, "proved", BOUNDS), False, "about no input")


def rounding() -> Iterator[Hole]:
    """Prices are not rounded in a count."""
    one = Network(Encoder([threshold(0.0)], ["f"]), [DenseLayer([[1]], [1])], Head([[1], [-1]]))
    two = Network(Encoder([threshold(0.1), threshold(1e300)]), [DenseLayer([[1, 1]], [1])], Head([[1], [-1]]))
    for net, sample, region in (
        (one, [0.0], {"kind": "L1", "radius": "0"}),  # the next float below 0 is 5e-324 away
        (two, [0.0, 0.0], {"kind": "L1", "radius": "1/10"}),  # the float 0.1 is above 1/10
        (two, [0.0, 0.0], {"kind": "L2", "radius": "1/10"}),
    ):
        question = {"kind": "count", "sample": sample, "region": region, "where": []}
        right = [1, 0] if net is one else [0, 1]
        for counts in ([1, 1], [2, 0], [0, 2], right):
            proof = {"kind": "partition", "order": [*range(len(sample))], "parts": [[[], counts]]}
            more = {"counts": counts, "total": sum(counts), "method": "walk"}
            yield Hole(net, certificate(net, question, "counted", proof, **more), counts == right)


def laws() -> Iterator[Hole]:
    """Laws that leave no input prove nothing."""
    net = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[1], [-1]]), classes=["a", "b"])
    for where, limits in (([[0, [1, 1]]], []), ([], [[0, [1, 1]]])):
        for kind in ("always", "never"):
            question = {"kind": kind, "label": 0, "where": where}
            domain = {"limits": limits, "laws": [law_data("x1 = 0", net)]}
            yield Hole(net, certificate(net, question, "proved", BOUNDS, domain=domain), False, "no input")


HOLES = (
    patches, conjunctions, boxes, floats, integers, counts, literals, infinities, bits, proofs, categories,
    queries, rounding, laws,
)  # fmt: skip


def every() -> Iterator[Hole]:
    """All of them."""
    return chain.from_iterable(holes() for holes in HOLES)
