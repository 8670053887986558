"""Forged certificates: real ones of every kind, damaged at random or on purpose, and false claims with all
their numbers right.

``forgeries(seed)`` goes on for ever, ``bombs()`` are those that aim at time and memory. ``tried`` gives one
to the checker and measures; ``difference`` says where one was accepted though brute force
(`tests.fuzzing.truth`) refutes it.
"""

from __future__ import annotations

import copy
import json
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from zlib import compress

import numpy as np

import sugenet as sg
from sugenet.errors import CertificateError, SugenetError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import problems_of
from tests.engines.test_reals import KINDS, query_around, scores_at
from tests.engines.test_reals import network as real_network
from tests.fuzzing import bombs as heavy
from tests.fuzzing.convolutions import conv_network
from tests.fuzzing.truth import is_true
from tests.nn.test_sparse import sparse
from tests.problem.levels import KINDS as LEVEL_KINDS
from tests.problem.levels import lively_network
from tests.problem.small import random_network, random_sample, raw_values

__all__ = ["Forgery", "Outcome", "bombs", "cases", "difference", "forgeries", "tried"]

SECONDS, BYTES = 4.0, 400 << 20
"""The limits that forgeries are checked with."""


@dataclass(frozen=True)
class Forgery:
    """A certificate from nowhere."""

    certificate: Any
    network: Network
    other: Network | None
    how: str
    false: bool | None = None
    """Whether it is known to be false; None: brute force tells."""
    judge: Callable[[Any, Network, Network | None], bool] = is_true
    """Brute force: whether the claim is true."""


@dataclass(frozen=True)
class Outcome:
    """What the checker made of a forgery."""

    accepted: bool
    false: bool
    """Accepted, though what it claims is not so."""
    seconds: float
    megabytes: float
    """By how much the memory of the process grew at most."""
    said: str


def tried(forgery: Forgery, seconds: float = SECONDS, memory: int = BYTES) -> Outcome:
    """Give a forgery to the checker, with limits."""
    before = _memory("VmRSS")
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    start = time.perf_counter()
    try:
        said = sg.check(
            forgery.certificate, forgery.network, forgery.other, time_limit=seconds, memory_limit=memory
        )
        accepted = True
    except CertificateError as error:
        said, accepted = str(error), False
    taken = time.perf_counter() - start
    grown = max(0.0, _memory("VmHWM") - before)
    false = accepted and (
        forgery.false or not forgery.judge(forgery.certificate, forgery.network, forgery.other)
    )
    return Outcome(accepted, false, taken, grown, said)


def difference(forgery: Forgery) -> str | None:
    """What is wrong with what the checker says of a forgery; None: nothing."""
    found = tried(forgery)
    if found.false:
        return f"accepted though false ({forgery.how}): {json.dumps(forgery.certificate, default=str)[:2000]}"
    return None


def _memory(name: str) -> float:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    return 0.0


def forgeries(seed: int) -> Iterator[Forgery]:
    """Forged certificates without end, the same for the same seed."""
    rng = np.random.default_rng(seed)
    while True:
        kind = rng.random()
        if kind < 0.25:
            yield from _huge(rng)
            continue
        if kind < 0.35:
            yield from _reals(rng)
            continue
        if kind < 0.5:
            network = conv_network(rng)
        elif kind < 0.7:
            network = lively_network(rng, str(rng.choice(LEVEL_KINDS)))
        else:
            network = random_network(rng, features=int(rng.integers(2, 5)))
        if rng.random() < 0.3:
            layers = [sparse(layer) if type(layer) is DenseLayer else layer for layer in network.layers]
            network = replace(network, layers=tuple(layers))
        other = Network(network.encoder, (), Head(rng.integers(-1, 2, (3, network.encoder.width))))
        pool = [copy.deepcopy(found) for found in real(network, other, rng)]
        if not pool:
            continue
        for _ in range(4):
            pool += [found for found in (_enumerated(network, rng),) if found is not None]
        for certificate in pool:
            yield Forgery(certificate, network, other, "as it is")
            for _ in range(12):
                forged, how = _changed(rng, certificate, pool)
                yield Forgery(forged, network, other, how)


