"""Prime rules of a network small enough to enumerate every codeword: a small cover, or all prime rules.

A table says for each codeword whether it has the class. A box is grown from a codeword feature by feature.
Each feature takes all places (neighbouring ones for a number) at which everything allowed so far has the
class. Widening later features only makes this stricter, so one pass makes the box prime.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Bits
from sugenet.reason.rules.grid import Grid, Masks, indices_of

__all__ = ["CODEWORDS", "all_primes", "cover", "marked"]

CODEWORDS = 1 << 20
"""Number of codewords up to which a network is small."""
_BOXES = 1 << 22
_ORDERS = 3
"""Number of random orders of features that are tried, in addition to the order by influence."""


def cover(
    grid: Grid,
    has_class: Bits,
    *,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
    notify: Callable[[str], None] = lambda _: None,
) -> list[Masks]:
    """Return prime boxes that together contain exactly the codewords of the class, none redundant; fewer when
    stopped.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> grid = Grid(Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [3])], Head([[-1], [+1]])))
    >>> [grid.words(masks) for masks in sorted(cover(grid, grid.table() == 1))][:2]
    [['x1 = +1', 'x2 = +1', 'x3 = -1'], ['x1 = +1', 'x2 = +1', 'x4 = +1']]
    """
    live = grid.live
    ordered = [grid.is_number(f) for f in live]
    rng = np.random.default_rng(seed)
    turns = [float((has_class.any(axis=k) & ~has_class.all(axis=k)).mean()) for k in range(len(live))]
    by_turns = sorted(range(len(live)), key=lambda k: turns[k])
    left = has_class.copy()
    boxes: list[list[int]] = []
    for start in rng.permutation(np.flatnonzero(has_class)).tolist():
        if not left.flat[start]:
            continue
        if stop():
            break
        point = [int(index) for index in np.unravel_index(start, has_class.shape)]
        orders = [
            by_turns,
            *(rng.permutation(len(live)).tolist() for _ in range(_ORDERS if len(live) > 1 else 0)),
        ]
        grown = (_grown(has_class, point, order, ordered) for order in orders)
        best = max(grown, key=lambda box: int(_part(left, box).sum()))
        _put(left, best, False)
        boxes.append(best)
        if len(boxes) % 256 == 0:
            notify(f"{len(boxes)} rules, {int(left.sum()):,} codewords to go")
    kept = _needed(has_class.shape, boxes, stop)
    return [_complete(grid, live, box) for box in kept]


def marked(grid: Grid, boxes: Iterable[Masks]) -> Bits:
    """Return which codewords of the table lie in some box."""
    is_marked = np.zeros([grid.sizes[f] for f in grid.live], bool)
    for masks in boxes:
        _put(is_marked, [masks[f] for f in grid.live], True)
    return is_marked


def _part(table: npt.NDArray[Any], box: Sequence[int]) -> npt.NDArray[Any]:
    """Return the part of a table inside a box, as slices if places are neighbours."""
    runs = [_run(mask) for mask in box]
    part = table[tuple(slice(None) if run is None else run for run in runs)]
    for axis, (mask, run) in enumerate(zip(box, runs, strict=True)):
        if run is None:
            part = part.take(indices_of(mask), axis=axis)
    return part


def _run(mask: int) -> slice | None:
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length()
    return slice(low, high) if mask.bit_count() == high - low else None


def _put(table: npt.NDArray[Any], box: Sequence[int], value: Any) -> None:
    if all(_run(mask) is not None for mask in box):
        table[tuple(_run(mask) for mask in box)] = value
    else:
        table[np.ix_(*(indices_of(mask) for mask in box))] = value


def _grown(has_class: Bits, point: Sequence[int], order: Sequence[int], ordered: Sequence[bool]) -> list[int]:
    box = [1 << index for index in point]
    for axis in order:
        box[axis] = (1 << has_class.shape[axis]) - 1
        good: Any = _part(has_class, box).all(axis=tuple(k for k in range(len(box)) if k != axis))
        if ordered[axis]:
            low = high = point[axis]
            while low > 0 and good[low - 1]:
                low -= 1
            while high + 1 < len(good) and good[high + 1]:
                high += 1
            box[axis] = (1 << high + 1) - (1 << low)
        else:
            box[axis] = sum(1 << index for index in np.flatnonzero(good).tolist())
    return box


def _needed(shape: tuple[int, ...], boxes: list[list[int]], stop: Callable[[], bool]) -> list[list[int]]:
    """Drop boxes, smallest first, whose codewords all lie in others; stop dropping when stopped."""
    times = np.zeros(shape, np.int32)
    for box in boxes:
        if stop():
            return boxes
        _put(times, box, _part(times, box) + 1)
    kept: list[list[int]] = []
    ordered = sorted(boxes, key=lambda row: prod(mask.bit_count() for mask in row))
    for number, box in enumerate(ordered):
        if stop():
            return kept + ordered[number:]
        part = _part(times, box)
        if (part > 1).all():
            _put(times, box, part - 1)
        else:
            kept.append(box)
    return kept


def _complete(grid: Grid, live: Sequence[int], box: Sequence[int]) -> Masks:
    masks = list(grid.full)
    for feature, mask in zip(live, box, strict=True):
        masks[feature] = mask
    return tuple(masks)


def all_primes(grid: Grid, has_class: Bits, stop: Callable[[], bool] = lambda: False) -> list[Masks]:
    """Return every prime box of a class; raises `TimeoutError` if it is stopped.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> grid = Grid(Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [2])], Head([[-1], [+1]])))
    >>> len(all_primes(grid, grid.table() == 1))
    6
    """
    live = grid.live
    options = [
        list(_options(grid.sizes[f], grid.is_number(f)))
        if _count(grid.sizes[f], grid.is_number(f)) <= _BOXES
        else []
        for f in live
    ]
    count = prod(_count(grid.sizes[f], grid.is_number(f)) for f in live)
    if count > _BOXES:
        raise TooLargeError(
            f"finding every prime rule takes {count:,} boxes; the limit is {_BOXES:,}. "
            f"Ask for a cover: every=False."
        )
    true = has_class
    for axis, masks in enumerate(options):
        parts = []
        for mask in masks:
            _see_time(stop)
            parts.append(true.take(indices_of(mask), axis=axis).all(axis=axis))
        true = np.stack(parts, axis=axis)
    prime = true.copy()
    for axis, masks in enumerate(options):
        number = {mask: k for k, mask in enumerate(masks)}
        for k, mask in enumerate(masks):
            _see_time(stop)
            here: Any = (slice(None),) * axis
            for index in range(grid.sizes[live[axis]]):
                wider = number.get(mask | 1 << index, k)
                if wider != k:
                    prime[(*here, k)] &= ~true[(*here, wider)]
    return [
        _complete(grid, live, [masks[k] for masks, k in zip(options, row, strict=True)])
        for row in np.argwhere(prime).tolist()
    ]


def _see_time(stop: Callable[[], bool]) -> None:
    if stop():
        raise TimeoutError


def _options(size: int, ordered: bool) -> Iterator[int]:
    """Return the masks that a limit can have."""
    if not ordered:
        yield from range(1, 1 << size)
        return
    for low in range(size):
        for high in range(low, size):
            yield (1 << high + 1) - (1 << low)


def _count(size: int, ordered: bool) -> int:
    return size * (size + 1) // 2 if ordered else (1 << size) - 1
