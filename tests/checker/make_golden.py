"""Certificates of every kind, kept as they were written, with what the checker said of them.

This script writes ``tests/checker/golden/certificates.json.gz``; read what changed before it is kept::

    python -m tests.checker.make_golden tests/checker/golden/certificates.json.gz

Networks are kept beside the certificates as native files; those that ship with the package are named. An
entry has ``again`` if the engine gives the same certificate every time.
"""

from __future__ import annotations

import gzip
import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import compress

import numpy as np

import sugenet as sg
from sugenet import logic
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    RealLayer,
    Window,
    bit,
    integer,
    thermometer,
    threshold,
)
from sugenet.reason.envelope import kind_of
from tests.checker import test_composed, test_learned
from tests.engines import test_reals
from tests.logic.wholes import given

FILE = Path(__file__).parent / "golden" / "certificates.json.gz"
Ask = Callable[[], dict[str, Any]]


# -- networks ------------------------------------------------------------------------------------------------


def mixed(seed: int, width: int = 5, depth: int = 2) -> Network:
    """Every coding, ternary weights, scores in thirds."""
    rng = np.random.default_rng(seed)
    codings = [
        bit(),
        thermometer([1, 2, 3], 0, 4, True),
        OneHot(("a", "b", "c")),
        threshold(2, 0, 3, True),
        integer(0, 2),
    ]
    encoder = Encoder(codings, ["wet", "heat", "kind", "high", "many"])
    layers, size = [], encoder.width
    for _ in range(depth):
        weights = rng.integers(-1, 2, (width, size))
        layers.append(DenseLayer(weights, [int(rng.integers(1, abs(row).sum() + 1)) for row in weights]))
        size = width
    bias = [Fraction(int(rng.integers(-4, 5)), 3) for _ in range(3)]
    return Network(encoder, layers, Head(rng.integers(-1, 2, (3, size)), bias, [1, Fraction(1, 2), 1]))


