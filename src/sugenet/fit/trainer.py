"""Training from arrays to an exact network: encode, learn, fold, and check the result bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Encoder, Network
from sugenet.bnn.samples import named_rows
from sugenet.brief import Said
from sugenet.errors import EncodingError, FileError, SugenetError
from sugenet.files import check_writable
from sugenet.fit.adversary import Adversary
from sugenet.fit.checkpoint import run_mark
from sugenet.fit.comparing import Comparison, compare
from sugenet.fit.encoding import learn_encoder, reads_levels
from sugenet.fit.folding import network_of
from sugenet.fit.leeway import Leeway, robust_region
from sugenet.fit.loop import Samples, accuracy_under_attack, generator_of, run
from sugenet.fit.module import LevelModule
from sugenet.fit.progress import Epoch
from sugenet.fit.settings import Settings, require_torch
from sugenet.fit.windows import windows
from sugenet.problem.regions import Hamming, Linf

__all__ = ["SampleCounts", "Trained", "train"]

_CHUNK = 8192
_CALM = 2  # times less is a vote worth in robust training, so that margins go on growing
_DEFAULTS = Settings()


class SampleCounts(NamedTuple):
    """Samples by what they were for."""

    training: int
    validation: int
    test: int


@dataclass(frozen=True, eq=False)
class Trained(Said):
    """An exact network, and how it came about."""

    network: Network
    history: tuple[Epoch, ...]
    accuracy: float
    """Of the exact network on the validation samples, which chose the epoch; on the training samples where
    none were held out.
    """
    best_epoch: int
    """The epoch that was kept."""
    interrupted: bool
    """Whether Ctrl-C ended the run early."""
    comparison: Comparison
    """Network against module, on all samples given."""
    module: LevelModule
    """The PyTorch side, for `compare` on further samples."""
    test_accuracy: float | None = None
    """Of the exact network on the test samples, which took no part in training; None where there are none."""
    counts: SampleCounts = field(default_factory=lambda: SampleCounts(0, 0, 0))
    """How many samples there were of each kind."""
    attacked: float | None = None
    """With ``Settings(robust=...)``, the share of the samples of the first accuracy given here (test, else
    validation, else training samples) that stay right under the attack of the training, at the full radius:
    what an attack leaves, and no proof.
    """
    region: Linf | Hamming | None = None
    """What the network was trained against."""

    def __str__(self) -> str:
        ended = " (interrupted)" if self.interrupted else ""
        epoch, counts = f"epoch {self.best_epoch} of {len(self.history)}{ended}", self.counts
        chose = (
            f"{self.accuracy:.2%} on the {counts.validation} samples that chose {epoch}"
            if counts.validation
            else f"{self.accuracy:.2%} on the {counts.training} samples that it was trained on, {epoch}"
        )
        test = (
            ""
            if self.test_accuracy is None
            else f"{self.test_accuracy:.2%} on {counts.test} test samples that took no part in training, "
        )
        attack = (
            ""
            if self.attacked is None
            else f"; under attack, with {self.region}, {self.attacked:.2%} of the "
            f"{counts.test or counts.validation or counts.training} stay right (no proof: `sweep` proves)"
        )
        return f"{self.network}; accuracy {test}{chose}{attack}; exact: {self.comparison}"


def train(
    X: Any,
    y: Any,
    hidden: Sequence[int] = (64, 32),
    *,
    settings: Settings = _DEFAULTS,
    encoder: Encoder | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    validation: tuple[Any, Any] | None = None,
    test_share: float = 0.1,
    progress: Callable[[Epoch], None] | None = None,
    checkpoint: str | Path | None = None,
    notes: Mapping[str, str] | None = None,
) -> Trained:
    """Train a binarized network, or one with more levels (``Settings(levels=4)``); needs PyTorch.

    Parameters
    ----------
    X, y
        Samples, one row each, and their classes. Classes are numbered in sorted order,
        unless `classes` names them.
    hidden
        Sizes of the hidden layers.
    settings
        Epochs, rate, seed, sparsity and more.
    encoder
        From raw features to bits; learned from X by `learn_encoder` unless given. The network remembers what
        was seen in training (`Encoder.seen`), unless the encoder does already.
    names
        Names of the features, for a learned encoder; those of the columns of X, where it has such.
    classes
        Names of the classes; y then holds their numbers from 0.
    validation
        Held-out samples and classes that choose the best epoch, in place of a share of X.
    test_share
        Share of the samples, of each class alike, that take no part in training and choose no epoch: the
        accuracy on them is `test_accuracy`. What features can be is learned from all samples, without their
        classes. 0 for none.
    progress
        Called after every epoch, for example `print_progress`.
    checkpoint
        A file written after every epoch. If it exists, the run goes on from it, provided that data and
        settings are the same.
    notes
        Text to keep with the network.

    Raises
    ------
    SugenetError
        Where PyTorch is missing or an argument is wrong.
    SoundnessError
        If the network differs from the module in a single value on the samples given. It never should.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 6)) < 0.5
    >>> y = X[:, :3].sum(axis=1) >= 2
    >>> trained = train(X, y, hidden=(8,), settings=Settings(epochs=20))
    >>> trained.comparison.differing, trained.network.classes
    (0, ('False', 'True'))
    """
    require_torch()
    sizes = _sizes(hidden)
    if settings.levels > 2 and not sizes:
        raise SugenetError(
            f"levels={settings.levels} is for hidden neurons, but hidden=() has none. "
            "Give sizes, or leave levels= out."
        )
    if settings.window is not None and not sizes:
        raise SugenetError(
            f"window={settings.window} is for neurons of the first hidden layer, but hidden=() has none. "
            "Give sizes, or leave window= out."
        )
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None:
        try:
            check_writable(path)
        except FileError as error:
            raise FileError(f"checkpoint={error}") from None
    if encoder is not None and names is not None:
        raise SugenetError(
            "names are for a learned encoder, but the encoder given has its own. Leave one of them out."
        )
    array, titles = named_rows(X, names) if encoder is None else (encoder.rows(X), None)
    coder = learn_encoder(array, names=titles) if encoder is None else encoder
    labels, kinds = _labels(y, classes)
    if array.ndim != 2 or len(array) != len(labels):
        raise EncodingError(
            f"X has shape {array.shape} and y {len(labels)} entries: "
            f"one row and one class for each sample are needed."
        )
    test, others = _test_part(labels, settings.seed, test_share)
    coder = coder.seeing(array[others]) if coder.seen is None else coder
    inside, outside = _parts(labels, others, settings) if validation is None else (others, np.arange(0))
    levels = bool(sizes) and reads_levels(coder)
    region = robust_region(settings.robust)
    adversary = None if region is None else Adversary(Leeway(coder, region, levels))
    seen = (
        None if settings.window is None else windows(coder, levels, settings.window, sizes[0], settings.seed)
    )
    training = _encoded(coder, array[inside], labels[inside], levels, adversary)
    if adversary is not None:
        adversary.leeway.check(*training.surrounded(np.arange(len(training))))
    if validation is not None:
        outer = coder.rows(validation[0])
        outer_labels = _known_labels(validation[1], kinds, classes is not None)
    else:
        outer, outer_labels = array[outside], labels[outside]
    held_out = _encoded(coder, outer, outer_labels, levels, adversary) if len(outer) else None
    mark = run_mark(
        {"settings": settings.decisive(), "hidden": sizes, "classes": len(kinds), "top": training.top},
        *(
            part
            for samples in (training, held_out)
            if samples is not None
            for part in (samples.inputs, samples.y, samples.distances)
            if part is not None
        ),
    )
    with _threads(settings.threads):
        module = LevelModule.start(
            (training.inputs.shape[1], *sizes, len(kinds)),
            generator_of(settings.seed, 0),
            top=training.top if levels else 1,
            levels=settings.levels,
            weight_bits=settings.weight_bits,
            seen=seen,
        )
        if adversary is not None:
            module.unit /= _CALM
        outcome = run(module, training, held_out, settings, mark, progress, path, adversary)
        network = network_of(module, coder, kinds, notes)
        comparison = compare(network, module, array)
        comparison.check()
        if validation is not None:
            compare(network, module, outer).check()
    accuracy = _accuracy(network, training if held_out is None else held_out)
    last = _encoded(coder, array[test], labels[test], levels, adversary) if len(test) else None
    attacked = (
        None
        if adversary is None
        else accuracy_under_attack(
            adversary, module, last or held_out or training, 1.0, generator_of(settings.seed, 0)
        )
    )
    return Trained(
        network,
        outcome.history,
        accuracy,
        outcome.best_epoch,
        outcome.interrupted,
        comparison,
        module,
        None if last is None else _accuracy(network, last),
        SampleCounts(len(training), 0 if held_out is None else len(held_out), len(test)),
        attacked,
        region,
    )


def _sizes(hidden: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(hidden, Iterable):
        raise SugenetError(
            f"hidden={hidden!r} must be a list of whole numbers. For one layer write ({hidden!r},)."
        )
    given = list(hidden)
    wrong = next(
        (size for size in given if isinstance(size, bool) or not isinstance(size, int | np.integer)), None
    )
    if wrong is not None:
        raise SugenetError(
            f"hidden={hidden!r} holds {wrong!r}, but the sizes of layers are whole numbers, such as (64, 32)."
        )
    sizes = tuple(int(size) for size in given)
    if any(size < 1 for size in sizes):
        raise SugenetError(
            f"hidden={sizes} holds a layer without neurons. Give sizes of at least 1, "
            f"or hidden=() for no hidden layer."
        )
    return sizes


def _labels(y: Any, classes: Iterable[object] | None) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    given = np.asarray(y)
    if given.ndim != 1 or not len(given):
        raise EncodingError(f"y has shape {given.shape}, but one class for each sample is needed.")
    if classes is not None:
        kinds = tuple(str(name) for name in classes)
        return _known_labels(given, kinds, numbered=True), kinds
    if given.dtype.kind == "f" and (given != np.floor(given)).any():
        row = int(np.argmax(given != np.floor(given)))
        raise EncodingError(
            f"y[{row}] is {given.tolist()[row]}, which is no class: whole numbers, "
            f"booleans or texts are needed."
        )
    whole = given.astype(np.int64) if given.dtype.kind == "f" else given
    seen, labels = np.unique(whole, return_inverse=True)
    if len(seen) < 2:
        raise EncodingError(f"y holds one class only, {seen.tolist()[0]!r}. At least two are needed.")
    return labels.astype(np.int64), tuple(str(name) for name in seen.tolist())


def _known_labels(y: Any, kinds: tuple[str, ...], numbered: bool) -> npt.NDArray[np.int64]:
    given = np.asarray(y)
    place = {str(number) if numbered else name: number for number, name in enumerate(kinds)}
    whole = given.astype(np.int64) if given.dtype.kind == "f" and (given == np.floor(given)).all() else given
    for row, value in enumerate(whole.tolist()):
        if str(value) not in place:
            wanted = f"a number from 0 to {len(kinds) - 1}" if numbered else f"one of {', '.join(kinds[:12])}"
            raise EncodingError(f"y[{row}] is {value!r}, but a class is {wanted}.")
    return np.array([place[str(value)] for value in whole.tolist()], dtype=np.int64)


def _test_part(
    labels: npt.NDArray[np.int64], seed: int, share: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows for the test, of each class the same share, and the others, in order."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise SugenetError(f"test_share={share!r} must be at least 0 and below 1.")
    return _drawn(labels, np.arange(len(labels)), np.random.default_rng([seed, 2]), share)


def _parts(
    labels: npt.NDArray[np.int64], among: npt.NDArray[np.int64], settings: Settings
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of some rows those to learn from and those held out, of each class the same share, in order."""
    rng = np.random.default_rng([settings.seed, 1])
    outside, inside = _drawn(labels, among, rng, settings.validation_share)
    if len(inside) < 2:
        raise EncodingError(f"{len(inside)} samples are left to learn from, but at least 2 are needed.")
    return inside, outside


def _drawn(
    labels: npt.NDArray[np.int64], among: npt.NDArray[np.int64], rng: np.random.Generator, share: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    held = np.zeros(len(labels), bool)
    for kind in np.unique(labels[among]):
        rows = rng.permutation(among[labels[among] == kind])
        held[rows[: int(share * len(rows) + 0.5)]] = True
    return np.flatnonzero(held), among[~held[among]]


def _encoded(
    encoder: Encoder,
    X: npt.NDArray[Any],
    labels: npt.NDArray[np.int64],
    levels: bool,
    adversary: Adversary | None,
) -> Samples:
    """Bits, or levels in the smallest type that holds them."""
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
        if adversary is not None:
            distances.append(adversary.leeway.distances(parts[-1], rows))
    return Samples(np.concatenate(parts), labels, top, np.concatenate(distances) if distances else None)


def _accuracy(network: Network, samples: Samples) -> float:
    right = 0
    for start in range(0, len(samples), _CHUNK):
        bits = samples.inputs[start : start + _CHUNK]
        for layer in network.layers:
            bits = layer.activity(bits)
        right += int(
            (network.head.classes(network.head.match_counts(bits)) == samples.y[start : start + _CHUNK]).sum()
        )
    return right / len(samples)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
