"""Training from arrays to an exact network: encode, learn, fold, and compare the result bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import isqrt
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.errors import EncodingError, FileError, SugenetError
from sugenet.files import check_writable
from sugenet.fit.columns import Missing, RawTable, raw_columns
from sugenet.fit.encoding import learn_encoder, reads_levels
from sugenet.fit.monotone import feature_ways, limits_along
from sugenet.fit.scores import Scores
from sugenet.fit.search import Candidate, SearchReport, check_searchable, search
from sugenet.fit.settings import Epoch, Settings, require_torch, robust_region
from sugenet.fit.weights import class_factors, sample_weights, taken
from sugenet.nn import Encoder, Network, Steps, is_gap
from sugenet.nn.arrays import Bits, Ints
from sugenet.nn.samples import labels_of
from sugenet.problem.regions import Hamming, Linf
from sugenet.reprs import Sentences, cut, quoted
from sugenet.visible import visible

if TYPE_CHECKING:
    from sugenet.fit.folding import Comparison
    from sugenet.fit.loop import Samples
    from sugenet.fit.module import LevelModule

__all__ = ["SampleCounts", "Trained", "as_table", "train", "windows"]

_CHUNK = 8192
_WIDEST = 8000  # bits of an encoder that a search tries
_CALM = 2  # divides the value of a vote in robust training, so that margins continue to grow
_DEFAULTS = Settings()


class SampleCounts(NamedTuple):
    """Number of samples by purpose."""

    training: int
    validation: int
    test: int


@dataclass(frozen=True, eq=False)
class Trained(Sentences):
    """An exact network, and the results of its training."""

    network: Network
    history: tuple[Epoch, ...]
    accuracy: float
    """Accuracy of the exact network on the validation samples, which chose the epoch; on the training samples
    if none were held out.
    """
    best_epoch: int
    """The epoch that was kept."""
    interrupted: bool
    """Whether Ctrl-C ended the run early."""
    comparison: Comparison
    """Comparison of the network with the module, on all samples given."""
    module: LevelModule
    """The PyTorch module, for `compare` on further samples."""
    test_accuracy: float | None = None
    """Accuracy of the exact network on the test samples, which took no part in training; None without any."""
    counts: SampleCounts = field(default_factory=lambda: SampleCounts(0, 0, 0))
    """Number of samples of each kind."""
    attacked: float | None = None
    """With ``Settings(robust=...)``, the accuracy under the attack of the training, at the full radius.

    The samples are those of the first accuracy available: test, else validation, else training samples. It is
    the accuracy left after one attack, not a proof.
    """
    region: Linf | Hamming | None = None
    """The region that the network was trained against."""
    scores: Scores | None = None
    """Recall of each class, balanced accuracy, and the accuracy of the best constant answer.

    The samples are those of the first accuracy available: test, else validation, else training samples.
    """
    monotone: Mapping[str, str] = field(default_factory=dict)
    """Features that never lower the class if they are raised, ``"rising"``, or lowered, ``"falling"``."""
    search: SearchReport | None = None
    """With ``minutes=``, the candidates that were tried."""

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
        moves = " or ".join(
            f"{'raising' if way == 'rising' else 'lowering'} {visible(name)}"
            for name, way in self.monotone.items()
        )
        order = f"; {moves} never lowers the class ({' < '.join(self.network.class_texts)})" * bool(moves)
        text = f"{self.network}; accuracy {test}{chose}{attack}{order}; exact: {self.comparison}"
        warning = None if self.scores is None else self.scores.warning
        return "\n".join(str(part) for part in (self.search, text, self.scores, warning) if part is not None)


def _column(X: Any, name: str, argument: str) -> tuple[Any, Any]:
    """Return a data frame without one of its columns, and this column."""
    labels = labels_of(X) or []
    columns = [str(label) for label in labels]
    if name not in columns:
        raise SugenetError(
            f"{argument}={quoted(name)} is not a column. The {len(columns)} columns are "
            f"{cut(', '.join(columns), letters=200)}."
        )
    others = [label for label in labels if str(label) != name]
    column = X[labels[columns.index(name)]]
    return X.select(others) if hasattr(X, "column_names") else X[others], column


def _samples_and_classes(
    X: Any, y: Any, target: str | None, weights: Any
) -> tuple[Any, Any, npt.NDArray[np.float64] | None]:
    """Return samples, their classes and weights, without samples of weight 0; columns may be named."""
    if (y is None) == (target is None):
        raise SugenetError("give the classes once: y, or the column of X that holds them, target='...'.")
    if target is not None:
        X, y = _column(X, target, "target")
    if isinstance(weights, str):
        X, weights = _column(X, weights, "sample_weight")
    numbers = sample_weights(weights, np.size(y))
    if numbers is None or numbers.all():
        return X, y, numbers
    rows = np.flatnonzero(numbers)
    return taken(X, rows), np.asarray(y)[rows], numbers[rows]


def train(
    X: Any,
    y: Any = None,
    hidden: Sequence[int] | None = None,
    *,
    target: str | None = None,
    settings: Settings = _DEFAULTS,
    encoder: Encoder | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
    monotone: Any = None,
    sample_weight: Any = None,
    validation: tuple[Any, Any] | None = None,
    test_share: float = 0.1,
    progress: Callable[[Any], None] | None = None,
    checkpoint: str | Path | None = None,
    notes: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    missing: Missing = "refuse",
    minutes: float | None = None,
) -> Trained:
    """Train a binarized network, or one with more levels (``Settings(levels=4)``); requires PyTorch.

    Parameters
    ----------
    X : array or data frame
        Samples, one row each. With `target`, a data frame that also has the classes. If the columns have
        names, questions about the network are about inputs within its training range, unless one asks with
        ``within="any"``. Networks over bits or over exact integers, such as pixels, have no such limits.
    y : array, default: None
        Class of each sample. Classes are numbered in sorted order, unless `classes` names them.
    hidden : sequence of int, default: None
        Sizes of the hidden layers. None: (64, 32), or the layer that ``Settings(depth=...)`` grows.
    target : str, default: None
        Column of `X` that holds the classes, in place of `y`.
    settings : Settings
        Epochs, rate, seed, sparsity and more (default: ``Settings()``).
    encoder : Encoder, default: None
        From raw features to bits. None: `learn_encoder` learns it from `X`. The network stores the range of
        the training data (`Encoder.seen`), unless the encoder already does.
    names : iterable, default: None
        Names of the features, for a learned encoder. None: the columns of `X`, if it has names.
    classes : iterable, default: None
        Names of the classes; `y` then holds class indices from 0.
    monotone : mapping, default: None
        Features that may only raise the class (``"rising"`` or +1) or only lower it (``"falling"`` or -1), by
        name or index. Classes are ordered by their index, so of two classes the second is the higher one.
        The network has this property for every input: `verify` proves ``Monotone(feature)``, or
        ``Monotone(feature, rising=False)``.
    sample_weight : array or str, default: None
        Weight of each sample in the loss and in the choice of the best epoch, or the column of `X` that holds
        the weights. A sample of weight 0 is left out. The weights of `Settings.class_weight` are factors.
    validation : tuple, default: None
        Held-out samples and classes that choose the best epoch, in place of a share of `X`. They have the
        weights of their classes.
    test_share : float, default: 0.1
        Share of each class that takes no part in training and in choosing the epoch. The accuracy on these
        samples is `test_accuracy`. The encoder is learned from all samples, without their classes. 0 for
        none.
    progress : callable, default: None
        Called with the `Epoch` after every epoch, for example `print_progress`. A search calls it with a
        `Trial` after every candidate, and with epochs in the final training only.
    checkpoint : str or Path, default: None
        A file written after every epoch. If it exists, the run resumes from it, provided that data and
        settings are the same.
    notes : mapping, default: None
        Text to store with the network.
    types : mapping, default: None
        Types of columns by name, instead of those found, for a learned encoder; see `understand`.
    missing : str, default: "refuse"
        ``"refuse"`` gaps, give them a ``"category"`` of their own, or ``"impute"`` the median or the most
        frequent value; for a learned encoder.
    minutes : float, default: None
        Choose hidden layers, cuts and settings by cross-validation within this time, in place of `hidden`,
        `encoder`, `checkpoint` and the settings that a `SearchReport` lists. Most tables require less time.
        Test samples take no part. Ctrl-C ends the search, and the best candidate so far is trained.

    Returns
    -------
    Trained
        The exact network as `network`, with accuracies and the comparison with the module.

    Raises
    ------
    SugenetError
        If PyTorch is missing or an argument is wrong.
    SoundnessError
        If the network differs from the module in a single value on the samples given. It never should.

    See Also
    --------
    sugenet.BNNClassifier : the same as a scikit-learn estimator.

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
    X, y, weights = _samples_and_classes(X, y, target, sample_weight)
    if minutes is not None:
        check_searchable({"hidden": hidden, "encoder": encoder, "checkpoint": checkpoint}, settings)
        passed = {"classes": classes, "validation": validation, "test_share": test_share, "notes": notes}
        reading = {"names": names, "types": types, "missing": missing}
        return _searched(X, y, weights, reading, minutes, settings, progress, passed, monotone)
    from sugenet.fit import folding, growing, loop
    from sugenet.fit.adversary import Adversary, Perturbation
    from sugenet.fit.module import LevelModule

    sizes = _sizes(hidden, settings)
    path = _writable(checkpoint)
    if path is not None and settings.depth is not None:
        raise SugenetError(
            f"checkpoint={path.name} is for training by gradient descent, which depth= replaces."
        )
    if monotone is not None and settings.depth is not None:
        raise SugenetError(
            f"monotone= is for training by gradient descent, but depth={settings.depth} grows trees. "
            "Leave one of them out."
        )
    array, coder, is_table = _rows_and_encoder(X, encoder, names, types, missing)
    labels, known = _labels(y, classes)
    kinds = tuple(map(str, known))
    if array.ndim != 2 or len(array) != len(labels):
        raise EncodingError(
            f"X has shape {array.shape} and y {len(labels)} entries: "
            f"one row and one class for each sample are needed."
        )
    test, others = _test_part(labels, settings.seed, test_share)
    coder = coder.with_training_range(array[others]) if coder.seen is None else coder
    inside, outside = _parts(labels, others, settings) if validation is None else (others, np.arange(0))
    factors = class_factors(
        settings.class_weight, known, labels[others], None if weights is None else weights[others]
    )
    weighing = factors[labels] * (1 if weights is None else weights)
    weighted = bool((weighing[others] != weighing[others][:1]).any())  # equal weights are no weights
    levels = bool(sizes) and reads_levels(coder)
    region = robust_region(settings.robust)
    perturbation = None if region is None else Perturbation(coder, region, levels)
    adversary = None if perturbation is None else Adversary(perturbation)
    inputs_of = np.arange(coder.features) if levels else np.array(coder.feature_of, np.int64)
    ups = feature_ways(monotone, coder)
    ways = ups[inputs_of]
    limits, head_ways = limits_along(ways, sizes) if ways.any() or settings.window else (None, None)
    if limits and settings.window is not None:
        seen = windows(coder, levels, settings.window, sizes[0], settings.seed)
        limits[0] = limits[0][0] * seen, limits[0][1] * seen
    training = loop.Samples.of(
        coder, array[inside], labels[inside], levels, perturbation, weighing[inside] if weighted else None
    )
    if perturbation is not None:
        perturbation.check(*training.surrounded(np.arange(len(training))))
    outer, outer_labels, outer_weights = array[outside], labels[outside], weighing[outside]
    if validation is not None:
        outer = coder.rows(validation[0])
        outer_labels = _known_labels(validation[1], kinds, classes is not None)
        outer_weights = factors[outer_labels]
    held_out = (
        loop.Samples.of(coder, outer, outer_labels, levels, perturbation, outer_weights if weighted else None)
        if len(outer)
        else None
    )
    about = {"settings": settings.decisive(), "hidden": sizes, "classes": len(kinds), "top": training.top}
    about |= {"ways": ways.tolist()} if ways.any() else {}
    mark = loop.run_mark(about, *training.arrays, *(() if held_out is None else held_out.arrays))
    with loop.threads(settings.threads):
        if settings.depth is None:
            module = LevelModule.start(
                (training.inputs.shape[1], *sizes, len(kinds)),
                loop.generator_of(settings.seed, 0),
                top=training.top if levels else 1,
                levels=settings.levels,
                weight_bits=settings.weight_bits,
                limits=limits,
                head_ways=head_ways if ways.any() else None,
                feature_of=None if settings.features is None else inputs_of,
            )
            if adversary is not None:
                module.unit /= _CALM
            if training.weights is not None:
                module.expect(np.bincount(training.y, training.weights, minlength=len(kinds)))
            outcome = loop.run(module, training, held_out, settings, mark, progress, path, adversary)
        else:
            leaves, outcome = growing.grow(training, held_out, len(kinds), settings, progress)
            module, coder, read = growing.planted(leaves, coder)
            training = replace(training, inputs=training.inputs[:, read])
            held_out = None if held_out is None else replace(held_out, inputs=held_out.inputs[:, read])
        network = folding.network_of(module, coder, kinds, notes)
        network = as_table(network) if is_table else network
        comparison = folding.compare(network, module, array)
        comparison.check()
        if validation is not None:
            folding.compare(network, module, outer).check()
    last = loop.Samples.of(coder, array[test], labels[test], levels, perturbation) if len(test) else None
    attacked = None
    if adversary is not None:
        evaluated = replace(last or held_out or training, weights=None)
        generator = loop.generator_of(settings.seed, 0)
        attacked = loop.accuracy_under_attack(adversary, module, evaluated, 1.0, generator)
    part = "validation" if held_out is not None else "training"
    asked = settings.class_weight is not None or weights is not None
    chose = _scores(network, held_out or training, part, asked)
    tested = None if last is None else _scores(network, last, "test", asked)
    return Trained(
        network,
        outcome.history,
        chose.accuracy,
        outcome.best_epoch,
        outcome.interrupted,
        comparison,
        module,
        None if tested is None else tested.accuracy,
        SampleCounts(len(training), 0 if held_out is None else len(held_out), len(test)),
        attacked,
        region,
        tested or chose,
        {
            coder.names[feature]: "rising" if ups[feature] > 0 else "falling"
            for feature in np.flatnonzero(ups)
        },
    )


