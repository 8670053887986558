"""The capacity that a network induces on some of its features (docs/theory.md 10.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity import BOOLEAN, Criteria, Dense, SetFunction, WeightedThreshold
from sugenet.capacity.arguments import plain
from sugenet.capacity.transforms import max_zeta, violation
from sugenet.errors import QuestionError
from sugenet.fit.capacities.fitting import fit_capacity
from sugenet.fit.capacities.ratings import Ratings
from sugenet.nn import Network
from sugenet.plottable import Plottable
from sugenet.problem.neighbourhood import feature_index
from sugenet.reason.questions import class_of

__all__ = ["InducedCapacity", "induced_capacity"]

_ALL = 20
"""Largest number of features for which all sets are tried."""
_BEST = 10
"""Largest number of features for which a nearest capacity is sought if the network does not induce one."""
_DRAWN = 1024

_Claim = Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class InducedCapacity(Plottable):
    """Answers of a network for sets of features that take their good values.

    `capacity` is worth 1 on the sets for which the network says yes, as far as a monotone set function
    allows. `tried` is the number of sets evaluated (None: all at once, since one neuron is a sum). On `wrong`
    of them the capacity differs from the network. `falls` is a pair of sets: the network says yes to the
    smaller but no to the larger. `is_exact`: all sets are known. `is_nearest`: no capacity is wrong on fewer
    of the sets tried.

    There is no certificate: to verify the result, evaluate the network set by set. `data` returns it as JSON,
    which cannot be loaded again.
    """

    what: str
    capacity: SetFunction
    is_exact: bool
    is_nearest: bool
    tried: int | None
    wrong: int
    falls: tuple[frozenset[Any], frozenset[Any]] | None

    def data(self) -> dict[str, Any]:
        """Return the answer as JSON: a threshold by its weights, any other capacity by its focal sets."""
        mu, criteria = self.capacity, self.capacity.criteria
        if isinstance(mu, WeightedThreshold):
            capacity: dict[str, Any] = {"weights": [str(w) for w in mu.weights], "theta": str(mu.theta)}
        else:
            capacity = {"focal sets": [_listed(criteria, mask) for mask, _ in mu.focal_masks()]}
        falls = None if self.falls is None else [_listed(criteria, criteria.mask(one)) for one in self.falls]
        return {
            "what": self.what,
            "features": list(criteria),
            "capacity": capacity,
            "is_exact": self.is_exact,
            "is_nearest": self.is_nearest,
            "tried": self.tried,
            "wrong": self.wrong,
            "falls": falls,
        }

    def gap(self, other: InducedCapacity | SetFunction) -> int:
        """Return the number of sets on which the capacity differs from another one over the same features."""
        mu = other.capacity if isinstance(other, InducedCapacity) else other
        if mu.criteria != self.capacity.criteria:
            raise QuestionError("the capacities are over other features, so they cannot be compared.")
        return int(np.count_nonzero(self.capacity.table() != mu.table()))

    def __str__(self) -> str:
        n = len(self.capacity.criteria)
        features = "1 feature" if n == 1 else f"{n} features"
        seen = "for all sets" if self.is_exact else f"from {self.tried:,} of 2^{n} sets"
        first = f"{self.what}, over {features}, {seen}: {self.capacity}."
        if self.falls is None and self.wrong:
            return (
                f"{first}\nIt is wrong on {self.wrong:,} of these, as every capacity is: the network says "
                f"yes to no feature at all, or no to all of them."
            )
        if self.falls is None:
            return first
        small, large = (self.capacity.criteria.show(subset) for subset in self.falls)
        best = ", and no capacity on fewer" if self.is_nearest else ""
        return (
            f"{first}\nThe network is not a capacity there: it says yes to {small} and no to {large}. "
            f"The capacity is wrong on {self.wrong:,} of {self.tried:,} sets{best}."
        )


def induced_capacity(
    network: Network,
    x: Any,
    good: Mapping[Any, Any],
    *,
    label: Any = None,
    neuron: tuple[int, int] | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> InducedCapacity:
    """Return the capacity that a network induces on some features.

    mu(A) = 1 if the network says yes when the features of A take their good values and all others those of
    `x`.

    Reference: Baaj and Prade [BP26].

    Parameters
    ----------
    network
        The network.
    x
        A sample: the values of the features that are not in A.
    good
        For each feature that is a criterion, its good value.
    label
        Yes means that this class is predicted (default: the class predicted if all values are good).
    neuron
        Yes means that this neuron, as (layer, index) from 1, is active.
    samples
        Number of sets to draw at random (default: all sets for up to 20 features).
    seed
        Determines which sets are drawn.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1], [1, 1, -1]], tau=[2, 3])], Head([[1, -1], [-1, 1]]))
    >>> found = induced_capacity(net, [-1, -1, -1], {"x1": 1, "x2": 1, "x3": 1}, neuron=(1, 1))
    >>> print(found)
    neuron 1 of layer 1 is active, over 3 features, for all sets: 1 x1 + 1 x2 + 1 x3 >= 2.
    """
    chosen = _features(network, good)
    base = network.encoder.values(x)
    criteria = Criteria([network.encoder.names[index] for index, _ in chosen])
    if label is not None and neuron is not None:
        raise QuestionError("label and neuron are both given. Choose one.")
    what, claim = _claim(network, base, chosen, label, neuron)
    for name, value, lower in (("samples", samples, 1), ("seed", seed, 0)):
        if (value is not None or name == "seed") and not _is_integer(value, lower):
            raise QuestionError(f"{name}={plain(value)!r} must be an integer of at least {lower}.")
    if neuron is not None and neuron[0] == 1 and samples is None:
        capacity = _sum_of_neuron(network, base, chosen, neuron[1], criteria)
        if capacity is not None:
            return InducedCapacity(what, capacity, True, True, None, 0, None)
    n = len(chosen)
    if samples is None and n <= _ALL:
        return _from_all(what, criteria, claim(_rows(base, chosen, np.arange(1 << n))))
    masks = _drawn(n, _DRAWN if samples is None else samples, seed)
    return _from_some(what, criteria, masks, claim(_rows(base, chosen, masks)))


def _listed(criteria: Criteria, mask: int) -> list[Any]:
    return [name for index, name in enumerate(criteria) if mask >> index & 1]


def _is_integer(value: object, lower: int = 0) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= lower


def _features(network: Network, good: Mapping[Any, Any]) -> list[tuple[int, Any]]:
    if not isinstance(good, Mapping) or not good:
        raise QuestionError("good must give at least one feature its good value, such as {'x1': 1}.")
    chosen = [(feature_index(network, name), value) for name, value in good.items()]
    if len({index for index, _ in chosen}) < len(chosen):
        raise QuestionError("good names a feature twice.")
    return chosen


def _claim(
    network: Network,
    base: list[Any],
    chosen: list[tuple[int, Any]],
    label: Any,
    neuron: tuple[int, int] | None,
) -> tuple[str, _Claim]:
    """Return the question to the network, in words and as a function of raw samples."""
    if neuron is not None:
        if (
            not isinstance(neuron, tuple | list)
            or len(neuron) != 2
            or not all(_is_integer(k) for k in neuron)
        ):
            raise QuestionError(f"neuron={neuron!r} must be a pair (layer, number), both from 1.")
        layer, number = neuron
        if not 1 <= number <= network.layer(layer).outputs:
            raise QuestionError(
                f"layer {layer} has neurons 1 to {network.layer(layer).outputs}, not {number}."
            )
        phrase = f"neuron {number} of layer {layer} is active"
        return phrase, lambda rows: np.asarray(network.hidden(rows, "auto")[layer - 1][:, number - 1] > 0)
    if label is None:
        all_good = _rows(base, chosen, np.array([(1 << len(chosen)) - 1], dtype=object))
        label = int(network.predict(all_good)[0])
    wanted = class_of(network, label)
    return f"class {network.classes[wanted]} is predicted", lambda rows: network.predict(rows) == wanted


def _rows(base: list[Any], chosen: list[tuple[int, Any]], masks: npt.NDArray[Any]) -> npt.NDArray[Any]:
    rows = np.empty((len(masks), len(base)), dtype=object)
    rows[:] = base
    for bit, (index, value) in enumerate(chosen):
        rows[np.array((masks >> bit) & 1, dtype=bool), index] = value
    return rows


def _sum_of_neuron(
    network: Network, base: list[Any], chosen: list[tuple[int, Any]], number: int, criteria: Criteria
) -> SetFunction | None:
    """Return the threshold of a neuron of the first layer, which adds up the contributions of the features.

    Returns None if a good value has a negative contribution.
    """
    singles = _rows(base, chosen, np.array([0, *(1 << bit for bit in range(len(chosen)))], dtype=object))
    traces = [network.trace(row.tolist()).layers[0] for row in singles]
    if traces[0].tau.ndim != 1:
        return None
    counts = [int(trace.matches[number - 1]) for trace in traces]
    gains = [count - counts[0] for count in counts[1:]]
    if min(gains) < 0:
        return None
    return WeightedThreshold(gains, int(traces[0].tau[number - 1]) - counts[0], criteria=criteria)


def _from_all(what: str, criteria: Criteria, says: npt.NDArray[np.bool_]) -> InducedCapacity:
    fall = violation(says.astype(np.int8))
    if fall is None:
        return InducedCapacity(
            what, Dense(criteria, says.astype(int), BOOLEAN), True, True, len(says), 0, None
        )
    falls = (criteria.members(fall[0]), criteria.members(fall[1]))
    if len(criteria) <= _BEST:
        mu = _nearest(criteria, np.arange(len(says)), says)
    else:  # the least monotone one above
        mu = Dense(criteria, max_zeta(says.astype(np.int8)), BOOLEAN)
    wrong = int(np.count_nonzero(mu.table().astype(bool) != says))
    return InducedCapacity(what, mu, True, len(criteria) <= _BEST, len(says), wrong, falls)


def _from_some(
    what: str, criteria: Criteria, masks: npt.NDArray[Any], says: npt.NDArray[np.bool_]
) -> InducedCapacity:
    mu = _nearest(criteria, masks, says)
    wrong = [mask for mask, yes in zip(masks.tolist(), says.tolist(), strict=True) if mu.at(mask) != yes]
    yes, no = masks[says].tolist(), masks[~says].tolist()
    fall = next(((small, large) for small in yes for large in no if small & large == small), None)
    falls = None if fall is None else (criteria.members(fall[0]), criteria.members(fall[1]))
    return InducedCapacity(what, mu, False, True, len(masks), len(wrong), falls)


def _nearest(criteria: Criteria, masks: npt.NDArray[Any], says: npt.NDArray[np.bool_]) -> SetFunction:
    """Return a capacity that is wrong on as few of these sets as possible."""
    bits = [[mask >> bit & 1 for bit in range(len(criteria))] for mask in masks.tolist()]
    ratings = Ratings(bits, says.astype(int), BOOLEAN, criteria)
    return fit_capacity(ratings, "total").capacity


def _drawn(n: int, count: int, seed: int) -> npt.NDArray[Any]:
    """Return distinct random sets; the size is drawn first, so that small and large ones occur."""
    rng = np.random.default_rng(seed)
    masks: dict[int, None] = {}
    for _ in range(4 * count):
        if len(masks) == min(count, 1 << n):
            break
        held = rng.permutation(n)[: int(rng.integers(0, n + 1))].tolist()
        masks[sum(1 << index for index in held)] = None
    return np.array(list(masks), dtype=object)
