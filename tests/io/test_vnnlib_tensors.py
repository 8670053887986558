"""VNNLIB 2: the same queries as in version 1, with tensors; and what differs, by name."""

import numpy as np
import pytest

from sugenet.errors import FileError
from sugenet.io.vnnlib import parse_vnnlib

NET = "(declare-network f (declare-input X Real [1,2,2]) (declare-output Y float32 [1,3]))"


def both(shape, seed):
    """A query in both versions."""
    random = np.random.default_rng(seed)
    count = int(np.prod(shape))
    old = [f"(declare-const X_{i} Real)" for i in range(count)] + [
        f"(declare-const Y_{k} Real)" for k in range(3)
    ]
    sizes = ", ".join(map(str, shape))
    new = ["(vnnlib-version <2.0>) ; new", "(declare-network net"]
    new += [f'(declare-input im Real [{sizes}] "input") (declare-output out Real [3]))']
    for i, place in enumerate(np.ndindex(*shape)):
        name = f"im[{', '.join(map(str, place))}]" if seed % 2 else f"im[{','.join(map(str, place))}]"
        low, high = sorted(random.integers(-9, 9, 2))
        for lines, word in ((old, f"X_{i}"), (new, name)):
            lines.append(f"(assert (>= {word} {low})) (assert (<= {word} {high}.5))")
    condition = "(assert (or (and (<= {0} {1}) (>= (+ {2} (* 2 {1})) 1)) (>= (- {0}) 0.25)))"
    old.append(condition.format("Y_0", "Y_1", "Y_2"))
    new.append(condition.format("out[0]", "out[1]", "out[2]"))
    return parse_vnnlib("\n".join(old)), parse_vnnlib("\n".join(new))


@pytest.mark.parametrize("shape", [(1,), (1, 63), (1, 3, 4, 5), (5, 13)])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_in_both_versions(shape, seed):
    old, new = both(shape, seed)
    assert old == new


def test_equal_is_both_bounds_and_scalars_have_no_index():
    head = "(declare-network f (declare-input x Real []) (declare-output y Real [1]))"
    query = parse_vnnlib(f"{head} (assert (== x 0.5)) (assert (= y[0] 2))")
    box = query.cases[0].box
    assert box.lower == box.upper
    assert [str(part) for part in query.cases[0].condition[0]] == ["(<= Y_0 2.0)", "(>= Y_0 2.0)"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"{NET} (assert (< X[0,0,0] 1))",
            "line 1, column 94: < is not supported: boxes and",
        ),
        (f"{NET} (assert (!= Y[0,0] 1))", "!= is not supported"),
        (f"{NET} (assert (>= X[0,0] 1))", r"X[0,0] is not an element of X, which has shape [1,2,2]"),
        (f"{NET} (assert (>= X[0,2,0] 1))", "X[0,2,0] is not an element of X"),
        (f"{NET} (assert (>= Z[0] 1))", "Z is not declared in the network"),
        (f"{NET} (assert (>= X[0,-1,0] 1))", "are not integers"),
        (f"{NET} {NET}", "declared twice"),
        (f"{NET} (declare-const X_0 Real)", "declare-const is of version 1"),
        (f"(declare-const X_0 Real) {NET}", "declare-input is of version 2"),
        ("(vnnlib-version <3.0>)", "write (vnnlib-version <2.0>)"),
        ("(declare-input X Real [1])", "declare-input is inside of declare-network"),
        ("(declare-network f (declare-input X Real [1]))", "one network with one input and one output"),
        (
            '(declare-network f (declare-input X Real [1]) (declare-hidden H Real [1] "h") '
            "(declare-output Y Real [1]))",
            "declare-hidden is not supported: one network",
        ),
        ("(declare-network f (equal-to g) (declare-input X Real [1]))", "equal-to is not supported"),
        ("(declare-network f (declare-input X bool [1]) (declare-output Y Real [1]))", "element type bool"),
        ("(declare-network f (declare-input X Real [0]) (declare-output Y Real [1]))", "has no elements"),
        ("(declare-network f (declare-input X Real 3) (declare-output Y Real [1]))", "declared like"),
        ("(declare-network)", "declare-network is empty"),
        (NET, "X_0 has no lower bound"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(FileError) as error:
        parse_vnnlib(text)
    assert words in str(error.value)