def _searched(
    X: Any,
    y: Any,
    weights: npt.NDArray[np.float64] | None,
    reading: dict[str, Any],
    minutes: float,
    settings: Settings,
    progress: Callable[[Any], None] | None,
    passed: dict[str, Any],
    monotone: Mapping[Any, Any] | None,
) -> Trained:
    """Search for the best candidate, and train it on all samples that are not for testing."""
    labels, known = _labels(y, passed["classes"])
    _, others = _test_part(labels, settings.seed, passed["test_share"])

    @cache
    def prepared(cuts: int) -> tuple[npt.NDArray[Any], Encoder, bool]:
        return _rows_and_encoder(X, None, **reading, cuts=cuts)

    def run(candidate: Candidate, inside: Ints, outside: Ints, watch: Callable[[Epoch], None]) -> Ints:
        (array, encoder, _), rows = prepared(candidate.cuts), others[inside]
        if encoder.width > _WIDEST:
            raise EncodingError(f"cuts={candidate.cuts} give {encoder.width} bits, too many for a search.")
        trained = train(
            array[rows],
            labels[rows],
            candidate.hidden,
            encoder=encoder,
            classes=known,
            monotone=monotone,
            sample_weight=None if weights is None else weights[rows],
            settings=candidate.settings(settings),
            test_share=0,
            progress=watch,
        )
        return trained.network.predict(array[others[outside]])

    report = search(
        labels[others],
        minutes,
        run,
        settings,
        monotonic,
        grown=monotone is None,
        weights=None if weights is None else weights[others],
        progress=progress,
    )
    best = report.trials[0].candidate
    array, encoder, is_table = prepared(best.cuts)
    trained = train(
        array,
        y,
        best.hidden,
        encoder=encoder,
        monotone=monotone,
        sample_weight=weights,
        settings=best.settings(settings),
        progress=progress,
        **passed,
    )
    network = as_table(trained.network) if is_table else trained.network
    return replace(trained, network=network, search=report)


