"""Input queries of Marabou, against their equations in fractions; and the questions that they hold."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io import import_file, read_ipq, read_query
from sugenet.io.exact.evaluation import apply
from sugenet.io.marabou.reader import chain_of_query, read_input_query
from tests.fuzzing.input_queries import Saved, ask, random_query, samples


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_networks_are_what_their_equations_say(tmp_path, seed, doubled):
    random = np.random.default_rng(seed)
    made = random_query(random, sizes=(7, 5)[: seed + 1], doubled=doubled)
    (tmp_path / "net.ipq").write_text(made.text())
    found = read_ipq(tmp_path / "net.ipq").report
    assert len(found.network.layers) == min(seed + 1, 2)  # sign(sign(x) + 0.1) is no layer
    X = samples(random, made, 100)
    want = [made.outputs_at(x) for x in X]
    scores = found.network.head.scores(found.network.match_counts(X))
    assert [list(map(Fraction, row)) for row in scores] == want
    assert import_file(tmp_path / "net.ipq").fingerprint == found.network.fingerprint


@pytest.mark.parametrize("seed", range(6))
def test_their_questions_are_decided(tmp_path, seed):
    """By the cuts of every input: a point of each cell of the box."""
    random = np.random.default_rng(seed)
    made = random_query(random, inputs=4, sizes=(5,))
    label = int(np.argmax(made.outputs_at([0] * 4)))
    for v in range(4):
        made.upper[v] = Fraction(int(random.integers(1, 5)), 4)
    other = ask(made, label)
    (tmp_path / "net.ipq").write_text(made.text())
    network, query = read_ipq(tmp_path / "net.ipq"), read_query(tmp_path / "net.ipq")
    cells = []
    for v in range(4):
        _, scalar, ((_, factor), _) = made.equations[v]
        cut = -scalar / factor  # factor x - scalar is 0 there
        cells.append({Fraction(0), min(max(Fraction(cut * -1), 0), made.upper[v]), made.upper[v]})
    points = [(x, made.outputs_at(x)) for x in product(*cells)]
    violated = any(y[other] >= y[label] for _, y in points)
    answer = sg.verify(network, query)
    assert type(answer).__name__ == ("Refuted" if violated else "Proved")
    sg.check(answer.certificate, network)
    assert all(query.violated_by(list(x), y) == (y[other] >= y[label]) for x, y in points)


def test_scales_of_inputs_come_before_their_layer(tmp_path):
    """As Marabou's networks of MNIST have them: batch norm of raw inputs, and +-1 weights behind it."""
    random = np.random.default_rng(0)
    made = Saved(5)
    scaled = [made.sums([v], [[Fraction(v + 3, 8)]], [Fraction(-v, 4)])[0] for v in range(5)]
    weights = [[Fraction(int(w)) for w in row] for row in random.choice([-1, 1], (6, 5))]
    sums = made.sums(scaled, weights, [Fraction(0)] * 6)
    signs = made.sign([made.sums([v], [[Fraction(-3, 2)]], [Fraction(k, 8)])[0] for k, v in enumerate(sums)])
    made.outputs = made.sums(
        signs, [[Fraction(int(w)) for w in random.choice([-1, 1], 6)] for _ in range(2)], [0, 0]
    )
    (tmp_path / "net.ipq").write_text(made.text())
    chain = chain_of_query(read_input_query(tmp_path / "net.ipq"))
    assert [type(op).__name__ for op in chain.ops] == ["Affine", "LinearOp", "Sign", "LinearOp"]
    assert len(set(np.abs(chain.ops[1].weights).reshape(-1).tolist())) == 1
    for x in samples(random, made, 50):
        value = x[None]
        for op in chain.ops:
            value = apply(op, value)
        assert value[0].tolist() == made.outputs_at(x)


def small():
    made = Saved(2)
    made.lower |= {0: Fraction(0), 1: Fraction(0)}
    made.upper |= {0: Fraction(1), 1: Fraction(1)}
    signs = made.sign(
        made.sums([0], [[Fraction(1)]], [Fraction(-1, 2)]) + made.sums([1], [[Fraction(2)]], [-1])
    )
    made.outputs = made.sums(signs, [[Fraction(1), Fraction(1)], [Fraction(-1), Fraction(1)]], [0, 0])
    return made


def text(old="", new=""):
    given = small().text()
    assert old in given
    return given.replace(old, new, 1) if old else given


DAMAGES = {
    "empty": ("", "it ends before line 1"),
    "cut off": (text()[:20], "it ends before line"),
    "relu": (text("0,sign,4,2", "0,relu,4,2"), "the constraint 'relu' is not read. Networks of signs are"),
    "no number": (text("0,0,0.5000000000,", "0,0,half,"), "line 20: 'half' is not a number"),
    "type": (text("0,0,0.5000000000,", "0,7,0.5000000000,"), "'7' is not an integer up to 2"),
    "variable": (text("1,sign,5,3", "1,sign,5,99"), "'99' is not an integer up to 7"),
    "twice": (text("1,sign,5,3", "1,sign,4,3"), "variable 4 is the sign of two others"),
    "loose": (text("1,sign,5,3", "1,sign,5,6"), "no equation gives"),
    "left": (text() + "\n1,2,3", "'1,2,3' would be left over"),
    "inputs": (text("\n1,1\n", "\n0,1\n"), "the input 0 occurs twice"),
    "bytes": ("\x80", "it is not text"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files(tmp_path, name):
    given, words = DAMAGES[name]
    (tmp_path / "net.ipq").write_bytes(given.encode("latin-1"))
    with pytest.raises(FileError, match=r"^net\.ipq: ") as error:
        read_ipq(tmp_path / "net.ipq")
    assert words in str(error.value)


def test_what_is_no_chain_or_no_condition(tmp_path):
    path = tmp_path / "net.ipq"
    made = small()
    made.outputs = made.sums([0, *made.outputs], [[Fraction(1)] * 3], [0])
    path.write_text(made.text())
    with pytest.raises(FileError, match="it adds values of different layers"):
        read_ipq(path)
    made = small()
    made.lower[2] = Fraction(1, 4)
    path.write_text(made.text())
    with pytest.raises(
        FileError, match=r"variable 2, which is neither input nor output, is bounded by 0\.25"
    ):
        read_query(path)
    made = small()
    del made.upper[1]
    path.write_text(made.text())
    with pytest.raises(FileError, match="the input variable 1 has no lower or no upper bound"):
        read_query(path)


def test_nnet_files_are_told_the_way(tmp_path):
    (tmp_path / "acas.nnet").write_text("// ReLU\n")
    with pytest.raises(FileError, match=r"networks of ReLUs.*saveQuery\('net\.ipq'\)"):
        import_file(tmp_path / "acas.nnet")
