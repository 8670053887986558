"""What a training run tells while it runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass

__all__ = ["Epoch", "end_progress", "print_progress"]


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch: number from 1 of `total`, mean loss, and accuracies of the module; `validation` is None
    without held-out samples. In robust training the samples learned from are those of the attack, and
    `attacked` is the accuracy under attack, at `radius`, of the samples held out, or without such of those
    learned from. What an attack finds is no proof.
    """

    number: int
    total: int
    loss: float
    training: float
    validation: float | None
    attacked: float | None = None
    radius: float | None = None

    def __str__(self) -> str:
        held_out = "" if self.validation is None else f", validation {self.validation:.2%}"
        attacked = (
            "" if self.attacked is None else f", under attack {self.attacked:.2%} (radius {self.radius:.4g})"
        )
        learned = f"loss {self.loss:.4f}, training {self.training:.2%}"
        return f"epoch {self.number}/{self.total}: {learned}{held_out}{attacked}"


def print_progress(epoch: Epoch) -> None:
    """Write an epoch to stderr: one line that is overwritten on a terminal, a line each elsewhere.

    Examples
    --------
    >>> print(Epoch(3, 60, loss=0.51234, training=0.9, validation=0.875))
    epoch 3/60: loss 0.5123, training 90.00%, validation 87.50%
    """
    if sys.stderr is None:
        return
    if sys.stderr.isatty():
        end = "\n" if epoch.number == epoch.total else ""
        sys.stderr.write(f"\r\x1b[K{epoch}{end}")
    else:
        sys.stderr.write(f"{epoch}\n")
    sys.stderr.flush()


def end_progress() -> None:
    """End the line of a run that stopped early; elsewhere than on a terminal every line has its end."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("\n")
        sys.stderr.flush()
