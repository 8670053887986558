"""What each class looks for: its votes times the templates, the closest sample, and the largest margin."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from sugenet.glance.atlas import over_features, paths_to
from sugenet.glance.claims import Claim, margin_bounds, margins
from sugenet.nn import Network
from sugenet.plottable import Plottable
from sugenet.problem.clock import Clock
from sugenet.reprs import roughly

__all__ = ["Prototype", "Prototypes", "prototypes_of"]


@dataclass(frozen=True, eq=False)
class Prototype:
    """One class."""

    label: str
    template: tuple[int, ...] | None
    """Weights of the features along all paths to the class, less their mean over the classes times the number
    of classes; None if a layer is too large.
    """
    closest: int | None
    """The sample of the class with the largest sum of its inputs, weighted by the template."""
    best: Fraction | None
    """Largest margin that was found."""
    witness: tuple[Any, ...] | None
    """Input with this margin."""
    bound: Fraction
    """Proved: no input has a larger margin."""
    claim: Claim | None

    @property
    def is_exact(self) -> bool:
        """Whether the largest margin is known."""
        return self.best == self.bound

    def __str__(self) -> str:
        bound = roughly(self.bound, up=True)
        if self.claim is None:  # the time was up before any proof
            margin = "unknown" if self.best is None else f"at least {roughly(self.best, up=False)}"
            return f"{self.label}: largest margin {margin}; the weights allow at most {bound}"
        if self.best is None:
            return f"{self.label}: no input of this class is known; no margin is above {bound}"
        proof = "proved" if self.is_exact else f"proved to be at most {bound}"
        return f"{self.label}: largest margin {roughly(self.best)}, {proof}"

    def data(self) -> dict[str, Any]:
        """Return the prototype as JSON data."""
        return {
            "class": self.label,
            "template": None if self.template is None else list(self.template),
            "closest sample": self.closest,
            "largest margin found": None if self.best is None else str(self.best),
            "largest margin at most": str(self.bound),
            "input": None if self.witness is None else [*map(str, self.witness)],
        }


@dataclass(frozen=True, eq=False)
class Prototypes(Plottable):
    """Prototypes of all classes."""

    network: Network
    classes: tuple[Prototype, ...]
    X: Any
    """The samples, as an array."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The proved bounds."""
        return tuple(one.claim for one in self.classes if one.claim is not None)

    def __str__(self) -> str:
        lines = ["margin: the score of a class less the best other score", *map(str, self.classes)]
        return "\n  ".join(lines)


def prototypes_of(network: Network, X: Any, numbers: Sequence[int], clock: Clock) -> Prototypes:
    """Return prototypes from samples, with their numbers in the data set.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> found = prototypes_of(net, [[1, 1, 1], [-1, -1, -1]], [0, 1], Clock())
    >>> print(found)
    margin: the score of a class less the best other score
      off: largest margin 2, proved
      on: largest margin 2, proved
    >>> found.classes[1].template, found.classes[1].closest
    ((2, 2, -2), 0)
    """
    rows = np.asarray(network.encoder.rows(X))
    inputs = network.inputs(rows)
    head, count = network.head, len(network.classes)
    predicted = head.classes(network.packed("auto").match_counts(inputs))
    unit = lcm(*(scale.denominator for scale in head.scale))
    votes = np.array(
        [[int(unit * s) * int(w) for w in row] for s, row in zip(head.scale, head.weights, strict=True)],
        object,
    )
    votes = count * votes - votes.sum(axis=0)  # classes are compared, so what all of them share is left out
    made = []
    for k, label in enumerate(network.class_texts):
        clock.tell(f"the class {label} ...")
        paths = paths_to(network, votes[k], len(network.layers))
        inside = np.flatnonzero(predicted == k)
        closest, start = None, None
        if paths is not None and len(inside):
            closest = numbers[int(inside[np.argmax(inputs[inside].astype(object) @ paths)])]
        if len(inside) and count > 1:
            known = margins(network, k, rows[inside])
            first = max(range(len(known)), key=lambda i: known[i])
            start = known[first], network.encoder.values(rows[inside[first]])
        best, witness, bound, claim = None, None, Fraction(0), None
        if count > 1:
            words = f"no input has a larger margin of {label} than"
            best, witness, bound, claim = margin_bounds(
                network, k, start, clock.share(1 / (count - k)), words=words
            )
        made.append(
            Prototype(
                label,
                None if paths is None else tuple(over_features(network, paths[None, :])[0].tolist()),
                closest,
                best,
                None if witness is None else tuple(witness),
                bound,
                claim,
            )
        )
    return Prototypes(network, tuple(made), rows)
