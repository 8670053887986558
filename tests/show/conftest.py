"""Answers of every type, on an image, on a table and on bits; each asked once."""

import matplotlib
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from tests.problem.clocks import hold

matplotlib.use("Agg")

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'single' <b>",
    "</svg></table><img src=x onerror=alert(2)>",
    "nul \x00 and $x^2$ ]]>",
)


def bits(classes=("off", "on"), names=None):
    layer = DenseLayer([[+1, +1, -1, +1], [+1, -1, +1, +1]], [2, 3])
    head = Head([[-1, 1], [+1, 1]])
    if names is None:
        return Network.of_bits([layer], head, classes=classes)
    return Network(sg.nn.Encoder.of_bits(4, names), [layer], head, classes)


def answers_of(network, x):
    """One of each type that such a question can give."""
    found = {
        "network": network,
        "summary": sg.summary(network),
        "trace": network.trace(x),
        "chain": sg.trace_reasons(network, x),
        "counterfactual": sg.whatif(network, x),
        "no counterfactual": sg.whatif(network, x, keep=network.encoder.names),
        "proved": sg.verify(network, sg.Robust(x, sg.Hamming(0))),
        "refuted": sg.verify(network, sg.Robust(x, sg.L0(len(x)))),
        "undecided": sg.verify(network, sg.Robust(x, sg.Hamming(3)), time_limit=0),
        "reasons": sg.why(network, x, sg.L0(2), n=10),
        "counted": sg.count(network, x, sg.Hamming(2)),
        "sampled": sg.count(network, x, sg.Hamming(2), method="sample", samples=500),
    }
    found["reason"] = found["reasons"].reasons[0]
    return found


@pytest.fixture(scope="session")
def digits():
    network, (X, _) = sg.models.digits(), sg.models.samples("digits")
    found = answers_of(network, X[7])
    found["open counterfactual"] = sg.whatif(network, X[7], time_limit=0)
    found["count open"] = sg.count(network, X[7], sg.Hamming(6), time_limit=0)
    return found


@pytest.fixture(scope="session")
def table():
    network, (X, _) = sg.models.breast_cancer(), sg.models.samples("breast_cancer")
    found = answers_of(network, X[3])
    found["monotone"] = sg.verify(network, sg.Monotone("worst area", "malignant"))
    found["fair"] = sg.verify(network, sg.Fair(["mean texture"]))
    found["always"] = sg.verify(network, sg.Always("benign", {"worst radius": (None, 13)}))
    found["agree"] = sg.verify(network, sg.Agree(sg.nn.simplify(network)))
    with pytest.MonkeyPatch.context() as patch:
        hold(patch, 0.05)
        found["checked rule"] = sg.check_rule(network, "worst area >= 1000 -> malignant", time_limit=1)
    found["rulebook"] = sg.rulebook(network, X=X[:2], most=2)
    return found


@pytest.fixture(scope="session")
def bit_answers():
    network = bits()
    found = answers_of(network, [+1, -1, +1, -1])
    found["rulebook"] = sg.rulebook(network)
    found["holds"] = sg.check_rule(network, "x1 = 1 and x2 = 1 -> on")
    found["fails"] = sg.check_rule(network, "x1 = 1 -> on")
    found["falling"] = sg.verify(network, sg.Monotone("x1", rising=False))
    return found


@pytest.fixture(scope="session")
def hostile():
    return answers_of(bits(HOSTILE[:2], HOSTILE), [+1, -1, +1, -1])
