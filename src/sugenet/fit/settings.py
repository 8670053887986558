"""Settings of a training run, as one frozen value that is checked once; and the report of each epoch."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from math import floor, isfinite
from time import monotonic
from typing import Any

from sugenet.capacity.arguments import exact_number, number_text, read_number
from sugenet.errors import CapacityError, SugenetError, how_to_install
from sugenet.fit.weights import check_class_weight
from sugenet.problem.regions import Hamming, Linf
from sugenet.reprs import time_text

__all__ = [
    "Epoch",
    "RowProgress",
    "Settings",
    "end_progress",
    "print_progress",
    "region_text",
    "require_torch",
    "robust_region",
]

_KINDS: dict[str, type[Linf | Hamming]] = {"linf": Linf, "hamming": Hamming}
_LEAST = {"epochs": 1, "batch": 2, "seed": 0, "tau_goal": 1, "levels": 2, "weight_bits": 1, "threads": 1}
_SHARES = ("validation_share", "smoothing", "noise", "sparsity", "bound_share")
_MOST = {"levels": 256, "weight_bits": 8, "threads": 1024}
_BAR, _PAUSE = 20, 0.5
_FOR_GRADIENT = (
    "batch",
    "rate",
    "tau_decay",
    "tau_goal",
    "levels",
    "weight_bits",
    "window",
    "robust",
    "features",
    *_SHARES[1:],
)
_OTHERS = ("threads", "class_weight")


def robust_region(robust: Any) -> Linf | Hamming | None:
    """Return the region that ``robust=`` names: `Linf` or `Hamming`, a text such as ``"linf:25"``, or None.

    Examples
    --------
    >>> robust_region("linf:25"), robust_region("hamming:2"), robust_region(None)
    (Linf(radius=25), Hamming(radius=2), None)
    >>> robust_region("l2:3")
    Traceback (most recent call last):
    ...
    sugenet.errors.SugenetError: robust='l2:3' is not a region to train against: write linf:R or hamming:K.
    """
    if robust is None:
        return None
    if isinstance(robust, str):
        kind, _, radius = robust.partition(":")
        made = _KINDS.get(kind.strip().lower())
        try:
            number = read_number(radius, "radius")
        except CapacityError:
            made = None
        if made is None:
            raise SugenetError(
                f"robust={robust!r} is not a region to train against: write linf:R or hamming:K."
            )
        return robust_region(made(number))
    if type(robust) not in (Linf, Hamming):
        raise SugenetError(f"robust={robust!r} is not a region to train against: give Linf(R) or Hamming(K).")
    try:
        size = exact_number(robust.radius, "radius")
    except SugenetError as error:
        raise SugenetError(f"robust={robust!r}: {error}") from None
    if not size > 0:
        raise SugenetError(f"robust={robust!r} allows no change. Give a radius above 0, or leave robust out.")
    if isinstance(robust, Hamming) and size != floor(size):
        raise SugenetError(f"robust={robust!r}: the number of flipped bits must be an integer, such as 2.")
    return robust  # type: ignore[no-any-return]


def region_text(region: Linf | Hamming | None) -> str | None:
    """Return a region as ``robust=`` and ``--robust`` read it.

    Examples
    --------
    >>> region_text(Linf(0.5))
    'linf:0.5'
    """
    return None if region is None else f"{type(region).__name__.lower()}:{number_text(region.radius)}"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of training. On one machine, equal settings, data and number of threads give equal networks.

    Parameters
    ----------
    epochs
        Number of passes over the training data.
    batch
        Samples per step.
    rate
        Step size of Adam at the start; it falls to 0 along a cosine.
    seed
        Determines the initial weights, the validation part, the order of the samples and the noise.
    validation_share
        Share of each class that is held out to choose the best epoch; 0 keeps the last epoch.
    patience
        Stop if validation accuracy has not risen for this many epochs; None runs all epochs.
    smoothing
        Label smoothing of the loss; keeps the votes from growing unnecessarily.
    class_weight
        Weights of the classes in the loss and in the choice of the best epoch: a mapping from classes to the
        cost of an error on their samples, 1 for classes that are not listed, or ``"balanced"``, which gives
        all classes the same total weight. None for equal weights.
    noise
        Probability that an input bit is flipped in training (a level is mirrored); helps small data sets.
    sparsity
        Share of the weights of every hidden neuron that are 0. All neurons of a layer keep the same number of
        inputs. With `weight_bits`, weights that are kept may also be rounded to 0.
    features
        The largest number of features that the network reads; None for all. The first half of the run leaves
        out, step by step, features whose values matter least for the loss. No reason is longer than this.
    tau_decay
        Strength of the pull towards low cardinality bounds. A neuron needs min(tau, n + 1 - tau) literals to
        be decided the rare way, and the pull lasts until `tau_goal` literals suffice. 0 disables it.
    tau_goal
        The bound at which the pull of `tau_decay` stops.
    levels
        Levels that a hidden neuron can give: 2 for bits, 4 for 2-bit activations, 16 for 4-bit ones.
    weight_bits
        1 for weights -1 and +1 (and 0, by `sparsity`); b from 2 to 8 for integers up to 2^(b-1) - 1.
    window
        For square images, pixels row by row: every neuron of the first hidden layer reads only a square of
        this many rows and columns, at a random position. None lets it read the whole image.
    robust
        A region to train against: `Linf` or `Hamming`, or a text such as ``"linf:25"`` or ``"hamming:2"``.
        Every step moves the samples within the region to where the loss rises most. The radius grows from 0
        over the first third of the run, and the epoch is chosen by accuracy under such an attack.
    bound_share
        With `robust`, the share of the loss that is about interval bounds on the region, not about the
        attack. If bounds prove a sample, solvers need not search.
    depth
        None learns the weights of hidden layers by gradient descent. An integer grows one hidden layer
        instead: every epoch adds a decision tree of this depth by boosting. Its leaves are neurons that need
        all of their literals, at most `depth`. Cuts that no tree uses are dropped.
    threads
        Threads of PyTorch. Small layers gain little from more than one, and the order of additions in
        gradients depends on it.

    Examples
    --------
    >>> Settings(epochs=20, sparsity=0.5).rate
    0.01
    >>> Settings(sparsity=1.5)
    Traceback (most recent call last):
    ...
    sugenet.errors.SugenetError: sparsity=1.5 must be at least 0 and below 1.
    """

    epochs: int = 60
    batch: int = 64
    rate: float = 0.01
    seed: int = 0
    validation_share: float = 0.1
    patience: int | None = None
    smoothing: float = 0.1
    class_weight: Mapping[Any, float] | str | None = None
    noise: float = 0.0
    sparsity: float = 0.0
    features: int | None = None
    tau_decay: float = 0.0
    tau_goal: int = 4
    levels: int = 2
    weight_bits: int = 1
    window: int | None = None
    robust: Linf | Hamming | str | None = None
    bound_share: float = 0.1
    depth: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "robust", robust_region(self.robust))
        check_class_weight(self.class_weight)
        for name, lower in _LEAST.items():
            _check_integer(name, getattr(self, name), lower)
        for name in ("patience", "window", "features", "depth"):
            if getattr(self, name) is not None:
                _check_integer(name, getattr(self, name), 1)
        for name in _FOR_GRADIENT if self.depth is not None else ():
            if getattr(self, name) != _PLAIN[name]:
                raise SugenetError(
                    f"{name}={getattr(self, name)!r} is for training by gradient descent, but "
                    f"depth={self.depth} grows trees. Leave one of them out."
                )
        for name, upper in _MOST.items():
            if getattr(self, name) > upper:
                raise SugenetError(f"{name}={getattr(self, name)} must be at most {upper}.")
        for name in ("rate", "tau_decay", *_SHARES):
            _check_finite(name, getattr(self, name))
        for name in _SHARES:
            if not 0 <= getattr(self, name) < 1:
                raise SugenetError(f"{name}={getattr(self, name)} must be at least 0 and below 1.")
        if not self.rate > 0:
            raise SugenetError(f"rate={self.rate} must be positive; 0.01 is a good start.")
        if not self.tau_decay >= 0:
            raise SugenetError(f"tau_decay={self.tau_decay} must not be negative; 0 switches it off.")
        for name, plain in (("levels", 2), ("weight_bits", 1)):
            if self.tau_decay and getattr(self, name) != plain:
                raise SugenetError(
                    f"tau_decay={self.tau_decay} requires neurons with one threshold on a count of literals, "
                    f"but {name}={getattr(self, name)} has others. Leave one of them out."
                )

    def decisive(self) -> dict[str, Any]:
        """Return the settings that determine the network; a checkpoint must agree with them.

        Weights of classes are part of the weights of the samples.
        """
        values = {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in _OTHERS
        }
        return values | {"robust": region_text(robust_region(self.robust))}


