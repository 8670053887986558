"""Figures of networks, samples and capacities, computed exactly, ready for either renderer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from sugenet.capacity import FocalSet, Ordinal, Scale, SetFunction
from sugenet.capacity.arguments import number_text, rating_text
from sugenet.capacity.criteria import bits
from sugenet.errors import CapacityError, NetworkError, TooLargeError
from sugenet.nn import (
    Coding,
    DenseLayer,
    Layer,
    LayerTrace,
    LevelLayer,
    Network,
    Steps,
    Trace,
)
from sugenet.nn.arrays import Ints
from sugenet.nn.images import grid_of
from sugenet.problem import Neighbourhood, Region, move_gains, reach
from sugenet.problem.first_layer import first_layer
from sugenet.show.figures import (
    Bar,
    Bars,
    Cactus,
    Cell,
    FocalRow,
    Focals,
    Heat,
    Histogram,
    Lattice,
    LatticeSet,
    Meter,
    Meters,
    Pixels,
    Race,
    Strip,
    StripRow,
    Vote,
    percent,
)
from sugenet.show.pictures import shades

__all__ = [
    "cactus",
    "capacity_figure",
    "change_text",
    "changes_figure",
    "focal_dots",
    "heat_map",
    "kept_figure",
    "lattice_of",
    "level_bands",
    "margin_histogram",
    "match_meters",
    "meter_of",
    "meters_of",
    "sample_figure",
    "slack_histogram",
    "state_text",
    "value_text",
    "votes_of",
]


def level_bands(near: Neighbourhood, layer: int) -> tuple[Ints, Ints]:
    """Return the minimum and maximum match counts of a layer, from 1; for pooling, levels.

    Values outside cannot occur.
    """
    network = near.network
    low, high = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for number, one in enumerate(network.layers[:layer], start=1):
        if one.every is not None and not one.is_binary:
            low, high = _input_ends(near) if number == 1 else (low, high)
            low, high = one.activity(low[None, :])[0], one.activity(high[None, :])[0]
            continue
        min_counts, max_counts = _first(near) if number == 1 else _count_ends(one, low, high)
        if number == layer:
            return min_counts, max_counts
        low, high = _levels_at(one, min_counts), _levels_at(one, max_counts)
    return low, high


def _first(near: Neighbourhood) -> tuple[Ints, Ints]:
    """Return bounds for the first layer: sums over the features that can move together."""
    network = near.network
    rows = network.layers[0].rows()
    tau = np.zeros(len(rows), np.int64)
    first = LevelLayer(rows, tau, network.encoder.tops) if network.reads_levels else DenseLayer(rows, tau)
    gains, here = move_gains(near, first), first.match_counts(near.inputs)[0]
    return here - reach(near, -gains), here + reach(near, gains)


def _input_ends(near: Neighbourhood) -> tuple[Ints, Ints]:
    """Return the minimum and the maximum level of every feature."""
    low = np.asarray(near.inputs[0], np.int64).copy()
    high = low.copy()
    for move in near.moves:
        low[move.feature] = min(low[move.feature], move.state)
        high[move.feature] = max(high[move.feature], move.state)
    return low, high


def _count_ends(layer: Layer, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    rows = layer.rows()
    tops = layer.input_tops
    up, down = np.maximum(rows, 0), np.maximum(-rows, 0)
    return up @ low + down @ (tops - high), up @ high + down @ (tops - low)


def _levels_at(layer: Any, counts: Ints) -> Ints:
    if layer.tau.ndim == 1:
        return np.asarray(counts >= layer.tau, np.int64)
    return np.asarray((counts[:, None] >= layer.tau).sum(axis=1))


ROWS = 12
"""Number of rows that are easy to read in a figure; further ones are counted."""
_BAND_WORK = 1 << 26
"""Maximum number of products of inputs and neurons for which bands are computed."""


# -- words ---------------------------------------------------------------------------------------------------


def value_text(coding: Coding, value: Any) -> str:
    """Return a raw value in few digits, but always on the same side of each cut.

    Examples
    --------
    >>> value_text(Steps((17.17,)), 25.271234567), value_text(Steps((17.17,)), 17.169999999999998)
    ('25.2712', '17.169999999999998')
    """
    if not isinstance(value, float | np.floating):
        return number_text(value)
    short, exact = f"{value:.6g}", number_text(float(value))
    if not isinstance(coding, Steps) or not coding.low <= float(short) <= coding.high:
        return exact
    return short if coding.state(float(short)) == coding.state(value) else exact


def state_text(network: Network, feature: int, value: Any) -> str:
    """Return the condition that the state of a raw value means for the network."""
    coding, name = network.encoder.codings[feature], network.encoder.names[feature]
    return coding.describe(name, coding.state(value))


def change_text(network: Network, feature: int, before: Any, after: Any) -> tuple[str, str]:
    """Return the value before, and the condition after the change.

    For a number that need not be an integer, the shown value is added to the condition.
    """
    coding = network.encoder.codings[feature]
    span = coding.span(coding.state(after))
    becomes = f"{number_text(after)} ({span})" if span else state_text(network, feature, after)
    return value_text(coding, before), becomes


def _kind(coding: Coding, before: Any, after: Any) -> str:
    """Return whether a change increases or decreases the value; a change of category does neither."""
    if not isinstance(coding, Steps):
        return "other"
    return "up" if coding.state(after) > coding.state(before) else "down"


# -- samples -------------------------------------------------------------------------------------------------


def _shade_rows(network: Network, x: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in shades(network, x))


def _limited(rows: Sequence[StripRow], limit: int) -> tuple[tuple[StripRow, ...], int]:
    return tuple(rows[:limit]), max(0, len(rows) - limit)


def sample_figure(network: Network, x: Any, title: str = "the sample", limit: int = ROWS) -> Pixels | Strip:
    """Return a sample as an image if it is one, else its features one by one."""
    values = network.encoder.values(x)
    if grid_of(network) is not None:
        return Pixels(title, _shade_rows(network, values), caption="white: least, black: largest value")
    encoder = network.encoder
    rows = [
        StripRow(name, value_text(coding, value), state_text(network, f, value))
        for f, (name, coding, value) in enumerate(zip(encoder.names, encoder.codings, values, strict=True))
    ]
    return Strip(title, *_limited(rows, limit))


def kept_figure(
    network: Network, x: Any, features: Iterable[int], title: str, limit: int = ROWS
) -> Pixels | Strip:
    """Return a reason: the sample with the features that must stay fixed."""
    values, chosen = network.encoder.values(x), sorted(features)
    if not chosen:
        return replace(
            sample_figure(network, values, title, limit),
            caption="nothing needs to stay: the class stays whatever changes",
        )
    grid = grid_of(network)
    if grid is not None:
        cells = tuple(Cell(*divmod(f, grid[1]), "kept", state_text(network, f, values[f])) for f in chosen)
        return Pixels(
            title, _shade_rows(network, values), cells, "framed: must stay as it is; all others may change"
        )
    encoder = network.encoder
    rows = [
        StripRow(
            encoder.names[f],
            value_text(encoder.codings[f], values[f]),
            state_text(network, f, values[f]),
            "kept",
        )
        for f in chosen
    ]
    return Strip(title, *_limited(rows, limit), caption="must stay; all other features may change")


def changes_figure(
    network: Network, before: Any, after: Any, title: str, limit: int = ROWS
) -> Pixels | Strip:
    """Return a changed sample with its changes: as an image if it is one, else feature by feature."""
    old, new = (network.encoder.values(x) for x in (before, after))
    encoder, grid = network.encoder, grid_of(network)
    moved = [
        (f, _kind(coding, a, b), *change_text(network, f, a, b))
        for f, (coding, a, b) in enumerate(zip(encoder.codings, old, new, strict=True))
        if coding.state(a) != coding.state(b)
    ]
    if grid is not None:
        cells = [Cell(*divmod(f, grid[1]), kind, f"{becomes}, was {was}") for f, kind, was, becomes in moved]
        return Pixels(
            title,
            _shade_rows(network, new),
            tuple(cells),
            "framed: changed; triangle up: darker, down: lighter",
        )
    rows = [StripRow(encoder.names[f], was, becomes, kind) for f, kind, was, becomes in moved]
    return Strip(title, *_limited(rows, limit), caption="value now, and what it would become")


def heat_map(network: Network, attribution: Mapping[str, Fraction], title: str, exact: bool) -> Heat | Bars:
    """Return the share of reasons that contain each feature (FFA), on the image or as bars, largest first."""
    caption = (
        "share of all minimal reasons, exact" if exact else "share of the reasons found so far: an estimate"
    )
    grid, names = grid_of(network), network.encoder.names
    if grid is not None:
        row = [attribution.get(name) for name in names]
        return Heat(
            title, tuple(tuple(row[r * grid[1] : (r + 1) * grid[1]]) for r in range(grid[0])), caption
        )
    ordered = sorted(
        ((share, name) for name, share in attribution.items() if share), key=lambda pair: (-pair[0], pair[1])
    )
    bars = tuple(Bar(name, share, f"{percent(share)} %", strong=share == 1) for share, name in ordered[:ROWS])
    return Bars(title, caption, bars, Fraction(1), max(0, len(ordered) - ROWS), percent=True)


# -- inside a network ----------------------------------------------------------------------------------------


def votes_of(
    trace: Trace, truth: int | None = None, title: str = "votes of the classes", limit: int = ROWS
) -> Race:
    """Return the ranking of the classes on one sample; the predicted and the true class are always shown."""
    head, network = trace.network.head, trace.network
    possibility = head.possibility(trace.matches[None, :])[0]
    order = sorted(range(head.outputs), key=lambda k: (-trace.scores[k], k))
    shown = (
        order if len(order) <= limit else [k for index, k in enumerate(order) if index < limit or k == truth]
    )
    votes = tuple(
        Vote(
            network.classes[k],
            int(trace.matches[k]),
            int(head.sizes[k]),
            trace.scores[k],
            float(possibility[k]),
            k == trace.index,
            k == truth,
        )
        for k in shown
    )
    return Race(title, votes, len(order) - len(shown))


def meters_of(
    trace: Trace, layer: int = 1, limit: int = ROWS, neurons: Iterable[int] | None = None
) -> Meters:
    """Return match meters of a hidden layer on one sample, closest to turning first.

    `neurons` selects some neurons, numbered from 1.
    """
    trace.network.layer(layer)
    seen = trace.layers[layer - 1]
    if neurons is None:
        order = np.argsort(np.abs(2 * seen.slack + 1), kind="stable").tolist()
        near = "turning" if seen.levels is None else "a step"
        title = f"layer {layer}: neurons nearest to {near}"
    else:
        order, title = [number - 1 for number in neurons], f"neurons of layer {layer}"
    chosen = order[:limit]
    meters = tuple(meter_of(seen, j) for j in chosen)
    return Meters(title, meters, len(order) - len(chosen))


def meter_of(seen: LayerTrace, j: int) -> Meter:
    """Return one neuron of a layer, by index from 0; for several levels, with the nearest step."""
    name, matches, size = f"neuron {j + 1}", int(seen.matches[j]), int(seen.sizes[j])
    if seen.levels is None:
        return Meter(name, matches, int(seen.tau[j]), size)
    steps = tuple(seen.tau[j].tolist())
    within = [step for step in steps if 0 < step <= size] or [min(max(steps[0], 0), size + 1)]
    nearest = min(within, key=lambda step: abs(2 * (matches - step) + 1))
    return Meter(name, matches, nearest, size, steps=steps)


def match_meters(
    network: Network,
    x: Any,
    layer: int = 1,
    *,
    region: Region | None = None,
    neurons: Iterable[int] | None = None,
    limit: int = ROWS,
) -> Meters:
    """Return match meters of a hidden layer, with bands of match counts that a region around the sample
    allows.

    Bands are sound: values outside cannot occur. With `Free([...])` as region, those inputs are free and all
    others fixed.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> from sugenet.reason import Free
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [2])], Head([[1], [-1]]))
    >>> meter = match_meters(net, [+1, -1, +1, -1], region=Free(["x1"])).meters[0]
    >>> meter.matches, meter.low, meter.high, meter.state
    (1, 0, 1, 'locked off')
    """
    values = network.encoder.values(x)
    plain = meters_of(network.trace(values), layer, limit, neurons)
    if region is None:
        return plain
    low, high = _bands(network, values, layer, region)
    number = [int(meter.name.split()[1]) - 1 for meter in plain.meters]
    meters = tuple(
        replace(m, low=int(low[j]), high=int(high[j])) for m, j in zip(plain.meters, number, strict=True)
    )
    return Meters(plain.title, meters, plain.left_out, str(region))


def _bands(network: Network, values: list[Any], layer: int, region: Region) -> tuple[Any, Any]:
    """Return bounds on the match counts of a layer within a region.

    They are sums over features in the first layer, and over unknown inputs in later ones.
    """
    near = region.around(network, values)
    if (
        network.layers
        and network.layers[0].output_shape is not None
        and network.layers[0].inputs * network.layers[0].outputs > _BAND_WORK
    ):
        raise NetworkError("the first layer is too large to work out bands. Leave out the region.")
    if network.has_levels:
        return level_bands(near, layer)
    first = first_layer(network)
    if len(near.moves) * first.outputs > _BAND_WORK:
        raise NetworkError(
            "there are too many changes to work out bands. Ask about a smaller region, or leave it out."
        )
    gains = move_gains(near, first)
    matches = first.match_counts(near.inputs)[0]
    low, high = matches - reach(near, -gains), matches + reach(near, gains)
    tau = first.tau
    active = matches >= tau
    for later in network.layers[1:layer]:
        dense = later.unrolled()
        unknown = (low >= tau) != (high >= tau)
        here = dense.match_counts(active[None, :])[0]
        change = np.where(active, -dense.weights, dense.weights)[:, unknown]
        low, high = here + np.minimum(change, 0).sum(axis=1), here + np.maximum(change, 0).sum(axis=1)
        tau, active = dense.tau, here >= dense.tau
    return low, high


def margin_histogram(network: Network, X: Any, bins: int = 20) -> Histogram:
    """Return the histogram of margins over samples: the best score minus the second best."""
    logits = np.sort(network.logits(X), axis=1)
    margins = logits[:, -1] - logits[:, -2] if logits.shape[1] > 1 else np.zeros(len(logits))
    counts, edges = np.histogram(margins, bins=bins, range=(0.0, float(margins.max(initial=0.0)) or 1.0))
    axis = "best score less second best; at 0 the classes tie"
    title = f"margins of {len(margins):,} samples"
    return Histogram(title, axis, "samples", tuple(map(float, edges)), tuple(map(int, counts)), 0.0, "tie")


def slack_histogram(network: Network, X: Any, layer: int = 1, bins: int = 41) -> Histogram:
    """Return the histogram of M - tau of a layer over samples, one count for each neuron and sample."""
    chosen = network.layer(layer)
    bits = network.inputs(X)
    for before in network.layers[: layer - 1]:
        bits = before.activity(bits)
    if chosen.every is not None and not chosen.is_binary:
        raise NetworkError(f"layer {layer} takes the largest of several levels: it has no thresholds.")
    if not chosen.is_binary:
        counts, tau = chosen.match_counts(bits), chosen.tau
        seen = (LayerTrace(row, tau, chosen.sizes, row > 0, row) for row in counts)
        slack = np.concatenate([np.zeros(0, np.int64), *(one.slack for one in seen)])
        slack = slack[np.abs(slack) <= chosen.sizes.max(initial=0)]  # steps that no input reaches
        axis = "matches above the nearest step (M - tau); 0 or more reaches it"
    else:
        slack = np.asarray(chosen.match_counts(bits) - chosen.tau).ravel()
        axis = "matches above the threshold (M - tau); 0 or more is active"
    far = max(1, int(np.abs(slack).max(initial=1)))
    step = max(1, -(-2 * far // bins))
    steps = -(-far // step)
    # integers lie inside bins, and 0 begins one: it is active
    edges = np.arange(-steps, steps + 2) * step - 0.5
    counts, _ = np.histogram(slack, bins=edges)
    title = f"slack of layer {layer} over {len(bits):,} samples"
    return Histogram(title, axis, "neurons", tuple(map(float, edges)), tuple(map(int, counts)), -0.5, "tau")


def cactus(series: Mapping[str, Sequence[float]], of: int, title: str) -> Cactus:
    """Return the number of questions that were settled within a time per question.

    Parameters
    ----------
    series
        For each name the times, in seconds, of the questions that were settled.
    of
        How many questions there were.
    title
        Description of the questions.
    """
    return Cactus(
        title, of, tuple((name, tuple(sorted(float(t) for t in row))) for name, row in series.items())
    )


_LATTICE = 5
"""Maximum number of criteria whose 2^n sets are easy to read."""
_SORTED = 10_000


def capacity_figure(mu: SetFunction, upper: SetFunction | None = None) -> tuple[Lattice | Focals, ...]:
    """Return a capacity, or an interval of capacities: the lattice of up to 5 criteria, else focal sets.

    Examples
    --------
    >>> from sugenet.capacity import Possibility
    >>> [figure.title for figure in capacity_figure(Possibility({"price": 0.5, "room": 1}))]
    ['what each set of criteria is worth']
    >>> [len(figure.rows) for figure in capacity_figure(Possibility([1, 1, 0.5, 0.5, 0.25, 0]))]
    [5]
    """
    if len(mu.criteria) <= _LATTICE:
        return (lattice_of(mu, upper),)
    sufficient = focal_dots(mu, "sets of criteria that suffice")
    return (
        (sufficient,)
        if upper is None
        else (sufficient, focal_dots(upper, "sets of criteria that hold it down", up=False))
    )


def lattice_of(mu: SetFunction, upper: SetFunction | None = None, title: str = "") -> Lattice:
    """Return all sets of criteria by size with their worths; up to those of `upper`, if it is given.

    Examples
    --------
    >>> from sugenet.capacity import Focal
    >>> drawn = lattice_of(Focal(["price", "room"], {"price": 0.5, ("price", "room"): 1}))
    >>> [(drawn.key(one), one.low_text, one.focal) for one in drawn.sets]
    [('none', '0', False), ('a', '0.5', True), ('b', '0', False), ('ab', '1', True)]
    """
    n, greatest = len(mu.criteria), mu if upper is None else upper
    if n > _LATTICE:
        raise CapacityError(f"a lattice of {n} criteria has 2^{n} sets; it is drawn for up to {_LATTICE}.")
    sets = tuple(
        LatticeSet(
            tuple(bits(mask)),
            _share(mu.scale, mu.at(mask)),
            _share(mu.scale, greatest.at(mask)),
            rating_text(mu.at(mask)),
            rating_text(greatest.at(mask)),
            mu.is_focal(mask),
        )
        for mask in range(1 << n)
    )
    return Lattice(title or "what each set of criteria is worth", tuple(map(str, mu.criteria)), sets)


def focal_dots(mu: SetFunction, title: str, limit: int = ROWS, *, up: bool = True) -> Focals:
    """Return the focal sets of a capacity, best first: those that suffice for a level.

    With `up=False`, return the sets that keep the value at or below a level: the focal sets of its conjugate.

    Examples
    --------
    >>> from sugenet.capacity import Focal
    >>> mu = Focal(["price", "room"], {"price": 0.5, ("price", "room"): 1})
    >>> [(row.members, row.words) for row in focal_dots(mu, "up").rows]
    [((0, 1), 'at least 1'), ((0,), 'at least 0.5')]
    >>> [(row.members, row.words) for row in focal_dots(mu, "down", up=False).rows]
    [((0,), 'at most 0'), ((1,), 'at most 0.5')]
    """
    shown = mu if up else mu.conjugate()
    focal, left, order = _focal_sets(shown, limit)
    kept = [name for name in mu.criteria if any(name in one.members for one in focal)]
    rows = []
    for one in focal:
        level = one.weight if up else mu.scale.reverse(one.weight)
        phrase = f"{'at least' if up else 'at most'} {rating_text(level)}"
        indices = tuple(index for index, name in enumerate(kept) if name in one.members)
        rows.append(FocalRow(indices, _share(mu.scale, level), phrase))
    caption = (
        "where all of a row reach a level, up to the one beside it, so does the value"
        if up
        else "where all of a row are at or below a level, from the one beside it on, so is the value"
    )
    return Focals(title, tuple(map(str, kept)), tuple(rows), left, f"{caption}; {order}")


def _focal_sets(mu: SetFunction, limit: int) -> tuple[Sequence[FocalSet], int, str]:
    """Return some focal sets, the number of others, and which these are: the best, or the shortest of very
    many.
    """
    try:
        count = mu.focal_count()
    except TooLargeError:
        return list(islice(mu.focal_sets(by="size"), limit)), 0, "the shortest of more than can be counted"
    if count > _SORTED:
        return list(islice(mu.focal_sets(by="size"), limit)), max(0, count - limit), "the shortest"
    order: Any = sorted(mu.focal_sets(), key=lambda one: (len(one.members), mu.criteria.mask(one.members)))
    order.sort(key=lambda one: one.weight, reverse=True)
    return order[:limit], max(0, count - limit), "the strongest first"


def _share(scale: Scale, value: Any) -> Fraction:
    """Return the share of the scale below a value: by ranks of levels, else the number."""
    if isinstance(scale, Ordinal):
        return Fraction(scale.rank(value), len(scale.names) - 1)
    return Fraction(value)
