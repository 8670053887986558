"""Literals and the polarized encoding of bipolar vectors (paper section 3.1, Remarks 1 and 2).

A literal is a signed coordinate number: `+i` is the paper's i^+ ("x_i is +1"), `-i` is i^- ("x_i is -1"),
i from 1.
"""

import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, TypeAlias

from sugenet.capacity.thresholds import exact_number
from sugenet.errors import NetworkError

__all__ = [
    "Literal",
    "active_set",
    "bipolar",
    "decode",
    "lam_of",
    "match_bits",
    "match_count",
    "polarize",
    "tau_of",
]

Literal: TypeAlias = int


def bipolar(x: Iterable[Any]) -> tuple[int, ...]:
    """Check a vector of -1 and +1."""
    values = []
    for index, value in enumerate(x, start=1):
        try:
            number = operator.index(value) if not isinstance(value, float) else int(value)
        except (TypeError, ValueError, OverflowError):
            number = 0
        if number not in (-1, 1) or number != value:
            raise NetworkError(f"x[{index}] is {value!r}, but bipolar vectors hold -1 and +1 only.")
        values.append(number)
    return tuple(values)


def polarize(x: Iterable[Any]) -> dict[Literal, int]:
    """Return the polarized encoding: 1 for the literal of each coordinate that holds, 0 for its opposite.

    Reference: Baaj and Prade [BP26].

    Parameters
    ----------
    x : iterable
        Bipolar vector: each value is -1 or +1.

    Returns
    -------
    dict
        1 or 0 for every literal.

    Raises
    ------
    NetworkError
        If a value of the vector is not -1 or +1.

    Examples
    --------
    >>> polarize([+1, -1])
    {1: 1, -1: 0, 2: 0, -2: 1}

    See Also
    --------
    active_set : only the literals that hold.
    """
    encoded = {}
    for i, value in enumerate(bipolar(x), start=1):
        encoded[i], encoded[-i] = int(value == 1), int(value == -1)
    return encoded


def active_set(x: Iterable[Any]) -> frozenset[Literal]:
    """Return E(x): the literals that hold in a bipolar vector.

    Reference: Baaj and Prade [BP26].

    Parameters
    ----------
    x : iterable
        Bipolar vector: each value is -1 or +1.

    Returns
    -------
    frozenset of int
        One literal per coordinate, with the sign of the value.

    Raises
    ------
    NetworkError
        If a value of the vector is not -1 or +1.

    Examples
    --------
    >>> sorted(active_set([+1, -1, +1]), key=abs)
    [1, -2, 3]

    See Also
    --------
    polarize : every literal, with 1 or 0.
    lam_of : the literals that weights select.
    """
    return frozenset(i * value for i, value in enumerate(bipolar(x), start=1))


def lam_of(weights: Sequence[Any]) -> frozenset[Literal]:
    """Return Lam(w): the literals that the signs of the weights select; a weight of 0 selects none.

    Reference: Baaj and Prade [BP26].

    Parameters
    ----------
    weights : sequence
        Weights of a neuron, one per coordinate.

    Returns
    -------
    frozenset of int
        One literal per nonzero weight, with the sign of the weight.

    Examples
    --------
    >>> sorted(lam_of([+1, +1, -1, 0]), key=abs)
    [1, 2, -3]

    See Also
    --------
    match_count : how many of these literals hold.
    tau_of : how many must hold.
    """
    signs = ((weight > 0) - (weight < 0) for weight in weights)
    return frozenset(i * int(sign) for i, sign in enumerate(signs, start=1) if sign)


def match_bits(weights: Sequence[Any], x: Iterable[Any]) -> tuple[int, ...]:
    """Return z of Remark 1: 1 where the coordinate equals the weight, in the order of the nonzero weights.

    Reference: Baaj and Prade [BP26].

    Parameters
    ----------
    weights : sequence
        Weights of a neuron, one per coordinate.
    x : iterable
        Bipolar vector: each value is -1 or +1.

    Returns
    -------
    tuple of int
        1 or 0 per nonzero weight.

    Raises
    ------
    NetworkError
        If a value of the vector is not -1 or +1, or if its length is not the number of weights.

    Examples
    --------
    >>> match_bits([+1, +1, -1, +1], [+1, -1, +1, -1])
    (1, 0, 0, 0)

    See Also
    --------
    match_count : the number of ones.
    """
    values = bipolar(x)
    if len(values) != len(weights):
        raise NetworkError(f"x has {len(values)} coordinates but there are {len(weights)} weights.")
    return tuple(
        int((weight > 0) == (value > 0)) for weight, value in zip(weights, values, strict=True) if weight
    )


def match_count(lam: Iterable[Literal], x: Iterable[Any]) -> int:
    """Return the match count M = |E(x) & Lam|.

    Parameters
    ----------
    lam : iterable of int
        The literals of a neuron.
    x : iterable
        Bipolar vector: each value is -1 or +1.

    Returns
    -------
    int
        How many literals of `lam` hold.

    Raises
    ------
    NetworkError
        If a value of the vector is not -1 or +1.

    Examples
    --------
    >>> match_count({1, 2, -3}, [+1, -1, -1])
    2

    See Also
    --------
    lam_of : the literals that weights select.
    tau_of : the match count that a neuron requires.
    """
    return len(active_set(x) & frozenset(lam))


def tau_of(theta: Any, n: int) -> int:
    """Return the smallest match count at which the bipolar sum s = 2M - n reaches theta:
    ceil((theta + n) / 2), in exact arithmetic.

    Reference: Baaj and Prade [BP26].

    Parameters
    ----------
    theta : number
        Threshold on the bipolar sum.
    n : int
        Number of nonzero weights.

    Returns
    -------
    int
        The smallest match count; below 1 if every input reaches theta, above n if none does.

    Raises
    ------
    CapacityError
        If theta is not a finite number.

    Examples
    --------
    >>> tau_of(0, 4), tau_of(0.1 + 0.2 - 0.3, 4)  # 5.6e-17 is more than 0
    (2, 3)

    See Also
    --------
    match_count : the count that is compared with tau.
    """
    return ceil(Fraction(exact_number(theta, "theta") + n) / 2)


def decode(s: int) -> int:
    """Return the bipolar output 2S - 1 of a Boolean Sugeno integral S.

    Reference: Baaj and Prade [BP26].

    Parameters
    ----------
    s : int
        Value of the integral: 0 or 1.

    Returns
    -------
    int
        -1 for 0, +1 for 1.

    Examples
    --------
    >>> decode(0), decode(1)
    (-1, 1)

    See Also
    --------
    polarize : encoding of bipolar inputs.
    """
    return 2 * s - 1