_FOR_LAYERS = {"levels": "hidden neurons", "window": "neurons of the first hidden layer"}
"""Settings that require a hidden layer, and the part of the network that they apply to."""


def _writable(checkpoint: str | Path | None) -> Path | None:
    """Return the path of a checkpoint; raise an error before any work if it cannot be written."""
    if checkpoint is None:
        return None
    try:
        check_writable(checkpoint)
    except FileError as error:
        raise FileError(f"checkpoint={error}") from None
    return Path(checkpoint)


def _rows_and_encoder(
    X: Any,
    encoder: Encoder | None,
    names: Iterable[object] | None,
    types: Mapping[str, str] | None,
    missing: Missing,
    cuts: int = 4,
) -> tuple[npt.NDArray[Any], Encoder, bool]:
    """Return the samples as rows, the encoder, learned from them if it is not given, and whether the samples
    are a table: columns with names.
    """
    if encoder is None:
        encoder = learn_encoder(X, names=names, cuts=cuts, types=types, missing=missing)
        columns = raw_columns(X, names)
        array = encoder.rows(X if encoder.columns is None else RawTable(columns))
        return array, encoder, columns[0].is_named and array.dtype != np.uint8
    for name, value, usual in (
        ("names", names, None),
        ("types", types, None),
        ("missing", missing, "refuse"),
    ):
        if value != usual:
            raise SugenetError(
                f"{name}= is for a learned encoder, but the encoder given has its own. Leave one of them out."
            )
    return encoder.rows(X), encoder, False


