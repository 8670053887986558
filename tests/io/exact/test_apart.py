"""Functions behind the class scores, against PyTorch's own 32-bit floats: accepted only if no class ties with
another that has a different score.
"""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import sugenet as sg  # noqa: E402
from sugenet.errors import FileError  # noqa: E402
from sugenet.io.exact.head import see_apart  # noqa: E402
from sugenet.nn import Head  # noqa: E402
from tests.io.torch.models import Sign  # noqa: E402

TAILS = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "log_sigmoid_forward": nn.functional.logsigmoid,
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
}


@pytest.mark.parametrize("tail", TAILS)
def test_what_is_accepted_never_ties(tail):
    """All combinations of scores that three classes can have, at scales on both sides of what is accepted."""
    rng, seen = np.random.default_rng(0), set()
    for _ in range(60):
        scale = 2.0 ** rng.integers(-30, 8, 3) if rng.integers(2) else 2.0 ** rng.integers(-4, 2, 3)
        head = Head(rng.integers(-2, 3, (3, 4)), rng.integers(-3, 4, 3), scale)
        try:
            see_apart(head, [f"{tail} at 3"], "net")
        except FileError:
            seen.add(False)
            continue
        seen.add(True)
        lists = [
            [head.scale[k] * (2 * m - n) + head.bias[k] for m in range(n + 1)]
            for k, n in enumerate(head.sizes.tolist())
        ]
        scores = np.array(list(product(*lists)))
        exact = scores.astype(np.float64)
        if not (exact.astype(np.float32) == exact).all():
            continue
        after = TAILS[tail](torch.tensor(exact, dtype=torch.float32)).numpy()
        assert (after.argmax(axis=1) == exact.argmax(axis=1)).all()
    assert seen == {True, False}


@pytest.mark.parametrize("tail", [nn.Tanh(), nn.Sigmoid()], ids=str)
def test_a_module_whose_scores_saturate_is_refused(tail):
    hidden, last = nn.Linear(4, 30, bias=False), nn.Linear(30, 2, bias=False)
    hidden.weight.data[:], last.weight.data[:] = 1.0, 1.0
    last.weight.data[0, :4] = -1.0
    module = nn.Sequential(hidden, Sign(), last, tail).eval()
    x = torch.ones(1, 4)
    assert module(x).tolist() == [[1.0, 1.0]]  # of the scores 22 and 30
    with pytest.raises(FileError, match=r"classes with the scores .* tie in 32-bit floats\. Remove it"):
        sg.from_torch(module, x, inputs=sg.Bits())
    assert sg.from_torch(module[:3], x, inputs=sg.Bits()).predict([[1] * 4]).tolist() == [1]
    last.weight.data *= 0.125
    last.weight.data[:, 20:] = 0
    found = sg.from_torch(module, x, inputs=sg.Bits()).report  # scores from -2.5 to 2.5
    assert found.network.predict([[1] * 4]).tolist() == [1]


def test_two_functions_behind_the_scores_are_refused():
    head = Head([[1, 1], [1, -1]])
    see_apart(head, ["node 3 (Softmax)", "node 4 (Log)", "output 'tanh'"], "net")
    with pytest.raises(FileError, match=r"node 4 \(Sigmoid\) comes after node 3 \(Softmax\)"):
        see_apart(head, ["node 3 (Softmax)", "node 4 (Sigmoid)"], "net")
    with pytest.raises(FileError, match="too many possible scores"):
        see_apart(Head([[1 << 21], [1]]), ["sigmoid at 3"], "net")
