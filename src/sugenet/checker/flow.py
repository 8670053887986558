"""Check that no capacity has a smaller total cost, from amounts that samples owe to each other.

To be ensured: for every part (k, t, m, s, amount), a capacity that gives sample k at least t gives sample m
at least s. So "k gets less than t" or "m gets at least s" is true, and the amount is due in any case. The
minimum cost of each sample beyond its amounts is due in addition (docs/theory.md 10.5).
"""

from collections.abc import Callable
from fractions import Fraction

from sugenet.checker.learned_form import Costs, CostsOfErrors, FlowProof, RatedSamples
from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = ["check_flow"]

_Price = Callable[[int, int], Fraction]
_Due = tuple[list[tuple[int, Fraction]], list[tuple[int, Fraction]]]


def check_flow(
    costs: Costs,
    error: Fraction,
    lower_bound: Fraction,
    proof: FlowProof,
    samples: RatedSamples,
    limit: Limit,
) -> list[int]:
    """Check that the values cost `error` and that no capacity costs less than `lower_bound`; return the
    values.

    Another function checks that some capacity gives these values.
    """
    price, is_table = _price(costs, samples)
    # a cost that is linear between neighbouring values of the data is minimal at one of these values
    levels = (
        list(range(samples.top + 1))
        if samples.levels is not None
        else sorted({0, samples.top, *samples.ratings, *(value for row in samples.rows for value in row)})
    )
    indices = {level: index for index, level in enumerate(levels)}
    count = len(samples.rows)
    if len(proof.fitted) != count:
        raise CertificateError(f"fitted must be a list of {count} values.")
    fitted = [_level(value, samples, indices) for value in proof.fitted]
    if sum((price(k, value) for k, value in enumerate(fitted)), Fraction(0)) != error:
        raise CertificateError(f"the values do not cost {error} in total.")
    due: list[_Due] = [([], []) for _ in range(count)]
    total = Fraction(0)
    for k, high, m, low, amount in proof.parts:
        limit.look()
        t, s = _level(high, samples, indices), _level(low, samples, indices)
        _see_bound(k, t, m, s, samples)
        due[k][0].append((indices[t], amount))
        due[m][1].append((indices[s], amount))
        total += amount
    for k in range(count):
        total += _rest(k, due[k], levels, indices, price, samples, is_table, limit)
    if total != lower_bound:
        raise CertificateError(f"the parts prove that the total cost is at least {total}, not {lower_bound}.")
    return fitted


def _level(value: Fraction, samples: RatedSamples, indices: dict[int, int]) -> int:
    level = value * samples.unit
    if level not in indices:
        raise CertificateError(f"{str(value)[:40]} is not a value of the data.")
    return int(level)


def _see_bound(k: int, t: int, m: int, s: int, samples: RatedSamples) -> None:
    """Check that every capacity that gives sample k at least t gives sample m at least s."""
    if max(k, m) >= len(samples.rows):
        raise CertificateError(f"a part must name samples from 0 to {len(samples.rows) - 1}.")
    both = zip(samples.rows[k], samples.rows[m], strict=True)
    if s > t or any(x >= t and y < s for x, y in both):
        raise CertificateError(f"the value of sample {k} does not bind sample {m} as a part claims.")


def _rest(
    k: int,
    due: _Due,
    levels: list[int],
    indices: dict[int, int],
    price: _Price,
    samples: RatedSamples,
    is_table: bool,
    limit: Limit,
) -> Fraction:
    """Return the minimum cost of sample k beyond the amounts that it owes.

    The minimum is taken over all values from its smallest to its largest.
    """
    first, last = indices[min(samples.rows[k])], indices[max(samples.rows[k])]
    if is_table:
        tried = set(range(first, last + 1))
    else:  # costs rise away from the rating, so between two marks the value nearest to it is cheapest
        rating_index = indices[samples.ratings[k]]
        marks = {position for side in due for position, _ in side}
        tried = {
            min(max(position, first), last)
            for position in (rating_index, first, last, *marks, *(mark - 1 for mark in marks))
        }
    below, reached = (sorted(side) for side in due)
    owed = sum((amount for _, amount in below), Fraction(0))
    min_rest: Fraction | None = None
    for index in sorted(tried):  # in rising order, fewer levels are above it and more are reached
        limit.look()
        while below and below[0][0] <= index:
            owed -= below.pop(0)[1]
        while reached and reached[0][0] <= index:
            owed += reached.pop(0)[1]
        rest = price(k, levels[index]) - owed
        min_rest = rest if min_rest is None else min(min_rest, rest)
    assert min_rest is not None
    return min_rest


def _price(costs: Costs, samples: RatedSamples) -> tuple[_Price, bool]:
    """Return the function that gives the cost of a value of a sample, and whether it is a table."""
    ratings, weights = samples.ratings, samples.weights
    if isinstance(costs, tuple):
        table = costs
        if samples.levels is None:
            raise CertificateError("costs is a table, but the ratings are on no scale of levels.")
        size = len(samples.levels)
        if len(table) != size or any(len(row) != size for row in table):
            raise CertificateError("costs must be a table with a row and a column for each level.")
        if any(table[level][level] for level in range(size)):
            raise CertificateError("a rating that is met must cost nothing.")
        return (lambda k, value: weights[k] * table[ratings[k]][value]), True
    prices = costs or CostsOfErrors(Fraction(1), Fraction(1))
    unit = samples.unit

    def price(k: int, value: int) -> Fraction:
        off = value - ratings[k]
        return weights[k] * (prices.over * off if off > 0 else -prices.under * off) / unit

    return price, False
