"""Growing a hidden layer by boosting: every epoch adds a decision tree, whose leaves become neurons.

A leaf holds if all literals on its path hold, so its neuron has these weights, -1 or +1, and needs all of
them. The head adds the values of the leaves, rounded to 8 bits. One tree serves all classes.
"""

from collections.abc import Callable
from math import log2

import numpy as np
import numpy.typing as npt
import torch

from sugenet.errors import EncodingError
from sugenet.fit.encoding import reads_levels
from sugenet.fit.loop import Course, Samples, is_patience_over, rank
from sugenet.fit.module import LevelModule
from sugenet.fit.settings import Epoch, Settings
from sugenet.nn import Encoder
from sugenet.nn.simplifying import drop_unread

__all__ = ["grow", "planted"]

_STEP = 0.2  # share of the Newton step that a tree takes
_RIDGE = 1.0  # added to the curvature of a leaf
_SMALLEST = 5  # samples in a leaf
_MOST = 1 << 14  # samples that one tree learns from; it draws them anew
_HEAD_BITS = 8
_TINY = 1e-9  # keeps logarithms finite, and asks for a gain above rounding errors

Path = tuple[int, ...]
"""Literals: bit i as i + 1 where it is on, as -(i + 1) where it is off, in rising order of i."""
_Floats = npt.NDArray[np.float32]


def grow(
    training: Samples,
    validation: Samples | None,
    n_classes: int,
    settings: Settings,
    progress: Callable[[Epoch], None] | None = None,
) -> tuple[dict[Path, _Floats], Course]:
    """Return the leaves of the trees with their values for each class, and the course.

    The empty path holds the values that every sample has. Ctrl-C ends the run after the last complete tree.

    Raises
    ------
    EncodingError
        If no bit divides the samples into parts that are large enough.
    """
    assert settings.depth is not None
    weights = np.ones(len(training)) if training.weights is None else training.weights
    weights = (weights / weights.mean()).astype(np.float32)[:, None]
    target = np.eye(n_classes, dtype=np.float32)[training.y]
    prior = np.log((weights * target).mean(axis=0) + _TINY).astype(np.float32)
    parts = [part for part in (training, validation) if part is not None]
    scores = [np.tile(prior, (len(part), 1)) for part in parts]
    trees: list[list[tuple[Path, _Floats]]] = [[((), prior)]]
    history: list[Epoch] = []
    best_epoch, interrupted = 0, False
    rng = np.random.default_rng([settings.seed, 5])
    try:
        while len(history) < settings.epochs and not is_patience_over(history, best_epoch, settings):
            chances = _softmax(scores[0])
            some = np.arange(len(training))
            if len(some) > _MOST:
                some = np.sort(rng.choice(len(some), _MOST, replace=False))
            slopes, curves = weights * (chances - target), weights * chances * (1 - chances)
            tree = _tree(training.inputs[some].astype(np.float32), slopes[some], curves[some], settings.depth)
            if not tree[0][0]:
                break
            for part, sums in zip(parts, scores, strict=True):
                for path, value in tree:
                    sums[_holds(part.inputs, path)] += value
            loss = -np.log(_softmax(scores[0])[np.arange(len(training)), training.y] + _TINY)
            shares = [
                part.share(sums.argmax(axis=1) == part.y) for part, sums in zip(parts, scores, strict=True)
            ]
            epoch = Epoch(
                len(history) + 1, settings.epochs, float(np.average(loss, weights=weights[:, 0])), shares[0],
                None if validation is None else shares[1],
            )  # fmt: skip
            trees.append(tree)
            history.append(epoch)
            if best_epoch == 0 or rank(epoch, settings) >= rank(history[best_epoch - 1], settings):
                best_epoch = epoch.number
            if progress is not None:
                progress(epoch)
    except KeyboardInterrupt:
        if not best_epoch:
            raise
        interrupted = True
    if not best_epoch:
        raise EncodingError(
            f"depth={settings.depth} finds no tree: no feature divides the {len(training)} samples into "
            f"parts of at least {_SMALLEST} that differ. Leave depth out, or give more samples."
        )
    leaves: dict[Path, _Floats] = {}
    for tree in trees[: best_epoch + 1]:
        for path, value in tree:
            # not i is 1 - i: one neuron serves both leaves of a tree of depth 1
            signs = {(): 1, (-path[0],): -1} if len(path) == 1 and path[0] < 0 else {path: 1}
            for literals, sign in signs.items():
                leaves[literals] = leaves.get(literals, np.zeros_like(value)) + sign * value
    return leaves, Course(tuple(history), best_epoch, interrupted)