_PLAIN = {field.name: field.default for field in fields(Settings)}


def _check_integer(name: str, value: Any, lower: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < lower:
        raise SugenetError(f"{name}={value!r} must be an integer of at least {lower}.")


def _check_finite(name: str, value: Any) -> None:
    try:
        finite = isfinite(value)
    except (TypeError, ValueError, OverflowError):
        finite = False
    if not finite:
        raise SugenetError(f"{name}={value!r} must be a finite number.")


def require_torch() -> None:
    """Raise an error that says how to install PyTorch if it is missing."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise SugenetError(
            f"training needs PyTorch, which cannot be imported ({error}). Install it "
            f"{how_to_install('train')}. "
            "Using a trained network does not need it."
        ) from error


@dataclass(frozen=True, slots=True)
class Epoch:
    """Report of one epoch: its number from 1 to `total`, the mean loss, and accuracies of the module.

    If samples or classes have weights, the accuracies are shares of the weight.
    `validation` is None without held-out samples. In robust training, the module learns from attacked
    samples. `attacked` is the accuracy under attack at `radius`, on the held-out samples, or on the training
    samples if none are held out. An attack does not prove anything.
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


def print_progress(epoch: Any) -> None:
    """Write an epoch to stderr: on a terminal one line that is overwritten, elsewhere one line per epoch.

    A `Trial` of a search gets a line of its own.

    Examples
    --------
    >>> print(Epoch(3, 60, loss=0.51234, training=0.9, validation=0.875))
    epoch 3/60: loss 0.5123, training 90.00%, validation 87.50%
    """
    if sys.stderr is None:
        return
    if sys.stderr.isatty():
        end = "" if isinstance(epoch, Epoch) and epoch.number < epoch.total else "\n"
        sys.stderr.write(f"\r\x1b[K{epoch}{end}")
    else:
        sys.stderr.write(f"{epoch}\n")
    sys.stderr.flush()


class RowProgress:
    """Bar of an epoch with rows and the time left of the run, for terminals; twice per second at most.

    Parameters
    ----------
    begun, epochs
        Epochs before this run (of a checkpoint), and epochs in all.
    rows
        Rows per epoch.
    clock
        Function that returns seconds (default: a monotonic clock).

    Examples
    --------
    >>> now = iter([0, 60, 61])
    >>> bar = RowProgress(0, 2, 1_000_000, lambda: next(now))
    >>> bar.text(1, 500_000)
    'epoch 1/2: [##########          ] 500,000 of 1,000,000 rows, 3 min left'
    """

    def __init__(self, begun: int, epochs: int, rows: int, clock: Callable[[], float] = monotonic) -> None:
        self.begun, self.epochs, self.rows, self.clock = begun, epochs, rows, clock
        self.start = self.last = clock()
        self.written = False

    def text(self, number: int, done: int) -> str:
        """Return the bar after some rows of an epoch."""
        finished = (number - 1 - self.begun) * self.rows + done
        self.last = self.clock()
        left = (self.last - self.start) * ((self.epochs - self.begun) * self.rows / finished - 1)
        bar = "#" * (_BAR * done // self.rows)
        shown = f"[{bar:<{_BAR}}] {done:,} of {self.rows:,} rows"
        return f"epoch {number}/{self.epochs}: {shown}, {time_text(left)} left"

    def __call__(self, number: int, done: int) -> None:
        """Write the bar, unless it was written less than half a second ago."""
        if self.clock() - self.last >= _PAUSE and sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{self.text(number, done)}")
            sys.stderr.flush()
            self.written = True


def end_progress() -> None:
    """End the progress line of a run that stopped early; only terminals need it."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("\n")
        sys.stderr.flush()
