"""Sugeno utility functionals: a Sugeno integral of one utility per attribute (docs/theory.md 11.1)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import plain
from sugenet.capacity.base import SetFunction, need_set_function
from sugenet.capacity.criteria import Criterion
from sugenet.capacity.integral import read_in_order, shape_of, sugeno
from sugenet.capacity.scales import Scale, Value
from sugenet.errors import CapacityError, ScaleError
from sugenet.reprs import ShortRepr, set_fields

__all__ = ["SugenoUtility"]


@dataclass(frozen=True)
class SugenoUtility(ShortRepr):
    """The rating S_mu(phi_1(x_1), ..., phi_n(x_n)), with a table phi_i of utilities for each attribute.

    Reference: Couceiro, Dubois, Prade and Waldhauser [CDP16]; Brabant, Couceiro and others [BCD18].

    Parameters
    ----------
    mu : SetFunction
        Any set function over the attributes.
    utilities : mapping
        For each attribute a mapping from its values, worst first, to levels of the scale. Utilities must not
        fall from one value to the next.
    scale : Scale, optional
        The scale of the utilities, for a Boolean `mu` (default: that of `mu`).

    Examples
    --------
    >>> from sugenet.capacity import Focal, Ordinal
    >>> stars = Ordinal(["*", "**", "***"])
    >>> mu = Focal(["price", "rooms"], {("price", "rooms"): "***", "rooms": "**"}, stars)
    >>> rate = SugenoUtility(mu, {
    ...     "price": {"high": "*", "fair": "***", "low": "***"},
    ...     "rooms": {1: "*", 2: "**", 3: "***"},
    ... })
    >>> rate({"price": "fair", "rooms": 3}), rate({"price": "high", "rooms": 3})
    ('***', '**')
    >>> rate([["low", 1], ["low", 2]]).tolist()
    ['*', '**']
    >>> rate.utility({"price": "fair", "rooms": 2})
    {'price': '***', 'rooms': '**'}
    >>> rate.least("***")
    {'price': 'fair', 'rooms': 3}
    """

    mu: SetFunction
    utilities: tuple[tuple[tuple[Any, Value], ...], ...]
    scale: Scale

    def __init__(
        self,
        mu: SetFunction,
        utilities: Mapping[Criterion, Mapping[Any, Any]],
        scale: Scale | None = None,
    ) -> None:
        need_set_function(mu)
        if not isinstance(utilities, Mapping):
            raise CapacityError(
                f"utilities is {utilities!r}. Give a mapping from attributes to tables: "
                "{'price': {'high': 0, 'low': 1}}."
            )
        chosen = mu.scale if scale is None else scale
        tables = []
        for name, table in zip(mu.criteria, mu.criteria.row(utilities, "utilities"), strict=True):
            if not isinstance(table, Mapping) or not table:
                raise CapacityError(
                    f"the utilities of {name} are {plain(table)!r}. Give a mapping from values, worst first, "
                    "to utilities: {'high': 0, 'low': 1}."
                )
            tables.append(tuple(self._rising(name, table, chosen)))
        set_fields(self, mu=mu, utilities=tuple(tables), scale=chosen)

    @staticmethod
    def _rising(name: Criterion, table: Mapping[Any, Any], scale: Scale) -> Iterator[tuple[Any, Value]]:
        worse, below = None, scale.bottom
        for value, worth in table.items():
            utility = scale.check(worth, f"the utility of {name} = {value}")
            if utility < below:
                raise CapacityError(
                    f"the utility of {name} falls from {below} at {worse!r} to {utility} at {value!r}. Give "
                    f"the values worst first, with utilities that do not fall."
                )
            worse, below = value, utility
            yield plain(value), utility

    def __call__(self, x: Any) -> Any:
        """Return the rating of one sample or of a batch of samples.

        Parameters
        ----------
        x : mapping or sequence
            One sample of values of the attributes, or a batch, as for `sugeno`.

        Returns
        -------
        value or array
            A value of the scale, or for a batch an array of them.
        """
        rows = read_in_order(self.mu, x)
        array = np.empty(shape_of(self.mu, rows), dtype=object)
        array[...] = rows
        out = np.empty_like(array)
        for index in range(array.shape[-1]):
            out[..., index] = self._worth(index, array[..., index])
        return sugeno(self.mu, out, scale=self.scale)

    def _worth(self, index: int, column: npt.NDArray[Any]) -> Any:
        """Return the utilities of the values of one attribute."""
        table = dict(self.utilities[index])
        try:
            worths = [table[plain(value)] for value in column.ravel().tolist()]
        except (KeyError, TypeError):
            name = self.mu.criteria.names[index]
            strange = next(value for value in column.ravel().tolist() if not _is_key(value, table))
            known = ", ".join(map(str, table))
            raise ScaleError(
                f"{name} is {plain(strange)!r}, which has no utility. Its values are {known}."
            ) from None
        out = np.empty(len(worths), dtype=object)
        out[:] = worths
        return out.reshape(column.shape)[()]

    def utility(self, x: Mapping[Criterion, Any] | Sequence[Any]) -> dict[Criterion, Value]:
        """Return the utilities of one sample, by attribute: what the rules of `mu` are about.

        Parameters
        ----------
        x : mapping or sequence
            One sample of values of the attributes.

        Returns
        -------
        dict
            The utility of each attribute.
        """
        row = read_in_order(self.mu, x)
        return {
            name: self._worth(index, np.array([value], dtype=object))[0]
            for index, (name, value) in enumerate(zip(self.mu.criteria, row, strict=True))
        }

    def least(self, level: Any) -> dict[Criterion, Any]:
        """Return, for each attribute that has one, the least value whose utility reaches a level.

        With it, a rule "if the utilities of F reach a, then S >= a" is a rule about values.

        Parameters
        ----------
        level : value
            A level of the scale.

        Returns
        -------
        dict
            The least sufficient value of each attribute; attributes that never reach the level are left out.
        """
        wanted = self.scale.check(level, "level")
        sufficient = {
            name: [value for value, utility in table if utility >= wanted]
            for name, table in zip(self.mu.criteria, self.utilities, strict=True)
        }
        return {name: values[0] for name, values in sufficient.items() if values}


def _is_key(value: Any, table: Mapping[Any, Any]) -> bool:
    try:
        return plain(value) in table
    except TypeError:
        return False
