"""The training loop: Adam with a cosine schedule, keeping the best epoch; it can stop and resume at any
epoch.

This module also writes the checkpoint: the run on disk after every epoch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from math import cos, fsum, pi
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy
from torch.optim import Adam

from sugenet.errors import EncodingError, FileError, SugenetError
from sugenet.files import write_bytes
from sugenet.fit.adversary import Adversary, Perturbation
from sugenet.fit.folding import tensor_of
from sugenet.fit.module import LevelModule
from sugenet.fit.settings import Epoch, RowProgress, Settings, end_progress, print_progress
from sugenet.io.torch.saved import SavedTensor, open_saved
from sugenet.nn import Encoder

__all__ = [
    "Checkpoint",
    "Course",
    "Samples",
    "accuracy_under_attack",
    "generator_of",
    "is_patience_over",
    "rank",
    "read_checkpoint",
    "run",
    "run_mark",
    "threads",
    "unreadable",
    "write_checkpoint",
]


_FORMAT = "sugenet checkpoint 1"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run after its last complete epoch: module, optimizer, history, and the best module so far."""

    mark: str
    """Digest of the data and settings of the run."""
    history: tuple[Epoch, ...]
    module: dict[str, Any]
    optimizer: dict[str, Any]
    best: dict[str, Any]
    best_epoch: int