def _softmax(scores: _Floats) -> _Floats:
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True), dtype=np.float32)


def _holds(inputs: npt.NDArray[np.bool_], path: Path) -> npt.NDArray[np.int64]:
    """Return the samples in which every literal of a path holds."""
    rows = np.arange(len(inputs))
    for literal in path:
        rows = rows[inputs[rows, abs(literal) - 1] == (literal > 0)]
    return rows


def _tree(inputs: _Floats, slopes: _Floats, curves: _Floats, depth: int) -> list[tuple[Path, _Floats]]:
    """Return the leaves of one tree and their values, a share of the Newton step of each class."""
    leaves: list[tuple[Path, _Floats]] = []
    nodes: list[tuple[npt.NDArray[np.int64], Path]] = [(np.arange(len(inputs)), ())]
    while nodes:
        rows, path = nodes.pop()
        slope, curve = slopes[rows].sum(axis=0), curves[rows].sum(axis=0)
        if len(path) < depth and len(rows) >= 2 * _SMALLEST:
            there = inputs[rows]
            slope_on, curve_on, count = there.T @ slopes[rows], there.T @ curves[rows], there.sum(axis=0)
            gains = (
                _gain(slope_on, curve_on) + _gain(slope - slope_on, curve - curve_on) - _gain(slope, curve)
            )
            gains[(count < _SMALLEST) | (len(rows) - count < _SMALLEST)] = 0
            bit = int(gains.argmax())
            if gains[bit] > _TINY * len(inputs):
                on = there[:, bit] > 0
                nodes += [
                    (rows[part], tuple(sorted((*path, literal), key=abs)))
                    for part, literal in ((~on, -bit - 1), (on, bit + 1))
                ]
                continue
        leaves.append((path, np.asarray(-_STEP * slope / (curve + _RIDGE), dtype=np.float32)))
    return leaves


def _gain(slope: _Floats, curve: _Floats) -> _Floats:
    return np.asarray((slope**2 / (curve + _RIDGE)).sum(axis=-1))


def planted(
    leaves: dict[Path, _Floats], encoder: Encoder
) -> tuple[LevelModule, Encoder, npt.NDArray[np.intp]]:
    """Return a module with one hidden neuron per leaf, the encoder without unread cuts, and the bits left."""
    paths = [path for path in leaves if path]
    weights = np.zeros((len(paths), encoder.width), np.int64)
    for row, path in zip(weights, paths, strict=True):
        for literal in path:
            row[abs(literal) - 1] = 1 if literal > 0 else -1
    smaller, read = drop_unread(encoder, np.asarray(weights.any(axis=0)))
    if reads_levels(smaller):  # levels in place of bits would be another network
        smaller, read = encoder, np.arange(encoder.width)
    values = np.array([leaves[path] for path in paths], dtype=np.float64)
    module = LevelModule.start(
        (len(read), len(paths), values.shape[1]), torch.Generator(), weight_bits=_HEAD_BITS
    )
    factor = module.largest / max(float(np.abs(values).max()), _TINY)
    votes = np.rint(values * factor)
    with torch.no_grad():
        for latent, whole in zip(module.latent, (weights[:, read], votes.T), strict=True):
            latent.copy_(torch.from_numpy(whole / module.largest))
        module.mean[0].copy_(torch.from_numpy(np.abs(weights).sum(axis=1) - 1))
        # a leaf votes w or -w, twice as far apart as its value w or 0
        module.bias.copy_(torch.from_numpy(votes.sum(axis=0) + 2 * factor * leaves[()]))
    module.unit = 2.0 ** round(-log2(2 * factor))
    return module, smaller, read
