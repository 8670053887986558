"""The network in PyTorch during training: real latent weights that are rounded to integers.

Every staircase activation follows a batch norm.

In the forward pass, weights are integers (signs by default) and a hidden neuron outputs a level a in 0..top.
The next layer reads it as 2 a - top, which is -1 or +1 for two levels. In the backward pass, both let
gradients through (the straight-through estimator of Courbariaux and Hubara, 2016). Everything that is
evaluated after training is exact or correctly rounded, so that no answer depends on the order of additions,
the batch or the machine:

- sums are integers below 2^31, exact in float64 in any order;
- batch norm is ``(s - mean) * slope + beta`` in three single operations, each rounded once, as IEEE 754 says;
- logits are ``unit * (s + b)`` with `unit` a power of two and b on a grid of 1/8:
  exact in float64, ties included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log2, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Generator, Tensor
from torch.nn.functional import batch_norm, cross_entropy

from sugenet.errors import SugenetError
from sugenet.nn.arrays import Ints

__all__ = ["BIAS_GRID", "Evaluation", "LevelModule"]

BIAS_GRID = 8
"""Biases of the classes are multiples of 1/8 of a vote: fine enough to break ties, and exact in float64."""
_EPS = 1e-5
_MOMENTUM = 0.1
_DRAWN = 0.1  # latent values that differ by less are nearly equal
_UNSEEN = 4.0  # larger than any difference of two latent values and their random parts
_RANGE = 2.0  # width of the interval of batch norms that the levels divide
_LARGEST_SUM = (1 << 31) - 1  # match counts of a network stay below 2^31


def _straight_through(forwards: Tensor, backwards: Tensor) -> Tensor:
    """Return the value of `forwards` with the gradient of `backwards`; the difference added is exactly 0."""
    return forwards + (backwards - backwards.detach())


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Output of the module for a batch, after training."""

    active: list[Tensor]
    """Levels of every hidden layer, as integers: 0 and 1 if there are two levels."""
    sums: Tensor
    """Sums of the classes, of levels as 2 a - top, as integers."""
    logits: Tensor