def run_mark(description: dict[str, Any], *arrays: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of everything that determines a run: settings and shapes as JSON, then the data."""
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically: a run that is killed while writing leaves the previous checkpoint."""
    history = [asdict(epoch) for epoch in checkpoint.history]
    raw = BytesIO()
    torch.save({"format": _FORMAT, **vars(checkpoint), "history": history}, raw)
    write_bytes(path, raw.getvalue())


def unreadable(path: Path, error: Exception) -> SugenetError:
    """Return the error for a file that is not a checkpoint, or a broken one."""
    return SugenetError(
        f"{path.name} is not a readable checkpoint ({type(error).__name__}). Delete it, or give another file."
    )


def _with_tensors(value: Any, known: dict[int, Any]) -> Any:
    """Return saved values with tensors of PyTorch; a tensor that occurs several times is created once."""
    if id(value) not in known:
        if isinstance(value, SavedTensor):
            known[id(value)] = torch.from_numpy(value.array())
        elif isinstance(value, dict):
            known[id(value)] = {key: _with_tensors(part, known) for key, part in value.items()}
        elif isinstance(value, list):
            known[id(value)] = [_with_tensors(part, known) for part in value]
        else:
            return value
    return known[id(value)]


def read_checkpoint(path: Path, mark: str) -> Checkpoint | None:
    """Read a checkpoint, or return None if there is no file; nothing in the file is executed."""
    if not path.exists():
        return None
    try:
        with open_saved(path) as saved_values:
            content = _with_tensors(saved_values, {})
        is_current = content["format"] == _FORMAT
    except (FileError, KeyError, TypeError, RecursionError) as error:
        raise unreadable(path, error) from error
    if not is_current:
        raise SugenetError(
            f"{path.name} is a checkpoint of another version ({content['format']!r}). Delete it, "
            f"or give another."
        )
    try:
        history = tuple(Epoch(**epoch) for epoch in content["history"])
        saved = Checkpoint(
            content["mark"],
            history,
            content["module"],
            content["optimizer"],
            content["best"],
            int(content["best_epoch"]),
        )
        is_consistent = 1 <= saved.best_epoch <= len(history) and all(
            epoch.number == at for at, epoch in enumerate(history, start=1)
        )
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(path, error) from error
    if saved.mark != mark:
        raise SugenetError(
            f"{path.name} belongs to a run with other data, layers or settings. Give the same to resume, "
            "delete it, or give another name to start a new run."
        )
    if not is_consistent:
        raise SugenetError(
            f"{path.name} is a checkpoint whose epochs do not fit together. Delete it, or give another."
        )
    return saved


_CHUNK = 4096
_GROWTH_ENDS = 0.3  # share of the epochs in which the radius grows to its goal
_ONE_OF = 4  # one of this many samples has its bounds in the loss
_STEPS, _STEPS_JUDGED = 1, 8  # steps of an attack while learning, and on held-out samples
_PRUNING_ENDS = 0.5  # share of the epochs in which weights and features are left out; the rest settles
_SOME = 1024  # samples that compare features


@dataclass(frozen=True, eq=False)
class Samples:
    """Encoded samples and their class indices; `top` is the largest level, 1 for bits.

    Robust training requires the `distances` of `Perturbation`. The `weights` are positive; None for equal
    weights.
    """

    inputs: npt.NDArray[Any]
    y: npt.NDArray[np.int64]
    top: int = 1
    distances: npt.NDArray[Any] | None = None
    weights: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.y)

    @classmethod
    def of(
        cls,
        encoder: Encoder,
        X: npt.NDArray[Any],
        labels: npt.NDArray[np.int64],
        levels: bool,
        perturbation: Perturbation | None,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> Samples:
        """Encode raw samples as bits, or as levels in the smallest type that holds them."""
        if len(X) != len(labels):
            raise EncodingError(
                f"{len(X)} validation samples but {len(labels)} classes. Give one class for each."
            )
        top = max(encoder.tops or (1,)) if levels else 1
        kind: Any = (np.uint8 if top < 256 else np.int32) if levels else bool
        read = encoder.levels if levels else encoder.encode
        parts, distances = [], []
        for start in range(0, len(X), _CHUNK):
            rows = X[start : start + _CHUNK]
            parts.append(read(rows).astype(kind))
            if perturbation is not None:
                distances.append(perturbation.distances(parts[-1], rows))
        around = np.concatenate(distances) if distances else None
        return cls(np.concatenate(parts), labels, top, around, weights)

    @property
    def arrays(self) -> list[npt.NDArray[Any]]:
        """Return all arrays that determine a run."""
        return [part for part in (self.inputs, self.y, self.distances, self.weights) if part is not None]

    def share(self, right: npt.NDArray[np.bool_], rows: Any = slice(None)) -> float:
        """Return the share of some samples (default: all) that are right, by weight.

        Sums are rounded once, so their order does not matter, and an integer weight counts like as many
        samples.
        """
        if self.weights is None:
            return int(right.sum()) / len(right)
        weights = self.weights[rows]
        return fsum(weights[right]) / fsum(weights)

    def surrounded(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return some samples and their distances."""
        assert self.distances is not None
        return self.inputs[rows], self.distances[rows]


@dataclass(frozen=True, eq=False)
class Course:
    """The history of a run and the number of the epoch whose module was kept."""

    history: tuple[Epoch, ...]
    best_epoch: int
    interrupted: bool


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let PyTorch use this many threads inside the context."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def generator_of(seed: int, part: int) -> Generator:
    """Return the random numbers of one part of a run: 0 for the start, e for epoch e.

    A resumed epoch draws the same numbers.
    """
    return torch.Generator().manual_seed(int(np.random.SeedSequence([seed, part]).generate_state(1)[0]))


def run(
    module: LevelModule,
    training: Samples,
    validation: Samples | None,
    settings: Settings,
    mark: str,
    progress: Callable[[Epoch], None] | None = None,
    checkpoint: Path | None = None,
    adversary: Adversary | None = None,
) -> Course:
    """Train `module` in place, against an adversary if given, and leave the best epoch in it.

    Ctrl-C ends the run after the last complete epoch. Features beyond `Settings.features` are then left out
    at once. Before the first epoch there is nothing to keep, and the interrupt is raised again.
    """
    # fused is faster but rounds differently: training without an adversary keeps its results
    optimizer = Adam(module.parameters(), lr=settings.rate, fused=adversary is not None)
    history: list[Epoch] = []
    best, best_epoch, interrupted = module.state(), 0, False
    if checkpoint is not None:
        saved = read_checkpoint(checkpoint, mark)
        if saved is not None:
            try:
                module.restore(saved.best)  # only to check that it fits
                module.restore(saved.module)
                optimizer.load_state_dict(saved.optimizer)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
                raise unreadable(checkpoint, error) from error
            history, best, best_epoch = list(saved.history), saved.best, saved.best_epoch
    begun = len(history)
    bar = RowProgress(begun, settings.epochs, len(training)) if progress is print_progress else None
    try:
        while len(history) < settings.epochs and not is_patience_over(history, best_epoch, settings):
            epoch = _one_epoch(
                module, optimizer, training, validation, settings, adversary, bar, len(history) + 1
            )
            history.append(epoch)
            # if equal, the later one
            if best_epoch == 0 or rank(epoch, settings) >= rank(history[best_epoch - 1], settings):
                best, best_epoch = module.state(), epoch.number
            if checkpoint is not None:
                write_checkpoint(
                    checkpoint,
                    Checkpoint(
                        mark, tuple(history), module.state(), optimizer.state_dict(), best, best_epoch
                    ),
                )
            if progress is not None:
                progress(epoch)
    except KeyboardInterrupt:
        if not best_epoch:
            raise
        interrupted = True
    finally:
        if bar is not None and len(history) < settings.epochs and (bar.written or begun < len(history)):
            end_progress()
    module.restore(best)
    if interrupted:  # the first half of a run reads more features than the settings allow
        order = torch.randperm(len(training), generator=generator_of(settings.seed, best_epoch)).numpy()
        _leave_out(module, training, settings, order[:_SOME], done=1.0)
    return Course(tuple(history), best_epoch, interrupted)


def rank(epoch: Epoch, settings: Settings) -> tuple[bool, float]:
    """Return the sort key of an epoch.

    Epochs that have reached the requested sparsity and radius come first, then validation accuracy decides,
    under attack if there is one.
    """
    ready = not (settings.sparsity or settings.features) or _pruned(epoch.number, settings) == 1
    if settings.robust is None or epoch.validation is None:
        return ready, epoch.validation or 0.0
    return ready and _growth(epoch.number / settings.epochs) == 1, epoch.attacked or 0.0


def _growth(past: float) -> float:
    """Return the share of the full radius after a share of the run."""
    return min(1.0, past / _GROWTH_ENDS)


def _pruned(number: int, settings: Settings) -> float:
    """Return how much of the pruning is done in an epoch: all of it after the first half of the run."""
    done = (number - 1) / max(1.0, _PRUNING_ENDS * settings.epochs)
    return 1.0 if number == settings.epochs else min(1.0, done)


def _sparsity(number: int, settings: Settings) -> float:
    """Return the share of zero weights in an epoch. It grows to its goal, fast at first."""
    return settings.sparsity * (1 - (1 - _pruned(number, settings)) ** 3)


def is_patience_over(history: list[Epoch], best_epoch: int, settings: Settings) -> bool:
    """Return whether validation accuracy has not risen for as many epochs as the settings allow."""
    if settings.patience is None or not history or history[-1].validation is None:
        return False
    best = rank(history[best_epoch - 1], settings)
    # no change is not a rise
    risen = next(epoch.number for epoch in history if rank(epoch, settings) == best)
    return best[0] and len(history) - risen >= settings.patience


def _leave_out(
    module: LevelModule, training: Samples, settings: Settings, some: npt.NDArray[np.int64], done: float
) -> None:
    """Leave out features, if the settings ask for it, by the loss on some samples."""
    if settings.features is not None:
        inputs, y = tensor_of(training.inputs[some]), torch.from_numpy(training.y[some])
        weights = None if training.weights is None else torch.from_numpy(training.weights[some])
        module.leave_out(settings.features, done, inputs, y, weights)


def _one_epoch(
    module: LevelModule,
    optimizer: Adam,
    training: Samples,
    validation: Samples | None,
    settings: Settings,
    adversary: Adversary | None,
    bar: RowProgress | None,
    number: int,
) -> Epoch:
    generator = generator_of(settings.seed, number)
    order = torch.randperm(len(training), generator=generator).numpy()
    _leave_out(module, training, settings, order[:_SOME], _pruned(number, settings))
    zeros = _sparsity(number, settings)
    if adversary is None:
        if zeros:
            module.prune(zeros)
    elif zeros > (_sparsity(number - 1, settings) if number > 1 else 0):
        # the same random numbers in every epoch keep the choice stable; at the goal a weight may cross 0
        module.prune(zeros, generator_of(settings.seed, 0))
    batches = [order[start : start + settings.batch] for start in range(0, len(order), settings.batch)]
    if len(batches[-1]) < 2 and len(batches) > 1:  # batch norm requires two samples
        batches.pop()
    total, right, seen = 0.0, [], np.concatenate(batches)
    mean = 1.0 if training.weights is None else float(training.weights.mean())
    for step, rows in enumerate(batches):
        past = (number - 1 + step / len(batches)) / settings.epochs
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * (1 + cos(pi * past)) / 2
        inputs, y = tensor_of(training.inputs[rows]), torch.from_numpy(training.y[rows])
        weights = (
            None
            if training.weights is None
            else torch.from_numpy((training.weights[rows] / mean).astype(np.float32))
        )
        share, limits = _growth(past), None
        if adversary is not None:
            limits = adversary.limits(*training.surrounded(rows), share)
            inputs = adversary.attack(module, inputs, y, limits, _STEPS, generator)
        inputs = _disturbed(inputs, settings.noise, training, generator)
        if limits is None or not settings.bound_share:
            logits = module.learn_from(inputs)
            loss = _loss(logits, y, weights, settings)
        else:
            some = -(-len(y) // _ONE_OF)  # bounds cost as much as everything else
            low, high = limits.low[:some], limits.high[:some]
            logits, worst = module.learn_between(inputs, low, high, limits.budget, y[:some])
            moved, bounded = (_loss(of, y, weights, settings) for of in (logits, worst))
            loss = torch.lerp(moved, bounded, settings.bound_share * share)
        if settings.tau_decay:
            loss = loss + settings.tau_decay * module.bound_excess(settings.tau_goal, training.top)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if adversary is not None and settings.sparsity:
            module.rest_pruned()
        optimizer.step()
        module.clip()
        total += float(loss.detach()) * len(rows)
        right.append((logits.argmax(dim=1) == y).numpy())
        if bar is not None:
            bar(number, step * settings.batch + len(rows))
    held_out = None if validation is None else _accuracy(module, validation)
    learned = Epoch(
        number, settings.epochs, total / len(seen), training.share(np.concatenate(right), seen), held_out
    )
    if adversary is None:
        return learned
    share = _growth(number / settings.epochs)
    attacked = (
        learned.training
        if validation is None
        else accuracy_under_attack(adversary, module, validation, share, generator)
    )
    return replace(learned, attacked=attacked, radius=adversary.perturbation.grown(share))


def _loss(logits: Tensor, y: Tensor, weights: Tensor | None, settings: Settings) -> Tensor:
    """Return the mean loss of the first samples, as many as there are logits; weights have mean 1."""
    of = y[: len(logits)]
    if weights is None:
        return cross_entropy(logits, of, label_smoothing=settings.smoothing)
    each = cross_entropy(logits, of, label_smoothing=settings.smoothing, reduction="none")
    return (weights[: len(logits)] * each).mean()


def accuracy_under_attack(
    adversary: Adversary, module: LevelModule, samples: Samples, share: float, generator: Generator
) -> float:
    """Return the share of samples, by weight, that stay right under an attack at a share of the radius.

    It is not a proof.
    """
    right = []
    for start in range(0, len(samples), _CHUNK):
        rows = np.arange(start, min(start + _CHUNK, len(samples)))
        inputs, y = tensor_of(samples.inputs[rows]), torch.from_numpy(samples.y[rows])
        limits = adversary.limits(*samples.surrounded(rows), share)
        moved = adversary.attack(module, inputs, y, limits, _STEPS_JUDGED, generator)
        before, after = (module.evaluate(of).logits.argmax(dim=1) == y for of in (inputs, moved))
        right.append((before & after).numpy())
    return samples.share(np.concatenate(right))


def _disturbed(inputs: Tensor, noise: float, training: Samples, generator: Generator) -> Tensor:
    if not noise:
        return inputs
    other = -inputs if training.inputs.dtype == bool else training.top - inputs
    return torch.where(torch.rand(inputs.shape, generator=generator) < noise, other, inputs)


def _accuracy(module: LevelModule, samples: Samples) -> float:
    right = []
    for start in range(0, len(samples), _CHUNK):
        logits = module.evaluate(tensor_of(samples.inputs[start : start + _CHUNK])).logits.numpy()
        right.append(np.argmax(logits, axis=1) == samples.y[start : start + _CHUNK])
    return samples.share(np.concatenate(right))
