"""A first walk: the paper's Example 1, the same reading of a trained network, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sugenet.bnn import DenseLayer, Head, Network
from sugenet.show.neurons import view_neuron
from sugenet.show.pictures import picture
from sugenet.show.predictions import view_predictions, view_trace

__all__ = ["demo", "example_1", "questions"]


def example_1() -> str:
    """The neuron of the paper's Example 1: its rules, an input that does not activate it,
    and the flips that would.
    """
    neuron = DenseLayer([[+1, +1, -1, +1]], tau=[2])
    network = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    lines = [
        "Example 1 of the paper: weights (+1, +1, -1, +1), theta = 0, input (+1, -1, +1, -1).",
        "",
        str(view_neuron(network, 1, 1, sample=[+1, -1, +1, -1])),
        "",
        "By the definition of the Sugeno integral, over all 256 sets of literals:",
        network.trace([+1, -1, +1, -1]).prove().splitlines()[0],
    ]
    return "\n".join(lines)


def demo(network: Network, X: Any, y: Any, index: int = 7) -> str:
    """Walk through Example 1 and one sample of a trained network."""
    view = view_trace(network, X[index])
    seen = view.trace.layers[0]
    closest = int(np.argmin(np.where(seen.active, seen.slack, seen.slack.max() + 1))) + 1
    predictions = view_predictions(network, X, y)
    lines = [
        example_1(),
        "",
        f"The shipped model: {network}.",
        f"On the {len(X)} samples that it has not seen in training: {predictions.table(0).splitlines()[-1]}.",
        "",
        f"Sample {index}:",
        picture(network, X[index]) or str(X[index]),
        "",
        str(view),
        "",
        f"The active neuron of layer 1 that is nearest to its threshold, number {closest}:",
        str(view_neuron(network, 1, closest, limit=2, sample=X[index])),
    ]
    return "\n".join(lines)


def questions(network: Network, x: Any, mark: Callable[[str], str] = str) -> Iterator[str]:
    """Ask what would change a sample, whether it can fail and why;
    check each certificate by the definition alone. Verdicts are put through `mark`.
    """
    from sugenet.reason import L0, Robust, check, count, verify, whatif, why

    asked: list[tuple[str, Callable[[], Any]]] = [
        ("What would change it?", lambda: whatif(network, x)),
        ("Can it fail?", lambda: verify(network, Robust(x, L0(1)))),
        ("What does it rest on?", lambda: why(network, x, L0(2), minimal="size")),
        ("How often does it stay?", lambda: count(network, x, L0(2))),
    ]
    for question, ask in asked:
        answer = ask()
        certificate = _certificate(answer)
        again = "" if certificate is None else f"\n  checked again: {check(certificate, network)}"
        yield f"\n{question}\n{answer.said(mark)}{again}"


def _certificate(answer: Any) -> Any:
    """What shows that an answer is right; none where it was interrupted before there was any."""
    reasons = getattr(answer, "reasons", None)
    if reasons is not None:
        return reasons[0].certificate if reasons else None
    return getattr(answer, "certificate", None)
