"""Float parts at the ends are kept outside the exact part, named, and give the scores of the whole chain."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import EncodingError, FileError
from sugenet.io.exact.domains import Bits, Integers
from sugenet.io.exact.evaluation import passed
from sugenet.io.exact.ops import Affine, Clip, Convolution, Flatten, LinearOp, OpChain, Sign
from sugenet.io.exact.relaxed import PartialImportReport, split
from sugenet.io.exact.report import ImportReport
from sugenet.io.native.file import network_bytes, network_from
from sugenet.io.proof.interpreters import interpreter_of_chain
from sugenet.io.proof.proving import prove_import
from tests.io.chains import evaluate

RNG = np.random.default_rng(0)


def signs(*shape):
    return RNG.choice([-1.0, 1.0], shape).astype(np.float32)


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


STEM = (
    Convolution("stem", floats(3, 1, 2, 2), floats(3)),
    Clip("relu", 0.0, float("inf")),
    Affine("bn", floats(3), floats(3)),
    Sign("s0"),
)
MIDDLE = (
    Convolution("conv", signs(4, 3, 2, 2)),
    Sign("s1"),
    Flatten("flat"),
    LinearOp("fc", signs(5, 36)),
    Sign("s2"),
)
EXACT_HEAD = (LinearOp("out", signs(3, 5), floats(3)),)
FLOAT_HEAD = (LinearOp("out", floats(3, 5), floats(3)), Clip("relu6", 0.0, 6.0))


@pytest.mark.parametrize(("head", "float_head"), [(EXACT_HEAD, False), (FLOAT_HEAD, True)])
def test_a_float_stem_and_head_stay_outside(head, float_head):
    chain = OpChain("net", (1, 5, 5), (*STEM, *MIDDLE, *head))
    found = split(chain)
    assert isinstance(found, PartialImportReport)
    assert "before the network: stem, relu, bn, s0" in str(found)
    assert ("after the network: out, relu6" in str(found)) == float_head
    X = RNG.normal(size=(20, 1, 5, 5))
    assert np.allclose(found.scores(X), evaluate(chain, X))
    assert (found.predict(X) == evaluate(chain, X).argmax(axis=1)).all()
    assert len(found.network.layers) == 2


def test_an_exact_chain_is_lowered_whole():
    chain = OpChain("net", (4,), (LinearOp("fc", signs(3, 4)), Sign("s"), LinearOp("out", signs(2, 3))))
    found = split(chain, Bits())
    assert type(found) is ImportReport
    tail = (LinearOp("out", floats(2, 3)), Clip("relu", 0.0, float("inf")))
    partly = split(OpChain("net", (4,), (*chain.ops[:2], *tail)), Bits())
    assert isinstance(partly, PartialImportReport)
    X = RNG.choice([-1, 1], (10, 4))
    assert partly.stem is None
    assert partly.scores(X).shape == (10, 2)
    with pytest.raises(FileError, match="no float stem"):
        partly.bits(X)


INPUTS = [
    Integers(0, 255, step=Fraction(1, 255)),
    Integers(-3, 4, step=[Fraction(1, 2), 1, Fraction(1, 3), -1], start=[0, 1, -1, 0]),
    Bits(0, 1),
]


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("where", ["stem", "tail", "both"])
def test_raw_samples_are_those_that_the_inputs_say(inputs, where):
    stem = (
        (LinearOp("stem", floats(5, 4), floats(5)), Clip("relu", 0.0, float("inf")))
        if where != "tail"
        else ()
    )
    first = (*stem, LinearOp("in", floats(6, 5) if stem else signs(6, 4)), Sign("s0"))
    relu = Clip("relu", 0.0, float("inf"))
    tail = (relu, LinearOp("tail", floats(3, 3))) if where != "stem" else ()
    middle = (LinearOp("hidden", signs(5, 6)), Sign("s1"), LinearOp("out", signs(3, 5)))
    chain = OpChain("net", (4,), (*first, *middle, *tail))
    found = prove_import(split(chain, inputs), chain, [interpreter_of_chain(chain)], inputs)
    assert isinstance(found, PartialImportReport)
    ends = (0, 1) if isinstance(inputs, Bits) else (inputs.low, inputs.high)
    X = RNG.integers(*ends, (100, 4), endpoint=True)
    if isinstance(inputs, Bits):
        values = X.astype(float)
    else:
        values = [[float(inputs.value(int(x), k % inputs.channels)) for k, x in enumerate(row)] for row in X]
    assert np.allclose(found.scores(X), evaluate(chain, np.array(values)))
    with pytest.raises(EncodingError, match="must be"):
        found.scores(X + 1000)
    with pytest.raises(EncodingError, match="3"):
        found.scores(X[:, :3])


def test_where_nothing_is_exact_the_reason_is_that_of_the_whole():
    chain = OpChain("net", (4,), (LinearOp("fc", floats(3, 4)), LinearOp("out", floats(2, 3))))
    with pytest.raises(FileError, match="fc: row 0 of the weights is not quantized"):
        split(chain, Bits())


def test_names_are_kept_where_the_exact_part_has_them_and_refused_elsewhere():
    exact = OpChain("net", (4,), (LinearOp("in", signs(3, 4)), Sign("s"), LinearOp("out", signs(2, 3))))
    found = split(exact, Bits(), names="abcd", classes=["no", "yes"])
    assert found.network.encoder.names == ("a", "b", "c", "d")
    assert found.network.classes == ("no", "yes")
    relu = Clip("relu", 0.0, float("inf"))
    tailed = OpChain("net", (4,), (*exact.ops[:2], LinearOp("out", floats(2, 3)), relu))
    assert split(tailed, Bits(), names="abcd").network.encoder.names == ("a", "b", "c", "d")
    with pytest.raises(FileError, match="classes= has no use: a part in floats gives the scores"):
        split(tailed, Bits(), classes=["no", "yes"])
    with pytest.raises(FileError, match="names= has no use: a part in floats reads the features"):
        split(OpChain("net", (1, 5, 5), (*STEM, *MIDDLE, *EXACT_HEAD)), names=range(25))


def neighbours(network, rows, labels, sample, budget, distance):
    """Answers about one sample by enumeration: whether its class stays, the counts, the cheapest change."""
    away = np.array([distance(row, sample) for row in rows])
    own = int(labels[(rows == sample).all(axis=1)][0])
    near, changed = away <= budget, away[labels != own]
    counts = tuple(int((labels[near] == k).sum()) for k in range(network.head.outputs))
    return bool((labels[near] == own).all()), counts, min(changed.tolist(), default=None)


def asked(network, rows, labels, sample, region, cost, distance):
    """Compare `verify`, `count`, `whatif` and `why` with enumeration."""
    stays, counts, cheapest = neighbours(network, rows, labels, sample, 2, distance)
    answer = sg.verify(network, sg.Robust(sample, region))
    assert isinstance(answer, sg.Proved) == stays
    sg.check(answer.certificate, network)
    assert sg.count(network, sample, region).counts == counts
    change = sg.whatif(network, sample, cost=cost)
    assert (change.cost if change.outcome == "found" else None) == cheapest
    kept = list(sg.why(network, sample, region).features)
    near = np.array([distance(row, sample) <= 2 for row in rows])
    alike = near & (rows[:, kept] == sample[kept]).all(axis=1)
    assert len(set(labels[alike].tolist())) == 1


def small(seed=5):
    random = np.random.default_rng(seed)
    stem = (
        Clip("clamp", -0.75, 0.5),
        LinearOp("stem", random.normal(size=(5, 3)), random.normal(size=5)),
        Clip("relu", -0.5, 3.0),
        Sign("s0"),
    )
    middle = (LinearOp("fc", random.choice([-1.0, 1.0], (4, 5)), random.normal(size=4)), Sign("s1"))
    head = (LinearOp("out", random.choice([-1.0, 1.0], (3, 4)), random.normal(size=3)),)
    tail = (LinearOp("out", random.normal(size=(3, 4))), Clip("relu6", 0.0, 6.0))
    return stem, middle, head, tail


@pytest.mark.parametrize("ending", ["exact", "float"])
def test_questions_about_the_part_behind_a_float_stem(ending):
    """They are about the signs of the stem, and agree with enumeration of all of them."""
    stem, middle, head, tail = small()
    chain = OpChain("net", (3,), (*stem, *middle, *(head if ending == "exact" else tail)))
    inputs = Integers(0, 7, step=Fraction(1, 4), start=-1)
    found = split(chain, inputs)
    network = found.network
    assert found.inputs == inputs
    assert network.encoder.names[:2] == ("sign 1", "sign 2")
    rows = np.array(list(product((0, 1), repeat=5)))
    labels = passed((*middle, *(head if ending == "exact" else ())), rows * 2.0 - 1).argmax(axis=1)
    assert (network.predict(rows) == labels).all()
    for raw in ([0, 0, 0], [7, 3, 5], [2, 6, 1]):
        sample = found.bits([raw])[0].astype(int)
        values = np.array([[float(inputs.value(x)) for x in raw]])
        assert (sample == (passed(stem, values)[0] > 0)).all()
        asked(network, rows, labels, sample, sg.Hamming(2), "Hamming", lambda a, b: int((a != b).sum()))
    again = network_from(network_bytes(network))
    assert again == network


def test_questions_about_raw_inputs_before_a_float_tail():
    """They are about the declared numbers; the classes are the outputs that the tail reads."""
    _, middle, _, tail = small()
    inputs = Integers(0, 2, step=Fraction(1, 2), start=-1)
    chain = OpChain("net", (5,), (*middle, *tail))
    found = split(chain, inputs)
    network = found.network
    assert found.stem is None
    assert network.classes == ("sign 1", "sign 2", "sign 3", "sign 4")
    rows = np.array(list(product(range(3), repeat=5)))
    labels = passed(middle, rows * 0.5 - 1).argmax(axis=1)
    assert (network.predict(rows) == labels).all()
    for row in (0, 100, 242):
        asked(network, rows, labels, rows[row], sg.L1(2), "L1", lambda a, b: int(np.abs(a - b).sum()))
    assert np.allclose(found.scores(rows), passed(chain.ops, rows * 0.5 - 1))


def test_samples_of_a_partly_exact_network_are_checked():
    stem, middle, head, tail = small()
    both = split(OpChain("net", (3,), (*stem, *middle, *head)), Integers(0, 7))
    with pytest.raises(EncodingError, match="a sample has 4 values, but net reads 3"):
        both.bits([[0, 0, 0, 0]])
    with pytest.raises(EncodingError):
        both.bits([[0, 8, 0]])
    with pytest.raises(EncodingError):  # raw numbers are no signs of the stem
        sg.verify(both.network, sg.Robust([0, 7, 3], sg.Hamming(1)))
    behind = split(OpChain("net", (5,), (*middle, *tail)), Integers(0, 2))
    with pytest.raises(FileError, match="there is no float stem"):
        behind.bits([[0, 0, 0, 0, 0]])
    with pytest.raises(EncodingError):
        sg.verify(behind.network, sg.Robust([0, 0, 0, 0, 3], sg.L0(1)))
