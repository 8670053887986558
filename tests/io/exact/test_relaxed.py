"""Float parts at the ends are kept outside the exact part, named, and give the scores of the whole chain."""

from fractions import Fraction

import numpy as np
import pytest

from sugenet.errors import EncodingError, FileError
from sugenet.io.exact.domains import Bits, Integers
from sugenet.io.exact.ops import Affine, Clip, Convolution, Flatten, LinearOp, OpChain, Sign
from sugenet.io.exact.relaxed import PartialImportReport, split
from sugenet.io.exact.report import ImportReport
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
