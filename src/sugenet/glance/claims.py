"""Claims of an overview: a sentence, the network that it is about, and the answer that proves it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sugenet.nn import Head, Network
from sugenet.nn.layers import dense_layer
from sugenet.problem.clock import Clock
from sugenet.reason import Always, Never, Proved, Refuted, verify
from sugenet.reason.rechecking import check
from sugenet.reprs import roughly

__all__ = ["Claim", "among", "evenly", "fixed", "margin_bounds", "margins", "prove", "raised", "single"]

_STEPS = 40
"""Maximum number of questions about one margin."""


@dataclass(frozen=True, eq=False)
class Claim:
    """A proved sentence.

    `network` is the network that `answer` is about: the network itself, or a part or variant of it.
    """

    words: str
    network: Network
    answer: Any

    def check(self) -> str:
        """Check the certificate; raise `CertificateError` if it does not hold."""
        other = getattr(getattr(self.answer, "question", None), "other", None)
        return str(check(self.answer.certificate, self.network, other))

    def data(self) -> dict[str, Any]:
        """Return the claim as JSON data; `about` is the fingerprint of the network of its certificate."""
        return {
            "claim": self.words,
            "about": self.network.fingerprint,
            "certificate": self.answer.certificate,
        }


def among(network: Network) -> str:
    """Return the inputs that claims are about, in words, if the network has a domain."""
    return f", among {network.domain}" if network.domain else ""


def prove(words: str, network: Network, question: Any, clock: Clock, most: float) -> Claim | bool:
    """Return a claim if it is proved within some seconds; else whether it is still open."""
    left = clock.left()
    seconds = most if left is None else min(left, most)
    if not seconds:
        return True
    answer = verify(network, question, time_limit=seconds, seed=clock.seed)
    if isinstance(answer, Proved) and answer.certificate:
        return Claim(words + among(network), network, answer)
    return not isinstance(answer, Refuted)


# -- variants of a network -----------------------------------------------------------------------------------


def single(network: Network, layer: int, j: int, *, opposite: bool = False) -> Network:
    """Return the network whose class is the state of one binary neuron, or the opposite state.

    Layers are numbered from 1, neurons from 0.
    """
    votes = [[1], [-1]] if opposite else [[-1], [1]]
    read = network.layers[layer - 1]
    row = dense_layer(read.row(j)[None, :], [int(read.tau[j])], read.tops)
    layers = (*network.layers[: layer - 1], row)
    return replace(network, layers=layers, head=Head(votes), classes=("off", "on"))


def fixed(network: Network, layer: int, j: int) -> Network:
    """Return the network with one neuron of a dense layer off, or at level 0, whatever the input."""
    read = network.layers[layer - 1]
    tau = read.tau.copy()
    tau[j] = int(read.sizes[j]) + 1
    silent = dense_layer(read.rows(), tau, read.tops)
    return replace(network, layers=(*network.layers[: layer - 1], silent, *network.layers[layer:]))


def raised(network: Network, label: int, by: Fraction) -> Network:
    """Return the network with a number added to the score of one class."""
    head = network.head
    bias = [old + by if k == label else old for k, old in enumerate(head.bias)]
    return replace(network, head=Head(head.weights, bias, head.scale, head.tops))


# -- margins -------------------------------------------------------------------------------------------------


def margins(network: Network, label: int, X: Any) -> list[Fraction]:
    """Return the exact margin of a class on each sample: its score minus the largest other score."""
    scores = network.head.scores(network.match_counts(X))
    return [row[label] - max(s for k, s in enumerate(row) if k != label) for row in scores.tolist()]


def _unit(head: Head) -> Fraction:
    """Return a number that divides every possible difference of margins."""
    return Fraction(1, head.integers[2])


def _range(network: Network, label: int) -> tuple[Fraction, Fraction]:
    """Return trivial bounds on the margin of a class: each output of the last layer at its best."""
    head = network.head
    slopes, offsets, unit = head.integers
    wide = max(map(abs, slopes)) * int(head.sizes.max(initial=1)) >= 1 << 60
    weights = head.weights.astype(object) if wide else head.weights
    starts = [b - a * int(low) for a, b, low in zip(slopes, offsets, head.lowest, strict=True)]
    low, high = [], []
    for k in (k for k in range(head.outputs) if k != label):
        gains = slopes[label] * weights[label] - slopes[k] * weights[k]
        begin = starts[label] - starts[k]
        low.append(begin + int(np.minimum(gains, 0) @ head.input_tops))
        high.append(begin + int(np.maximum(gains, 0) @ head.input_tops))
    return Fraction(min(low), unit), Fraction(min(high), unit)


def margin_bounds(
    network: Network,
    label: int,
    start: tuple[Fraction, Any] | None,
    clock: Clock,
    *,
    least: bool = False,
    box: Any = None,
    words: str,
) -> tuple[Fraction | None, Any, Fraction, Claim | None]:
    """Return the largest margin of a class found, its input, a proved bound, and the claim of the bound.

    `least=True` asks for the least margin instead. The bound is of the same side: no margin is beyond it. If
    both numbers are equal, the margin is exact. The claim is None if the time was up at once: the
    bound is then the sum of all weights.

    Parameters
    ----------
    network, label
        The network and the index of the class.
    start
        A margin that is known to occur, with its input.
    clock
        Time limit.
    least
        Whether the least margin is asked for.
    box
        Limits of the inputs; None for all.
    words
        The claim without the bound, which follows it.
    """
    sign = -1 if least else 1
    unit = _unit(network.head)
    # in units, with the sign that turns every question into "how large"
    ends = [sign * end / unit for end in _range(network, label)]
    low_end, high = min(ends), max(ends)
    low = low_end if start is None else sign * start[0] / unit
    witness, claim = None if start is None else start[1], None
    for _ in range(_STEPS):
        if (low >= high and claim is not None) or clock.up():
            break
        # ask whether the margin can reach `asked`, first beyond the bound; half a unit keeps ties out
        asked = high + 1 if claim is None else Fraction((low + high + 1) // 2)
        moved = raised(network, label, -sign * (asked - Fraction(1, 2)) * unit)
        question = Always(label, box) if least else Never(label, box)
        answer = verify(moved, question, time_limit=clock.left(), seed=clock.seed)
        if isinstance(answer, Refuted):
            witness = list(answer.witness)
            low = sign * margins(network, label, [witness])[0] / unit
        elif isinstance(answer, Proved) and answer.certificate:
            high = asked - 1
            number = roughly(sign * high * unit, up=not least)
            claim = Claim(f"{words} {number}{among(network)}", moved, answer)
        else:
            break
    best = None if witness is None and low < high else sign * low * unit  # all inputs reach the trivial end
    return best, witness, sign * high * unit, claim


def evenly(labels: Sequence[int], most: int) -> list[int]:
    """Return indices of at most so many samples, each class in turn."""
    rank: dict[int, int] = {}
    order = []
    for index, label in enumerate(labels):
        order.append((rank.get(label, 0), label, index))
        rank[label] = rank.get(label, 0) + 1
    return [index for *_, index in sorted(order)[:most]]
