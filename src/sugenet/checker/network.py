"""Networks as the checker sees them: features, layers of neurons, exact scores; and the `.sugenet` file.

To be ensured: a network gives the scores that the file defines (docs/format.md). Only the standard library is
required. No code is shared with the packages that write files or evaluate networks.
"""

from __future__ import annotations

import json
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import islice, product
from math import inf, isfinite, prod
from typing import Any, TypeAlias

from sugenet.checker.spelling import NEVER, positions_of, see, see_network
from sugenet.errors import CertificateError, FileError
from sugenet.visible import visible

__all__ = [
    "NEVER",
    "Categories",
    "Clause",
    "Coding",
    "HeadWeights",
    "LayerForm",
    "NetworkForm",
    "NetworkSource",
    "Numbers",
    "Pooled",
    "RealNumbers",
    "Summed",
    "load_network",
    "positions_of",
    "read_json",
]


# -- features ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Categories:
    """A feature whose values are categories; the network reads one bit per category."""

    categories: tuple[Any, ...]

    @property
    def width(self) -> int:
        """Number of bits."""
        return len(self.categories)

    def bits(self, state: int) -> list[int]:
        """Return the bits of a state: a one-hot code of the category."""
        return [int(index == state) for index in range(self.width)]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A feature whose values are integers or float64 numbers; bit t says whether the value is at least cut t.

    The state of a value is the number of cuts it reaches. Silent cuts belong to laws, and no neuron reads
    them.
    """

    cuts: tuple[Any, ...]
    low: Any
    high: Any
    whole: bool = False
    bipolar: bool = False
    silent: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Number of bits."""
        return len(self.cuts)

    def bits(self, state: int) -> list[int]:
        """Return the bits of a state: the first `state` bits are 1; bits of silent cuts are omitted."""
        return [int(index < state) for index in range(self.width) if index not in self.silent]


@dataclass(frozen=True, slots=True)
class RealNumbers(Numbers):
    """A feature whose values are real numbers, which the first layer reads unchanged."""


Coding: TypeAlias = Categories | Numbers


# -- layers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Summed:
    """A neuron whose level is the number of thresholds that the weighted sum of its inputs reaches."""

    inputs: tuple[int, ...]
    weights: tuple[int, ...]
    thresholds: tuple[Any, ...]
    """Rising integers; for real inputs one pair of exact numbers that the threshold lies between."""

    def total(self, values: Sequence[Any]) -> Any:
        """Return the weighted sum."""
        return sum(w * values[i] for i, w in zip(self.inputs, self.weights, strict=True))

    def level(self, values: Sequence[Any]) -> int:
        """Return the level for given levels of the previous layer."""
        return bisect_right(self.thresholds, self.total(values))


@dataclass(frozen=True, slots=True)
class Pooled:
    """A neuron whose level is the largest level of its inputs, or the smallest."""

    inputs: tuple[int, ...]
    least: bool

    def level(self, values: Sequence[Any]) -> int:
        """Return the level for given levels of the previous layer."""
        return int((min if self.least else max)(values[i] for i in self.inputs))


@dataclass(frozen=True, slots=True)
class LayerForm:
    """Neurons that all have the same largest level."""

    neurons: tuple[Summed | Pooled, ...]
    top: int = 1
    maps: tuple[int, int, int] | None = None
    """Channels, height and width of its output, if it is a pool or a convolution with several levels."""
    reads: tuple[int, int, int] | None = None
    """Channels, height and width of its input, if it is a pool or a convolution."""


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """Classes with exact scores: scale * sum of weight * (2 * level - top) + bias."""

    weights: Sequence[Sequence[int]]
    scale: tuple[Fraction, ...]
    bias: tuple[Fraction, ...]
    sizes: tuple[int, ...]
    """The largest match count of each class: the sum of absolute weights, each times the top of its input."""

    @property
    def outputs(self) -> int:
        """Number of classes."""
        return len(self.scale)