def as_table(network: Network) -> Network:
    """Return a network trained from a table, limited to its training range; unchanged if all features are
    bits or exact integers.
    """
    whole = all(
        isinstance(coding, Steps) and (coding.bipolar or coding.every_step)
        for coding in network.encoder.codings
    )
    return network if whole else network.within("data")


def _sizes(hidden: Sequence[int] | None, settings: Settings) -> tuple[int, ...]:
    if hidden is None:
        return (64, 32) if settings.depth is None else ()
    if settings.depth is not None:
        raise SugenetError(f"hidden={hidden!r} and depth={settings.depth} exclude each other. Leave one out.")
    if not isinstance(hidden, Iterable):
        raise SugenetError(
            f"hidden={hidden!r} must be a list of integers. For one layer write ({hidden!r},)."
        )
    entries = list(hidden)
    wrong = next(
        (size for size in entries if isinstance(size, bool) or not isinstance(size, int | np.integer)), None
    )
    if wrong is not None:
        raise SugenetError(
            f"hidden={hidden!r} holds {wrong!r}, but the sizes of layers are integers, such as (64, 32)."
        )
    sizes = tuple(int(size) for size in entries)
    if any(size < 1 for size in sizes):
        raise SugenetError(
            f"hidden={sizes} holds a layer without neurons. Give sizes of at least 1, "
            f"or hidden=() for no hidden layer."
        )
    for name, what in _FOR_LAYERS.items():
        if not sizes and getattr(settings, name) != getattr(_DEFAULTS, name):
            raise SugenetError(
                f"{name}={getattr(settings, name)} is for {what}, but hidden=() has none. "
                f"Give sizes, or leave {name}= out."
            )
    return sizes