def of_bits(seed: int, inputs: int, width: int, depth: int = 1, classes: int = 3) -> Network:
    rng = np.random.default_rng(seed)
    layers, size = [], inputs
    for _ in range(depth):
        weights = rng.choice([-1, 1], (width, size))
        layers.append(DenseLayer(weights, rng.integers(size // 2 - 1, size // 2 + 2, width)))
        size = width
    return Network.of_bits(layers, Head(rng.choice([-1, 1], (classes, size))))


def levels(seed: int, *, reals: bool = False) -> Network:
    """Integers that are summed exactly, or real numbers."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([-1, 1], (5, 3))
    low = np.minimum(weights, 0).sum(axis=1) * 4
    theta = [Fraction(int(rng.integers(-6, 30)), 6) for _ in weights]
    tau = [min(max(ceil(t) - int(a), 0), 13) for t, a in zip(theta, low, strict=True)]
    head = Head(rng.choice([-1, 1], (3, 5)), [Fraction(1, 3), 0, 0])
    if reals:
        return Network(Encoder.of_reals(3, 0, 4), [RealLayer(weights, theta)], head)
    return Network(Encoder.of_integers(3, 0, 4), [LevelLayer(weights, tau, [4] * 3)], head)


def ordered() -> Network:
    """Heat never lowers the class, by the signs of weights along all paths."""
    encoder = Encoder([thermometer([1, 2, 3], 0, 4, True), OneHot(("a", "b", "c"))], ["heat", "kind"])
    first = DenseLayer([[1, 1, 0, 1, -1, 1], [0, 0, 0, 1, 1, -1], [0, 1, 1, -1, 1, 1]], [3, 2, 3])
    return Network(
        encoder, [first, DenseLayer([[1, -1, 1], [0, 1, 0]], [2, 1])], Head([[-1, 1], [1, -1], [1, 1]])
    )


def convolution(seed: int, top: int | None, side: int = 3) -> Network:
    """A convolution with pads, pooling, a second convolution, a dense layer."""
    rng = np.random.default_rng(seed)
    window = Window((1, side, side), 2, 1, 1, (1, 0, 0, 0))
    weights = rng.choice([-1, 1], (2, 1, 2, 2))
    layers: list[Any] = [ConvLayer(weights, rng.integers(1, 3 * (top or 1), 2), window, 1, top)]
    layers.append(PoolLayer(Window(layers[-1].output_shape, (1, 2), 1), [False, True]))
    shape = layers[-1].output_shape
    layers.append(ConvLayer(rng.choice([-1, 1], (2, shape[0], 2, 1)), [2, 2], Window(shape, (2, 1))))
    rows = rng.choice([-1, 1], (4, layers[-1].outputs))
    layers.append(DenseLayer(rows, np.full(4, layers[-1].outputs // 2)))
    encoder = Encoder.of_bits(side * side) if top is None else Encoder.of_integers(side * side, 0, top)
    return Network(encoder, layers, Head(rng.choice([-1, 1], (3, 4)), [1, 0, 0]))


def wide_convolution() -> Network:
    """So many changes times neurons that the checker does not write the neurons out."""
    rng = np.random.default_rng(3)
    first = ConvLayer(
        rng.choice([-1, 1], (8, 1, 3, 3)), rng.integers(900, 1400, 8), Window((1, 12, 12), 3), top=255
    )
    layers: list[Any] = [first, PoolLayer(Window(first.output_shape, 2, 2))]
    layers.append(ConvLayer(rng.choice([-1, 1], (4, 8, 3, 3)), np.full(4, 34), Window((8, 5, 5), 3)))
    layers.append(DenseLayer(rng.choice([-1, 1], (12, 36)), np.full(12, 18)))
    return Network(Encoder.of_integers(144, 0, 255), layers, Head(rng.choice([-1, 1], (3, 12)), [6, 0, 0]))


def built() -> dict[str, Network]:
    """The networks that are kept beside the certificates."""
    return {
        "mixed": mixed(1),
        "mixed 2": mixed(2, 4, 1),
        "mixed 3": mixed(5, 6, 0),
        "bits": of_bits(0, 14, 8, 2),
        "bits 2": of_bits(1, 20, 6, 1, 2),
        "other": Network(
            mixed(1).encoder, (), Head(np.random.default_rng(4).integers(-1, 2, (3, mixed(1).encoder.width)))
        ),
        "levels": levels(0),
        "levels 2": levels(1),
        "reals": levels(0, reals=True),
        "reals 2": levels(1, reals=True),
        "bit convolution": convolution(0, None),
        "level convolution": convolution(1, 2),
        "wide convolution": wide_convolution(),
        "real convolution": test_reals.two_convolutions(5, 6),
        "codes": test_composed.NET,
        "ordered": ordered(),
    }


def shipped() -> dict[str, Network]:
    return {"digits": sg.models.digits(), "breast cancer": sg.models.breast_cancer()}


def packed(network: Network) -> str:
    with TemporaryDirectory() as folder:
        sg.save(network, Path(folder) / "n.sugenet")
        return b64encode((Path(folder) / "n.sugenet").read_bytes()).decode()


def unpacked(text: str) -> Network:
    with TemporaryDirectory() as folder:
        (Path(folder) / "n.sugenet").write_bytes(b64decode(text))
        return sg.load(Path(folder) / "n.sugenet")


# -- questions -----------------------------------------------------------------------------------------------


def query(low: list[Any], high: list[Any], condition: str) -> Any:
    """A query as VNN-LIB says it, about three classes."""
    text = [f"(declare-const X_{k} Real)" for k in range(len(low))] + [
        f"(declare-const Y_{k} Real)" for k in range(3)
    ]
    text += [f"(assert (>= X_{k} {value}))" for k, value in enumerate(low)]
    text += [f"(assert (<= X_{k} {value}))" for k, value in enumerate(high)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "q.vnnlib"
        path.write_text("\n".join([*text, condition]))
        return sg.read_vnnlib(path)


def two_boxes(features: int, condition: str) -> Any:
    """A query with two boxes, whose answer has two parts."""
    text = [f"(declare-const X_{k} Real)" for k in range(features)] + [
        f"(declare-const Y_{k} Real)" for k in range(3)
    ]
    boxes = [
        " ".join(f"(>= X_{k} {low}) (<= X_{k} {low + (k == 0)})" for k in range(features)) for low in (0, 1)
    ]
    text.append(f"(assert (or (and {boxes[0]}) (and {boxes[1]})))")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "q.vnnlib"
        path.write_text("\n".join([*text, condition]))
        return sg.read_vnnlib(path)


NOT_0 = "(assert (or (and (>= Y_1 Y_0)) (and (>= Y_2 Y_0))))"
SAMPLES = {
    "mixed": [1, 3, "b", 2, 0],
    "mixed 2": [0, 1, "c", 0, 2],
    "mixed 3": [1, 0, "a", 3, 1],
    "levels": [1, 3, 2],
    "levels 2": [4, 0, 2],
    "bit convolution": [1, 0, 1, 1, 0, 0, 1, 1, 0],
    "level convolution": [2, 0, 1, 1, 0, 0, 1, 2, 0],
}


def entries(networks: dict[str, Network]) -> Iterator[tuple[str, str, str | None, bool, Ask]]:
    """Name, network, other network, whether asking again gives the same, and the question;
    one thread, one seed.
    """

    def verify(name: str, question: Any, engine: str = "auto") -> Ask:
        return lambda: (
            sg.verify(networks[name], question, engine=engine, threads=1, time_limit=120).certificate
        )

    regions = [
        sg.Hamming(1),
        sg.Hamming(3),
        sg.L0(1),
        sg.L0(2),
        sg.L1(2),
        sg.L1(Fraction(5, 2)),
        sg.L2(1),
        sg.L2(2),
        sg.Linf(1),
        sg.AnyInput(),
    ]
    for name, x in SAMPLES.items():
        network, short = networks[name], name.startswith("level conv")
        spots = [*regions, sg.Free((0, 1)), sg.Box({0: (0, max(1, x[0]))})]
        for number, region in enumerate(spots[::2] if short else spots):
            for ties in ("lowest", "against") if number % 3 == 0 else ("lowest",):
                question = sg.Robust(x, region, ties=ties)
                yield f"{name}: {question}", name, None, True, verify(name, question)
        for engine in ("bounds", "flips", "exhaust", "branch", "cdcl", "dual"):
            for region in (sg.L0(1), sg.L0(2), sg.L2(2), sg.Linf(1)):
                question = sg.Robust(x, region)
                yield (
                    f"{name}: {question} by {engine}",
                    name,
                    None,
                    engine != "dual",
                    verify(name, question, engine),
                )
        label = int(network.predict([x])[0])
        for target in range(3):
            if target != label:
                yield (
                    f"{name}: towards {target}",
                    name,
                    None,
                    True,
                    verify(name, sg.Robust(x, sg.L0(2), target=target)),
                )
        where = {0: (0, 1)} if name.startswith("mixed") else {0: (1, 1), 1: (0, 0)}
        for question in (
            sg.Always(label),
            sg.Always(label, where),
            sg.Never(0),
            sg.Never(2, where),
            sg.Monotone(1),
            sg.Monotone(3 if name.startswith("mixed") else 2, where=where),
        ):
            yield f"{name}: {question}", name, None, True, verify(name, question)
        yield f"{name}: fair", name, None, True, verify(name, sg.Fair([0]))
        yield (
            f"{name}: fair there",
            name,
            None,
            True,
            verify(name, sg.Fair([0, 1], where={2: {"a", "b"}} if name.startswith("mixed") else {2: (0, 1)})),
        )
        costs = [
            sg.L0,
            sg.L1,
            sg.L2,
            sg.Linf,
            sg.Hamming,
            sg.Prices({0: 1, 1: Fraction(3, 2), 2: 2}),
            sg.Prices({0: Fraction(1, 3), 1: 1}, per_unit=True),
        ]
        for cost in costs:
            for options in ({}, {"max_cost": 1}, {"keep": [0]}, {"target": (label + 1) % 3}):
                said = (
                    f"{name}: what if, {cost.prices if isinstance(cost, sg.Prices) else cost.__name__}, "
                    f"{options}"
                )
                yield (
                    said,
                    name,
                    None,
                    True,
                    lambda n=network, x=x, c=cost, o=options: (
                        sg.whatif(n, x, c, threads=1, time_limit=120, **o).certificate
                    ),
                )
        for region in (sg.Box({0: (0, max(1, x[0])), 1: (0, x[1])}), sg.Free((1, 2)), sg.Linf(1)):
            yield (
                f"{name}: what if in {region}",
                name,
                None,
                True,
                lambda n=network, x=x, r=region: sg.whatif(n, x, sg.L1, region=r, threads=1).certificate,
            )
        yield (
            f"{name}: what if by bounds",
            name,
            None,
            True,
            lambda n=network, x=x: sg.whatif(n, x, sg.L0, engine="bounds", threads=1).certificate,
        )
        yield (
            f"{name}: what if by cdcl",
            name,
            None,
            True,
            lambda n=network, x=x: sg.whatif(n, x, sg.L0, engine="cdcl", threads=1).certificate,
        )
        for region in (None, sg.L0(3), sg.Linf(1), sg.Free((0, 1))):
            for minimal in ("subset", "size", None):
                for ties in ("lowest", "against") if region is None else ("lowest",):
                    yield (
                        f"{name}: why in {region}, {minimal}, {ties}",
                        name,
                        None,
                        True,
                        lambda n=network, x=x, r=region, m=minimal, t=ties: (
                            sg.why(n, x, r or sg.AnyInput(), minimal=m, ties=t, threads=1)
                            .reasons[0]
                            .certificate
                        ),
                    )
        for region in (*regions[:9], sg.Free((0, 1)), sg.AnyInput()):
            yield (
                f"{name}: count in {region}".replace("2.5", "5/2"),  # as it was called when it was kept
                name,
                None,
                True,
                lambda n=network, x=x, r=region: sg.count(n, x, r, threads=1).certificate,
            )
        for method in ("walk", "sums"):
            yield (
                f"{name}: count by {method}",
                name,
                None,
                True,
                lambda n=network, m=method: sg.count(n, method=m, threads=1).certificate,
            )
        yield (
            f"{name}: count there",
            name,
            None,
            True,
            lambda n=network, w=where: sg.count(n, where=w, threads=1).certificate,
        )
    agree = sg.Agree(networks["other"])
    yield "agree", "mixed", "other", True, verify("mixed", agree)
    yield (
        "agree there",
        "mixed",
        "other",
        True,
        verify("mixed", sg.Agree(networks["other"], where={"wet": (1, 1), "heat": (0, 1), "high": (0, 0)})),
    )
    yield "agree with itself", "mixed", "mixed", True, verify("mixed", sg.Agree(networks["mixed"]))
    yield (
        "agree with itself by cdcl",
        "mixed",
        "mixed",
        True,
        verify("mixed", sg.Agree(networks["mixed"]), "cdcl"),
    )
    for name in ("level convolution", "bit convolution"):
        for high in (0, 1):
            question = query([0] * 9, [1] * 3 + [high] * 6, "(assert (>= Y_0 Y_1))\n(assert (>= Y_1 100))")
            yield f"{name}: query {high}", name, None, True, verify(name, question)
            question = query([0] * 9, [1] * 2 + [high] * 7, NOT_0)
            yield f"{name}: query not 0, {high}", name, None, True, verify(name, question)
        for bound in (-100, 0, 100):
            question = two_boxes(9, f"(assert (>= Y_1 {bound}))")
            yield f"{name}: two boxes, {bound}", name, None, True, verify(name, question)
    for name in ("levels", "levels 2", "reals", "reals 2"):
        for low, high in (
            (0, 4),
            (1, 2),
            ("0.25", "0.75"),
            ("2.5", "2.5"),
            ("1.1", "1.9"),
            (3, 4),
            ("2.2", "3.1"),
            ("3.5", "4"),
        ):
            for condition in (
                NOT_0,
                "(assert (or (and (>= Y_0 Y_1)) (and (>= Y_2 Y_1))))",
                "(assert (>= Y_1 Y_2))",
                "(assert (>= Y_0 3))",
            ):
                yield (
                    f"{name}: {condition} from {low} to {high}",
                    name,
                    None,
                    True,
                    verify(name, query([low] * 3, [high] * 3, condition)),
                )
        for bound in (-100, 0, 100):
            yield (
                f"{name}: two boxes, {bound}",
                name,
                None,
                True,
                verify(name, two_boxes(3, f"(assert (>= Y_1 {bound}))")),
            )
    convolved = networks["real convolution"]
    split = test_reals.led_by(test_reals.query_around(convolved, 6, Fraction(1)), 19)
    yield "real convolution: led by 19", "real convolution", None, False, verify("real convolution", split)
    x = [1, -1] * 7
    for engine in ("bounds", "flips", "exhaust", "cdcl", "cpsat"):
        for radius in (1, 2, 3):
            question = sg.Robust(x, sg.Hamming(radius))
            yield (
                f"bits: {question} by {engine}",
                "bits",
                None,
                engine != "cpsat",
                verify("bits", question, engine),
            )
    yield "bits: never", "bits", None, True, verify("bits", sg.Never(1))
    yield "bits 2: count", "bits 2", None, True, lambda: sg.count(networks["bits 2"], threads=1).certificate
    wide, image = networks["wide convolution"], (np.arange(144) * 37 % 256).tolist()
    for region in (sg.L0(1), sg.Linf(1), sg.L1(2), sg.Free(range(2))):
        yield (
            f"wide convolution: {region}",
            "wide convolution",
            None,
            True,
            verify("wide convolution", sg.Robust(image, region)),
        )
    yield (
        "wide convolution, what if",
        "wide convolution",
        None,
        True,
        lambda: sg.whatif(wide, image, sg.L0, max_cost=1, threads=1).certificate,
    )
    X, _ = sg.models.samples("digits")
    for number in (0, 3):
        for region in (sg.L0(1), sg.L0(2), sg.Linf(1), sg.Hamming(2), sg.L1(3), sg.L2(2)):
            yield (
                f"digits {number}: {region}",
                "digits",
                None,
                True,
                verify("digits", sg.Robust(X[number], region)),
            )
        for cost in (sg.L0, sg.L1, sg.L2):
            yield (
                f"digits {number}: what if, {cost.__name__}",
                "digits",
                None,
                True,
                lambda n=number, c=cost: sg.whatif(networks["digits"], X[n], c, threads=1).certificate,
            )
        yield (
            f"digits {number}: why",
            "digits",
            None,
            True,
            lambda n=number: sg.why(networks["digits"], X[n], sg.Linf(2), threads=1).reasons[0].certificate,
        )
        yield (
            f"digits {number}: count",
            "digits",
            None,
            True,
            lambda n=number: sg.count(networks["digits"], X[n], sg.L0(1), threads=1).certificate,
        )
    X, _ = sg.models.samples("breast_cancer")
    patient = networks["breast cancer"]
    for number in (0, 5):
        for region in (sg.L0(1), sg.L0(2), sg.Hamming(3)):
            yield (
                f"breast cancer {number}: {region}",
                "breast cancer",
                None,
                True,
                verify("breast cancer", sg.Robust(X[number], region)),
            )
        for cost in (sg.L0, sg.Hamming, sg.L1):
            yield (
                f"breast cancer {number}: what if, {cost.__name__}",
                "breast cancer",
                None,
                True,
                lambda n=number, c=cost: sg.whatif(patient, X[n], c, threads=1).certificate,
            )
        yield (
            f"breast cancer {number}: why",
            "breast cancer",
            None,
            True,
            lambda n=number: sg.why(patient, X[n], sg.AnyInput(), threads=1).reasons[0].certificate,
        )
    feature = patient.encoder.names[0]
    yield (
        "breast cancer: monotone",
        "breast cancer",
        None,
        True,
        verify("breast cancer", sg.Monotone(feature)),
    )
    yield "ordered: monotone", "ordered", None, True, verify("ordered", sg.Monotone("heat"))
    yield "breast cancer: never", "breast cancer", None, True, verify("breast cancer", sg.Never(0))


def derived(certificates: dict[str, tuple[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """Answers that a clock or a size decides otherwise: parts of a region, a lower bound alone, nothing,
    clauses that are packed.
    """
    for name, (network, certificate) in certificates.items():
        question, proof = certificate["question"], certificate["proof"]
        kind = kind_of(proof)
        if kind == "lemma" and "encoding" not in proof and question["kind"] != "agree":
            text = "\n".join(" ".join(map(str, [*clause, 0])) for clause in proof["clauses"])
            packed = b64encode(compress(text.encode())).decode()
            smaller = {**proof, "encoding": "zlib+base64", "clauses": packed}
            yield f"{name}, packed", network, {**certificate, "proof": smaller}
        if (
            certificate["answer"] == "proved"
            and question["kind"] == "robust"
            and kind == "enumerate"
            and question["region"]["kind"] in ("Hamming", "L0", "L1", "L2")
        ):
            region = question["region"]
            reached = str(Fraction(region["radius"]) ** (2 if region["kind"] == "L2" else 1))
            wider = {**question, "region": {**region, "radius": str(Fraction(region["radius"]) + 1)}}
            yield (
                f"{name}, then undecided",
                network,
                {**certificate, "question": wider, "answer": "undecided", "proved_up_to": reached},
            )
        if (
            certificate["answer"] == "counterfactual"
            and proof is not None
            and Fraction(certificate["lower"]) > 0
        ):
            opened = {key: value for key, value in certificate.items() if key != "value"}
            yield f"{name}, then open", network, {**opened, "answer": "open", "witness": None}
        if question["kind"] == "reason" and certificate["answer"] in ("minimal", "minimum"):
            short = {key: value for key, value in certificate.items() if key != "contrasts"}
            yield f"{name}, then sufficient", network, {**short, "answer": "sufficient", "witness": None}
            yield f"{name}, then unknown", network, {**short, "answer": "unknown", "proof": None}
            if certificate["witness"] is not None:
                yield f"{name}, then minimal", network, {**short, "answer": "minimal"}
    network, certificate = certificates["bits: never"]
    blank = {key: certificate[key] for key in ("format", "version", "network", "question")}
    yield (
        "nothing is claimed",
        network,
        {**blank, "witness": None, "proof": None, "answer": "undecided", "proved_up_to": None},
    )


GRID = [0, 1, 2, 3, 2, 3, 0, 1, 1, 0, 3, 2, 3, 2, 1, 0]
"""Classes of a Sudoku of four by four."""


def composed(certificates: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Certificates about a composite, and answers that a clock decides otherwise."""
    yield from certificates.items()
    codes = test_composed.CODES
    grid = sg.logic.Sudoku(logic.readings_of(test_composed.NET, [codes[k] for k in GRID]))
    known = given(np.random.default_rng(0), "c", "1234")
    a, b = logic.readings_of(test_composed.NET, codes[:2], ["a", "b"])
    stated = sg.logic.Statement.of([a, b, known], "a = b and c = 1 or b = 2")
    for name, whole in (("grid", grid), ("stated", stated)):
        yield f"read {name}", json.loads(json.dumps(logic.read(whole).certificate))
        yield f"{name}, flipped", json.loads(json.dumps(logic.verify(whole, sg.Hamming(1)).certificate))
    yield "read, by clauses", json.loads(json.dumps(logic.read(test_composed.hard(0)).certificate))
    for answer in ("minimal", "sufficient", "unknown"):
        found = {**certificates["why"], "answer": answer}
        yield f"why, then {answer}", {k: v for k, v in found.items() if (answer, k) != ("unknown", "proof")}
    found = {name: value for name, value in certificates["whatif"].items() if name not in ("choice", "cost")}
    yield "whatif, then open", {**found, "answer": "open"}


def books(networks: dict[str, Network]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Rulebooks: name, network, data."""
    for name in ("mixed", "mixed 2", "mixed 3", "bit convolution"):
        yield f"{name}: rulebook", name, sg.rulebook(networks[name]).data()
        yield f"{name}: every rule", name, sg.rulebook(networks[name], every=True).data()
    yield "bits: some rules", "bits", sg.rulebook(networks["bits"], 0, most=3).data()


def asked(ask: Ask) -> Any:
    """The certificate as JSON; None where the question is refused."""
    with suppress(QuestionError):
        return json.loads(json.dumps(ask()))


def said_of(certificate: Any, network: Any, other: Network | None = None) -> str:
    """What the checker says, or why it refuses."""
    try:
        return sg.check(json.loads(json.dumps(certificate)), network, other)
    except CertificateError as error:
        return f"{type(error).__name__}: {error}"


def stored() -> dict[str, Any]:
    """What the file holds, with its networks ready."""
    found: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    found["networks"] = {name: unpacked(text) for name, text in found["networks"].items()} | shipped()
    return found


def main(path: str) -> None:
    networks = {name: unpacked(packed(network)) for name, network in built().items()} | shipped()
    rows, known = [], {}
    for name, network, other, again, ask in entries(networks):
        certificate = asked(ask)
        if certificate is None:
            continue
        known[name] = network, certificate
        said = said_of(certificate, networks[network], None if other is None else networks[other])
        rows.append(
            {
                "name": name,
                "network": network,
                "other": other,
                "again": again,
                "certificate": certificate,
                "said": said,
            }
        )
    for name, network, certificate in derived(known):
        said = said_of(certificate, networks[network], None)
        rows.append(
            {
                "name": name,
                "network": network,
                "other": None,
                "again": False,
                "certificate": certificate,
                "said": said,
            }
        )
    wholes = []
    for name, certificate in composed(test_composed.certificates()):
        said = said_of(certificate, networks["codes"])
        wholes.append({"name": name, "certificate": certificate, "said": said})
    learned = []
    for name in test_learned.ANSWERS:
        ratings, certificate = test_learned.certificate(name)
        learned.append({"name": name, "certificate": certificate, "said": said_of(certificate, ratings)})
    found = {
        "networks": {name: packed(network) for name, network in built().items()},
        "wholes": wholes,
        "learned": learned,
        "certificates": rows,
        "rulebooks": [
            {"name": name, "network": network, "data": {**data, "seconds": 0}}
            for name, network, data in books(networks)
        ],
    }
    Path(path).write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), 9, mtime=0))
    summary: dict[Any, int] = {}
    for row in rows:
        kind = (
            row["certificate"]["question"]["kind"],
            row["certificate"]["answer"],
            kind_of(row["certificate"]["proof"]),
        )
        summary[kind] = summary.get(kind, 0) + 1
    for kind, many in sorted(summary.items(), key=str):
        print(many, *kind)
    print(
        len(rows),
        "certificates;",
        Path(path).stat().st_size,
        "bytes;",
        [r["name"] + " " + r["said"][:90] for r in rows if "Error" in r["said"]],
    )


if __name__ == "__main__":
    main(sys.argv[1])
