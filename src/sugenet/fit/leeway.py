"""What a region allows around samples while a network learns: the ends between which every bit or level may
move, for a whole batch at once.

`Linf` and `Hamming` mean what they mean to `verify`: `Region.around` is the definition, and a test compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf, nextafter
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Encoder, OneHot, Steps
from sugenet.bnn.arrays import Bits
from sugenet.capacity.arguments import exact_number, number_words, read_number
from sugenet.errors import CapacityError, SugenetError
from sugenet.problem.regions import Hamming, Linf

__all__ = ["Leeway", "region_text", "robust_region"]

_NEVER = 255
_KINDS: dict[str, type[Linf | Hamming]] = {"linf": Linf, "hamming": Hamming}


def robust_region(given: Any) -> Linf | Hamming | None:
    """The region that ``robust=`` names: `Linf` or `Hamming`, a text such as ``"linf:25"``, or None.

    Examples
    --------
    >>> robust_region("linf:25"), robust_region("hamming:2"), robust_region(None)
    (Linf(radius=25), Hamming(radius=2), None)
    >>> robust_region("l2:3")
    Traceback (most recent call last):
    ...
    sugenet.errors.SugenetError: robust='l2:3' is no region to train against: write linf:R or hamming:K.
    """
    if given is None:
        return None
    if isinstance(given, str):
        kind, _, radius = given.partition(":")
        made = _KINDS.get(kind.strip().lower())
        try:
            number = read_number(radius, "radius")
        except CapacityError:
            made = None
        if made is None:
            raise SugenetError(f"robust={given!r} is no region to train against: write linf:R or hamming:K.")
        return robust_region(made(number))
    if type(given) not in (Linf, Hamming):
        raise SugenetError(f"robust={given!r} is no region to train against: give Linf(R) or Hamming(K).")
    try:
        size = exact_number(given.radius, "radius")
    except SugenetError as error:
        raise SugenetError(f"robust={given!r}: {error}") from None
    if not size > 0:
        raise SugenetError(f"robust={given!r} allows no change. Give a radius above 0, or leave robust out.")
    if isinstance(given, Hamming) and size != floor(size):
        raise SugenetError(f"robust={given!r}: bits are flipped in whole numbers. Give one, such as 2.")
    return given  # type: ignore[no-any-return]


def region_text(region: Linf | Hamming | None) -> str | None:
    """A region as ``robust=`` and ``--robust`` read it.

    Examples
    --------
    >>> region_text(Linf(0.5))
    'linf:0.5'
    """
    return None if region is None else f"{type(region).__name__.lower()}:{number_words(region.radius)}"


@dataclass(frozen=True, eq=False)
class Leeway:
    """A region around samples of one encoder; `levels` where the first layer reads levels, not bits."""

    encoder: Encoder
    region: Linf | Hamming
    levels: bool

    @property
    def radius(self) -> float:
        """The region's radius, not above it."""
        exact = exact_number(self.region.radius, "radius")
        near = float(exact)
        return near if near <= exact else nextafter(near, -inf)

    @property
    def flips(self) -> int | None:
        """How many bits may flip; None where every feature moves by itself."""
        return int(self.radius) if isinstance(self.region, Hamming) else None

    def grown(self, share: float) -> float:
        """A share of the radius, of flipped bits rounded up."""
        return share * self.radius if self.flips is None else ceil(share * self.flips)

    @cached_property
    def _category(self) -> Bits:
        """Of every bit, whether it is one of a category that can be another."""
        found = [isinstance(coding, OneHot) and coding.width > 1 for coding in self.encoder.codings]
        return np.array([found[feature] for feature in self.encoder.feature_of], bool)

    @cached_property
    def _nearest(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """For every bit of a number the largest value that can occur with it off, and the least with it on;
        -inf and inf where there is none, and for categories.
        """
        below, above = [], []
        for coding in self.encoder.codings:
            for place in range(coding.width):
                # whichever state lies behind the cut
                cut = (
                    Steps((coding.cuts[place],), coding.low, coding.high, coding.whole)
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
        """How far every bit of some samples is from flipping, in the region's own terms: the bit flips within
        a radius r iff its distance is at most r. Infinite where it never flips, bytes where those suffice;
        nothing for levels, which all move alike.

        Parameters
        ----------
        inputs, rows
            The samples as bits or levels, and as they came.
        """
        if self.levels:
            return np.zeros((len(inputs), 0))
        below, above = self._nearest
        if self.flips is not None:
            ever = np.where(inputs, below > -inf, above < inf)
            found = np.where(self._category, 2.0, np.where(ever, 1.0, inf))  # one off, one on
        else:
            values = np.zeros(rows.shape)
            for place, coding in enumerate(self.encoder.codings):
                if isinstance(coding, Steps):
                    values[:, place] = coding.read(rows[:, place], self.encoder.names[place])
            values = values[:, self.encoder.feature_of]
            gaps = np.where(inputs, _gap(values, below), _gap(above, values))
            found = np.where(self._category, 1.0, gaps)  # a change of category is one unit
        return np.minimum(found, _NEVER).astype(np.uint8) if self._is_whole else found

    @cached_property
    def _is_whole(self) -> bool:
        """Whether distances are whole numbers, of which only those of a byte matter."""
        whole = all(isinstance(coding, OneHot) or coding.whole for coding in self.encoder.codings)
        return self.radius < _NEVER and (whole or self.flips is not None)

    def ends(
        self, inputs: npt.NDArray[Any], distances: npt.NDArray[Any], radius: float
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """What bits or levels can be at least and at most within a radius, each by itself: thermometers at
        both ends, and for a category that can change all bits off and all on.
        """
        if self.levels:
            far = floor(min(radius, self._tops.max(initial=0)))
            here = inputs.astype(np.int64)
            return np.maximum(here - far, 0), np.minimum(here + far, self._tops)
        free = distances <= radius
        return inputs & ~free, inputs | free

    def check(self, inputs: npt.NDArray[Any], distances: npt.NDArray[Any]) -> None:
        """Refuse a region that lets no sample change, or every sample become any other."""
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
    """``high - low``, rounded up: what is rounded off is known exactly (two-sum), so the result is at most a
    float r iff the exact difference is.
    """
    with np.errstate(invalid="ignore"):
        gap = np.asarray(high - low)
        back = gap - high
        rest = (high - (gap - back)) - (low + back)
        return np.where(rest > 0, np.nextafter(gap, inf), gap)