Clause: TypeAlias = tuple[tuple[int, Any, bool], ...]
"""Conditions of which one must hold: a feature reaches a cut or has a category or, if false, does not."""


@dataclass(frozen=True)
class NetworkForm:
    """A network as the checker sees it."""

    names: tuple[str, ...]
    classes: tuple[str, ...]
    codings: tuple[Coding, ...]
    reads_levels: bool
    """Whether the first layer reads the state of each feature, and not its bits."""
    head: HeadWeights
    make_layers: Callable[[], tuple[LayerForm, ...]]
    make_fingerprint: Callable[[tuple[str, ...], HeadWeights], str]
    source: NetworkSource | None = field(default=None, compare=False)
    """The file that it was read from, which compiled rules read as arrays."""
    clauses: tuple[Clause, ...] = ()
    """Laws that inputs obey. The head then has a last class whose match count is the number of
    broken laws.
    """

    @cached_property
    def class_texts(self) -> tuple[str, ...]:
        """The names of the classes, escaped for display."""
        return tuple(map(visible, self.classes))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the function of the network, and of its names."""
        return self.make_fingerprint(self.classes, self.head)

    def among(self, classes: Sequence[int]) -> NetworkForm:
        """Return the network restricted to some classes."""
        head = self.head
        some = HeadWeights(
            [head.weights[k] for k in classes],
            tuple(head.scale[k] for k in classes),
            tuple(head.bias[k] for k in classes),
            tuple(head.sizes[k] for k in classes),
        )
        return replace(self, head=some, classes=tuple(self.classes[k] for k in classes))

    @cached_property
    def layers(self) -> tuple[LayerForm, ...]:
        """The hidden layers, first to last."""
        return self.make_layers()

    @cached_property
    def passes_reals(self) -> bool:
        """Whether the first layer reads real numbers."""
        return any(isinstance(coding, RealNumbers) for coding in self.codings)

    def reading(self, feature: int, state: int) -> list[int]:
        """Return the input of the first layer for a feature in a state: its level, or its bits."""
        coding = self.codings[feature]
        if self.reads_levels:
            silent = coding.silent if isinstance(coding, Numbers) else ()
            return [state - sum(index < state for index in silent)]
        return coding.bits(state)

    def scores(self, states: Sequence[int]) -> list[Fraction]:
        """Return exact scores of the classes, layer by layer."""
        values = [value for feature, state in enumerate(states) for value in self.reading(feature, state)]
        return self._from(values, self.layers)

    def real_scores(self, values: Sequence[Fraction]) -> list[Fraction]:
        """Return exact scores of an input of real numbers; refuse if a sum is too close to its threshold."""
        levels = []
        for number, neuron in enumerate(self.layers[0].neurons, start=1):
            assert isinstance(neuron, Summed)
            total, (low, high) = neuron.total(values), neuron.thresholds[0]
            if low <= total < high:
                raise CertificateError(
                    f"neuron {number} of layer 1 is so near its threshold that the witness shows nothing."
                )
            levels.append(int(total >= high))
        return self._from(levels, self.layers[1:])

    def _from(self, values: Sequence[int], layers: Iterable[LayerForm]) -> list[Fraction]:
        for layer in layers:
            values = [neuron.level(values) for neuron in layer.neurons]
        head, scores = self.head, []
        for row, scale, bias, size in zip(head.weights, head.scale, head.bias, head.sizes, strict=True):
            # 2 * (weighted sum) - (sum of weight * top), where the latter is size + twice the negative part
            total = sum(w * v for w, v in zip(row, values, strict=True))
            lowest = sum(min(w, 0) * t for w, t in zip(row, self.last_tops, strict=True))
            scores.append(scale * (2 * (total - lowest) - size) + bias)
        return scores

    @cached_property
    def last_tops(self) -> list[int]:
        """The largest level of each value that the head reads."""
        if self.layers:
            return [self.layers[-1].top] * len(self.layers[-1].neurons)
        return [1] * sum(coding.width for coding in self.codings)

    def see_texts(self, laws: Sequence[Any]) -> None:
        """Check that the words of laws agree with their clauses, if this checker can read words."""

    def obeying(self, clauses: Sequence[Clause]) -> NetworkForm:
        """Return the network with finer features, to evaluate clauses, and a last class for
        broken clauses.
        """
        if not clauses:
            return self
        head, kept = self.head, tuple(dict.fromkeys(clauses))
        largest = max(s * n + abs(b) for s, n, b in zip(head.scale, head.sizes, head.bias, strict=True)) + 1
        more = HeadWeights(
            head.weights,
            (*head.scale, largest),
            (*head.bias, largest * (len(kept) - 1)),
            (*head.sizes, len(kept)),
        )
        return replace(self, codings=_finer(self.codings, kept), head=more, clauses=kept)


def _finer(codings: Sequence[Coding], clauses: Iterable[Clause]) -> tuple[Coding, ...]:
    """Return features with the cuts of clauses, which are silent if the network does not have them."""
    wanted: dict[int, set[Any]] = {}
    for feature, at, _ in (literal for clause in clauses for literal in clause):
        wanted.setdefault(feature, set()).add(at)
    refined: list[Coding] = []
    for feature, coding in enumerate(codings):
        if isinstance(coding, Numbers) and wanted.get(feature, set()) - set(coding.cuts):
            cuts = tuple(sorted({*coding.cuts, *wanted[feature]}))
            silent = tuple(index for index, cut in enumerate(cuts) if cut not in coding.cuts)
            refined.append(replace(coding, cuts=cuts, silent=silent))
        else:
            refined.append(coding)
    return tuple(refined)


# -- the file ------------------------------------------------------------------------------------------------

_FILE, _HEADER, _PARTS = 1 << 30, 1 << 24, 1 << 20
"""Largest number of bytes of a file and of its header, and of lists and objects in the header."""
_SEAL = b'\\"sha256\\":\\"'
"""The text before the SHA-256 of a file."""
_CODES = {"I8": "b", "U8": "B", "I16": "h", "I32": "i", "I64": "q", "F64": "d"}
_NAMES = {
    "dense": "DenseLayer",
    "level": "LevelLayer",
    "stairs": "StairLayer",
    "conv": "ConvLayer",
    "stairs conv": "StairConv",
    "pool": "PoolLayer",
    "level pool": "PoolLayer",
    "real": "RealLayer",
    "real conv": "RealLayer",
    "sparse": "SparseLayer",
}
"""The names of kinds of layers in fingerprints."""


def read_json(text: str) -> Any:
    """Parse JSON without NaN, infinity and repeated fields."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise FileError("a field of the JSON occurs twice.")
        return members

    def constant(name: str) -> Any:
        raise FileError(f"{name} is not a JSON number.")

    def finite(number: str) -> float:
        return float(number) if isfinite(float(number)) else constant(number)

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant, parse_float=finite)
    except RecursionError:
        raise FileError("the JSON is nested too deeply.") from None
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"this is not JSON: {error}") from None


