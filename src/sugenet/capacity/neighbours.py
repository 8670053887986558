"""Neighbours of the Sugeno integral: Choquet, Shilkret, Sipos, and its variants by other conjunctions
(docs/theory.md 6.15).

Sort a sample x in falling order. A_k is the set of the k best criteria, x_(k) the k-th value, x_(0) the top.
All integrals here are functions of the pairs (mu(A_k), x_(k)), so each is one function of two arrays, in one
table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from sugenet.capacity.arguments import read_number
from sugenet.capacity.base import TABLE_LIMIT, SetFunction, need_set_function
from sugenet.capacity.integral import best_sets, read_in_order, read_samples, shape_of, sugeno, with_scale
from sugenet.capacity.scales import BOOLEAN, UNIT, Bipolar, Codes, Scale, has_floats
from sugenet.capacity.tables import Dense
from sugenet.capacity.transforms import rounding_error
from sugenet.errors import CapacityError, ScaleError
from sugenet.reprs import ShortRepr

__all__ = ["INTEGRALS", "Integral", "choquet", "shilkret", "sipos", "symmetric_sugeno"]

CHUNK = 8192  # samples at a time, so that a chunk of 20 criteria stays in the cache

Kernel = Callable[[Codes, Codes, Scale], Codes]
"""Function of worths mu(A_k) and values x_(k), one row per sample and k = 0 to n, to one value per sample."""


@dataclass(frozen=True)
class Integral(ShortRepr):
    """An integral with respect to a set function: call it with a set function and samples.

    All integrals have the signature of `sugeno`; `INTEGRALS` lists them by name. Let & be a conjunction of a
    worth and a value, and -> its semidual implication, a -> b = 1 - (a & (1 - b)). There are:

    - ``sugeno`` (minimum), ``godel`` (a & b = b if a > 1 - b, else 0), ``contrapositive`` (a if a > 1 - b,
      else 0), ``shilkret`` (product) and ``lukasiewicz`` (a + b - 1, at least 0): the maximum, over all sets
      A, of mu(A) & the smallest x on A. The implication of ``godel`` is b if a > b, else 1.
    - their cointegrals and desintegrals, such as ``godel cointegral``: see `cointegral` and `desintegral`.
    - ``choquet``: on numbers of both signs this is the asymmetric integral.
    - ``sipos``: the symmetric Choquet integral.
    - ``symmetric sugeno``: the Sugeno integral for bipolar scales.

    Reference: Choquet [Cho54]; Grabisch and Labreuche [GL02]; Shilkret [Shi71]; Šipoš [Sip79].
    Reference: Grabisch [Gra03]; Dubois, Prade, Rico and Teheux [DPR16]; Dubois, Prade and Rico [DPR13].

    Parameters
    ----------
    name : str
        Name, as in `INTEGRALS`.
    formula : str
        What it computes, for the k best criteria A_k and the k-th value x_k; k = 0 is the empty set and top.
    kernel : callable
        The formula on arrays of worths and values.
    domain : str
        ``"scale"``: values of any scale. ``"unit"``: numbers in [0, 1]. ``"real"``: any numbers.
        ``"signed"``: values of a `Bipolar` scale, or numbers with a sign. (default: ``"scale"``)
    is_dual : bool
        Whether it is 1 - the integral of 1 - x with respect to the conjugate (default: False).
    is_reversed : bool
        Whether it integrates 1 - x (default: False).

    Examples
    --------
    >>> from sugenet.capacity import Focal
    >>> mu = Focal(["price", "comfort", "safety"], {("price", "safety"): 1, "comfort": 0.5})
    >>> marks = {"price": 0.75, "comfort": 0.25, "safety": 0.5}
    >>> {name: integral(mu, marks) for name, integral in list(INTEGRALS.items())[:4]}
    {'sugeno': 0.5, 'godel': 0.5, 'contrapositive': 1, 'shilkret': 0.5}
    >>> choquet(mu, [[0.75, 0.25, 0.5], [0, 1, 0]]).tolist()
    [0.5, 0.5]
    """

    name: str
    formula: str
    kernel: Kernel
    domain: Literal["scale", "unit", "real", "signed"] = "scale"
    is_dual: bool = False
    is_reversed: bool = False

    def __call__(self, mu: SetFunction, x: Any, scale: Scale | None = None) -> Any:
        """Return the integral of one sample or of a batch of samples.

        Parameters
        ----------
        mu : SetFunction
            Any set function; for domains of numbers, with numbers as worths.
        x : mapping or sequence
            One sample or a batch, as for `sugeno`.
        scale : Scale, optional
            The scale of `x`, as for `sugeno` (default: that of `mu`).

        Returns
        -------
        value or array
            One value, or for a batch an array of them. Minima and maxima are exact on every scale. Sums and
            products are exact fractions, unless a worth or a value is a float other than 0 and 1: then they
            are floats.
        """
        need_set_function(mu)
        if self.name == "sugeno":
            return sugeno(mu, x, scale=scale)
        if self.domain != "scale" and not (self.domain == "signed" and isinstance(scale, Bipolar)):
            _need_numbers(mu, scale, self.name)
        if self.domain == "signed":
            return self._signed(mu, x, scale)
        if self.domain == "real":
            X, scale = _reals(mu, read_in_order(mu, x)), UNIT
            if mu.at(0) != 0:
                raise CapacityError(
                    f"the empty set is worth {mu.at(0)}, so the {self.name} integral is not defined. "
                    f"Give a set function that is worth 0 on it."
                )
        else:
            X, scale = read_samples(mu, read_in_order(mu, x), scale)
        batch = X[None, :] if X.ndim == 1 else X
        if self.is_dual:
            mu, batch = mu.conjugate(), scale.reverse_codes(batch)
        if self.is_reversed:
            batch = scale.reverse_codes(batch)
        parts = [
            self.kernel(*_chain(mu, batch[start : start + CHUNK], scale), scale)
            for start in range(0, max(len(batch), 1), CHUNK)
        ]
        integrals = np.concatenate(parts)
        if self.is_dual:
            is_rounded = self.domain == "unit" and integrals.dtype == np.float64
            integrals = 1 - integrals if is_rounded else scale.reverse_codes(integrals)
        return scale.element(integrals[0]) if X.ndim == 1 else scale.decode(integrals)

    def _signed(self, mu: SetFunction, x: Any, scale: Scale | None) -> Any:
        """Integrate the positive and the negative part apart, and combine them by the kernel."""
        rows = read_in_order(mu, x)
        if isinstance(scale, Bipolar):
            signed = scale.codes(rows, "x") - scale.positive.rank(scale.positive.top)
            parts = [scale.positive.decode(np.maximum(side, 0)) for side in (signed, -signed)]
            better, worse = [scale.positive.codes(sugeno(mu, part, scale=scale.positive)) for part in parts]
            ranks = self.kernel(better, worse, scale) + scale.positive.rank(scale.positive.top)
            return scale.element(ranks) if signed.ndim == 1 else scale.decode(ranks)
        signed = _reals(mu, rows)
        whole = INTEGRALS["choquet"] if self.name == "sipos" else INTEGRALS["sugeno"]
        if whole.domain == "scale" and not np.all(np.abs(signed) <= 1):
            raise ScaleError(
                f"x has values outside of [-1, 1], on which the {self.name} integral is defined."
            )
        better, worse = [np.asarray(whole(mu, np.maximum(side, 0))) for side in (signed, -signed)]
        combined = self.kernel(better, worse, UNIT)
        return UNIT.element(combined[()]) if signed.ndim == 1 else combined

    def cointegral(self) -> Integral:
        """Return the cointegral: the minimum, over all sets A, of mu^c(A) -> the largest x on A.

        The implication is the semidual of the conjunction & of the integral: a -> b = 1 - (a & (1 - b)).
        """
        return replace(self, name=f"{self.name} cointegral", formula="", is_dual=not self.is_dual)

    def desintegral(self) -> Integral:
        """Return the desintegral, for marks of which the lowest is the best: the integral of 1 - x.

        It is written for a decreasing set function nu, an anti-capacity. Here `mu` is the capacity A -> nu of
        the complement of A.
        """
        return replace(self, name=f"{self.name} desintegral", formula="", is_reversed=not self.is_reversed)

    def __str__(self) -> str:
        return f"{self.name} integral: {self.formula}" if self.formula else f"{self.name}"


def _need_numbers(mu: SetFunction, scale: Scale | None, name: str) -> None:
    if mu.scale not in (BOOLEAN, UNIT) or scale not in (None, UNIT, BOOLEAN):
        raise ScaleError(
            f"the {name} integral computes with numbers, and the levels {scale or mu.scale} are not. Assign "
            "a number to each level first: Dense(mu.criteria, [worth[mu(mask)] for mask in range(2**n)]) "
            "with worth a dictionary from levels to numbers in [0, 1]."
        )


def _reals(mu: SetFunction, x: Any) -> Codes:
    """Read finite numbers: floats as an array of floats, anything else as exact objects."""
    shape_of(mu, x)
    array = np.asarray(x)
    if array.dtype == np.float64 and np.isfinite(array).all():
        return array
    numbers = [read_number(value, "a value of x", ScaleError) for value in array.ravel().tolist()]
    out = np.empty(
        len(numbers), dtype=np.float64 if all(isinstance(one, float) for one in numbers) else object
    )
    out[:] = numbers
    return out.reshape(array.shape)


def _chain(mu: SetFunction, X: Codes, scale: Scale) -> tuple[Codes, Codes]:
    """Return mu(A_k) and x_(k) for k = 0 to n, one row per sample, as codes."""
    n = len(mu.criteria)
    top = scale.codes([scale.top])
    if n <= TABLE_LIMIT and (isinstance(mu, Dense) or X.size >= 1 << n):
        values, masks = best_sets(X)
        worths = with_scale(mu, mu.table(), scale)
        chain = np.concatenate([np.broadcast_to(worths[:1], (len(X), 1)), worths[masks]], axis=1)
    else:
        order = np.argsort(X, axis=1, kind="stable")[:, ::-1]
        values = np.take_along_axis(X, order, axis=1)
        sets = [list(accumulate((1 << index for index in row), initial=0)) for row in order.tolist()]
        position: dict[int, int] = {}
        numbers = [[position.setdefault(mask, len(position)) for mask in row] for row in sets]
        worths = with_scale(mu, mu.scale.codes([mu.at(mask) for mask in position]), scale)
        chain = worths[np.array(numbers, dtype=np.intp).reshape(len(X), n + 1)]
    return chain, np.concatenate([np.broadcast_to(top, (len(X), 1)), values], axis=1)


# --- formulas -----------------------------------------------------------------------------------------------


def _best(conjunction: Kernel) -> Kernel:
    """Return the maximum, over k, of a conjunction of worth and value."""
    return lambda worths, values, scale: np.asarray(conjunction(worths, values, scale).max(axis=1))


def _exceeds(worths: Codes, values: Codes, scale: Scale) -> Any:
    """Return where the worth is above 1 - value, exactly."""
    if scale == UNIT and object not in (worths.dtype, values.dtype):
        worths, values = worths.astype(np.float64), values.astype(np.float64)
        total = worths + values
        return (total > 1) | ((total == 1) & (rounding_error(worths, values, total) > 0))
    return np.asarray(worths > scale.reverse_codes(values), dtype=bool)


def _exactly(formula: Callable[[Codes, Codes], Codes]) -> Kernel:
    """Compute in floats if there are any, else in fractions."""

    def kernel(worths: Codes, values: Codes, scale: Scale) -> Codes:  # noqa: ARG001 all kernels have one signature
        if any(part.dtype == np.float64 or has_floats(part.flat) for part in (worths, values)):
            return formula(worths.astype(np.float64), values.astype(np.float64))
        return formula(_fractions(worths), _fractions(values))

    return kernel


def _fractions(codes: Codes) -> Codes:
    out = np.empty(codes.size, dtype=object)
    out[:] = [Fraction(value) for value in codes.ravel().tolist()]
    return out.reshape(codes.shape)


def _choquet(worths: Codes, values: Codes) -> Codes:
    """Return the sum of (x_(k) - x_(k+1)) mu(A_k), with x_(n+1) = 0."""
    x = values[:, 1:]
    steps = np.concatenate([x[:, :-1] - x[:, 1:], x[:, -1:]], axis=1)
    return np.asarray((steps * worths[:, 1:]).sum(axis=1))


def _stronger(positive: Codes, negative: Codes, scale: Scale) -> Codes:  # noqa: ARG001 all kernels have one signature
    """Return the larger side with its sign, and 0 if both are equal: the symmetric maximum."""
    return np.asarray(
        np.where(positive > negative, positive, np.where(negative > positive, -1 * negative, 0))
    )


_CONJUNCTIONS = (
    Integral("sugeno", "max of min(mu(A_k), x_k)", _best(lambda a, b, _: np.minimum(a, b))),
    Integral(
        "godel",
        "largest x_k with mu(A_k) > 1 - x_k",
        _best(lambda a, b, scale: np.where(_exceeds(a, b, scale), b, scale.codes([scale.bottom])[0])),
    ),
    Integral(
        "contrapositive",
        "largest mu(A_k) with mu(A_k) > 1 - x_k",
        _best(lambda a, b, scale: np.where(_exceeds(a, b, scale), a, scale.codes([scale.bottom])[0])),
    ),
    Integral(
        "shilkret", "max of mu(A_k) x_k", _exactly(lambda a, b: np.asarray((a * b).max(axis=1))), "unit"
    ),
    Integral(
        "lukasiewicz",
        "max of mu(A_k) + x_k - 1, at least 0",
        _exactly(lambda a, b: np.asarray(np.maximum(a + b - 1, 0).max(axis=1))),
        "unit",
    ),
)

INTEGRALS: Mapping[str, Integral] = MappingProxyType(
    {
        one.name: one
        for one in (
            *_CONJUNCTIONS,
            *(one.cointegral() for one in _CONJUNCTIONS),
            *(one.desintegral() for one in _CONJUNCTIONS),
            Integral("choquet", "sum of (x_k - x_(k+1)) mu(A_k)", _exactly(_choquet), "real"),
            Integral(
                "sipos",
                "choquet of the positive part - choquet of the negative part",
                lambda positive, negative, _: np.asarray(positive - negative),
                "signed",
            ),
            Integral(
                "symmetric sugeno",
                "the larger of sugeno of the positive part and - sugeno of the negative part, 0 if equal",
                _stronger,
                "signed",
            ),
        )
    }
)
"""All integrals by name, each with the signature of `sugeno`."""

choquet = INTEGRALS["choquet"]
shilkret = INTEGRALS["shilkret"]
sipos = INTEGRALS["sipos"]
symmetric_sugeno = INTEGRALS["symmetric sugeno"]
