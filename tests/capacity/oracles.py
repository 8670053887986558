"""Slow, obvious twins: everything here is the definition, written out."""

from functools import cache

from hypothesis import strategies as st

from sugenet.capacity import (
    BOOLEAN,
    UNIT,
    CardinalityThreshold,
    Conjugate,
    Dense,
    Focal,
    FromFunction,
    Join,
    Meet,
    Necessity,
    Nested,
    Ordinal,
    Possibility,
    Symmetric,
    WeightedThreshold,
)

GRADES = Ordinal(["bad", "poor", "ok", "good", "top"])


def subsets(mask):
    return [other for other in range(mask + 1) if other & mask == other]


def places(mask):
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


@cache
def monotone_tables(n, levels, capacities=True):
    """All monotone tables of 2^n values in 0..levels-1; with 0 on the empty and levels-1 on the full
    set if capacities.
    """
    found = [()]
    for mask in range(1 << n):
        grown = []
        for table in found:
            low = max((table[mask ^ 1 << place] for place in places(mask)), default=0)
            for value in range(low, levels):
                if capacities and ((mask == 0 and value) or (mask == (1 << n) - 1 and value < levels - 1)):
                    continue
                grown.append((*table, value))
        found = grown
    return found


def integral(worth, row, top):
    """Equation (2): worth is a function of masks, row a list of comparable values."""
    return max(
        min([worth(mask), *(row[place] for place in places(mask))], default=top)
        for mask in range(1 << len(row))
    )


def focal_sets(worth, n, bottom):
    """Sets worth more than each proper subset, with their worth."""
    found = {}
    for mask in range(1 << n):
        below = max((worth(other) for other in subsets(mask) if other != mask), default=bottom)
        if worth(mask) > max(below, bottom):
            found[mask] = worth(mask)
    return found


numbers = st.one_of(
    st.sampled_from([0, 1, 0.25, 0.1, 0.3, 0.7, 1e-20, 0.5]),
    st.floats(0, 1),
    st.fractions(0, 1, max_denominator=12),
)


def scale_values(scale):
    return numbers if scale == UNIT else st.sampled_from(scale.levels)


scales = st.sampled_from([BOOLEAN, UNIT, GRADES, Ordinal(["no", "yes"])])


@st.composite
def set_functions(draw, max_n=5, scale=None, depth=1):
    """A set function of any family, capacities and degenerate ones alike."""
    n = draw(st.integers(1, max_n))
    return draw(set_functions_over(n, draw(scales) if scale is None else scale, depth))


@st.composite
def set_functions_over(draw, n, scale, depth=1):
    value = scale_values(scale)
    kinds = ["focal", "dense", "symmetric", "possibility", "necessity", "function"]
    if scale == BOOLEAN:
        kinds += ["cardinality", "weighted"] * 2
    if depth:
        kinds += ["join", "meet", "nested", "conjugate"]
    match draw(st.sampled_from(kinds)):
        case "cardinality":
            lam = draw(st.sets(st.integers(1, n)))
            return CardinalityThreshold(lam, draw(st.integers(-1, n + 1)), n)
        case "weighted":
            weight = st.one_of(
                st.integers(0, 5), st.fractions(0, 3, max_denominator=4), st.sampled_from([0.1, 0.2, 0.7])
            )
            return WeightedThreshold(
                draw(st.lists(weight, min_size=n, max_size=n)), draw(st.integers(-1, 8)), n
            )
        case "symmetric":
            return Symmetric(n, sorted(draw(st.lists(value, min_size=n + 1, max_size=n + 1))), scale)
        case "possibility":
            return Possibility(draw(st.lists(value, min_size=n, max_size=n)), scale, n)
        case "necessity":
            return Necessity(draw(st.lists(value, min_size=n, max_size=n)), scale, n)
        case "join":
            return Join(draw(st.lists(set_functions_over(n, scale, depth - 1), min_size=1, max_size=3)))
        case "meet":
            return Meet(draw(st.lists(set_functions_over(n, scale, depth - 1), min_size=1, max_size=2)))
        case "nested":
            levels = draw(st.sets(value.filter(lambda v: v > scale.bottom), min_size=1, max_size=3))
            return Nested({level: draw(set_functions_over(n, BOOLEAN, depth - 1)) for level in levels}, scale)
        case "conjugate":
            return Conjugate(draw(set_functions_over(n, scale, depth - 1)))
    focal = Focal(n, draw(st.dictionaries(st.integers(0, (1 << n) - 1), value, max_size=5)), scale)
    match draw(st.sampled_from(["focal", "dense", "function"])):
        case "dense":
            return Dense.of(focal)
        case "function":
            return FromFunction(n, focal, scale)
    return focal