def _changed(rng: np.random.Generator, certificate: Any, pool: list[Any]) -> tuple[Any, str]:
    """A certificate with something changed, and what."""
    forged, how = json.loads(json.dumps(certificate)), []
    wanted = int(rng.choice([1, 1, 1, 2, 3]))
    while len(how) < wanted:  # most changes fit some certificates only
        change = CHANGES[rng.integers(len(CHANGES))]
        with suppress(KeyError, TypeError, IndexError, ValueError, AttributeError, ArithmeticError):
            change(rng, forged, pool)
            how.append(change.__name__)
    return forged, ", ".join(how)


cases = forgeries


def bombs(size: int = 1 << 30) -> Iterator[Forgery]:
    """Small certificates that ask for much time or memory, none of them true;
    proofs unpack to so many bytes.
    """
    for how, certificate, network in heavy.bombs(size):
        yield Forgery(certificate, network, None, how, True)


# -- real certificates ---------------------------------------------------------------------------------------


def real(network: Network, other: Network, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Certificates of all kinds of questions and proofs about a network."""
    x = random_sample(network, rng)
    regions = [
        sg.Hamming(1),
        sg.Hamming(2),
        sg.L0(1),
        sg.L0(2),
        sg.L1(2),
        sg.L2(2),
        sg.Linf(1),
        sg.AnyInput(),
        sg.Free((0,)),
    ]
    label = int(rng.integers(network.head.outputs))
    feature = int(rng.integers(network.encoder.features))
    where = _where(network, rng)
    questions: list[Any] = [
        sg.Robust(x, regions[rng.integers(len(regions))], ties=str(rng.choice(["lowest", "against"]))),
        sg.Robust(x, regions[rng.integers(len(regions))]),
        sg.Robust(x, sg.Box(where)),
        sg.Always(label, where),
        sg.Never(label, where),
        sg.Monotone(feature, where=where),
        sg.Fair([feature], where=where),
        sg.Agree(other, where=where),
    ]
    with suppress(ValueError):  # categories are no numbers
        questions.append(_query(network, rng))
    for question in questions:
        engines = ["auto", "bounds", "flips", "exhaust", "branch", "cdcl"]
        for engine in dict.fromkeys(rng.choice(engines, 3).tolist()):
            with suppress(SugenetError):
                yield sg.verify(network, question, engine=engine, time_limit=5).certificate
    for cost in (sg.L0, sg.L1, sg.Hamming, sg.L2)[rng.integers(2) :]:
        with suppress(SugenetError):
            yield sg.whatif(network, x, cost, max_cost=None if rng.random() < 0.5 else 2).certificate
    for minimal in ("subset", "size"):
        with suppress(SugenetError):
            yield (
                sg.why(network, x, regions[rng.integers(len(regions))], minimal=minimal)
                .reasons[0]
                .certificate
            )
    with suppress(SugenetError):
        yield sg.count(network, x, regions[rng.integers(7)]).certificate
    with suppress(SugenetError):
        yield sg.count(network).certificate


def _where(network: Network, rng: np.random.Generator) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, coding in zip(network.encoder.names, network.encoder.codings, strict=True):
        values = raw_values(coding)
        if rng.random() < 0.4:
            if hasattr(coding, "categories"):
                found[name] = set(values[: int(rng.integers(1, len(values) + 1))])
            else:
                low, high = sorted(int(v) for v in rng.choice(values, 2))
                found[name] = (low, high)
    return found


def _query(network: Network, rng: np.random.Generator) -> Query:
    boxes = []
    for _ in range(int(rng.integers(1, 3))):
        ends = [
            sorted(int(v) for v in rng.choice(raw_values(coding), 2)) for coding in network.encoder.codings
        ]
        terms = [(0, Fraction(int(rng.integers(1, 3)))), (1, Fraction(-1))]
        box = QueryBox([Fraction(a) for a, _ in ends], [Fraction(b) for _, b in ends])
        boxes.append(Case(box, [[Inequality(terms, Fraction(int(rng.integers(-2, 5))))]]))
    return Query(network.encoder.features, network.head.outputs, boxes)


def _enumerated(network: Network, rng: np.random.Generator) -> dict[str, Any] | None:
    """A claim that enumeration proves something, true or false."""
    x, label = random_sample(network, rng), int(rng.integers(network.head.outputs))
    regions = [sg.Hamming(2), sg.L0(2), sg.L1(3), sg.Linf(2), sg.AnyInput()]
    asked = [sg.Robust(x, regions[rng.integers(len(regions))]), sg.Always(label), sg.Never(label)][
        rng.integers(3)
    ]
    with suppress(SugenetError):
        proof = {"kind": "enumerate"}
        return json.loads(
            json.dumps(
                envelope(network, asked, witness=None, proof=None) | {"answer": "proved", "proof": proof}
            )
        )
    return None


def _huge(rng: np.random.Generator) -> Iterator[Forgery]:
    """Claims about heads whose scores are at the edges of 32, 53 and 64 bits."""
    edge = int(rng.choice([31, 32, 53, 62, 63, 64]))
    inputs, outputs = int(rng.integers(1, 4)), 2
    size = min(int(rng.integers(20, 30)), 31 - inputs.bit_length())

    def near(power: int) -> int:
        return max(0, (1 << max(0, power)) + int(rng.integers(-2, 3)))

    weights = [
        [int(rng.choice([-1, 0, 1])) * min(near(size), ((1 << 31) - 1) // inputs) for _ in range(inputs)]
        for _ in range(outputs)
    ]
    scale = [
        Fraction(near(edge - size - int(rng.integers(0, 3)))) + int(rng.integers(0, 5))
        for _ in range(outputs)
    ]
    if rng.random() < 0.5:  # beyond all edges, where a sum that wraps around may have any sign
        scale = [Fraction(int(rng.integers(1 << 34, 1 << 39))) for _ in range(outputs)]
    bias = [a * sum(map(abs, row)) + int(rng.integers(-2, 3)) for a, row in zip(scale, weights, strict=True)]
    network = Network.of_bits([], Head(weights, bias, scale))
    for _ in range(3):
        certificate = _enumerated(network, rng)
        if certificate is not None:
            yield Forgery(certificate, network, None, "huge head")
            for kind in (
                {"kind": "bound"},
                {"kind": "lemma", "variables": 0, "facts": [], "cuts": [], "clauses": [[]]},
            ):
                forged = copy.deepcopy(certificate)
                forged["proof"] = kind
                if kind["kind"] == "lemma":
                    with suppress(SugenetError):
                        question = sg.Always(forged["question"]["label"])
                        kind["variables"] = problems_of(network, question)[0][0].cascade.starts[-1] + 1
                yield Forgery(forged, network, None, f"huge head, {kind['kind']}")


def _reals(rng: np.random.Generator) -> Iterator[Forgery]:
    """Queries over real boxes, whose proofs are patterns of patches."""
    network, pool = real_network(str(rng.choice(KINDS)), int(rng.integers(1 << 30))), []
    for _ in range(4):
        query = query_around(network, int(rng.integers(1 << 30)), Fraction(int(rng.integers(1, 5)), 3))
        pool.append(json.loads(json.dumps(sg.verify(network, query, time_limit=5).certificate)))
    for certificate in pool:
        yield Forgery(certificate, network, None, "as it is", judge=not_refuted)
        for _ in range(8):
            forged, how = _changed(rng, certificate, pool)
            yield Forgery(forged, network, None, f"reals: {how}", judge=not_refuted)


def not_refuted(certificate: Any, network: Network, _other: Network | None) -> bool:
    """Whether a witness is one; of a proof, whether none of many points in its boxes refutes it."""
    rng = np.random.default_rng(0)
    cases = certificate["question"]["cases"]

    def violates(case: Any, point: list[Fraction]) -> bool:
        scores = scores_at(network, point)
        return any(
            all(sum(Fraction(v) * scores[k] for k, v in terms) >= Fraction(b) for terms, b in row)
            for row in case["condition"]
        )

    if certificate["answer"] == "refuted":
        point = [Fraction(value) for value in certificate["witness"]]
        return any(_inside(case, point) and violates(case, point) for case in cases)
    if certificate["answer"] == "undecided":
        return True
    for case in cases:
        ends = [(Fraction(a), Fraction(b)) for a, b in zip(case["lower"], case["upper"], strict=True)]
        if any(a > b for a, b in ends):
            continue
        for turn in range(60):
            share = (
                rng.integers(0, 2, len(ends)) * 4 if turn < 30 else rng.integers(0, 5, len(ends))
            )  # corners, then any
            if violates(case, [a + (b - a) * int(k) / 4 for (a, b), k in zip(ends, share, strict=True)]):
                return False
    return True


def _inside(case: Any, point: list[Fraction]) -> bool:
    return all(
        Fraction(a) <= v <= Fraction(b) for a, v, b in zip(case["lower"], point, case["upper"], strict=True)
    )


# -- changes -------------------------------------------------------------------------------------------------

EDGES = [
    0,
    1,
    -1,
    2,
    31,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**53 + 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    10**30,
    10**400,
]
ODD = [
    True,
    False,
    None,
    "",
    "1",
    "-0",
    "+1",
    "1.0",
    "1e0",
    "0x1",
    "\uff11",
    "1/0",
    "1/1",
    -0.0,
    0.5,
    1.0,
    1e300,
    [],
    {},
    [[]],
    "lowest",
]


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield (*path, key)
            yield from _places(value, (*path, key))


def _at(data: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    for key in path[:-1]:
        data = data[key]
    return data, path[-1]


def _somewhere(rng: np.random.Generator, data: Any) -> tuple[Any, Any]:
    places = list(_places(data))
    return _at(data, places[rng.integers(len(places))])


def replace_value(rng, forged, pool):
    where, key = _somewhere(rng, forged)
    values = [*EDGES, *ODD]
    where[key] = copy.deepcopy(values[rng.integers(len(values))])  # later changes write into it


def nudge_number(rng, forged, pool):
    numbers = [p for p in _places(forged) if type(_at(forged, p)[0][p[-1]]) is int]
    where, key = _at(forged, numbers[rng.integers(len(numbers))])
    where[key] += int(rng.choice([-1, 1, 2, -2, where[key], -2 * where[key]]))


def respell_number(rng, forged, pool):
    numbers = [p for p in _places(forged) if type(_at(forged, p)[0][p[-1]]) in (int, str)]
    where, key = _at(forged, numbers[rng.integers(len(numbers))])
    value = where[key]
    spelled = [
        float(value),
        str(value),
        bool(value),
        f"{value}/1",
        f" {value}",
        f"{value}.0",
        f"{value}\n",
        -value if type(value) is int else value,
    ]
    where[key] = spelled[rng.integers(len(spelled))]


def drop_something(rng, forged, pool):
    where, key = _somewhere(rng, forged)
    del where[key]


def double_something(rng, forged, pool):
    lists = [p for p in _places(forged) if isinstance(_at(forged, p)[0][p[-1]], list)]
    where, key = _at(forged, lists[rng.integers(len(lists))])
    where[key] = [*where[key], copy.deepcopy(where[key][rng.integers(len(where[key]))])]


def swap_two(rng, forged, pool):
    lists = [
        p
        for p in _places(forged)
        if isinstance(_at(forged, p)[0][p[-1]], list) and len(_at(forged, p)[0][p[-1]]) > 1
    ]
    where, key = _at(forged, lists[rng.integers(len(lists))])
    i, j = rng.choice(len(where[key]), 2, replace=False)
    where[key][i], where[key][j] = where[key][j], where[key][i]


def add_field(rng, forged, pool):
    inside = [forged, forged["question"], forged["proof"]]
    inside[rng.integers(3)][
        str(
            rng.choice(
                ["note", "limit", "features", "total", "radius", "strict", "within", "encoding", "parts"]
            )
        )
    ] = 0


def splice_proof(rng, forged, pool):
    forged["proof"] = copy.deepcopy(pool[rng.integers(len(pool))]["proof"])


def splice_question(rng, forged, pool):
    forged["question"] = copy.deepcopy(pool[rng.integers(len(pool))]["question"])


def splice_field(rng, forged, pool):
    source = pool[rng.integers(len(pool))]
    key = list(source)[rng.integers(len(source))]
    forged[key] = copy.deepcopy(source[key])


def widen_region(rng, forged, pool):
    region = forged["question"]["region"]
    if "radius" in region and rng.random() < 0.7:
        region["radius"] = str(Fraction(region["radius"]) + int(rng.integers(1, 3)))
    else:
        forged["question"]["region"] = {"kind": "AnyInput"}


def widen_box(rng, forged, pool):
    case = forged["question"]["cases"][0]
    place = int(rng.integers(len(case["upper"])))
    case["upper"][place] = str(max(Fraction(case["upper"][place]), Fraction(8)))


def loosen_condition(rng, forged, pool):
    part = forged["question"]["cases"][0]["condition"][0][0]
    part[1] = str(Fraction(part[1]) - int(rng.integers(1, 4)))


def widen_where(rng, forged, pool):
    if forged["question"]["where"]:
        del forged["question"]["where"][rng.integers(len(forged["question"]["where"]))]


def other_label(rng, forged, pool):
    key = str(rng.choice([key for key in ("label", "target") if key in forged["question"]]))
    forged["question"][key] = int(rng.integers(3))


def other_ties(rng, forged, pool):
    forged["question"]["ties"] = "against" if forged["question"]["ties"] == "lowest" else "lowest"


def other_answer(rng, forged, pool):
    answers = [
        "proved",
        "refuted",
        "undecided",
        "none",
        "open",
        "counterfactual",
        "sufficient",
        "minimal",
        "minimum",
        "unknown",
        "counted",
    ]
    forged["answer"] = answers[rng.integers(len(answers))]
    if forged["answer"] in ("proved", "none", "sufficient"):
        forged["witness"] = None
        forged["proof"] = forged["proof"] or {"kind": "bound"}
        for name in ("value", "lower", "proved_up_to", "contrasts"):
            forged.pop(name, None)
    if forged["answer"] == "minimum":
        forged.setdefault("contrasts", [])


def raise_lower(rng, forged, pool):
    forged["lower"] = str(Fraction(forged["lower"]) + 1)
    if "value" in forged and rng.random() < 0.5:
        forged["value"] = forged["lower"]


def shrink_reason(rng, forged, pool):
    fixed = forged["question"]["fixed"]
    gone = fixed.pop(rng.integers(len(fixed)))
    if forged["witness"]:
        forged["witness"] = [row for row in forged["witness"] if row[0] != gone]


def move_count(rng, forged, pool):
    i, j = rng.choice(len(forged["counts"]), 2, replace=False)
    part = forged["proof"]["parts"][rng.integers(len(forged["proof"]["parts"]))][1]
    for row in (part, forged["counts"]):
        row[i], row[j] = row[i] + 1, row[j] - 1


def free_a_feature(rng, forged, pool):
    question = forged["question"]
    if "movable" in question:
        question["movable"] = list(range(len(question["sample"])))
    else:
        question["region"]["features"] = list(range(len(question["sample"])))


def edit_packed(rng, forged, pool):
    """Unpack a proof, change a number, and pack it again with the right sums."""
    proof = forged["proof"]
    clauses = [list(clause) for clause in proof["clauses"]]
    if rng.random() < 0.5:
        del clauses[rng.integers(len(clauses))]
    if clauses and clauses[0]:
        clauses[0][0] *= -1
    text = "\n".join(" ".join(map(str, [*clause, 0])) for clause in [*clauses, []])
    proof |= {"encoding": "zlib+base64", "clauses": b64encode(compress(text.encode())).decode()}


def only_the_end(rng, forged, pool):
    """A proof of nothing but its end."""
    forged["proof"]["clauses"] = [[]]


def invent_cut(rng, forged, pool):
    forged["proof"]["cuts"].append(
        [int(rng.integers(-9, 10)), int(rng.integers(0, 4)), int(rng.integers(0, 4))]
    )


def invent_fact(rng, forged, pool):
    forged["proof"]["facts"].append(int(rng.integers(-12, 13)))


CHANGES = [
    replace_value,
    replace_value,
    nudge_number,
    nudge_number,
    respell_number,
    drop_something,
    double_something,
    swap_two,
    add_field,
    splice_proof,
    splice_proof,
    splice_question,
    splice_field,
    widen_region,
    widen_region,
    widen_where,
    widen_box,
    loosen_condition,
    other_label,
    other_ties,
    other_answer,
    raise_lower,
    shrink_reason,
    move_count,
    free_a_feature,
    edit_packed,
    only_the_end,
    invent_cut,
    invent_fact,
]
