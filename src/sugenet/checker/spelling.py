"""Check that a `.sugenet` file follows docs/format.md, in its canonical form.

To be ensured: sizes, names, thresholds and geometry make a network. Every tensor is used exactly once, and
has the shape and type that the format requires. Parts that the checker does not use are checked only lightly:
notes are text, and the source, the seen values and the domain are not part of the network.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, inf, isfinite, isnan, prod
from re import ASCII, fullmatch
from typing import Any, TypeAlias

from sugenet.errors import FileError
from sugenet.visible import see_name, see_unicode, visible

__all__ = ["NEVER", "positions_of", "see", "see_network"]

NEVER = 1 << 31
"""A threshold of a staircase that is never reached."""
_Tensors: TypeAlias = dict[str, tuple["array[Any]", tuple[int, ...]]]
_WEIGHTS, _BITS = 1 << 27, 1 << 26
"""Largest number of weights of a network, and of bits of its encoder."""
_GEOMETRY = {"shape": (3, 1), "kernel": (2, 1), "stride": (2, 1), "dilation": (2, 1), "pads": (4, 0)}
"""The number of values of each field, and the smallest allowed value."""
_WINDOW = dict.fromkeys(_GEOMETRY, list)
_SIZES = {"inputs": int, "outputs": int}
_GROUPS = {"groups": int, "outputs": int}
_LAYERS: dict[str, dict[str, Any]] = {
    "dense": {**_SIZES, "weights": str, "marks": list},
    "level": {**_SIZES, "weights": str, "marks": list},
    "stairs": {**_SIZES, "steps": int, "reads": str, "weights": str},
    "real": {**_SIZES, "weights": str, "theta": list},
    "conv": {**_WINDOW, **_GROUPS, "top": object, "weights": str, "marks": list},
    "stairs conv": {**_WINDOW, **_GROUPS, "top": int, "pad": int, "steps": int, "weights": str},
    "real conv": {**_WINDOW, **_GROUPS, "weights": str, "theta": list},
    "pool": _WINDOW,
    "level pool": {**_WINDOW, "top": int},
    "sparse": {**_SIZES, "reads": int},
}
"""The fields of each kind of layer, in order."""
_CODINGS: dict[str, dict[str, Any]] = {
    "onehot": {"categories": list},
    "real": {"low": object, "high": object},
    "steps": {"cuts": int, "low": object, "high": object, "whole": bool, "bipolar": bool},
}
_HEAD = {**_SIZES, "weights": str, "bias": list, "scale": list}
_DOCUMENT = {
    "format": str,
    "version": int,
    "sha256": str,
    "fingerprint": str,
    "codings": list,
    "features": list,
    "layers": list,
    "head": dict,
    "classes": list,
    "notes": dict,
}
_MORE = {"source": dict, "seen": list, "domain": dict, "columns": dict}
_ROOM = {"level": 1 << 56, "level conv": 1 << 56, "real": 1 << 56, "real conv": 1 << 56, "head": 1 << 60}
"""Match counts stay below these bounds, otherwise below 2^31."""
_KEPT = (type(None), bool, int, float, str)
"""Types of categories."""


def see(truth: bool, why: str) -> None:
    """Refuse a file unless a condition is true."""
    if not truth:
        raise FileError(f"the network file is damaged: {why}.")


def positions_of(part: Mapping[str, Any]) -> tuple[int, int]:
    """Return the height and width of the output of a window."""
    (_, *sizes), (top, left, bottom, right) = part["shape"], part["pads"]
    rows = zip(
        sizes, (top + bottom, left + right), part["dilation"], part["kernel"], part["stride"], strict=True
    )
    height, width = ((size + pads - d * (k - 1) - 1) // s + 1 for size, pads, d, k, s in rows)
    return height, width


def see_network(
    document: dict[str, Any], tensors: _Tensors, rows: Callable[[str, str, int], list[list[int]]]
) -> None:
    """Check that a document and tensors are a network in canonical form; `rows` decodes weights."""
    _Spelled(document, tensors, rows).see_all()


def _version(document: Mapping[str, Any]) -> int:
    """Return the first version that can represent a document."""
    kinds = {part.get("kind") for part in document["layers"] if isinstance(part, dict)}
    source = document.get("source", {})
    if "sparse" in kinds:
        return 8
    if "columns" in document:
        return 7
    if kinds & {"real", "real conv"} or any(isinstance(source.get(end), list) for end in ("start", "step")):
        return 6
    if "seen" in document or "domain" in document:
        return 5
    if "top" in document["head"] or kinds & {"stairs", "stairs conv", "level pool"}:
        return 4
    return 3 if "source" in document else 1


def _see_fields(part: Any, kinds: Mapping[str, Any], what: str) -> None:
    """Check that a JSON object has exactly some fields, in order, of some types."""
    see(isinstance(part, dict) and list(part) == list(kinds), f"{what} has other fields than it must have")
    wrong = [key for key, kind in kinds.items() if kind is not object and type(part[key]) is not kind]
    see(not wrong, f"{what} has a field {', '.join(wrong)} of another type")


def _see_names(names: Sequence[Any], what: str) -> None:
    see(all(type(name) is str for name in names), f"a {what} is not text")
    for name in names:
        see_name(name, what, FileError)
    see(len({" ".join(name.split()) for name in names}) == len(names), f"a {what} occurs twice")


def _fractions(values: Sequence[Any], what: str) -> list[Fraction]:
    """Return exact numbers, after checking that they are in lowest terms."""
    for value in values:
        is_text = type(value) is str and fullmatch(r"-?[0-9]{1,4300}(/[0-9]{1,4300})?", value, ASCII)
        see(bool(is_text) and str(Fraction(value)) == value, f"{what} are not exact numbers in lowest terms")
    return list(map(Fraction, values))


def _end(value: Any) -> float:
    """Return a bound of a feature: a float, or infinity in its own notation."""
    if value in ({"float": "inf"}, {"float": "-inf"}):
        return float(value["float"])
    see(type(value) is float, "a bound of a feature is not a float")
    return float(value)


def _see_categories(categories: Sequence[Any]) -> None:
    """Check that categories differ, also as text, and that certificates can represent them."""
    known: list[str] = []
    for value in categories:
        see(
            type(value) in _KEPT and (type(value) is not float or isfinite(value)),
            "a category is not a value",
        )
        see(type(value) is not int or value.bit_length() <= 14_000, "a category has too many digits")
        if type(value) is str:
            see_name(value, "category", FileError)
        short = type(value) is float and value.is_integer() and abs(value) < 1e15
        known += {str(value), str(int(value)) if short else visible(str(value))}
    see(len(set(known)) == len(known) and len(set(categories)) == len(categories) > 0, "categories are alike")


def _see_padding(octets: Sequence[int], width: int) -> None:
    """Check that the padding bits at the end of every row are 0."""
    last = octets[-(-width // 8) - 1 :: -(-width // 8)] if width % 8 else ()
    see(all(octet < 1 << width % 8 for octet in last), "there are bits after the last of a row")


class _Spelled:
    def __init__(
        self, document: dict[str, Any], tensors: _Tensors, rows: Callable[[str, str, int], list[list[int]]]
    ) -> None:
        self.document, self.tensors, self.rows = document, tensors, rows
        self.used, self.size = set[str](), 0

    def see_all(self) -> None:
        """Check everything, from the document to the last tensor."""
        document = self.document
        _see_fields(document, _DOCUMENT | {k: v for k, v in _MORE.items() if k in document}, "the document")
        is_known = document["format"] == "sugenet" and document["version"] == _version(document)
        see(is_known, "its version does not match its content")
        for name, text in document["notes"].items():
            see(type(text) is str, "a note is not text")
            see_unicode(f"{name}: {text}", "note", FileError)
        count, top = self._encoder(), None
        for number, part in enumerate(document["layers"], start=1):
            count, top = self._layer(f"layer{number}", part, count, top, is_first=number == 1)
        self._head(document["head"], count, top)
        _see_names(document["classes"], "class name")
        see(self.used == set(self.tensors), "a tensor is there that nothing uses")

    def tensor(self, name: str, code: str | None, *shapes: tuple[int, ...]) -> list[Any]:
        """Return the numbers of a tensor with one of some shapes and a type; None means the smallest type."""
        see(name in self.tensors, f"the tensor {name} is missing")
        numbers, shape = self.tensors[name]
        self.used.add(name)
        low, high = (min(numbers, default=0), max(numbers, default=0)) if code is None else (0, 0)
        sizes = {"b": 1 << 7, "h": 1 << 15, "i": 1 << 31, "q": 1 << 63}
        code = code or next(key for key, end in sizes.items() if -end <= low and high < end)
        see(numbers.typecode == code and shape in shapes, f"the tensor {name} has another type or shape")
        return numbers.tolist()

    def _grow(self, more: int) -> None:
        self.size += more
        see(self.size <= _WEIGHTS, "the network has too many weights")

    # -- features and head -----------------------------------------------------------------------------------

    def _encoder(self) -> int:
        """Check the features; return their number of bits."""
        entries, features = self.document["codings"], self.document["features"]
        cuts = self.tensor("cuts", "d", (len(self.tensors["cuts"][0]),))
        spelled, widths = set(), list[int]()
        for entry in entries:
            kind = entry.get("kind") if isinstance(entry, dict) else None
            see(type(kind) is str and kind in _CODINGS, "a coding is of an unknown kind")
            _see_fields(entry, {"kind": str, **_CODINGS[str(kind)]}, "a coding")
            n_cuts = entry.get("cuts", 0)
            see(0 <= n_cuts <= len(cuts), "a coding has more cuts than there are")
            numbers, cuts = cuts[:n_cuts], cuts[n_cuts:]
            spelled.add(str((entry, numbers)))
            if kind == "onehot":
                _see_categories(entry["categories"])
            else:
                _see_range(
                    _end(entry["low"]), _end(entry["high"]), numbers, is_whole=entry.get("whole", False)
                )
            widths.append(len(entry["categories"]) if kind == "onehot" else n_cuts)
        see(not cuts and len(spelled) == len(entries), "a coding occurs twice, or cuts are left over")
        for one in features:
            is_pair = type(one) is list and [type(part) for part in one] == [str, int]
            see(is_pair and 0 <= one[1] < len(entries), "a feature is not a name and the index of a coding")
        _see_names([name for name, _ in features], "feature name")
        numbers = [number for _, number in features]
        see(
            list(dict.fromkeys(numbers)) == list(range(len(entries))),
            "codings are not in the order of first use",
        )
        kinds = [entries[number]["kind"] for number in numbers]
        self.is_real = bool(kinds) and set(kinds) == {"real"}
        self.tops = None if "onehot" in kinds else [widths[number] for number in numbers]
        """The largest level of each feature; None if one has categories."""
        see(sum(widths[number] for number in numbers) <= _BITS, "the features have too many bits")
        return sum(widths[number] for number in numbers)

    def _head(self, head: Any, count: int, top: int | None) -> None:
        _see_fields(head, {**_HEAD, "top": int} if "top" in head else _HEAD, "the head")
        see(head["inputs"] == count, f"the head reads {head['inputs']} values of {count}")
        expected_top = (top or 1) if count else 1
        fits = head["top"] == expected_top if "top" in head else top is None
        see(fits, "the top of the head does not match the layers")
        self._grow(head["inputs"] * head["outputs"])
        self._weights("head", head, count, [head.get("top", 1)] * count, _ROOM["head"])
        bias, scale = (_fractions(head[key], f"{key} of the head") for key in ("bias", "scale"))
        sizes = {len(bias), len(scale), head["outputs"], len(self.document["classes"])}
        see(len(sizes) == 1 and sizes != {0}, "the classes do not fit the head")
        see(min(scale) >= 0, "a scale is negative")

    # -- layers ----------------------------------------------------------------------------------------------

    def _layer(
        self, name: str, part: Any, count: int, top: int | None, *, is_first: bool
    ) -> tuple[int, int | None]:
        """Check a layer; return the number of its outputs and their largest level, None for bits.

        `count` and `top` are those of its inputs.
        """
        kind = part.get("kind") if isinstance(part, dict) else None
        see(type(kind) is str and kind in _LAYERS, f"{name} is of an unknown kind")
        _see_fields(part, {"kind": str, **_LAYERS[str(kind)]}, name)
        counts = [part[key] for key in ("inputs", "outputs", "steps", "groups") if key in part]
        see(all(0 <= value < 1 << 31 for value in counts), f"{name} has a size that is out of range")
        if kind == "sparse":
            return self._sparse(name, part, count, top)
        positions = self._geometry(name, part) if "shape" in part else 1
        if "shape" not in part:
            self._grow(part["outputs"] * (part["inputs"] + part.get("steps", 0)))
        tops = self._read(name, part, count, top, is_first=is_first)
        if kind in ("pool", "level pool"):
            channels = part["shape"][0]
            _see_padding(self.tensor(f"{name}.every", "B", (-(-channels // 8),)), channels)
            return channels * positions, part.get("top")
        width = (
            part["shape"][0] // part["groups"] * prod(part["kernel"]) if "shape" in part else part["inputs"]
        )
        wide = "level conv" if kind == "conv" and part["top"] is not None else part["kind"]
        input_tops = [part["top"] or 0] * width if part.get("top") is not None else tops or [1] * width
        rows = self._weights(
            name,
            part,
            width,
            [1] * width if self.is_real and is_first else input_tops,
            _ROOM.get(wide, 1 << 31),
        )
        self._thresholds(name, part, rows, input_tops, positions)
        marks = part.get("marks", [])
        see(marks in ([], ["flipped"], ["ties"], ["flipped", "ties"]), f"{name} has unknown marks")
        for mark in marks:
            _see_padding(self.tensor(f"{name}.{mark}", "B", (-(-part["outputs"] // 8),)), part["outputs"])
        return part["outputs"] * positions, part.get("steps")

    def _sparse(self, name: str, part: dict[str, Any], count: int, top: int | None) -> tuple[int, int | None]:
        """Check a layer whose neurons list the inputs that they read; return the number of its outputs."""
        inputs, outputs, width = part["inputs"], part["outputs"], part["reads"]
        see(inputs == count and top is None, f"{name} reads {inputs} values of {count}")
        see(0 <= width <= inputs, f"{name} reads too many inputs")
        self._grow(2 * outputs * width)
        shape = (outputs, width)
        reads, weights = (self.tensor(f"{name}.{one}", None, shape) for one in ("reads", "weights"))
        self._thresholds(name, part, [], [], 1)
        widest = 0
        for j in range(0, outputs * width, max(1, width)):
            row = weights[j : j + width]
            used = width - row.count(0)
            listed = reads[j : j + used]
            widest = max(widest, used)
            see(0 not in row[:used], f"{name} has unused places between others")
            see(not any(reads[j + used : j + width]), f"{name} has unused places that are not 0")
            see(all(a < b for a, b in pairwise(listed)), f"{name} reads inputs that do not rise")
            see(not listed or (listed[0] >= 0 and listed[-1] < inputs), f"{name} reads an unknown input")
            see(sum(map(abs, row)) < 1 << 31, f"weights of {name} are too large")
        see(widest == width, f"{name} has a place that no neuron uses")
        return outputs, None

    def _geometry(self, name: str, part: dict[str, Any]) -> int:
        """Check that a window fits; return the number of its positions."""
        for key, (length, lower) in _GEOMETRY.items():
            fits = all(type(value) is int and lower <= value < 1 << 16 for value in part[key])
            see(len(part[key]) == length and fits, f"{name} has a {key} that is out of range")
        channels, *sizes = part["shape"]
        indices, taps = prod(size + sum(part["pads"]) for size in sizes), prod(part["kernel"])
        outputs, more = part.get("outputs", 0), prod(part["shape"])
        if "outputs" in part:
            more = outputs * (channels * taps + part.get("steps", indices))
        self._grow(indices * taps + more)
        see(min(positions_of(part)) > 0, f"the window of {name} does not fit")
        see(
            part.get("top") is None or (type(part["top"]) is int and 0 <= part["top"] < 1 << 20),
            f"{name} has a top out of range",
        )
        if "groups" in part:
            groups = part["groups"]
            fits = groups > 0 and outputs > 0 and channels % groups == 0 == outputs % groups
            see(fits, f"the groups of {name} do not divide its channels")
            see("pad" not in part or 0 <= part["pad"] <= part["top"], f"{name} has a pad out of range")
        else:
            see(part.get("top", 1) > 0, f"{name} has a top out of range")
            for axis, size in enumerate(sizes):  # at least one tap of each position is inside
                step, pad = part["stride"][axis], part["pads"][axis]
                taps_of = [part["dilation"][axis] * k - pad for k in range(part["kernel"][axis])]
                starts = range(0, positions_of(part)[axis] * step, step)
                see(
                    all(any(0 <= start + tap < size for tap in taps_of) for start in starts),
                    f"{name} pools padding alone",
                )
        return prod(positions_of(part))

    def _read(
        self, name: str, part: dict[str, Any], count: int, top: int | None, *, is_first: bool
    ) -> list[int] | None:
        """Check the inputs of a layer; return their largest levels, None for bits."""
        kind, inputs = part["kind"], prod(part["shape"]) if "shape" in part else part["inputs"]
        see(
            (kind in ("real", "real conv")) == (is_first and self.is_real),
            f"{name} and real numbers do not go together",
        )
        see(part.get("reads", "bits") in ("bits", "levels"), f"{name} reads something unknown")
        reads_levels = kind in ("level", "stairs") or part.get("top") is not None
        if is_first and (self.is_real or (reads_levels and part.get("reads") != "bits")):
            see(
                self.tops is not None and inputs == len(self.tops),
                f"{name} reads {inputs} values, not all features",
            )
            see(
                part.get("top") is None or set(self.tops or ()) <= {part["top"]},
                f"{name} reads other levels than features have",
            )
            return self.tops
        see(inputs == count, f"{name} reads {inputs} values of {count}")
        if is_first:
            see(
                part.get("reads") is None or self.tops != [1] * inputs,
                f"{name} reads levels, and calls them bits",
            )
            return None
        see(part.get("reads", "levels") == "levels", f"{name} reads bits, which are not there")
        see(part.get("top", top or 1) in (None, top or 1), f"{name} reads other levels than there are")
        see(reads_levels or top is None, f"{name} reads bits, and there are levels")
        return [top or 1] * inputs if reads_levels else None

    def _weights(
        self, name: str, part: dict[str, Any], width: int, tops: Sequence[int], limit: int
    ) -> list[list[int]]:
        """Return rows of weights in their shortest form, after checking that match counts stay
        below a limit.
        """
        form, count, octets = part["weights"], part["outputs"], -(-width // 8)
        planes: list[list[int]] = []
        if form == "integer":
            self.tensor(f"{name}.weights", None, (count, width))
        else:
            see(form in ("binary", "ternary"), f"{name} has weights of an unknown form")
            suffixes = ["positive"] if form == "binary" else ["positive", "nonzero"]
            planes = [self.tensor(f"{name}.{suffix}", "B", (count, octets)) for suffix in suffixes]
            for plane in planes:
                _see_padding(plane, width)
            see(
                all(p & ~n == 0 for p, n in zip(planes[0], planes[-1], strict=True)),
                f"{name} has positive weights of 0",
            )
        rows = self.rows(name, form, width)
        largest, smallest = (
            end((end(abs(w) for w in row) for row in rows if row), default=1) for end in (max, min)
        )
        see(
            form == ("integer" if largest > 1 else "binary" if smallest else "ternary"),
            f"{name} has weights of another form",
        )
        max_sum = max((sum(abs(w) * t for w, t in zip(row, tops, strict=True)) for row in rows), default=0)
        max_sum = max([max_sum, *(sum(map(abs, row)) for row in rows)]) if "theta" not in part else largest
        see(max_sum < limit, f"weights of {name} are too large")
        return rows

    def _thresholds(
        self, name: str, part: dict[str, Any], rows: list[list[int]], tops: Sequence[int], positions: int
    ) -> None:
        count = part["outputs"]
        if "steps" in part:
            steps = self.tensor(
                f"{name}.{'tau' if part['kind'] == 'stairs' else 'steps'}", None, (count, part["steps"])
            )
            see(part["steps"] > 0, f"{name} has no steps")
            for j, row in enumerate(rows):
                neuron_steps = steps[j * part["steps"] : (j + 1) * part["steps"]]
                low, high = (sum(end(w, 0) * t for w, t in zip(row, tops, strict=True)) for end in (min, max))
                low, high = (0, high - low) if part["kind"] == "stairs" else (low, high)
                see(
                    all(a <= b for a, b in pairwise(neuron_steps)),
                    f"the thresholds of a neuron of {name} do not rise",
                )
                see(
                    all(s == NEVER or low <= s <= high for s in neuron_steps),
                    f"{name} has a threshold that is spelled otherwise",
                )
            return
        shapes = [(count,), *([(count, positions)] if "shape" in part else [])]
        key = "theta" if "theta" in part else "tau"
        numbers = self.tensor(f"{name}.{key}", None, *shapes)
        if len(self.tensors[f"{name}.{key}"][1]) == 2:
            alike = all(numbers[k] == numbers[k // positions * positions] for k in range(len(numbers)))
            see(not alike, f"{name} has one threshold per channel, spelled as many")
        if key == "tau":
            see(all(abs(tau) <= 1 << 62 for tau in numbers), f"{name} has a threshold that is out of range")
            return
        see(
            all(type(pair) is list and len(pair) == 2 for pair in part["theta"]),
            f"{name} has a theta that is not a pair",
        )
        ends = [_fractions(pair, f"thresholds of {name}") for pair in part["theta"]]
        see(all(low <= high for low, high in ends), f"{name} has an empty theta")
        see(
            list(dict.fromkeys(numbers)) == list(range(len(ends))),
            f"{name} has thetas in another order, or unused",
        )
        see(len({tuple(pair) for pair in ends}) == len(ends), f"{name} has a theta twice")


def _see_range(low: float, high: float, cuts: Sequence[float], *, is_whole: bool) -> None:
    """Check that a feature has values, and that its cuts rise."""
    see("-0.0" not in map(str, (low, high, *cuts)), "a bound or cut is -0")
    see(
        not any(map(isnan, cuts)) and all(a < b for a, b in pairwise(cuts)),
        "cuts of a feature do not rise",
    )
    if is_whole:
        low, high = low if abs(low) == inf else ceil(low), high if abs(high) == inf else floor(high)
    see(low <= high and low < inf and high > -inf, "a feature has no values")
