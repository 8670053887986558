"""What a training run tells while it runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass

__all__ = ["Epoch", "end_progress", "print_progress"]


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch: number from 1 of `total`, mean loss, and accuracies of the module; `validation` is None
    without held-out samples.
    """

    number: int
    total: int
    loss: float
    training: float
    validation: float | None

    def __str__(self) -> str:
        held_out = "" if self.validation is None else f", validation {self.validation:.2%}"
        return (
            f"epoch {self.number}/{self.total}: loss {self.loss:.4f}, training {self.training:.2%}{held_out}"
        )


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