def _labels(y: Any, classes: Iterable[object] | None) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Return class indices, and the classes."""
    array = np.asarray(y)
    if array.ndim != 1 or not len(array):
        raise EncodingError(f"y has shape {array.shape}, but one class for each sample is needed.")
    if array.dtype == object:
        gaps = [row for row, label in enumerate(array.tolist()) if is_gap(label)]
        if gaps:
            raise EncodingError(
                f"y has no class in {len(gaps)} of {len(array)} samples, first in sample {gaps[0]}. Remove "
                "these samples."
            )
    if classes is not None:
        kinds = list(classes)
        return _known_labels(array, tuple(map(str, kinds)), numbered=True), kinds
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        row = int(np.argmax(array != np.floor(array)))
        raise EncodingError(
            f"y[{row}] is {array.tolist()[row]}, which is not a class. Give integers, booleans or texts."
        )
    values = array.astype(np.int64) if array.dtype.kind == "f" else array
    seen, labels = np.unique(values, return_inverse=True)
    if len(seen) < 2:
        raise EncodingError(f"y holds one class only, {seen.tolist()[0]!r}. At least two are needed.")
    return labels.astype(np.int64), seen.tolist()


def _known_labels(y: Any, kinds: tuple[str, ...], numbered: bool) -> npt.NDArray[np.int64]:
    array = np.asarray(y)
    index = {str(number) if numbered else name: number for number, name in enumerate(kinds)}
    values = array.astype(np.int64) if array.dtype.kind == "f" and (array == np.floor(array)).all() else array
    for row, value in enumerate(values.tolist()):
        if str(value) not in index:
            wanted = f"a number from 0 to {len(kinds) - 1}" if numbered else f"one of {', '.join(kinds[:12])}"
            raise EncodingError(f"y[{row}] is {value!r}, but a class is {wanted}.")
    return np.array([index[str(value)] for value in values.tolist()], dtype=np.int64)


def _test_part(
    labels: npt.NDArray[np.int64], seed: int, share: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the test rows, with the same share of each class, and the other rows, in order."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise SugenetError(f"test_share={share!r} must be at least 0 and below 1.")
    return _drawn(labels, np.arange(len(labels)), np.random.default_rng([seed, 2]), share)


def _parts(
    labels: npt.NDArray[np.int64], among: npt.NDArray[np.int64], settings: Settings
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Split rows into training and held-out rows, with the same share of each class, in order."""
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


