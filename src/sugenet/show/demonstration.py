"""A short demonstration: one neuron of the paper, then four questions about a trained network."""

from collections.abc import Callable, Iterator
from typing import Any

from sugenet.nn import DenseLayer, Head, Network
from sugenet.show.neurons import view_neuron
from sugenet.show.pictures import picture
from sugenet.show.predictions import view_predictions

__all__ = ["demo", "example_1", "questions"]


def example_1() -> str:
    """Return the neuron of the paper's Example 1: its rules, an input that does not activate it, and flips
    that do.
    """
    neuron = DenseLayer([[+1, +1, -1, +1]], tau=[2])
    network = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    return "\n".join(
        [
            "Example 1 of the paper: weights (+1, +1, -1, +1), theta = 0, input (+1, -1, +1, -1).",
            "",
            str(view_neuron(network, 1, 1, sample=[+1, -1, +1, -1])),
            "",
            "By the definition of the Sugeno integral, over all 256 sets of literals:",
            network.trace([+1, -1, +1, -1]).prove().splitlines()[0],
        ]
    )


def demo(network: Network, X: Any, y: Any, index: int = 7) -> str:
    """Introduce a trained network by its accuracy and one sample."""
    accuracy = view_predictions(network, X, y).table(0).splitlines()[-1]
    label = network.class_texts[int(network.predict(X[index : index + 1])[0])]
    n_neurons = sum(layer.outputs for layer in network.layers)
    return "\n".join(
        [
            f"A network of {n_neurons} binary neurons, on samples that it has not seen:",
            f"{accuracy}. It reads this image as {label}:",
            picture(network, X[index]) or str(X[index]),
        ]
    )


def questions(network: Network, x: Any, mark: Callable[[str], str] = str) -> Iterator[str]:
    """Ask what would change a sample, whether it can fail and why; check each certificate by the definition
    alone.

    `mark` is applied to verdicts.
    """
    from sugenet.reason import L0, Robust, check, count, verify, whatif, why

    asked: list[tuple[str, Callable[[], Any]]] = [
        ("What is the smallest change that alters this?", lambda: whatif(network, x)),
        ("Can any single pixel alter it?", lambda: verify(network, Robust(x, L0(1)))),
        ("Which pixels are enough, if two may change?", lambda: why(network, x, L0(2), minimal="size")),
        ("How often does it stay, if two change?", lambda: count(network, x, L0(2))),
    ]
    n_checked = 0
    for question, ask in asked:
        answer = ask()
        if answer.certificate is not None:
            check(answer, network)
            n_checked += 1
        yield "\n".join(["", question, *(f"  {line}" for line in answer.said(mark).splitlines())])
    yield f"\nCertificates checked by separate code: {n_checked} of {len(asked)}."
