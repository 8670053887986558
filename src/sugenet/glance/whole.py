"""`overview`: what a whole network does, on samples and for all inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.errors import QuestionError
from sugenet.glance.atlas import Atlas, atlas_of
from sugenet.glance.claims import Claim, among, evenly
from sugenet.glance.covering import Covering, covering_of, last_layer
from sugenet.glance.fragility import Fragility, fragility_of
from sugenet.glance.influence import Influence, groups_of, influence_of
from sugenet.glance.prototypes import Prototypes, prototypes_of
from sugenet.nn import Network, network_of
from sugenet.plottable import Plottable
from sugenet.problem.clock import Clock
from sugenet.reason.questions import class_of
from sugenet.reason.rules.grid import Grid

__all__ = ["Overview", "overview"]

_RANDOM = 256
"""Number of random inputs if there are no samples."""
_NEURONS = 512
"""Maximum number of neurons in a layer that rules are about."""
_SHARES = {"atlas": 0.2, "classes": 0.25, "neuron rules": 0.2, "feature rules": 0.3, "fragility": 0.7}
"""Shares of the remaining time, part by part; the rest is for the importance of groups of features."""


@dataclass(frozen=True, eq=False)
class Overview(Plottable):
    """A network at a glance: the answer of `overview`.

    Each part prints as text, draws itself and has `data`. Numbers are exact and about the samples; claims
    about all inputs have certificates, which `check` verifies.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.glance import overview
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> seen = overview(net, [[1, 1, 1], [-1, -1, -1]])
    >>> seen.atlas.neurons[0].name
    'on for on'
    >>> seen.check()
    '10 claims checked'

    See Also
    --------
    overview : gives this answer.
    """

    network: Network
    atlas: Atlas
    prototypes: Prototypes
    fragility: Fragility | None
    neuron_rules: Covering | None
    """Rules over the neurons of the last hidden layer."""
    feature_rules: Covering | None
    """Rules over features."""
    X: Any
    """The samples that were looked at, one row each."""
    numbers: tuple[int, ...]
    """Their numbers in the data set."""
    labels: tuple[int, ...]
    """Their true classes if they were given, else the predicted ones."""
    of: int
    """Number of samples that were given."""
    kind: str
    """Which classes `labels` are, and of which inputs: ``true``, ``predicted`` or ``random``."""
    missing: tuple[str, ...]
    """Parts that are not shown, each with the reason."""
    seconds: float
    seed: int
    influence: Influence | None = None
    """Importance of groups of features."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims about all inputs that have a certificate."""
        rules = [part.claims for part in (self.neuron_rules, self.feature_rules) if part is not None]
        return sum(rules, self.atlas.claims + self.prototypes.claims)

    @property
    def samples_text(self) -> str:
        """The samples in words."""
        count = f"{len(self.numbers):,}"
        if self.kind == "random":
            return f"{count} random inputs, each state of a feature equally likely"
        return f"{count} samples" if len(self.numbers) == self.of else f"{count} of {self.of:,} samples"

    @property
    def scope_text(self) -> str:
        """The samples, and the inputs that claims are about if the network has a domain, in words."""
        text, inputs = self.samples_text, among(self.network)
        return (
            f"{text}; claims and changes are{inputs.replace(',', '', 1)}, rules for any input"
            if inputs
            else text
        )

    def check(self) -> str:
        """Check the certificates of all claims; raise `CertificateError` if one does not hold."""
        for claim in self.claims:
            claim.check()
        count = len(self.claims)
        return f"{count:,} {'claim' if count == 1 else 'claims'} checked"

    def __str__(self) -> str:
        parts = [
            f"{self.network}\nseen on {self.scope_text}",
            f"classes\n{self.prototypes}",
            f"neurons\n{self.atlas}",
        ]
        if self.fragility is not None:
            parts.append(f"fragility\n{self.fragility}")
        if self.influence is not None:
            parts.append(f"importance\n{self.influence}")
        if self.neuron_rules is not None:
            parts.append(f"rules over the neurons of the last layer; +1: on\n{self.neuron_rules}")
        if self.feature_rules is not None:
            parts.append(f"rules over features\n{self.feature_rules}")
        if self.missing:
            parts.append("\n  ".join(["not shown", *self.missing]))
        return "\n\n".join(parts)

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data, with the certificates of all claims."""
        return {
            "format": "sugenet overview",
            "version": 1,
            "network": self.network.fingerprint,
            "samples": list(self.numbers),
            "of": self.of,
            "classes of samples": self.kind,
            "neurons": [one.data() for one in self.atlas.neurons],
            "classes": [one.data() for one in self.prototypes.classes],
            "fragility": None if self.fragility is None else self.fragility.data(),
            "importance": None if self.influence is None else self.influence.data(),
            "neuron rules": None if self.neuron_rules is None else self.neuron_rules.data(),
            "feature rules": None if self.feature_rules is None else self.feature_rules.data(),
            "missing": list(self.missing),
            "claims": [claim.data() for claim in self.claims],
            "seconds": self.seconds,
        }


def overview(
    network: Network,
    X: Any = None,
    y: Any = None,
    *,
    samples: int = 1000,
    groups: Mapping[str, Any] | None = None,
    time_limit: float | None = 60.0,
    seed: int = 0,
    jobs: int | None = 1,
    notify: Callable[[str], None] | None = None,
) -> Overview:
    """Describe a whole network: its classes, its neurons, and where it is fragile.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    X : array or data frame, default: None
        Raw samples, as `predict` takes them. None: 256 random inputs.
    y : array, default: None
        True classes, by name or index. None: the predicted ones.
    samples : int, default: 1000
        Look at no more samples than this; of more, the first of each class in turn.
    groups : mapping, default: None
        Groups of features, by name or index, whose importance is computed: at most 12. None: nine parts of an
        image; or the features of a table that turn most samples, and all others together.
    time_limit : float, default: 60
        Seconds. Parts that are open then say so. None: no limit.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    jobs : int, default: 1
        Number of processes that find the radii of samples. None: one per core.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    Overview
        Prints as text; `sugenet.show.report_overview` writes it as a page.

    Raises
    ------
    QuestionError
        If the samples do not fit.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(overview(net, [[1, 1, 1], [-1, -1, -1]], ["on", "off"]).fragility)
    2 of 2 samples turn if one feature changes
      x1: turns 2 samples alone
      x2: turns 2 samples alone
    radius known for 2 of 2; largest: sample 0, 1

    See Also
    --------
    summary : layers and memory.
    rulebook : rules of a network, with proofs.
    """
    network = network_of(network)
    clock = Clock(time_limit, None, seed, notify)
    for name, value in (("samples", samples), ("jobs", 1 if jobs is None else jobs)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise QuestionError(f"{name}={value!r} must be an integer of at least 1.")
    if X is None and y is not None:
        raise QuestionError("y needs X: the classes are those of samples.")
    rows, kind = _rows(network, X, seed)
    truth = network.predict(rows).tolist() if y is None else [class_of(network, label) for label in y]
    if len(truth) != len(rows):
        raise QuestionError(f"there are {len(rows)} samples and {len(truth)} classes. Give one for each.")
    if not len(rows):
        raise QuestionError("there are no samples. Give at least one, or leave X out.")
    numbers = evenly(truth, int(samples))
    chosen, labels = rows[numbers], [truth[number] for number in numbers]
    atlas = atlas_of(network, chosen, labels, clock.share(_SHARES["atlas"]))
    prototypes = prototypes_of(network, chosen, numbers, clock.share(_SHARES["classes"]))
    missing = [*atlas.missing]
    neuron_rules = feature_rules = fragility = influence = None
    if not network.layers or network.head.inputs > _NEURONS:
        missing.append(f"rules over neurons: the last layer has none, or more than {_NEURONS}")
    else:
        part = clock.share(_SHARES["neuron rules"])
        neuron_rules = covering_of(
            last_layer(network, _names(atlas)), network.hidden(chosen, "auto")[-1], numbers, part
        )
    if network.passes_reals:
        why = "features that are kept as real numbers have no single changes"
        if groups is not None:
            raise QuestionError(f"groups= is not for this network: {why}.")
        missing += [f"where it is fragile: {why}", f"rules over features: {why}"]
    else:
        feature_rules = covering_of(network, chosen, numbers, clock.share(_SHARES["feature rules"]))
        part = clock.share(_SHARES["fragility"])
        fragility = fragility_of(network, chosen, numbers, len(rows), part, jobs)
        ranked = np.argsort(-fragility.turned.sum(axis=0), kind="stable").tolist()
        influence = influence_of(network, chosen, numbers, groups_of(network, groups, ranked), clock)
        if len(fragility.numbers) < len(numbers):
            left = len(numbers) - len(fragility.numbers)
            missing.append(f"changes of {left:,} of {len(numbers):,} samples: the time was up")
    if any(one.template is None for one in prototypes.classes):
        missing.append("templates of the classes: a layer is too large, or reads real numbers")
    return Overview(
        network,
        atlas,
        prototypes,
        fragility,
        neuron_rules,
        feature_rules,
        chosen,
        tuple(numbers),
        tuple(labels),
        len(rows),
        "random" if kind == "random" else "predicted" if y is None else "true",
        tuple(missing),
        clock.seconds,
        seed,
        influence,
    )


def _names(atlas: Atlas) -> list[str]:
    """Return names for the neurons of the last layer; channels have one per position."""
    network = atlas.network
    layer, here = network.layers[-1], atlas.of(len(network.layers))
    if layer.output_shape is not None:
        return [f"output {number}" for number in range(1, layer.outputs + 1)]
    return [f"neuron {one.number} ({one.name})" for one in here]


def _rows(network: Network, X: Any, seed: int) -> tuple[Any, str]:
    """Return the samples as an array, or random inputs."""
    if X is not None:
        return np.asarray(network.encoder.rows(X)), "given"
    if network.passes_reals:
        raise QuestionError("features that are kept as real numbers have no random inputs. Give samples.")
    grid = Grid(network)
    drawn = np.random.default_rng(seed).integers(0, np.array(grid.sizes), (_RANDOM, len(grid.sizes)))
    rows = np.empty(drawn.shape, object)
    rows[:] = [grid.values(row) for row in drawn.tolist()]
    return rows, "random"
