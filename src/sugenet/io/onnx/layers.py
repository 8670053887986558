"""Read the layers of an ONNX graph: matrix products, convolutions, pooling and padding."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, AveragePool, Branches, Convolution, LinearOp, MaxPool, Pad
from sugenet.io.onnx.flow import MAX_VALUES, Axis, Flow, new_axis, shape_of
from sugenet.io.onnx.fold import sliced
from sugenet.io.onnx.graph import Array, Node
from sugenet.io.onnx.operators import axes_of, axis_within, integers, reduced_axes
from sugenet.io.onnx.values import WindowRows, joined
from sugenet.io.plain.refusals import refuse_if

__all__ = [
    "concatenated",
    "convolution",
    "gathered",
    "gemm",
    "linear",
    "padded",
    "patches",
    "pooled",
    "reduced",
    "sliced_channels",
]

_MAX_STEP = 1 << 20
_MAX_TAPS = 1 << 22
"""Largest product of the number of positions of a window and its size."""
_MAX_ROWS = 1 << 23
"""Largest number of weights for picking features."""


def linear(node: Node, flow: Flow | WindowRows, weights: Array) -> Flow:
    """Read ``x @ weights`` over the last axis: a linear layer, or a convolution of single pixels."""
    _finite(weights)
    refuse_if(weights.ndim != 2, f"its weights have shape {weights.shape}, but (inputs, outputs) is needed.")
    if isinstance(flow, WindowRows):
        return _of_patches(node, flow, weights)
    refuse_if(
        flow.sizes[-1] != len(weights), f"its weights have {len(weights)} rows for {flow.sizes[-1]} inputs."
    )
    if flow.kind != "flat" and sorted(map(id, flow.axes[-1])) != sorted(map(id, flow.inner)):
        return _pixelwise(node, flow, weights)
    flat, indices = flow.permuted_features(-1, str(node))
    rows = weights.T
    if indices is not None:
        rows = np.empty_like(rows)
        rows[:, indices] = weights.T
    return _linear(flat, len(flow.axes) - 1, rows, str(node))


def _linear(flow: Flow, axis: int, weights: Array, where: str) -> Flow:
    """Return a linear layer on flat features along one axis; weights have the shape (outputs, inputs)."""
    after = new_axis(len(weights))
    axes = tuple(after if number == axis else pieces for number, pieces in enumerate(flow.axes))
    return replace(
        flow.then(LinearOp(where, np.ascontiguousarray(weights))),
        axes=axes,
        parts=(after,),
        dtype=_real_type(weights),
        whole=flow.whole and _is_integer(weights),
    )


def _pixelwise(node: Node, flow: Flow, weights: Array) -> Flow:
    """Read a matrix product over the channels of maps: a convolution of single pixels.

    The pixels may be on one axis or two.
    """
    rank = len(flow.axes)
    if flow.kind == "raw" and rank in (3, 4):
        turned = (0, rank - 1, *range(1, rank - 1))
        flow = flow.transposed(turned).maps(rank - 2).transposed([turned.index(axis) for axis in range(rank)])
    refuse_if(
        flow.kind != "maps"
        or flow.axes[-1] != flow.parts[0]
        or flow.inner != (*flow.parts[1], *flow.parts[2], *flow.parts[0]),
        f"its last axis of {flow.sizes[-1]} does not hold all values of a sample, nor the channels of each "
        "pixel. Flatten before it, transpose the channels to the end, or read the module with from_torch.",
    )
    after = new_axis(weights.shape[1])
    op = Convolution(str(node), np.ascontiguousarray(weights.T)[:, :, None, None])
    return replace(
        flow.then(op),
        axes=(*flow.axes[:-1], after),
        parts=(after, *flow.parts[1:]),
        dtype=_real_type(weights),
        whole=flow.whole and _is_integer(weights),
    )


def gemm(node: Node, flow: Flow, weights: Array, bias: Array | None) -> Flow:
    """Read ``alpha * x @ weights + beta * bias`` with either transposed."""
    refuse_if(
        len(flow.axes) != 2 or weights.ndim != 2,
        f"it multiplies data with {len(flow.axes)} axes and weights with {weights.ndim}, but both need two.",
    )
    if node.attributes["transA"]:
        flow = flow.transposed((1, 0))
    alpha, beta = (np.asarray(node.attributes[key], np.float32) for key in ("alpha", "beta"))
    product = linear(node, flow, weights.T if node.attributes["transB"] else weights)
    if bias is None and alpha == 1:
        return product
    where, is_integer = str(node), product.whole and alpha == 1
    shift = np.zeros((), np.float32)
    if bias is not None:
        refuse_if(
            bias.ndim > 2 or not bias.size,
            f"its C has shape {bias.shape}, but up to two axes that fit data times weights are needed.",
        )
        product, (shift,) = product.beside([_finite(bias)], where)
        is_integer = is_integer and beta == 1 and _is_integer(shift)
    op = product.link.op
    if alpha == 1 and beta == 1 and isinstance(op, LinearOp):
        before = product.link.before
        assert before is not None
        row = np.ascontiguousarray(np.broadcast_to(shift, len(op.weights)))
        return replace(product, link=before.then(LinearOp(op.where, op.weights, row)), whole=is_integer)
    # exact in float64
    scaled = shift * beta if beta == 1 else np.asarray(shift, np.float64) * np.float64(beta)
    return replace(product.then(Affine(where, alpha, scaled)), whole=is_integer)


def _by_channel(flow: Flow, axis: int, where: str) -> Flow:
    """Check that an axis holds the channels of maps, or all features."""
    if flow.kind == "maps" or (flow.kind == "raw" and len(flow.axes) > 2):
        flow = flow.maps(len(flow.axes) - 2)
        refuse_if(axis != 1, f"axis {axis} of {shape_of(flow.sizes)} is not that of the channels.")
        return flow
    return flow.features(axis, where)


def _placed(
    flow: Flow, axis: int, channels: Sequence[int], where: str
) -> tuple[Flow, LinearOp | Convolution]:
    """Return the axes after channels were picked (-1: zeros), and the layer that does so."""
    rows = (np.array(channels)[:, None] == np.arange(flow.sizes[axis])).astype(flow.real_dtype)
    after = new_axis(len(rows))
    axes = tuple(after if number == axis else pieces for number, pieces in enumerate(flow.axes))
    picked = Convolution(where, rows[:, :, None, None]) if flow.kind == "maps" else LinearOp(where, rows)
    return replace(flow, axes=axes, parts=(after, *flow.parts[1:])), picked


def concatenated(node: Node, flows: Sequence[Flow]) -> Flow:
    """Join data along the channels: each part is placed among them, and these are added."""
    axis, where = axis_within(node.attributes["axis"], len(flows[0].axes)), str(node)
    refuse_if(
        any(len(flow.axes) != len(flows[0].axes) for flow in flows),
        "its parts have different numbers of axes.",
    )
    flows = [_by_channel(flow, axis, where) for flow in flows]
    sizes = [flow.sizes[axis] for flow in flows]
    total: Flow | None = None
    for k, flow in enumerate(flows):
        channels = [-1] * sum(sizes)
        channels[sum(sizes[:k]) : sum(sizes[: k + 1])] = range(sizes[k])
        seen, picked = _placed(flow, axis, channels, where)
        part = seen.then(picked)
        total = part if total is None else joined(where, [(total, 1), (part, 1)])
    assert total is not None
    return total


def sliced_channels(node: Node, flow: Flow, arrays: Sequence[Array | None]) -> Flow:
    """Return some channels of maps, or some features."""
    sizes, where = flow.sizes, str(node)
    for axis in range(1, len(sizes)):
        shape = [size if k == axis else 1 for k, size in enumerate(sizes)]
        indices = np.broadcast_to(np.arange(sizes[axis]).reshape(shape), sizes)
        chosen = sliced([indices, *arrays[1:]], node.attributes)
        if chosen.shape[:axis] + chosen.shape[axis + 1 :] == sizes[:axis] + sizes[axis + 1 :] and chosen.size:
            row = chosen[tuple(slice(None) if k == axis else 0 for k in range(len(sizes)))].tolist()
            if row == list(range(sizes[axis])):
                return flow
            seen, picked = _placed(_by_channel(flow, axis, where), axis, row, where)
            return seen.then(Branches(where, ((picked,),)))
    raise FileError("it cuts out a part of the data along other axes than the channels.")


def gathered(node: Node, flow: Flow, indices: Array) -> Flow:
    """Return some features of flat data, in a given order: a linear layer whose rows contain a single one."""
    axis = axis_within(node.attributes["axis"], len(flow.axes))
    count = flow.sizes[axis]
    refuse_if(
        indices.ndim != 1
        or indices.dtype.kind not in "iu"
        or flow.axes[axis] == flow.batch
        or not indices.size,
        "it picks parts of the data, which is supported only for a list of flat features.",
    )
    refuse_if(
        (indices < -count).any() or (indices >= count).any(),
        f"it picks feature {int(np.abs(indices).max())} of {count}.",
    )
    refuse_if(
        indices.size * count > _MAX_ROWS,
        f"it picks {indices.size} of {count} features, which is too large to write out.",
    )
    rows = np.zeros((indices.size, count), flow.real_dtype)
    rows[np.arange(indices.size), indices % count] = 1
    return _linear(flow.features(axis, str(node)), axis, rows, str(node))


# -- windows -------------------------------------------------------------------------------------------------


def convolution(node: Node, flow: Flow, weights: Array, bias: Array | None) -> Flow:
    """Read a convolution in one or two dimensions."""
    _finite(weights)
    spatial = weights.ndim - 2
    refuse_if(
        spatial not in (1, 2),
        f"its weights have shape {weights.shape}: convolutions in one and two dimensions are supported.",
    )
    flow = flow.maps(spatial)
    named = node.attributes.get("kernel_shape")
    if named is not None and integers(named, "kernel_shape") != weights.shape[2:]:
        raise FileError(f"its kernel_shape is {list(named)}, but its weights have shape {weights.shape}.")
    stride, dilation = (_two(node, name, spatial) for name in ("strides", "dilations"))
    groups = node.attributes["group"]
    refuse_if(
        not isinstance(groups, int) or groups < 1 or len(weights) % groups or not weights.size,
        f"it has {groups} groups for {len(weights)} output channels.",
    )
    pads, _ = _pads(node, flow, _flat_pair(weights.shape[2:]), stride, dilation, spatial)
    return _convolved(
        node, flow, weights, stride, dilation, pads, groups, None if bias is None else _finite(bias)
    )


def _convolved(
    node: Node,
    flow: Flow,
    weights: Array,
    stride: tuple[int, int],
    dilation: tuple[int, int],
    pads: tuple[int, int, int, int],
    groups: int,
    bias: Array | None = None,
) -> Flow:
    channels = flow.sizes[1]
    refuse_if(
        weights.shape[1] * groups != channels,
        f"its weights read {weights.shape[1] * groups} channels, but {channels} are there.",
    )
    if bias is not None and bias.shape != (len(weights),):
        raise FileError(f"its bias has shape {bias.shape}, but {len(weights)} numbers are needed.")
    full = weights if weights.ndim == 4 else weights[:, :, None, :]
    op = Convolution(str(node), full, bias, stride, dilation, pads, groups)
    is_integer = flow.whole and _is_integer(weights) and (bias is None or _is_integer(bias))
    after = _slid(flow, new_axis(len(weights)), (full.shape[2], full.shape[3]), stride, dilation, pads)
    return replace(after.then(op), dtype=_real_type(weights), whole=is_integer)


def _slid(
    flow: Flow,
    channels: Axis,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    pads: tuple[int, int, int, int],
) -> Flow:
    """Return the axes after a sliding window with these output channels. The operation itself is not
    added.
    """
    refuse_if(
        max(pads) >= _MAX_STEP or min(pads) < 0,
        f"its pads are {list(pads)}, but small numbers from 0 are needed.",
    )
    height, width = _pixels(flow)
    sizes = [
        (size + before + behind - (spread * (taps - 1) + 1)) // step + 1
        for size, before, behind, taps, step, spread in zip(
            (height, width), pads[:2], pads[2:], kernel, stride, dilation, strict=True
        )
    ]
    refuse_if(min(sizes) < 1, f"its window of {kernel} does not fit into {height} x {width} pixels.")
    refuse_if(
        prod(sizes) * prod(kernel) > _MAX_TAPS,
        f"its window of {kernel} at {sizes[0]} x {sizes[1]} places reads more than the {_MAX_TAPS:,} "
        f"values that are supported.",
    )
    count = prod(piece.size for piece in channels)
    refuse_if(
        count * sizes[0] * sizes[1] > MAX_VALUES,
        f"it makes {count} x {sizes[0]} x {sizes[1]} values, "
        f"more than the {MAX_VALUES:,} that are supported.",
    )
    parts = (channels, new_axis(sizes[0]), new_axis(sizes[1]))
    axes = (flow.axes[0], parts[0], parts[2]) if len(flow.axes) == 3 else (flow.axes[0], *parts)
    return replace(flow, axes=axes, parts=parts)


def _pixels(flow: Flow) -> tuple[int, int]:
    return (1, flow.sizes[2]) if len(flow.axes) == 3 else (flow.sizes[2], flow.sizes[3])


def pooled(node: Node, flow: Flow) -> Flow:
    """Read max and average pooling, over windows or over whole maps."""
    spatial = len(flow.axes) - 2
    refuse_if(
        spatial not in (1, 2),
        f"it pools data with {len(flow.axes)} axes: one or two axes of pixels are supported.",
    )
    flow = flow.maps(spatial)
    if node.op == "GlobalAveragePool":
        return _full_map(node, flow, "mean")
    if node.op == "GlobalMaxPool":
        return _full_map(node, flow, "max")
    refuse_if("kernel_shape" not in node.attributes, "it has no kernel_shape.")
    kernel, stride, dilation = (
        _two(node, name, spatial) for name in ("kernel_shape", "strides", "dilations")
    )
    pads, longer = _pads(node, flow, kernel, stride, dilation, spatial)
    after = _slid(flow, flow.axes[1], kernel, stride, dilation, pads)
    refuse_if(
        any(
            pad >= spread * (taps - 1) + 1
            for pad, taps, spread in zip(pads, kernel * 2, dilation * 2, strict=True)
        ),
        f"its pads {list(pads)} are as large as its window {kernel}, "
        f"so that a window can lie in the padding alone.",
    )
    if node.op == "MaxPool":
        return after.then(MaxPool(str(node), kernel, stride, pads, dilation))
    counted = bool(node.attributes.get("count_include_pad", 0))
    refuse_if(dilation != (1, 1), "it averages with gaps (dilations), which is not supported.")
    refuse_if(
        counted and longer,
        "it counts padding and has ceil_mode, which frameworks read differently. "
        "Export it with ceil_mode=False.",
    )
    return replace(after.then(AveragePool(str(node), kernel, stride, pads, counted)), whole=False)


def _full_map(node: Node, flow: Flow, how: str) -> Flow:
    """Return one value for each map. The pixels stay axes of size 1."""
    height, width = _pixels(flow)
    after = replace(flow, axes=(*flow.axes[:2], *((),) * (len(flow.axes) - 2)), parts=(flow.parts[0], (), ()))
    where = str(node)
    if how == "max":
        return after.then(MaxPool(where, (height, width), (height, width)))
    averaged = replace(after.then(AveragePool(where)), whole=False)
    if how == "sum":
        return averaged.then(Affine(where, np.asarray(height * width, np.float32), np.zeros((), np.float32)))
    return averaged


def reduced(node: Node, flow: Flow, inputs: Sequence[Array | None]) -> Flow:
    """Read a mean, sum or maximum over all pixels of maps."""
    rank, keep = len(flow.axes), node.attributes["keepdims"]
    axes = reduced_axes(inputs, node.attributes, rank)
    if axes is None:
        return flow
    kept = [axis for axis in range(rank) if axis not in axes]
    pixels = [axis for axis in axes if flow.axes[axis]]
    if pixels:
        refuse_if(
            flow.kind == "flat" or len(kept) < 2,
            "it sums or averages over features. Only pixels of maps can be: write a linear layer instead.",
        )
        channels = next((axis for axis in kept[1:] if flow.axes[axis]), kept[1])
        order = (kept[0], channels, *axes)
        refuse_if(
            len(order) != rank or len(axes) > 2,
            f"it reduces axes {list(axes)} of {rank}. Only all pixels of maps together can be reduced.",
        )
        first = flow.transposed(order).maps(len(axes))
        pooled_first = _full_map(
            node, first, {"ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "max"}[node.op]
        )
        flow = pooled_first.transposed([order.index(axis) for axis in range(rank)])
    return flow if keep else replace(flow, axes=tuple(flow.axes[axis] for axis in kept))


def padded(node: Node, flow: Flow, inputs: Sequence[Array | None]) -> Flow:
    """Read pixels of one value around maps."""
    refuse_if(
        str(node.attributes["mode"]) != "constant",
        f"it pads by {node.attributes['mode']!r}. Only padding with one value is supported.",
    )
    rank = len(flow.axes)
    amounts = integers(node.attributes.get("pads", ()) if inputs[1] is None else inputs[1], "pads")
    axes = axes_of(inputs, {}, rank, 3) or tuple(range(rank))
    refuse_if(len(amounts) != 2 * len(axes), f"it has {len(amounts)} pads for {len(axes)} axes.")
    value = np.asarray(node.attributes["value"]) if inputs[2] is None else inputs[2]
    if not any(amounts):
        return flow
    refuse_if(min(amounts) < 0, f"its pads {list(amounts)} cut pixels away, which is not supported.")
    refuse_if(
        value.size != 1 or not np.isfinite(float(value.reshape(-1)[0])),
        "it does not pad with one finite number.",
    )
    before, behind = [0] * rank, [0] * rank
    for k, axis in enumerate(axes):
        before[axis], behind[axis] = amounts[k], amounts[k + len(axes)]
    order = _map_order(flow, [axis for axis in range(rank) if before[axis] or behind[axis]])
    first = flow.transposed(order).maps(rank - 2)
    ahead, after = [before[axis] for axis in order], [behind[axis] for axis in order]
    refuse_if(any((*ahead[:2], *after[:2])), "it pads channels or the batch. Only pixels can be padded.")
    pads = (0, ahead[2], 0, after[2]) if rank == 3 else (ahead[2], ahead[3], after[2], after[3])
    wide = _slid(first, first.axes[1], (1, 1), (1, 1), (1, 1), pads)
    number = float(value.reshape(-1)[0])
    done = replace(wide, whole=flow.whole and number == int(number)).then(Pad(str(node), pads, number))
    return done.transposed([order.index(axis) for axis in range(rank)])


def _map_order(flow: Flow, touched: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of batch, channels and pixels, for an operation that does not define them.

    Channels are first, unless they are known to be last.
    """
    rank = len(flow.axes)
    refuse_if(
        rank not in (3, 4),
        f"it pads data with {rank} axes: batch, channels and one or two axes of pixels are needed.",
    )
    last = (0, rank - 1, *range(1, rank - 1))
    if flow.kind == "maps":
        channels = flow.parts[0]
        return last if flow.axes[-1] == channels and flow.axes[1] != channels else tuple(range(rank))
    return last if 1 in touched and rank - 1 not in touched else tuple(range(rank))


