"""Compare two networks of any sources: equal on all inputs, or an input on which they differ and where the
difference begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.nn import Network, network_of
from sugenet.reason.questions import Agree
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify
from sugenet.reprs import Sentences

__all__ = ["ComparedNetworks", "FirstDifference", "compare"]

_OUTCOMES = {"proved": "equal", "refuted": "different", "undecided": "undecided"}


@dataclass(frozen=True)
class FirstDifference(Sentences):
    """The first layer, and the first neuron of it, that differ on an input.

    Examples
    --------
    >>> print(FirstDifference(layer=2, neuron=1, left=0, right=1, differing=3, of=8))
    first difference: layer 2, neuron 1 is 0 in the first network and 1 in the second (3 of 8 differ)

    See Also
    --------
    compare : gives it.
    """

    layer: int
    """Number of the hidden layer, from 1; 0 for the scores of the classes."""
    neuron: int
    """Number of the neuron or class, from 1."""
    left: Any
    """Its bit, level or score in the first network."""
    right: Any
    """The same in the second network."""
    differing: int
    """Number of neurons of the layer that differ."""
    of: int
    """Number of neurons of the layer."""

    def said(self, mark: Callable[[str], str] = str) -> str:  # noqa: ARG002
        """Return one sentence."""
        where = f"layer {self.layer}, neuron" if self.layer else "scores, class"
        return (
            f"first difference: {where} {self.neuron} is {self.left} in the first network and {self.right} "
            f"in the second ({self.differing} of {self.of} differ)"
        )


@dataclass(frozen=True, eq=False)
class ComparedNetworks(Sentences):
    """Two networks compared: the answer of `compare`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> one, two = (Network.of_bits([DenseLayer([[1, 1, -1]], [tau])], Head([[-1], [1]])) for tau in (2, 3))
    >>> found = compare(one, two)
    >>> found.outcome, found.first.layer, found.first.neuron
    ('different', 1, 1)

    See Also
    --------
    compare : gives it.
    """

    verdict: Proved | Refuted | Undecided
    """The answer to the question `Agree`, with its certificate."""
    first: FirstDifference | None
    """Where the difference begins on the witness, if the networks differ and their layers line up."""
    remark: str
    """Why `first` is missing, if the networks differ."""

    @property
    def outcome(self) -> str:
        """``"equal"``, ``"different"`` or ``"undecided"``."""
        return _OUTCOMES[self.verdict.outcome]

    @property
    def is_equal(self) -> bool:
        """Whether the networks give the same class for every input, as was proved."""
        return self.verdict.outcome == "proved"

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The certificate, for ``check(comparison.verdict, left, right)``."""
        return self.verdict.certificate

    def data(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        first = self.first
        return {
            **self.verdict.data(),
            "comparison": self.outcome,
            "first": None
            if first is None
            else {
                "layer": first.layer,
                "neuron": first.neuron,
                "left": str(first.left),
                "right": str(first.right),
                "differing": first.differing,
                "of": first.of,
            },
            "remark": self.remark,
        }

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return the sentences, with `mark` applied to the verdict."""
        after = str(self.first) if self.first is not None else self.remark
        return "\n".join(filter(None, (self.verdict.said(mark), after)))


def compare(
    left: Network,
    right: Network,
    *,
    where: Any = None,
    within: Any = None,
    engine: str = "auto",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> ComparedNetworks:
    """Decide whether two networks give every input the same class, and find where they differ.

    The networks may have different layers and cuts. Their features and classes must have the same names, and
    their features the same values: give importers the same ``inputs=``, ``names=`` and ``classes=``.

    Parameters
    ----------
    left : Network, classifier or pipeline
        The first network. Its limits and laws say which inputs count.
    right : Network, classifier or pipeline
        The second network.
    where : mapping or Box, default: None
        Limits as in `Box`. Features without limits are free.
    within : str, list of str or Domain, default: None
        Which inputs can occur, as in `verify`. None: the domain of the first network.
    engine : str, default: "auto"
        As in `verify`.
    time_limit : float, default: None
        Seconds after which the best answer so far is given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    ComparedNetworks
        Its `outcome` is ``"equal"``, ``"different"`` or ``"undecided"``.

    Raises
    ------
    QuestionError
        If the networks have other features or classes.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, simplify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1], [1, 1, -1]], [2, 9])], Head([[-1, 1], [1, 0]]))
    >>> print(compare(net, simplify(net)))
    the two networks give the same class, for any input: proved by bounds through all layers

    See Also
    --------
    Agree : the question that it asks.
    verify_against : compares a network with its source on samples.
    """
    first, second = network_of(left), network_of(right)
    verdict = verify(
        first,
        Agree(second, where),
        within=within,
        engine=engine,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        notify=notify,
    )
    if not isinstance(verdict, Refuted):
        return ComparedNetworks(verdict, None, "")
    return ComparedNetworks(verdict, *_first(first, second, verdict.witness))


def _first(left: Network, right: Network, witness: Any) -> tuple[FirstDifference | None, str]:
    """Return the first layer and neuron that differ on a raw sample, or why none can be named."""
    sizes = [[layer.outputs for layer in network.layers] for network in (left, right)]
    row = np.empty((1, left.encoder.features), object)
    row[0] = witness
    shown = [network.hidden(row) for network in (left, right)]
    for number, (one, two) in enumerate(zip(*shown, strict=False), start=1):
        if one.shape != two.shape:
            break
        if (one != two).any():
            return _located(number, one[0].astype(int), two[0].astype(int)), ""
    if sizes[0] != sizes[1]:
        return None, (
            f"the layers do not line up: {sizes[0]} neurons in the first network and {sizes[1]} in the second"
        )
    one, two = (
        network.head.scores(network.match_counts(row, engine="definition")) for network in (left, right)
    )
    return _located(0, one[0], two[0]), ""


def _located(layer: int, one: Any, two: Any) -> FirstDifference:
    differing = np.flatnonzero(one != two)
    neuron = int(differing[0])
    return FirstDifference(layer, neuron + 1, one[neuron], two[neuron], len(differing), len(one))
