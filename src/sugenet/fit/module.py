"""The network while it learns, in PyTorch: latent real weights behind signs,
batch norm in front of every sign.

Forwards, weights and activities are exactly -1, 0 and +1; backwards, signs let gradients through (the
straight-through estimator of Courbariaux and Hubara, 2016). Everything that is evaluated after training is
exact or correctly rounded, so that no answer depends on the order of additions, the batch or the machine:

- sums are integers below 2^24, exact in float32 in any order;
- batch norm is ``(s - mean) * slope + beta`` in three single operations, each rounded once, as IEEE 754 says;
- logits are ``unit * (s + b)`` with `unit` a power of two and b on a grid of 1/8:
  exact in float32, ties included.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log2, sqrt
from typing import TYPE_CHECKING, Any

from sugenet.errors import SugenetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Generator, Tensor

__all__ = ["BIAS_GRID", "BinaryModule", "Evaluation", "sign"]

BIAS_GRID = 8
"""Biases of the classes are multiples of 1/8 of a vote: fine enough to break ties, and exact in float32."""
_EPS = 1e-5
_MOMENTUM = 0.1
_LARGEST_SUM = 1 << 20  # with the 3 binary places of the biases this stays exact in float32


def sign(values: Tensor) -> Tensor:
    """-1.0 or +1.0; the sign of 0 is +1."""
    import torch

    return torch.where(values >= 0, 1.0, -1.0)


def _straight_through(forwards: Tensor, backwards: Tensor) -> Tensor:
    """The value of `forwards` with the gradient of `backwards`; the difference added is exactly 0."""
    return forwards + (backwards - backwards.detach())


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What the module computes for a batch, after training."""

    active: list[Tensor]
    """Boolean activity of every hidden layer."""
    sums: Tensor
    """Bipolar sums of the classes: whole numbers."""
    logits: Tensor