def patches(node: Node, flow: Flow) -> WindowRows:
    """Read FINN's Im2Col: windows of channel-last maps as rows."""
    refuse_if(
        len(flow.axes) != 4 or node.attributes["depthwise"] or float(node.attributes.get("pad_value", 0)),
        "only Im2Col of maps with four axes, not depthwise, padded with zeros is supported.",
    )
    first = flow.transposed((0, 3, 1, 2)).maps(2)
    read: dict[str, Any] = {}
    for name, default in (
        ("kernel_size", None),
        ("stride", (1, 1)),
        ("dilations", (1, 1)),
        ("pad_amount", (0, 0, 0, 0)),
    ):
        numbers = integers(node.attributes.get(name, default), name)
        read[name] = numbers * (2 if name != "pad_amount" else 4) if len(numbers) == 1 else numbers
        refuse_if(len(read[name]) != (4 if name == "pad_amount" else 2), f"its {name} is {list(numbers)}.")
    kernel, stride, dilation = (_small(read[name], name) for name in ("kernel_size", "stride", "dilations"))
    return WindowRows(first, kernel, stride, dilation, read["pad_amount"])


def _of_patches(node: Node, windows: WindowRows, weights: Array) -> Flow:
    channels = windows.flow.sizes[1]
    refuse_if(
        len(weights) != channels * prod(windows.kernel),
        f"its weights have {len(weights)} rows for windows of {windows.kernel} over {channels} channels.",
    )
    kernel = weights.T.reshape(-1, *windows.kernel, channels).transpose(0, 3, 1, 2)
    return _convolved(
        node, windows.flow, np.ascontiguousarray(kernel), windows.stride, windows.dilation, windows.pads, 1
    ).transposed((0, 2, 3, 1))


