"""Regions around training samples, for a whole batch at once, and the adversary of robust training.

The adversary moves features within the region to where the loss rises.

`Linf` and `Hamming` have the same meaning as in `verify`: `Region.around` is the definition, and a test
compares both. Each step of the adversary uses the gradient to estimate the gain of every legal move, to first
order, and takes the best moves. Thermometers stay thermometers, exactly one bit of a category is on, and the
number of flipped bits is respected. The result is an attack, not a proof: a sample that withstands it may
still have a counterexample.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf, nextafter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Generator, Tensor

from sugenet.capacity.arguments import exact_number
from sugenet.errors import SugenetError
from sugenet.fit.folding import tensor_of
from sugenet.fit.module import LevelModule
from sugenet.fit.settings import region_text
from sugenet.nn import Encoder, OneHot, Steps
from sugenet.nn.arrays import Bits
from sugenet.problem.regions import Hamming, Linf

__all__ = ["Adversary", "Limits", "Perturbation"]

_NEVER = 255


@dataclass(frozen=True, eq=False)
class Perturbation:
    """A region around samples of one encoder; `levels` is True if the first layer reads levels, not bits."""

    encoder: Encoder
    region: Linf | Hamming
    levels: bool

    @property
    def radius(self) -> float:
        """The radius of the region, rounded down."""
        exact = exact_number(self.region.radius, "radius")
        near = float(exact)
        return near if near <= exact else nextafter(near, -inf)

    @property
    def flips(self) -> int | None:
        """The number of bits that may flip, or None if every feature moves independently."""
        return int(self.radius) if isinstance(self.region, Hamming) else None

    def grown(self, share: float) -> float:
        """Return a share of the radius; numbers of flipped bits are rounded up."""
        return share * self.radius if self.flips is None else ceil(share * self.flips)

    @cached_property
    def _category(self) -> Bits:
        """Whether each bit belongs to a category that can change."""
        is_category = [isinstance(coding, OneHot) and coding.width > 1 for coding in self.encoder.codings]
        return np.array([is_category[feature] for feature in self.encoder.feature_of], bool)

    @cached_property
    def _nearest(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """For every bit of a number, the largest value that can occur with it off, and the smallest with it
        on.

        They are -inf and inf if there is none, and for categories.
        """
        below, above = [], []
        for coding in self.encoder.codings:
            for index in range(coding.width):
                # whichever state lies beyond the cut
                cut = (
                    Steps((coding.cuts[index],), coding.low, coding.high, coding.whole)
                    if isinstance(coding, Steps)
                    else None
                )
                off, on = (None, None) if cut is None else (cut.interval(0), cut.interval(1))
                below.append(-inf if off is None else off[1])
                above.append(inf if on is None else on[0])
        return np.array(below), np.array(above)

    @cached_property
    def _tops(self) -> npt.NDArray[np.int64]:
        return np.array(self.encoder.tops if self.levels else [1] * self.encoder.width)

    def distances(self, inputs: npt.NDArray[Any], rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the distance of every bit of some samples from flipping, in the units of the region.

        The bit flips within a radius r if and only if its distance is at most r. The distance is infinite if
        the bit never flips. Distances are stored as bytes if these suffice. The result is empty for levels,
        which all move alike.

        Parameters
        ----------
        inputs, rows
            The samples as bits or levels, and their raw values.
        """
        if self.levels:
            return np.zeros((len(inputs), 0))
        below, above = self._nearest
        if self.flips is not None:
            ever = np.where(inputs, below > -inf, above < inf)
            distances = np.where(self._category, 2.0, np.where(ever, 1.0, inf))  # one off, one on
        else:
            values = np.zeros(rows.shape)
            for index, coding in enumerate(self.encoder.codings):
                if isinstance(coding, Steps):
                    values[:, index] = coding.read(rows[:, index], self.encoder.names[index])
            values = values[:, self.encoder.feature_of]
            gaps = np.where(inputs, _gap(values, below), _gap(above, values))
            distances = np.where(self._category, 1.0, gaps)  # a change of category is one unit
        return np.minimum(distances, _NEVER).astype(np.uint8) if self._has_integer_distances else distances

    @cached_property
    def _has_integer_distances(self) -> bool:
        """Whether distances are integers; only those that fit in a byte matter."""
        all_integer = all(isinstance(coding, OneHot) or coding.whole for coding in self.encoder.codings)
        return self.radius < _NEVER and (all_integer or self.flips is not None)

    def ends(
        self, inputs: npt.NDArray[Any], distances: npt.NDArray[Any], radius: float
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the smallest and largest value of each bit or level within a radius, each by itself.

        Thermometers take both ends. For a category that can change, the ends are all bits off and all bits
        on.
        """
        if self.levels:
            far = floor(min(radius, self._tops.max(initial=0)))
            here = inputs.astype(np.int64)
            return np.maximum(here - far, 0), np.minimum(here + far, self._tops)
        free = distances <= radius
        return inputs & ~free, inputs | free

    def check(self, inputs: npt.NDArray[Any], distances: npt.NDArray[Any]) -> None:
        """Reject a region that lets no sample change, or lets every sample become any other."""
        low, high = self.ends(inputs, distances, self.radius)
        if not (low != high).any():
            what, more = "no bit of any sample changes, so there is nothing to train against", "larger"
        elif (
            (self.flips is None or self.flips >= self._tops.sum())
            and (low == 0).all()
            and (high == self._tops).all()
        ):
            what, more = "every sample can become any other, so nothing can be learned", "smaller"
        else:
            return
        raise SugenetError(
            f"robust={region_text(self.region)!r}: with {self.region}, {what}. Give a {more} radius; "
            f"it is in {'bits' if self.flips is not None else 'units of the features'}."
        )


def _gap(high: npt.NDArray[Any], low: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return ``high - low``, rounded up.

    The rounding error is known exactly (two-sum), so the result is at most a float r if and only if the exact
    difference is.
    """
    with np.errstate(invalid="ignore"):
        gap = np.asarray(high - low)
        back = gap - high
        rest = (high - (gap - back)) - (low + back)
        return np.where(rest > 0, np.nextafter(gap, inf), gap)


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of a batch: each input from `low` to `high`, and with `flips` at most this many flipped bits in
    all.

    Each flipped bit changes an input by `unit`.
    """

    low: Tensor
    high: Tensor
    flips: int | None
    unit: int

    @property
    def budget(self) -> int | None:
        """The largest sum of the changes of all inputs, or None if each input moves independently."""
        return None if self.flips is None else self.flips * self.unit


@dataclass(frozen=True, eq=False)
class _Alike:
    """Features of the same width: their bits, one row per feature, and the states that can occur."""

    features: Tensor
    places: Tensor
    can_be: Tensor
    is_category: bool


@dataclass(frozen=True, eq=False)
class Adversary:
    """Adversary that moves samples within a region.

    Examples
    --------
    >>> import numpy as np
    >>> from sugenet.nn import Encoder, thermometer
    >>> from sugenet.problem.regions import Linf
    >>> perturbation = Perturbation(Encoder([thermometer([3, 5, 8])]), Linf(2), levels=False)
    >>> bits, rows = np.array([[True, True, False]]), np.array([[6.0]])
    >>> limits = Adversary(perturbation).limits(bits, perturbation.distances(bits, rows), 1.0)
    >>> limits.low.tolist(), limits.high.tolist()
    ([[1.0, -1.0, -1.0]], [[1.0, 1.0, 1.0]])
    """

    perturbation: Perturbation

    def limits(self, inputs: npt.NDArray[Any], distances: npt.NDArray[Any], share: float) -> Limits:
        """Return the limits of samples, with the distances of `Perturbation`, at a share of the full
        radius.
        """
        perturbation = self.perturbation
        radius = perturbation.grown(share)
        low, high = perturbation.ends(inputs, distances, radius)
        flips = None if perturbation.flips is None else int(radius)
        return Limits(tensor_of(low), tensor_of(high), flips, 1 if perturbation.levels else 2)

    def attack(
        self,
        module: LevelModule,
        inputs: Tensor,
        y: Tensor,
        limits: Limits,
        steps: int,
        generator: Generator,
    ) -> Tensor:
        """Return the inputs after some steps against the class `y`."""
        moved = inputs
        for step in range(steps):
            gradient = module.input_gradient(moved, y)
            if limits.flips is None:
                best = self._best(gradient, limits)
                if step:  # later steps move only some features: moves that are best alone clash
                    chance = torch.rand(len(moved), self.perturbation.encoder.features, generator=generator)
                    best = torch.where((chance < 0.5)[:, self._feature_of], best, moved)
                moved = best
            else:
                moved = self._flip(gradient, inputs, limits, ceil(limits.flips * (step + 1) / steps))
        return moved

    @cached_property
    def _feature_of(self) -> Tensor:
        encoder = self.perturbation.encoder
        return torch.tensor(range(encoder.features) if self.perturbation.levels else encoder.feature_of)

    @cached_property
    def _singles(self) -> tuple[Tensor, Tensor]:
        """Features with one input, and the index of that input: levels, and numbers with one cut."""
        encoder = self.perturbation.encoder
        if self.perturbation.levels:
            return torch.arange(encoder.features), torch.arange(encoder.features)
        single = [
            feature
            for feature, coding in enumerate(encoder.codings)
            if coding.width == 1 and not isinstance(coding, OneHot)
        ]
        indices = [encoder.group(feature).start for feature in single]
        return torch.tensor(single, dtype=torch.int64), torch.tensor(indices, dtype=torch.int64)

    @cached_property
    def _groups(self) -> list[_Alike]:
        """Features with more than one bit, grouped by shape; single bits only have their two ends."""
        encoder = self.perturbation.encoder
        if self.perturbation.levels:
            return []
        alike: dict[tuple[int, bool], list[int]] = {}
        for feature, coding in enumerate(encoder.codings):
            if coding.width > 1 or isinstance(coding, OneHot):
                alike.setdefault((coding.width, isinstance(coding, OneHot)), []).append(feature)
        return [
            _Alike(
                torch.tensor(features),
                torch.tensor([list(encoder.group(feature)) for feature in features]),
                torch.tensor(
                    [
                        [coding.reachable(state) for state in range(coding.states)]
                        for coding in (encoder.codings[feature] for feature in features)
                    ]
                ),
                is_category,
            )
            for (_, is_category), features in alike.items()
        ]

    def _best(self, gradient: Tensor, limits: Limits) -> Tensor:
        """Return every feature moved along the gradient, as far as its limits allow."""
        best = torch.where(gradient > 0, limits.high, limits.low)
        for group in self._groups:
            gains, allowed = self._states(group, gradient, limits)
            chosen = gains.masked_fill(~allowed, -torch.inf).argmax(dim=2)
            best[:, group.places.reshape(-1)] = self._bits(group, chosen)
        return best

    def _states(self, group: _Alike, gradient: Tensor, limits: Limits) -> tuple[Tensor, Tensor]:
        """Return the gain of each state of each feature of a group, up to a constant, and whether it is
        allowed.
        """
        slopes, low, high = (of[:, group.places] for of in (gradient, limits.low, limits.high))
        if group.is_category:
            return slopes, (high > 0) & group.can_be
        gains = torch.cat([torch.zeros_like(slopes[:, :, :1]), slopes.cumsum(dim=2)], dim=2)
        min_state, max_state = ((of > 0).sum(dim=2, keepdim=True) for of in (low, high))
        states = torch.arange(gains.shape[2])
        return gains, (states >= min_state) & (states <= max_state) & group.can_be

    @staticmethod
    def _bits(group: _Alike, states: Tensor) -> Tensor:
        width = group.places.shape[1]
        indices = torch.arange(width)
        on = indices == states[:, :, None] if group.is_category else indices < states[:, :, None]
        return torch.where(on, 1.0, -1.0).reshape(len(states), -1)

    def _flip(self, gradient: Tensor, start: Tensor, limits: Limits, budget: int) -> Tensor:
        """Return the moves from the original samples that gain most per flipped bit, within a budget."""
        shape = len(start), self.perturbation.encoder.features
        gains, costs = torch.zeros(shape), torch.ones(shape)
        target = start.clone()
        features, indices = self._singles
        slopes, low, high = (of[:, indices] for of in (gradient, limits.low, limits.high))
        wanted = start[:, indices] + budget * limits.unit * slopes.sign()
        target[:, indices] = torch.minimum(torch.maximum(wanted, low), high)
        moves = target[:, indices] - start[:, indices]
        gains[:, features] = slopes * moves
        costs[:, features] = moves.abs() / limits.unit
        for group in self._groups:
            target[:, group.places.reshape(-1)], gains[:, group.features], costs[:, group.features] = (
                self._flipped(group, gradient, start, limits, budget)
            )
        order = (gains / costs.clamp(min=1)).argsort(dim=1, descending=True)
        spent = costs.gather(1, order).cumsum(dim=1)
        fits = torch.zeros(shape, dtype=torch.bool).scatter(1, order, spent <= budget)
        return torch.where((fits & (gains > 0))[:, self._feature_of], target, start)

    def _flipped(
        self, group: _Alike, gradient: Tensor, start: Tensor, limits: Limits, budget: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return, for the features of a group, the bits after the best move, its gain, and the number of
        flips.
        """
        gains, allowed = self._states(group, gradient, limits)
        on = start[:, group.places] > 0
        here = on.float().argmax(dim=2, keepdim=True) if group.is_category else on.sum(dim=2, keepdim=True)
        states = torch.arange(gains.shape[2])
        cost = 2 * (states != here) if group.is_category else (states - here).abs()
        gain = 2 * (gains - gains.gather(2, here))
        worth = (gain / cost.clamp(min=1)).masked_fill(~(allowed & (cost <= budget)), -torch.inf)
        chosen = worth.argmax(dim=2, keepdim=True)
        gain_and_cost = gain.gather(2, chosen)[:, :, 0], cost.gather(2, chosen)[:, :, 0].to(gain.dtype)
        return self._bits(group, chosen[:, :, 0]), *gain_and_cost
