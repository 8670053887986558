"""Small spiking networks of every convention, and all their inputs."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from random import Random
from typing import Any

from sugenet.spiking import Convention, SpikingLayer, SpikingNetwork

WHENS = {
    "zero": ("at once", "before the leak", "after the input"),
    "subtract": ("at once", "before the leak", "after the input", "at once as in snnTorch"),
    "none": (None,),
    "once": (None,),
}
DECISIONS = ("first spike", "spike count", "last potential", "summed potential")
LEAKS = (0, 1, Fraction(1, 2), Fraction(9, 10), Fraction(2, 3))


RESETS = [(reset, when) for reset, whens in WHENS.items() for when in whens]


def conventions(reset: str, when: str | None) -> Iterator[dict[str, Any]]:
    """All that a convention with some reset can say, the number of steps left out."""
    choices = product((">", ">="), ("latency", "spikes"), DECISIONS, ("lowest", "highest"))
    for fires, code, decision, ties in choices:
        yield {
            "reset": reset,
            "when": when,
            "fires": fires,
            "code": code,
            "decision": decision,
            "ties": ties,
            "step": None,
        }


def convention(steps: int, **said: Any) -> Convention:
    """A convention, of which only what matters has to be said."""
    usual = {
        "reset": "zero",
        "when": "at once",
        "fires": ">=",
        "code": "spikes",
        "decision": "spike count",
        "ties": "lowest",
        "step": None,
    }
    return Convention(steps=steps, **(usual | said))


def random_layer(random: Random, inputs: int, neurons: int, **said: Any) -> SpikingLayer:
    """Signed weights, biases, leaks of 0 and 1 among others, thresholds that may be 0 or negative."""
    divisor = random.choice((1, 2, 3))
    return SpikingLayer(
        [[Fraction(random.randint(-4, 5), divisor) for _ in range(inputs)] for _ in range(neurons)],
        leak=[random.choice(LEAKS) for _ in range(neurons)],
        threshold=[Fraction(random.randint(-1, 5), 2) for _ in range(neurons)],
        bias=[random.choice((0, 0, Fraction(1, 3), -1)) for _ in range(neurons)],
        **said,
    )


def random_network(random: Random, said: dict[str, Any], most_steps: int = 3) -> SpikingNetwork:
    """Up to three layers of up to three neurons."""
    sizes = [random.randint(1, 3) for _ in range(random.randint(2, 4))]
    layers = [random_layer(random, a, b) for a, b in pairwise(sizes)]
    if said["decision"].endswith("potential") and (said["reset"] == "zero" or random.random() < 0.4):
        layers[-1] = random_layer(random, sizes[-2], sizes[-1], spikes=False)
    return SpikingNetwork(layers, Convention(steps=random.randint(1, most_steps), **said))


def all_inputs(network: SpikingNetwork, most: int, random: Random) -> list[tuple[int, ...]]:
    """All samples of a network, or some of them where there are very many."""
    steps = network.convention.steps
    if network.convention.code == "latency":
        values, places = range(steps + 1), network.inputs
    else:
        values, places = range(2), network.inputs * steps
    if len(values) ** places <= most:
        return list(product(values, repeat=places))
    return [tuple(random.choice(values) for _ in range(places)) for _ in range(most)]
