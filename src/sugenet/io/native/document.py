"""Convert a network to a document (JSON) and tensors, and back: the contents of a `.sugenet` file.

See docs/format.md. Every network has exactly one representation, and reading refuses any other. A document is
not trusted: each size is compared with the tensor that it describes before an array is created.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from sugenet.errors import FileError, SugenetError
from sugenet.io.native.container import Document, Tensors, canonical
from sugenet.io.native.layer_document import (
    fields,
    fractions,
    layer_in,
    layer_out,
    layer_size,
    tensor,
    weights_in,
    weights_out,
)
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.nn import (
    Coding,
    Columns,
    Domain,
    Encoder,
    Head,
    Layer,
    Network,
    OneHot,
    Preparation,
    Real,
    Source,
    Steps,
)
from sugenet.nn.domain import span_data, span_of

__all__ = ["from_document", "to_document"]

_MAX_WEIGHTS = 1 << 27
"""Maximum number of weights of all layers: each takes 8 bytes in memory, and as little as one bit in a
file.
"""
_MAX_BITS = 1 << 26
"""Maximum number of bits of the encoder: many features can share one coding, so a short file could have
many.
"""
_MAX_INTEGER = 10**4300
"""Python reads and writes integers of up to 4300 digits."""


def to_document(network: Network) -> tuple[Document, Tensors]:
    """Return the document and the tensors that represent a network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer
    >>> net = Network.of_bits([DenseLayer([[+1, -1, +1]], tau=[2])], Head([[+1], [-1]], bias=[0, 0.5]))
    >>> document, tensors = to_document(net)
    >>> document["layers"], document["head"]["bias"]
    ([{'kind': 'dense', 'inputs': 3, 'outputs': 1, 'weights': 'binary', 'marks': []}], ['0', '1/2'])
    >>> tensors["layer1.positive"], tensors["layer1.tau"]
    (array([[5]], dtype=uint8), array([2], dtype=int8))
    """
    head = network.head
    tensors: Tensors = {}
    _check_sizes(bits=network.encoder.width)
    encoder = _encoder_out(network.encoder, tensors)
    layers = [
        layer_out(f"layer{number}", layer, tensors, reads_levels=number > 1 or network.reads_levels)
        for number, layer in enumerate(network.layers, start=1)
    ]
    _check_sizes(weights=sum(layer_size(entry, "a layer") for entry in layers) + head.inputs * head.outputs)
    document = {
        "fingerprint": _fingerprint(network),
        **encoder,
        "layers": layers,
        "head": {
            "inputs": head.inputs,
            "outputs": head.outputs,
            "weights": weights_out("head", head.weights, tensors),
            "bias": [str(value) for value in head.bias],
            "scale": [str(value) for value in head.scale],
            **({} if head.tops is None else {"top": int(head.tops.max(initial=1))}),
        },
        "classes": list(network.classes),
        "notes": dict(network.notes),
        **_source_out(network),
        **({} if network.encoder.seen is None else {"seen": _seen_out(network.encoder)}),
        **({"domain": network.domain.data()} if network.domain else {}),
        **({} if network.encoder.columns is None else {"columns": network.encoder.columns.data()}),
    }
    return document, tensors


def from_document(document: Document, tensors: Tensors) -> Network:
    """Return the network of a document and its tensors.

    Raise `FileError` unless they are exactly the result of `to_document` for it.
    """
    kinds = {
        "fingerprint": str,
        "codings": list,
        "features": list,
        "layers": list,
        "head": dict,
        "classes": list,
        "notes": dict,
    }
    optional = {"source": dict, "seen": list, "domain": dict, "columns": dict}
    kinds |= {name: kind for name, kind in optional.items() if name in document}
    parts = fields(document, "the document", **kinds)
    try:
        shape, source = _source_in(parts.get("source"))
        encoder = _encoder_in(parts["codings"], parts["features"], shape, tensors)
        encoder = _columns_in(parts.get("columns"), _seen_in(parts.get("seen"), encoder))
        domain = Domain.of(parts["domain"], encoder) if "domain" in parts else None
        layers, head = _chain_in(parts["layers"], parts["head"], encoder, tensors)
        classes, notes = _texts(parts["classes"], "classes"), parts["notes"]
        refuse_if(not all(isinstance(value, str) for value in notes.values()), "notes must be text.")
        network = Network(encoder, layers, head, classes, notes, source, domain)
    except FileError:
        raise
    except SugenetError as error:
        raise FileError(f"its contents are not a network: {str(error)[:400]}") from error
    except (TypeError, ValueError, ArithmeticError) as error:  # from unchecked inputs that can occur
        raise FileError(f"its description of the inputs cannot be read: {str(error)[:200]}") from error
    refuse_if(
        network.fingerprint != parts["fingerprint"],
        f"the network in it has the fingerprint {network.fingerprint}, "
        f"not {parts['fingerprint'][:64]} as it states.",
    )
    refuse_if(
        not _same(to_document(network), (document, tensors)),
        "it spells its network in another way than sugenet does.",
    )
    return network


def _same(one: tuple[Document, Tensors], other: tuple[Document, Tensors]) -> bool:
    if canonical(one[0]) != canonical(other[0]) or one[1].keys() != other[1].keys():
        return False
    pairs = [(array, other[1][name]) for name, array in one[1].items()]
    return all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)


def _fingerprint(network: Network) -> str:
    try:
        return network.fingerprint
    except SugenetError:
        raise
    except ValueError as error:  # Python does not write integers of more than 4300 digits
        raise FileError(f"a number of the network cannot be written: {error}.") from None


# -- encoder -------------------------------------------------------------------------------------------------


def _encoder_out(encoder: Encoder, tensors: Tensors) -> Document:
    """Write equal codings once; features refer to them by index.

    784 pixels share one list of 255 cuts.
    """
    number_of: dict[int, int] = {}  # by identity first: codings are often one long object, used many times
    known: dict[tuple[str, bytes], int] = {}
    entries: list[Document] = []
    cuts: list[float] = []
    features: list[list[Any]] = []
    for name, coding in zip(encoder.names, encoder.codings, strict=True):
        if id(coding) not in number_of:
            entry = _coding_out(coding, f"feature {name!r}")
            coding_cuts = coding.cuts if isinstance(coding, Steps) else ()
            key = canonical(entry), np.array(coding_cuts, "<f8").tobytes()
            if key not in known:
                known[key] = len(entries)
                entries.append(entry)
                cuts += coding_cuts
            number_of[id(coding)] = known[key]
        features.append([name, number_of[id(coding)]])
    tensors["cuts"] = np.array(cuts, np.float64)
    return {"codings": entries, "features": features}


def _coding_out(coding: Coding, what: str) -> Document:
    if isinstance(coding, OneHot):
        return {
            "kind": "onehot",
            "categories": [_scalar_out(value, f"{what}: the category") for value in coding.categories],
        }
    if isinstance(coding, Real):
        ends = {name: _scalar_out(getattr(coding, name), f"{what}: {name}") for name in ("low", "high")}
        return {"kind": "real", **ends}
    if not isinstance(coding, Steps):
        raise FileError(
            f"{what} has a coding of type {type(coding).__name__}, but the format holds Steps, Real and "
            "OneHot."
        )
    refuse_if(
        coding.silent,
        f"{what} has silent cuts, as networks made for laws have them, and the format holds none. Save "
        "the network itself: its laws are stored as its domain.",
    )
    entry: Document = {"kind": "steps", "cuts": len(coding.cuts)}
    for name, kinds in (
        ("low", (int, float)),
        ("high", (int, float)),
        ("whole", (bool,)),
        ("bipolar", (bool,)),
    ):
        value = getattr(coding, name)
        if type(value) not in kinds:
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise FileError(
                f"{what}: {name} is {value!r} of type {type(value).__name__}. Give a plain {wanted}."
            )
        entry[name] = _scalar_out(value, f"{what}: {name}")
    return entry


def _scalar_out(value: Any, what: str) -> Any:
    """Check a scalar: JSON has text, integers, floats, booleans and null, but no infinity."""
    if type(value) not in (str, int, float, bool, type(None)) or (isinstance(value, float) and isnan(value)):
        raise FileError(
            f"{what} {value!r} has type {type(value).__name__}, but the format holds text, integers, "
            "floats except NaN, truth values and None. Give plain Python values: array.tolist() makes them."
        )
    refuse_if(
        isinstance(value, int) and abs(value) >= _MAX_INTEGER,
        f"{what} is an integer of more than 4300 digits. Give a shorter one.",
    )
    return value if not isinstance(value, float) or isfinite(value) else {"float": str(value)}


def _scalar_in(value: Any, what: str) -> Any:
    if isinstance(value, dict):
        refuse_if(
            value not in ({"float": "inf"}, {"float": "-inf"}),
            f"{what} is {str(value)[:80]}, but the only such value is an infinite float.",
        )
        return inf if value["float"] == "inf" else -inf
    refuse_if(isinstance(value, list), f"{what} is a list, but one value is needed.")
    return value


def _encoder_in(
    entries: list[Any], features: list[Any], shape: list[int] | None, tensors: Tensors
) -> Encoder:
    for entry in features:
        refuse_if(
            not (
                isinstance(entry, list)
                and [type(part) for part in entry] == [str, int]
                and 0 <= entry[1] < len(entries)
            ),
            f"feature {str(entry)[:80]} is not a name and the number of one of the {len(entries)} codings.",
        )
    names = _texts([name for name, _ in features], "feature names")
    counts = [entry["cuts"] if isinstance(entry, dict) and "cuts" in entry else 0 for entry in entries]
    refuse_if(
        not all(type(count) is int and count >= 0 for count in counts),
        "the number of cuts of a coding is not an integer from 0.",
    )
    cuts = tensor(tensors, "cuts", ("float64",), (sum(counts),)).tolist()
    starts = [0, *accumulate(counts)]
    codings = [
        _coding_in(entry, cuts[starts[k] : starts[k + 1]], f"coding {k}") for k, entry in enumerate(entries)
    ]
    _check_sizes(bits=sum(codings[index].width for _, index in features))
    return Encoder([codings[index] for _, index in features], names, shape)


def _coding_in(entry: Any, cuts: list[float], what: str) -> Coding:
    if isinstance(entry, dict) and entry.get("kind") == "onehot":
        categories = fields(entry, what, kind=str, categories=list)["categories"]
        return OneHot(tuple(_scalar_in(value, f"{what}: a category") for value in categories))
    real = isinstance(entry, dict) and entry.get("kind") == "real"
    ends: dict[str, type] = {"low": object, "high": object}
    steps: dict[str, type] = {"cuts": int, **ends, "whole": bool, "bipolar": bool}
    parts = fields(entry, what, kind=str, **(ends if real else steps))
    low, high = (_scalar_in(parts[end], f"{what}: {end}") for end in ("low", "high"))
    known = parts["kind"] in ("steps", "real")
    refuse_if(
        not known or type(low) not in (int, float) or type(high) not in (int, float),
        f"{what} must be 'onehot', or 'steps' or 'real' between two numbers.",
    )
    if real:
        return Real(low=low, high=high)
    return Steps(tuple(cuts), low, high, parts["whole"], parts["bipolar"])


# -- source --------------------------------------------------------------------------------------------------


def _source_out(network: Network) -> Document:
    """Write the description of the source; empty if samples are flat and its numbers are the network's
    own.
    """
    source, shape = network.source, network.encoder.shape
    if source == Source() and shape is None:
        return {}
    return {
        "source": {
            "shape": None if shape is None else list(shape),
            **{
                name: [str(value) for value in entry] if isinstance(entry, tuple) else str(entry)
                for name, entry in (("start", source.start), ("step", source.step))
            },
            "outputs": source.outputs,
            "remark": source.remark,
        }
    }


def _source_in(entry: Any) -> tuple[list[int] | None, Source]:
    if entry is None:
        return None, Source()
    parts = fields(entry, "source", shape=object, start=object, step=object, outputs=str, remark=str)
    shape = parts["shape"]
    refuse_if(
        shape is not None
        and not (isinstance(shape, list) and all(type(size) is int and 0 < size < 1 << 31 for size in shape)),
        "the shape of the source must be null or integers from 1.",
    )
    start, step = (_number_or_row(parts[name]) for name in ("start", "step"))
    return shape, Source(start, step, parts["outputs"], parts["remark"])


def _number_or_row(entry: Any) -> Any:
    row = _fractions(entry if isinstance(entry, list) else [entry], "start and step of the source")
    return tuple(row) if isinstance(entry, list) else row[0]


# -- inputs that can occur -----------------------------------------------------------------------------------


def _seen_out(encoder: Encoder) -> list[Any]:
    """Write what was seen of each feature; equal entries are written once, and referred to by index."""
    number_of: dict[str, int] = {}
    entries: list[Any] = []
    for name, span in zip(encoder.names, encoder.seen or (), strict=True):
        for value in (span.low, span.high, *(span.values or ())):
            if not isinstance(value, Fraction):
                _scalar_out(value, f"feature {name!r}: what was seen,")
        entries.append(span_data(span))
    keys = [canonical({"seen": entry}) for entry in entries]
    indices = [number_of.setdefault(key, len(number_of)) for key in keys]
    return [list(dict(zip(keys, entries, strict=True)).values()), indices]


def _seen_in(entry: Any, encoder: Encoder) -> Encoder:
    if entry is None:
        return encoder
    refuse_if(
        not (len(entry) == 2 and all(isinstance(part, list) for part in entry)),
        "what was seen in training is a list of limits, and the number of each feature's.",
    )
    entries, indices = entry
    refuse_if(
        len(indices) != encoder.features
        or not all(type(k) is int and 0 <= k < len(entries) for k in indices),
        "what was seen in training does not fit the features.",
    )
    spans = [span_of(entries[k], coding) for k, coding in zip(indices, encoder.codings, strict=True)]
    return replace(encoder, seen=tuple(spans))


def _columns_in(entry: Any, encoder: Encoder) -> Encoder:
    if entry is None:
        return encoder
    parts = fields(entry, "columns", names=list, features=list)
    names, features = _texts(parts["names"], "names of columns"), []
    for feature in parts["features"]:
        how = fields(feature, "a feature of columns", columns=list, how=str, fill=object, cuts=list)
        refuse_if(
            not all(type(k) is int and 0 <= k < len(names) for k in how["columns"]),
            f"a feature is read from the columns {str(how['columns'])[:80]}, but there are {len(names)}.",
        )
        features.append(Preparation(**how | {"columns": tuple(names[k] for k in how["columns"])}))
    return replace(encoder, columns=Columns(tuple(names), tuple(features)))


# -- layers and head -----------------------------------------------------------------------------------------


def _chain_in(entries: list[Any], last: Any, encoder: Encoder, tensors: Tensors) -> tuple[list[Layer], Head]:
    sizes = [layer_size(entry, f"layer {k}") for k, entry in enumerate(entries, start=1)]
    optional = {"top": int} if isinstance(last, dict) and "top" in last else {}
    end = fields(last, "the head", bias=list, scale=list, inputs=int, outputs=int, weights=str, **optional)
    refuse_if(
        not all(0 <= end[key] < 1 << 31 for key in ("inputs", "outputs")),
        "the head has a number of inputs or outputs that is not in 0..2^31-1.",
    )
    _check_sizes(weights=sum(sizes) + end["inputs"] * end["outputs"])
    layers: list[Layer] = []
    tops = encoder.tops
    for k, entry in enumerate(entries, start=1):
        layers.append(layer_in(f"layer{k}", entry, tops, tensors))
        tops = (layers[-1].max_level or 1,) * layers[-1].outputs
    rows = weights_in("head", end, tensors)
    bias, scale = (_fractions(end[key], f"{key} of the head") for key in ("bias", "scale"))
    return layers, Head(rows, bias, scale, [end["top"]] * end["inputs"] if "top" in end else None)


def _fractions(values: list[Any], what: str) -> list[Fraction]:
    return required(fractions(values), f"{what} must be exact numbers, written as '3' or '-1/2'.")


# -- small parts ---------------------------------------------------------------------------------------------


def _check_sizes(bits: int = 0, weights: int = 0) -> None:
    for count, limit, what in ((bits, _MAX_BITS, "bits of the encoder"), (weights, _MAX_WEIGHTS, "weights")):
        refuse_if(count > limit, f"it has {count} {what}, but a file may hold {limit} of them.")


def _texts(values: list[Any], what: str) -> list[str]:
    refuse_if(
        not all(isinstance(value, str) for value in values) or len(set(values)) < len(values),
        f"{what} must be text, each a different one.",
    )
    return values