def load_network(raw: bytes) -> NetworkForm:
    """Read the bytes of a `.sugenet` file.

    Raises
    ------
    FileError
        If the bytes are not such a file, or are damaged.
    """
    try:
        return NetworkSource(raw).network()
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError) as error:
        raise FileError(f"the network file is damaged: {type(error).__name__}: {str(error)[:80]}") from None


class NetworkSource:
    """The document and the tensors of a file with a valid checksum."""

    def __init__(self, raw: bytes) -> None:
        end = 8 + int.from_bytes(raw[:8], "little")
        if not 10 <= end <= min(len(raw), 8 + _HEADER) or len(raw) > _FILE:
            raise FileError("this is not a .sugenet file.")
        text = raw[8:end].decode()
        see(text.count("[") + text.count("{") <= _PARTS, "its header has too many parts")
        header = read_json(text)
        about = header.pop("__metadata__")
        see(list(about) == ["sugenet"], "its metadata is not one document")
        self.document = read_json(about["sugenet"])
        seal = self.document["sha256"].encode()
        index = raw.find(_SEAL) + len(_SEAL)
        zeros = raw[:index] + b"0" * 64 + raw[index + 64 :]
        see(
            raw[index : index + 64] == seal == sha256(zeros).hexdigest().encode(),
            "its SHA-256 is another one",
        )
        written = json.dumps(self.document, separators=(",", ":"))
        see(written == about["sugenet"], "its document is spelled in another way")
        self.tensors: dict[str, tuple[array[Any], tuple[int, ...]]] = {}
        self.known: dict[str, list[list[int]]] = {}
        reached = 0
        for name, part in sorted(header.items(), key=lambda one: one[1]["data_offsets"]):
            first, last = part["data_offsets"]
            see(part.keys() == {"dtype", "shape", "data_offsets"}, f"the tensor {name} has other fields")
            sizes = [first, last, *part["shape"]]
            see(all(type(size) is int and size >= 0 for size in sizes), f"the tensor {name} has odd sizes")
            see(first == reached, f"the tensor {name} overlaps another one, or leaves a gap")
            numbers = array(_CODES[part["dtype"]], raw[end + first : end + last])
            if sys.byteorder == "big":
                numbers.byteswap()
            see(len(numbers) == prod(part["shape"]), f"the tensor {name} does not have its shape")
            self.tensors[name], reached = (numbers, tuple(part["shape"])), last
        see(reached == len(raw) - end, "its tensors do not fill it")
        see_network(self.document, self.tensors, self.rows)

    def network(self) -> NetworkForm:
        """Return the network of the file."""
        document = self.document
        cuts = iter(self.tensors["cuts"][0])
        kinds = [self._coding(part, cuts) for part in document["codings"]]
        codings = tuple(kinds[number] for _, number in document["features"])
        parts, head = document["layers"], document["head"]
        levels = bool(parts) and (
            parts[0]["kind"] in ("level", "level pool", "stairs conv")
            or parts[0].get("reads") == "levels"
            or (parts[0]["kind"] == "conv" and parts[0]["top"] is not None)
        )
        top = int(head.get("top", 1))
        rows = self.rows("head", head["weights"], head["inputs"])
        sizes = tuple(sum(map(abs, row)) * top for row in rows)
        scale, bias = (tuple(map(Fraction, head[name])) for name in ("scale", "bias"))
        weights = HeadWeights(rows, scale, bias, sizes)
        names = tuple(name for name, _ in document["features"])
        classes = tuple(document["classes"])
        form = NetworkForm(
            names,
            classes,
            codings,
            levels,
            weights,
            lambda: self._layers(codings, levels),
            lambda classes, head: self._fingerprint(codings, names, classes, head),
            self,
        )
        if form.fingerprint != document["fingerprint"]:
            raise FileError(
                f"the network has the fingerprint {form.fingerprint}, and its file states another."
            )
        return form

    def _coding(self, part: dict[str, Any], cuts: Iterator[float]) -> Coding:
        if part["kind"] == "onehot":
            return Categories(tuple(map(_end, part["categories"])))
        low, high = _end(part["low"]), _end(part["high"])
        if part["kind"] == "real":
            return RealNumbers((), low, high)
        return Numbers(tuple(islice(cuts, part["cuts"])), low, high, part["whole"], part["bipolar"])

    def rows(self, name: str, form: str, width: int) -> list[list[int]]:
        """Return rows of weights: integers, or packed signs with or without zeros."""
        if name not in self.known:
            self.known[name] = self._rows(name, form, width)
        return self.known[name]

    def _rows(self, name: str, form: str, width: int) -> list[list[int]]:
        if form == "integer":
            return self._table(f"{name}.weights", width)
        octets = -(-width // 8)
        signs = [_unpacked(row, width) for row in self._table(f"{name}.positive", octets)]
        if form == "binary":
            return [[2 * sign - 1 for sign in row] for row in signs]
        some = [_unpacked(row, width) for row in self._table(f"{name}.nonzero", octets)]
        return [
            [n * (2 * s - 1) for s, n in zip(*rows, strict=True)] for rows in zip(signs, some, strict=True)
        ]

    def _table(self, name: str, width: int) -> list[list[int]]:
        numbers, shape = self.tensors[name]
        return [numbers[k * width : (k + 1) * width].tolist() for k in range(shape[0])]

    def _layers(self, codings: Sequence[Coding], levels: bool) -> tuple[LayerForm, ...]:
        tops = [1] * sum(coding.width for coding in codings)
        if levels or any(isinstance(coding, RealNumbers) for coding in codings):
            tops = [coding.width for coding in codings]
        layers = []
        for number, part in enumerate(self.document["layers"], start=1):
            layer = self._layer(f"layer{number}", part, tops)
            layers.append(layer)
            tops = [layer.top] * len(layer.neurons)
        return tuple(layers)

    def _layer(self, name: str, part: dict[str, Any], tops: list[int]) -> LayerForm:
        kind, neurons = part["kind"], list[Summed | Pooled]()
        if kind == "sparse":
            taus, width = self._thresholds(name, part, 1), part["reads"]
            tables = (self._table(f"{name}.{tensor}", width) for tensor in ("reads", "weights"))
            for reads, row, (thresholds,) in zip(*tables, taus, strict=True):
                neurons.append(_summed(list(zip(reads, row, strict=True)), thresholds, tops))
            return LayerForm(tuple(neurons))
        if kind in ("dense", "level", "stairs", "real"):
            rows = self.rows(name, part["weights"], part["inputs"])
            for row, (thresholds,) in zip(rows, self._thresholds(name, part, 1), strict=True):
                taus = _beyond(thresholds) if kind == "stairs" else thresholds
                neurons.append(_summed(list(enumerate(row)), taus, None if kind == "real" else tops))
            return LayerForm(tuple(neurons), part.get("steps", 1))
        windows, shape = list(_windows(part)), part["shape"]
        size = shape[1] * shape[2]
        reads = (shape[0], shape[1], shape[2])
        indices = positions_of(part)
        if kind in ("pool", "level pool"):
            every = _unpacked(self.tensors[f"{name}.every"][0].tolist(), shape[0])
            for channel, taps in product(range(shape[0]), windows):
                pixels = tuple(channel * size + tap for tap in taps if tap is not None)
                neurons.append(Pooled(pixels, bool(every[channel])))
            return LayerForm(tuple(neurons), part.get("top", 1), (shape[0], *indices), reads)
        per = shape[0] // part["groups"]
        rows = self.rows(name, part["weights"], per * prod(part["kernel"]))
        steps = self._thresholds(name, part, len(windows))
        for channel, row in enumerate(rows):
            start = channel // (part["outputs"] // part["groups"]) * per
            for position, taps in enumerate(windows):
                wide = [(c, tap) for c in range(start, start + per) for tap in taps]
                inside = [
                    (c * size + tap, w) for (c, tap), w in zip(wide, row, strict=True) if tap is not None
                ]
                thresholds = steps[channel][position]
                if kind == "stairs conv":  # thresholds on the sum over all taps, including padding
                    rim = part["pad"] * sum(w for (_, tap), w in zip(wide, row, strict=True) if tap is None)
                    thresholds = [step - rim for step in _beyond(thresholds)]
                neurons.append(_summed(inside, thresholds, tops if kind == "conv" else None))
        maps = (len(rows), *indices) if kind == "stairs conv" else None
        return LayerForm(tuple(neurons), part.get("steps", 1), maps, reads)

    def _thresholds(self, name: str, part: dict[str, Any], positions: int) -> list[list[list[Any]]]:
        """Return the thresholds for each row of weights and each position."""
        if "theta" in part:
            pairs = [tuple(map(Fraction, ends)) for ends in part["theta"]]
            numbers, shape = self.tensors[f"{name}.theta"]
            thresholds = [[pairs[number]] for number in numbers]
        else:
            numbers, shape = self.tensors[f"{name}.steps" if part["kind"] == "stairs conv" else f"{name}.tau"]
            if "steps" in part:
                rows = self._table(
                    f"{name}.steps" if part["kind"] == "stairs conv" else f"{name}.tau", part["steps"]
                )
                return [[row] * positions for row in rows]
            thresholds = [[number] for number in numbers]
        if len(shape) == 1:
            return [[row] * positions for row in thresholds]
        return [thresholds[k * positions : (k + 1) * positions] for k in range(shape[0])]

    def _fingerprint(
        self, codings: Sequence[Coding], names: Sequence[str], classes: Sequence[str], head: HeadWeights
    ) -> str:
        """Return the SHA-256 of the function of the network, and of its names."""
        digest = sha256(b"sugenet network 1\n")
        for coding in codings:
            digest.update(sha256(_spelled(coding).encode()).digest())
        digest.update(json.dumps([names, classes]).encode())
        layers = self.document["layers"]
        tops = [coding.width for coding in codings]
        for number, part in enumerate(layers, start=1):
            name, kind = f"layer{number}", part["kind"]
            digest.update(_NAMES[kind].encode())
            if "shape" in part or kind == "real":
                digest.update(_window_text(part).encode())
            if kind == "sparse":
                digest.update(json.dumps(part["inputs"]).encode())
            if kind in ("real", "real conv"):
                digest.update(json.dumps(part.get("groups", 1)).encode())
            if kind in ("conv", "stairs conv"):
                digest.update(json.dumps([part["groups"], part["top"]]).encode())
            if kind == "level pool":
                digest.update(json.dumps(part["top"]).encode())
            if kind == "stairs conv":
                digest.update(json.dumps(part["pad"]).encode())
            for shape, numbers in self._digested(name, part, tops):
                digest.update(json.dumps(shape).encode() + numbers)
            if "theta" in part:
                taus = self._thresholds(name, part, prod(positions_of(part)) if "shape" in part else 1)
                ends = [[str(low), str(high)] for row in taus for ((low, high),) in row]
                digest.update(json.dumps(ends).encode())
            outputs = part["outputs"] if "outputs" in part else part["shape"][0]
            outputs *= prod(positions_of(part)) if "shape" in part else 1
            tops = [part.get("steps", part.get("top") if "pool" in kind else None) or 1] * outputs
        digest.update(_digest_of((len(head.weights), self.document["head"]["inputs"]), head.weights))
        if "top" in self.document["head"]:
            digest.update(_digest_of((len(tops),), [tops]))
        digest.update(json.dumps([[str(value) for value in row] for row in (head.bias, head.scale)]).encode())
        return digest.hexdigest()

    def _digested(
        self, name: str, part: dict[str, Any], tops: list[int]
    ) -> Iterator[tuple[tuple[int, ...], bytes]]:
        """Yield the arrays of a layer as used in fingerprints: shapes and 64-bit integers."""
        kind = part["kind"]
        if "pool" in kind:
            every = _unpacked(self.tensors[f"{name}.every"][0].tolist(), part["shape"][0])
            yield (len(every),), _octets([every])
            return
        if kind == "sparse":
            for tensor in ("reads", "weights"):
                yield (part["outputs"], part["reads"]), _octets([self.tensors[f"{name}.{tensor}"][0]])
            yield (part["outputs"],), _octets([self.tensors[f"{name}.tau"][0]])
            return
        wide = "shape" in part
        per = part["shape"][0] // part["groups"] if wide else part["inputs"]
        kernel = (part["outputs"], per, *part["kernel"]) if wide else (part["outputs"], per)
        yield kernel, _octets(self.rows(name, part["weights"], prod(kernel[1:])))
        if "theta" not in part:
            taus = self._thresholds(
                name, part, prod(positions_of(part)) if wide and "steps" not in part else 1
            )
            flat = [value for row in taus for thresholds in row for value in thresholds]
            steps = (part["outputs"], part["steps"]) if "steps" in part else (len(flat),)
            yield steps, _octets([flat])
        if kind == "stairs":
            input_tops = tops if part["reads"] == "levels" else [1] * part["inputs"]
            yield (len(input_tops),), _octets([input_tops])


def _octets(rows: Iterable[Iterable[int]]) -> bytes:
    numbers = array("q", [number for row in rows for number in row])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _digest_of(shape: tuple[int, ...], rows: Iterable[Iterable[int]]) -> bytes:
    return json.dumps(shape).encode() + _octets(rows)


def _end(value: Any) -> Any:
    """Return a number or a category of a file; only infinity is written as an object."""
    if isinstance(value, dict):
        return {"inf": inf, "-inf": -inf}[value["float"]]
    return value


def _spelled(coding: Coding) -> str:
    """Return a feature as used in fingerprints."""
    if isinstance(coding, Categories):
        return f"OneHot(categories={coding.categories!r})"
    if isinstance(coding, RealNumbers):
        return f"Real(low={coding.low!r}, high={coding.high!r})"
    ends = f"low={coding.low!r}, high={coding.high!r}, whole={coding.whole!r}, bipolar={coding.bipolar!r}"
    return f"Steps(cuts={coding.cuts!r}, {ends})"


def _unpacked(octets: Sequence[int], width: int) -> list[int]:
    return [octets[index // 8] >> index % 8 & 1 for index in range(width)]


def _beyond(steps: Sequence[int]) -> list[Any]:
    """Return the thresholds of a staircase, with infinity for thresholds that are never reached.

    Only staircases have such thresholds. Their sums stay below 2^31; sums of other layers may be larger.
    """
    return [inf if step == NEVER else step for step in steps]


def _summed(taps: Sequence[tuple[int, int]], taus: Sequence[Any], tops: Sequence[int] | None) -> Summed:
    """Return a neuron over (input, weight) taps, with thresholds on match counts if the input tops are given.

    A negative weight matches the difference of its input from its top.
    """
    kept = [(index, weight) for index, weight in taps if weight]
    lowest = 0 if tops is None else sum(min(weight, 0) * tops[index] for index, weight in kept)
    thresholds = tuple(tau + lowest if lowest else tau for tau in taus)
    return Summed(tuple(p for p, _ in kept), tuple(w for _, w in kept), thresholds)


def _windows(part: dict[str, Any]) -> Iterator[list[int | None]]:
    """Yield the pixel of each tap for each position of a window, row by row; None on padding."""
    (_, height, width), (top, left, _, _) = part["shape"], part["pads"]
    for y, x in product(*map(range, positions_of(part))):
        taps = product(*map(range, part["kernel"]))
        indices = [
            (
                y * part["stride"][0] - top + a * part["dilation"][0],
                x * part["stride"][1] - left + b * part["dilation"][1],
            )
            for a, b in taps
        ]
        yield [v * width + u if 0 <= v < height and 0 <= u < width else None for v, u in indices]


def _window_text(part: dict[str, Any]) -> str:
    """Return a window as used in fingerprints."""
    if "shape" not in part:
        return "None"
    keys = ("shape", "kernel", "stride", "dilation", "pads")
    return f"Window({', '.join(f'{key}={tuple(part[key])!r}' for key in keys)})"