@dataclass(eq=False)
class LevelModule:
    """Latent weights, masks of zero weights, batch norm and class biases. Training changes it in place.

    The level of a hidden neuron is the number of `cuts` that its batch norm reaches.

    Examples
    --------
    >>> import torch
    >>> module = LevelModule.start((4, 3, 2), torch.Generator().manual_seed(0))
    >>> module.evaluate(torch.ones(1, 4)).logits.shape
    torch.Size([1, 2])
    """

    latent: list[Tensor]
    """One matrix per layer, the head last, with values in [-1, 1]. The weights are their signs, or the values
    times `largest`, rounded.
    """
    kept: list[Tensor]
    """1 if a weight is kept, 0 if it is pruned."""
    beta: list[Tensor]
    mean: list[Tensor]
    var: list[Tensor]
    bias: Tensor
    """Biases of the classes, in votes, before rounding to the grid."""
    unit: float
    levels: int = 2
    """Parameter of every hidden neuron."""
    weight_bits: int = 1
    limits: list[tuple[Tensor, Tensor]] | None = None
    """Smallest and largest sign of each weight of the hidden layers: 0 and 0 if a neuron does not read an
    input; None if all weights are free."""
    head_ways: Tensor | None = None
    """For each input of the head, 1 if its weights must not fall from a class to the next, -1 if they must
    not rise, 0 if they are free; None if all are free."""

    feature_of: Tensor | None = None
    """The feature of each input, if `leave_out` leaves features out."""
    read: Tensor | None = None
    """With `feature_of`, 1 for each input that the network reads, 0 for those left out."""

    @classmethod
    def start(
        cls,
        sizes: Sequence[int],
        generator: Generator,
        top: int = 1,
        *,
        levels: int = 2,
        weight_bits: int = 1,
        limits: Sequence[tuple[Ints, Ints]] | None = None,
        head_ways: Ints | None = None,
        feature_of: Ints | None = None,
    ) -> LevelModule:
        """Return a module with random weights for layers of these sizes, inputs first and classes last.

        `top` is the largest input. `limits` and `head_ways` restrict the signs of weights, and `feature_of`
        allows `leave_out`.
        """
        largest = _largest(weight_bits)
        max_sum = largest * max(top * sizes[0], (levels - 1) * max(sizes[1:-1], default=0))
        if max_sum > _LARGEST_SUM:
            raise SugenetError(
                f"layers of {tuple(sizes)} inputs up to {top} with levels={levels} and "
                f"weight_bits={weight_bits} can give sums of {max_sum}, but sums must stay below 2^31. "
                "Give less of one of them."
            )
        shapes = list(pairwise(sizes))
        hidden = sizes[1:-1]
        # rounded weights start small, where learning moves them most, but not all at 0
        reach = 0.5 if weight_bits == 1 else max(0.25, 0.6 / largest)
        typical = (1 if weight_bits == 1 else largest * reach) * (levels - 1) * sqrt(sizes[-2])
        latent = [(torch.rand(n, m, generator=generator) - 0.5) * (2 * reach) for m, n in shapes]
        ways = None if head_ways is None else torch.tensor(head_ways, dtype=torch.float32)
        if ways is not None:  # start in order, so that every input counts
            latent[-1] = torch.where(ways == 0, latent[-1], (latent[-1] * ways).sort(dim=0).values * ways)
        bounds = (
            None
            if limits is None
            else [(torch.tensor(a).float(), torch.tensor(b).float()) for a, b in limits]
        )
        return cls(
            latent=[rows.requires_grad_() for rows in latent],
            kept=[
                torch.ones(n, m) if bounds is None or layer == len(bounds) else _may_differ(*bounds[layer])
                for layer, (m, n) in enumerate(shapes)
            ],
            beta=[torch.zeros(n).requires_grad_() for n in hidden],
            mean=[torch.zeros(n) for n in hidden],
            var=[torch.ones(n) for n in hidden],
            bias=torch.zeros(sizes[-1]).requires_grad_(),
            unit=2.0 ** round(-log2(typical)),
            levels=levels,
            weight_bits=weight_bits,
            limits=bounds,
            head_ways=ways,
            feature_of=None if feature_of is None else torch.tensor(feature_of),
            read=None if feature_of is None else torch.ones(len(feature_of)),
        )

    def expect(self, totals: npt.NDArray[Any]) -> None:
        """Start with the biases of classes with these total weights.

        Biases learn slowly, so classes of very different weights would take many epochs.
        """
        logs = np.log(np.where(totals > 0, totals, totals[totals > 0].min()))
        with torch.no_grad():
            self.bias += torch.from_numpy((logs - logs.mean()) / self.unit)

    @property
    def depth(self) -> int:
        """Number of hidden layers."""
        return len(self.beta)

    def parameters(self) -> list[Tensor]:
        """The parameters that the optimizer updates."""
        return [*self.latent, *self.beta, self.bias]

    @property
    def largest(self) -> int:
        """The largest weight."""
        return _largest(self.weight_bits)

    @property
    def cuts(self) -> Tensor:
        """The values at which a batch norm steps to the next level.

        The first is 0, and the others follow evenly up to below 2, as in a ReLU that is clipped there. For
        two levels, the only cut is 0.
        """
        return torch.arange(self.levels - 1, dtype=torch.float64) * _RANGE / self.levels

    def weights(self, layer: int) -> Tensor:
        """Return the weights of a layer, counted from 0, as integers up to `largest`; the head is the last
        layer.
        """
        latent = self.latent[layer].detach()
        if self.weight_bits == 1:
            weights = torch.copysign(self.kept[layer], latent + 0.0)  # adding 0.0 removes -0
        else:
            weights = torch.round(latent * self.largest) * self.kept[layer]
        if self.limits is not None and layer < self.depth:
            low, high = self.limits[layer]
            weights = weights.clamp(low * self.largest, high * self.largest)
        if self.head_ways is not None and layer == self.depth:
            ways = self.head_ways
            weights = torch.where(ways == 0, weights, (weights * ways).cummax(dim=0).values * ways)
        return weights

    def _learning_weights(self, layer: int) -> Tensor:
        # pruned weights also learn, and may return, unless `rest_pruned` follows
        latent = self.latent[layer]
        return _straight_through(self.weights(layer), latent if self.largest == 1 else latent * self.largest)

    def biases(self) -> Tensor:
        """Return the biases of the classes in votes, on the grid."""
        return torch.round(self.bias.detach() * BIAS_GRID) / BIAS_GRID

    def norm(self, layer: int, sums: Tensor) -> Tensor:
        """Return the batch norm of a hidden layer with its stored mean and variance, in float64.

        It increases with the sum.
        """
        mean, var, beta = (of[layer].detach().double() for of in (self.mean, self.var, self.beta))
        return (sums.double() - mean) * (1.0 / torch.sqrt(var + _EPS)) + beta

    def climb(self, normed: Tensor) -> Tensor:
        """Return the level: the number of cuts that each value reaches."""
        return torch.bucketize(normed.contiguous(), self.cuts.to(normed.dtype), right=True)

    def evaluate(self, inputs: Tensor) -> Evaluation:
        """Return levels, sums and logits for inputs -1/+1 or levels."""
        active, values = [], inputs.double()
        with torch.no_grad():
            for layer in range(self.depth):
                active.append(self.climb(self.norm(layer, values @ self.weights(layer).double().T)))
                values = (2 * active[-1] - (self.levels - 1)).double()
            sums = values @ self.weights(self.depth).double().T
            return Evaluation(active, sums, self.unit * (sums + self.biases()))

    def learn_from(self, inputs: Tensor) -> Tensor:
        """Return the logits of a training batch, with gradients.

        Batch norm uses the batch and updates its averages.
        """
        return self._learn(inputs, None)[0]

    def learn_between(
        self, inputs: Tensor, low: Tensor, high: Tensor, budget: int | None, y: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of a training batch as `learn_from` does, and bounds with the same batch norm.

        The bounds say how far each class can rise above the class `y`, by interval bounds through all layers.
        Every input may be anything from `low` to `high`; with a `budget`, the changes of all inputs sum to at
        most that.

        The bounds are those of the first samples of the batch, as many as `low`, `high` and `y` have.
        """
        logits, ends = self._learn(inputs, (low, high, budget))
        assert ends is not None
        middle, reach = (ends[1] + ends[0]) / 2, (ends[1] - ends[0]) / 2
        weights = self._learning_weights(self.depth)
        bias = _straight_through(self.biases(), self.bias)
        target_weights = weights[y]
        sums = middle @ weights.T - (middle * target_weights).sum(dim=1, keepdim=True)
        if self.weight_bits == 1 and (self.depth or self.read is None):  # |w - v| is 1 - w v for signs
            spread = reach.sum(dim=1, keepdim=True) - (reach * target_weights) @ weights.T
        else:
            spread = torch.einsum("bkn,bn->bk", (weights - target_weights[:, None]).abs(), reach)
        return logits, self.unit * (sums + spread + bias - bias[y][:, None])

    def _learn(
        self, inputs: Tensor, ends: tuple[Tensor, Tensor, int | None] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        """Return the logits, and lower and upper ends of the last hidden layer."""
        bounds = None if ends is None else ends[:2]
        for layer in range(self.depth):
            weights = self._learning_weights(layer)
            sums = inputs @ weights.T
            normed = batch_norm(
                sums,
                self.mean[layer],
                self.var[layer],
                None,
                self.beta[layer],
                training=True,
                momentum=_MOMENTUM,
                eps=_EPS,
            )
            if bounds is not None:
                budget = None if layer or ends is None else ends[2]
                low, high = (
                    _sum_bounds(weights, *bounds)
                    if budget is None
                    else _around(weights, sums[: len(bounds[0])], budget)
                )
                mean, slope = sums.mean(dim=0), (sums.var(dim=0, unbiased=False) + _EPS).rsqrt()
                bounds = tuple(  # type: ignore[assignment]
                    self._climb_learning((end - mean) * slope + self.beta[layer]) for end in (low, high)
                )
            inputs = self._climb_learning(normed)
        weights = self._learning_weights(self.depth)
        return self.unit * (inputs @ weights.T + _straight_through(self.biases(), self.bias)), bounds

    def _climb_learning(self, normed: Tensor) -> Tensor:
        """Return levels as 2 a - top, with gradients."""
        top, step = self.levels - 1, _RANGE / self.levels
        if self.levels == 2:
            levels = (normed.detach() >= 0).to(normed.dtype)
        else:
            levels = self.climb(normed.detach()).to(normed.dtype)
        # from one step below the first cut to one above the last, with the mean slope of the staircase there
        return _straight_through(2 * levels - top, top * normed.clamp(-step, _RANGE - step))

    def input_gradient(self, inputs: Tensor, y: Tensor) -> Tensor:
        """Return the gradient of the loss of each sample by its inputs, with the stored batch norm.

        It is 0 without layers that let it through.
        """
        leaf = inputs.detach().requires_grad_()
        values = leaf
        for layer in range(self.depth):
            mean, slope = self.mean[layer], (self.var[layer] + _EPS).rsqrt()
            normed = (values @ self.weights(layer).T - mean) * slope + self.beta[layer].detach()
            values = self._climb_learning(normed)
        logits = self.unit * (values @ self.weights(self.depth).T + self.biases())
        return torch.autograd.grad(cross_entropy(logits, y, reduction="sum"), leaf)[0]

    def bound_excess(self, goal: int, top: int = 1) -> Tensor:
        """Return the mean excess of the cardinality bounds min(tau, n + 1 - tau) over the goal, as a share of
        n.

        The mean is over all neurons. It applies to two levels and weights of one bit.

        The idea is the cardinality bound decay of Jia and Rinard, "Efficient Exact Verification of Binarized
        Neural Networks" (2020): solvers propagate sooner through a neuron that few literals decide. It
        affects only beta, not the weights.
        """
        shares = [torch.zeros(0)]
        for layer in range(self.depth):
            rows = self.weights(layer)
            size = rows.abs().sum(dim=1)
            theta = self.mean[layer] - self.beta[layer] * torch.sqrt(self.var[layer] + _EPS)
            # levels 0..top: the match count is the sum, plus top times |w| for each negative weight w
            if layer == 0 and top > 1:
                size, tau = size * top, theta - rows.clamp(max=0).sum(dim=1) * top
            else:
                tau = (theta + size) / 2
            shares.append(torch.relu(torch.minimum(tau, size + 1 - tau) - goal) / size)
        together = torch.cat(shares)
        return together.mean() if len(together) else together.sum()

    def leave_out(
        self, goal: int, done: float, inputs: Tensor, y: Tensor, weights: Tensor | None = None
    ) -> None:
        """Leave features out, in equal steps while `done` grows from 0 to 1, until `goal` of them are read.

        Those go first whose mean, in place of their values, costs least loss. A feature never returns. With
        weights, means and losses are weighted.
        """
        assert self.read is not None
        assert self.feature_of is not None
        of, left = self.feature_of, sorted({*self.feature_of[self.read > 0].tolist()})
        excess = len(left) - goal - ceil((len({*of.tolist()}) - goal) * (1 - done))
        if excess <= 0:
            return
        shares = torch.full((len(y),), 1 / len(y)) if weights is None else weights / weights.sum()
        means = inputs.mean(dim=0) if weights is None else shares.to(inputs.dtype) @ inputs
        losses = {}
        for feature in left:
            logits = self.evaluate(torch.where(of == feature, means, inputs)).logits
            losses[feature] = float(shares.double() @ cross_entropy(logits, y, reduction="none").double())
        for feature in sorted(left, key=losses.__getitem__)[:excess]:
            self.read[of == feature] = 0
        self.kept[0].mul_(self.read)

    def clip(self) -> None:
        """Clip latent weights to [-1, 1]."""
        with torch.no_grad():
            for rows in self.latent:
                rows.clamp_(-1, 1)

    def prune(self, sparsity: float, lots: Generator | None = None) -> None:
        """Keep the same number of weights in every hidden neuron, those with the largest latent values.

        A neuron that reads fewer inputs keeps all of them.

        An adversary drives many latent values to the ends, -1 and 1. With `lots`, the choice among nearly
        equal values is random; without, the first inputs win.
        """
        for layer, (rows, kept) in enumerate(zip(self.latent[:-1], self.kept[:-1], strict=True)):
            count = max(1, round((1 - sparsity) * rows.shape[1]))
            limits = None if self.limits is None else self.limits[layer]
            sizes = (rows.detach() if limits is None else rows.detach().clamp(*limits)).abs()
            if lots is not None:
                sizes = sizes + _DRAWN * torch.rand(sizes.shape, generator=lots)
            readable = torch.ones_like(sizes) if limits is None else _may_differ(*limits)
            if self.read is not None and layer == 0:
                readable = readable * self.read
            sizes = sizes - _UNSEEN * (1 - readable)
            kept.zero_().scatter_(1, sizes.topk(count, dim=1).indices, 1.0).mul_(readable)

    def rest_pruned(self) -> None:
        """Remove the gradients of pruned latent weights, which then stay unchanged.

        Nothing checks what pruned weights would learn, and an adversary drives them all to the ends.
        """
        for rows, kept in zip(self.latent, self.kept, strict=True):
            if rows.grad is not None:
                rows.grad.mul_(kept)

    @property
    def _tensors(self) -> dict[str, list[Tensor]]:
        names = ("latent", "kept", "beta", "mean", "var")
        of_layers: dict[str, list[Tensor]] = {name: getattr(self, name) for name in names}
        return of_layers | {"bias": [self.bias], "read": [] if self.read is None else [self.read]}

    def state(self) -> dict[str, Any]:
        """Return a copy of all tensors, as plain lists by name."""
        return {name: [tensor.detach().clone() for tensor in row] for name, row in self._tensors.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Load the values of a state."""
        with torch.no_grad():
            for name, tensors in self._tensors.items():
                for tensor, value in zip(tensors, state[name], strict=True):
                    tensor.copy_(value)


def _sum_bounds(weights: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Return the smallest and largest sums of inputs that lie between two ends."""
    middle, reach = (high + low) / 2 @ weights.T, (high - low) / 2 @ weights.abs().T
    return middle - reach, middle + reach


def _around(weights: Tensor, sums: Tensor, budget: int) -> tuple[Tensor, Tensor]:
    """Return the same bounds when the changes of all inputs sum to at most a budget."""
    reach = budget * weights.abs().amax(dim=1)
    return sums - reach, sums + reach


def _may_differ(low: Tensor, high: Tensor) -> Tensor:
    """Return 1 for weights that may be other than 0, else 0."""
    return (low < high).float()


def _largest(weight_bits: int) -> int:
    return 1 if weight_bits == 1 else (1 << (weight_bits - 1)) - 1