def _scores(network: Network, samples: Samples, part: str, weighted: bool) -> Scores:
    answers = []
    for start in range(0, len(samples), _CHUNK):
        counts = network.packed("definition").match_counts(samples.inputs[start : start + _CHUNK])
        answers.append(network.head.classes(counts))
    return Scores.of(network.classes, samples.y, np.concatenate(answers), part, weighted)


def windows(encoder: Encoder, levels: bool, side: int, neurons: int, seed: int) -> Bits:
    """Return the inputs that each neuron reads: those of a square of pixels at a random position.

    Parameters
    ----------
    encoder
        Encoder of square images, pixels row by row.
    levels
        Whether there is one input per pixel, not one per bit.
    side
        Rows and columns of the square, which lies inside the image.
    neurons, seed
        The number of squares, and the seed of their positions.

    Examples
    --------
    >>> from sugenet.nn import thermometer
    >>> seen = windows(Encoder([thermometer([3, 5])] * 9), levels=False, side=2, neurons=4, seed=0)
    >>> seen.shape, seen.sum(axis=1).tolist()
    ((4, 18), [8, 8, 8, 8])
    """
    image = isqrt(encoder.features)
    if image * image != encoder.features:
        raise SugenetError(
            f"window={side} is for square images, pixels row by row, but {encoder.features} features "
            "are not a square. Leave window= out."
        )
    if side > image:
        raise SugenetError(
            f"window={side} is larger than images of {image} x {image} pixels. Give at most {image}."
        )
    corners = np.random.default_rng([seed, 3]).integers(0, image - side + 1, (neurons, 2, 1))
    pixels = np.arange(encoder.features) if levels else np.array(encoder.feature_of, np.int64)
    indices = np.stack([pixels // image, pixels % image])
    return np.asarray(((indices >= corners) & (indices < corners + side)).all(axis=1))