# -- attributes ----------------------------------------------------------------------------------------------


def _two(node: Node, name: str, spatial: int) -> tuple[int, int]:
    return _small(_flat_pair(integers(node.attributes.get(name, (1,) * spatial), name, spatial)), name)


def _flat_pair(sizes: Sequence[int]) -> tuple[int, int]:
    return (1, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


def _small(sizes: Sequence[int], name: str) -> tuple[int, int]:
    refuse_if(
        min(sizes) < 1 or max(sizes) >= _MAX_STEP,
        f"its {name} is {list(sizes)}, but small numbers from 1 are needed.",
    )
    return sizes[0], sizes[1]


def _pads(
    node: Node,
    flow: Flow,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    spatial: int,
) -> tuple[tuple[int, int, int, int], bool]:
    """Return top, left, bottom and right pads, and how much ceil mode added to the last two."""
    mode = str(node.attributes.get("auto_pad", "NOTSET") or "NOTSET")
    reach = [spread * (taps - 1) + 1 for taps, spread in zip(kernel, dilation, strict=True)]
    pixels = _pixels(flow)
    named = integers(node.attributes.get("pads", (0,) * (2 * spatial)), "pads", 2 * spatial)
    longer_windows = node.op != "Conv" and bool(node.attributes["ceil_mode"])
    refuse_if(
        mode != "NOTSET" and any(named),
        f"it has both pads {list(named)} and auto_pad {mode!r}, of which only one may be.",
    )
    refuse_if(
        node.op != "Conv" and mode != "NOTSET" and (longer_windows or max(dilation) > 1),
        f"it has auto_pad {mode!r} together with ceil_mode or dilations, which runtimes read "
        f"differently. Give pads instead.",
    )
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            (-(-size // step) - 1) * step + far - size
            for size, step, far in zip(pixels, stride, reach, strict=True)
        ]
        refuse_if(
            node.op != "Conv" and min(totals) < 0,
            f"its windows of {' x '.join(map(str, reach))} at steps of {' x '.join(map(str, stride))} "
            f"leave pixels out, so that auto_pad {mode!r} would be negative, which runtimes read "
            f"differently. Give pads instead.",
        )
        totals = [max(total, 0) for total in totals]
        less = [total // 2 for total in totals]
        more = [total - part for total, part in zip(totals, less, strict=True)]
        first, last = (less, more) if mode == "SAME_UPPER" else (more, less)
        return (first[0], first[1], last[0], last[1]), False
    refuse_if(mode not in ("NOTSET", "VALID"), f"its auto_pad is {mode!r}.")
    top, left, bottom, right = named if spatial == 2 else (0, named[0], 0, named[1])
    longer = [0, 0]
    if longer_windows:
        for k, (size, before, behind) in enumerate(zip(pixels, (top, left), (bottom, right), strict=True)):
            count = -(-(size + before + behind - reach[k]) // stride[k]) + 1
            if (count - 1) * stride[k] >= size + before:  # the last window must start inside
                count -= 1
            longer[k] = max((count - 1) * stride[k] + reach[k] - (size + before + behind), 0)
    return (top, left, bottom + longer[0], right + longer[1]), any(longer)


def _finite(array: Array) -> Array:
    refuse_if(
        array.dtype.kind not in "fiu" or not np.isfinite(array).all(),
        "its weights or bias contain values that are not finite.",
    )
    return array


def _is_integer(array: Array) -> bool:
    return bool((array == np.floor(array)).all())


def _real_type(weights: Array) -> np.dtype[Any]:
    return weights.dtype if weights.dtype.kind == "f" else np.dtype(np.int64)