@dataclass(eq=False)
class BinaryModule:
    """Latent weights, masks of zero weights, batch norm and class biases. Changed in place by training.

    Examples
    --------
    >>> import torch
    >>> module = BinaryModule.start((4, 3, 2), torch.Generator().manual_seed(0))
    >>> module.evaluate(torch.ones(1, 4)).logits.shape
    torch.Size([1, 2])
    """

    latent: list[Tensor]
    """One matrix a layer, the head last; values in [-1, 1], whose signs are the weights."""
    kept: list[Tensor]
    """1 where a weight is there, 0 where it is pruned."""
    beta: list[Tensor]
    mean: list[Tensor]
    var: list[Tensor]
    bias: Tensor
    """Of the classes, in votes, before rounding to the grid."""
    unit: float

    @classmethod
    def start(cls, sizes: Sequence[int], generator: Generator, top: int = 1) -> BinaryModule:
        """Random weights for layers of these sizes, inputs first and classes last;
        `top` is the largest input.
        """
        import torch

        if max(*sizes[:-1], top * sizes[0]) > _LARGEST_SUM:
            raise SugenetError(
                f"layers of {sizes} inputs up to {top} give sums beyond 2^20, "
                f"which float32 training cannot hold exactly."
            )
        shapes = list(pairwise(sizes))
        hidden = sizes[1:-1]
        return cls(
            latent=[(torch.rand(n, m, generator=generator) - 0.5).requires_grad_() for m, n in shapes],
            kept=[torch.ones(n, m) for m, n in shapes],
            beta=[torch.zeros(n).requires_grad_() for n in hidden],
            mean=[torch.zeros(n) for n in hidden],
            var=[torch.ones(n) for n in hidden],
            bias=torch.zeros(sizes[-1]).requires_grad_(),
            unit=2.0 ** round(-log2(sqrt(sizes[-2]))),
        )

    @property
    def depth(self) -> int:
        """Number of hidden layers."""
        return len(self.beta)

    def parameters(self) -> list[Tensor]:
        """What the optimizer moves."""
        return [*self.latent, *self.beta, self.bias]

    def weights(self, layer: int) -> Tensor:
        """The weights -1, 0, +1 of a layer, counted from 0; the head is the last."""
        return sign(self.latent[layer]).detach() * self.kept[layer]

    def biases(self) -> Tensor:
        """Biases of the classes in votes, on the grid."""
        import torch

        return torch.round(self.bias.detach() * BIAS_GRID) / BIAS_GRID

    def norm(self, layer: int, sums: Tensor) -> Tensor:
        """Batch norm of a hidden layer with its stored mean and variance; its sign is the activity.

        Rises with the sum.
        """
        import torch

        slope = 1.0 / torch.sqrt(self.var[layer] + _EPS)
        return (sums - self.mean[layer]) * slope + self.beta[layer].detach()

    def evaluate(self, inputs: Tensor) -> Evaluation:
        """Activity, sums and logits for inputs -1/+1 or levels."""
        import torch

        active = []
        with torch.no_grad():
            for layer in range(self.depth):
                active.append(self.norm(layer, inputs @ self.weights(layer).T) >= 0)
                inputs = torch.where(active[-1], 1.0, -1.0)
            sums = inputs @ self.weights(self.depth).T
            return Evaluation(active, sums, self.unit * (sums + self.biases()))

    def learn_from(self, inputs: Tensor) -> Tensor:
        """Logits of a training batch, through which gradients flow;
        batch norm sees the batch and updates its averages.
        """
        from torch.nn.functional import batch_norm

        for layer in range(self.depth):
            # pruned weights learn too, and may come back
            weights = _straight_through(self.weights(layer), self.latent[layer])
            normed = batch_norm(
                inputs @ weights.T,
                self.mean[layer],
                self.var[layer],
                None,
                self.beta[layer],
                training=True,
                momentum=_MOMENTUM,
                eps=_EPS,
            )
            inputs = _straight_through(sign(normed), normed.clamp(-1, 1))
        weights = _straight_through(self.weights(self.depth), self.latent[-1])
        return self.unit * (inputs @ weights.T + _straight_through(self.biases(), self.bias))

    def bound_excess(self, goal: int, top: int = 1) -> Tensor:
        """By how much the cardinality bounds min(tau, n + 1 - tau) exceed the goal, as a share of n, on
        average over all neurons.

        The idea is the cardinality bound decay of Jia and Rinard, "Efficient Exact Verification of Binarized
        Neural Networks" (2020): solvers propagate sooner through a neuron that few literals decide. Only beta
        feels it, not the weights.
        """
        import torch

        shares = [torch.zeros(0)]
        for layer in range(self.depth):
            rows = self.weights(layer)
            size = rows.abs().sum(dim=1)
            theta = self.mean[layer] - self.beta[layer] * torch.sqrt(self.var[layer] + _EPS)
            # levels 0..top: the match count is the sum and what negative weights leave to the top
            if layer == 0 and top > 1:
                size, tau = size * top, theta - rows.clamp(max=0).sum(dim=1) * top
            else:
                tau = (theta + size) / 2
            shares.append(torch.relu(torch.minimum(tau, size + 1 - tau) - goal) / size)
        together = torch.cat(shares)
        return together.mean() if len(together) else together.sum()

    def clip(self) -> None:
        """Bring latent weights back into [-1, 1]."""
        import torch

        with torch.no_grad():
            for rows in self.latent:
                rows.clamp_(-1, 1)

    def prune(self, sparsity: float) -> None:
        """Keep the same number of weights in every hidden neuron, those with the largest latent values."""
        for rows, kept in zip(self.latent[:-1], self.kept[:-1], strict=True):
            count = max(1, round((1 - sparsity) * rows.shape[1]))
            kept.zero_().scatter_(1, rows.detach().abs().topk(count, dim=1).indices, 1.0)

    def state(self) -> dict[str, Any]:
        """A copy of all tensors, as plain lists by name."""
        groups = {
            "latent": self.latent,
            "kept": self.kept,
            "beta": self.beta,
            "mean": self.mean,
            "var": self.var,
            "bias": [self.bias],
        }
        return {name: [tensor.detach().clone() for tensor in tensors] for name, tensors in groups.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the values of a state."""
        import torch

        own = {
            "latent": self.latent,
            "kept": self.kept,
            "beta": self.beta,
            "mean": self.mean,
            "var": self.var,
            "bias": [self.bias],
        }
        with torch.no_grad():
            for name, tensors in own.items():
                for tensor, value in zip(tensors, state[name], strict=True):
                    tensor.copy_(value)
