"""The compiled engine: arranges the words of a chain of layers for the kernels of `sugenet.bits.kernels`, and
calls them.

The engine "auto" uses it if the kernels are on this machine or compiling pays, and counts with NumPy until
then (`Late`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

import numba  # noqa: F401  so that a machine without numba fails here, where the engine is chosen
import numpy as np
import numpy.typing as npt

from sugenet.bits.compile_policy import Account
from sugenet.bits.kernels import DENSE, LANES, NEURONS, SAMPLES, TERNARY, VECTORS, is_on_disk, load_kernel
from sugenet.bits.threads import share
from sugenet.bits.words import Words, tail_mask, words_for

__all__ = [
    "PRODUCTS_PER_HANDOVER",
    "Late",
    "NumbaProgram",
    "is_ready",
    "kernel_named",
    "laid_out",
    "on_a_line",
]

PRODUCTS_PER_HANDOVER = 1 << 26  # about 50 microseconds on one core, more than waking a thread costs
_LINE = 64  # bytes

_Lane = TypeVar("_Lane", bound=np.generic)
_Counts = npt.NDArray[np.int32]

_loaded: dict[str, Any] = {}
_asked: dict[str, bool] = {}
_loading = Lock()


_ACCOUNTS = {"layers": Account(1 << 34), "maps": Account(1 << 31), "levels": Account(1 << 31)}
"""Products of inputs and weights that take NumPy about as long as compilation."""


@dataclass
class Late:
    """A program for NumPy, and a function that builds the compiled one."""

    kernel: str
    products: int
    first: Any
    make: Callable[[], Any]
    then: Any = field(default=None, init=False)

    def __call__(self, samples: int) -> Any:
        """Return the program for a number of samples."""
        if self.then is None:
            if not _ACCOUNTS[self.kernel].pays(samples * self.products) and not is_ready(self.kernel):
                return self.first
            self.then = self.make()
        return self.then

    def match_counts(self, inputs: npt.NDArray[Any], threads: int | None) -> Any:
        return self(len(inputs)).match_counts(inputs, threads)

    def activity(self, inputs: npt.NDArray[Any], threads: int | None) -> Any:
        return self(len(inputs)).activity(inputs, threads)

    def levels(self, inputs: npt.NDArray[Any], threads: int | None) -> Any:
        return self(len(inputs)).levels(inputs, threads)

    def sums(self, inputs: npt.NDArray[Any], threads: int | None) -> Any:
        return self(len(inputs)).sums(inputs, threads)


def is_ready(name: str) -> bool:
    """Return whether a kernel is available without compilation."""
    if name not in _loaded and name not in _asked:
        _asked[name] = is_on_disk(name)
    return name in _loaded or _asked[name]


def kernel_named(name: str) -> Any:
    """Return a kernel, loaded once per process."""
    with _loading:
        if name not in _loaded:
            _loaded[name] = load_kernel(name)
        return _loaded[name]


class NumbaProgram:
    """A chain of layers as flat arrays, so that one compiled call passes a block of samples through all of
    them.
    """

    def __init__(self, layers: tuple[Any, ...]) -> None:
        self._run = kernel_named("layers")
        self._neurons = len(layers[-1].tau)
        self._out_words = words_for(self._neurons)
        weights, rows, first, limit = [], [], 0, 0
        for layer in layers:
            words, neurons = words_for(layer.width), len(layer.tau)
            blocks, kind = -(-neurons // NEURONS), DENSE if layer.is_dense else TERNARY
            laid = laid_out(
                np.bitwise_xor.accumulate(layer.positive, axis=1)[:, :, None]  # running XORs
                if kind == DENSE
                else np.stack([layer.positive, layer.negative], axis=2)
            )
            mask = int(np.uint64(tail_mask(layer.width)).view(np.int64))
            rows.append((kind, words, mask, neurons, blocks, first, limit, words_for(neurons)))
            weights.append(laid)
            first, limit = first + laid.size, limit + blocks * NEURONS
        self._plan = np.array(rows, np.int64)
        self._weights = on_a_line(np.concatenate(weights))
        self._sizes = on_a_line(np.concatenate([_by_block(layer.lam_sizes, 0) for layer in layers]))
        self._limits = on_a_line(
            np.concatenate([_by_block(layer.lam_sizes - layer.tau, -1) for layer in layers])
        )
        self._scratch = SAMPLES * max(
            max(words_for(layer.width), words_for(len(layer.tau))) for layer in layers
        )
        self._grain = -(-PRODUCTS_PER_HANDOVER // sum(layer.products for layer in layers))
        self._no_counts, self._no_activity = np.empty((0, 0), np.int32), np.empty((0, 0), np.uint64)

    def match_counts(self, words: Words, threads: int | None) -> _Counts:
        """Return the match counts of the last layer."""
        out = np.empty((len(words), self._neurons), np.int32)
        self._call(words, out, self._no_activity, threads)
        return out

    def activity(self, words: Words, threads: int | None) -> Words:
        """Return the packed activity of the last layer."""
        out = np.empty((len(words), self._out_words), np.uint64)
        self._call(words, self._no_counts, out, threads)
        return out

    def _call(self, words: Words, counts: _Counts, activity: Words, threads: int | None) -> None:
        def task(start: int, stop: int) -> None:
            now, then = np.empty(self._scratch, np.uint64), np.empty(self._scratch, np.uint64)
            wide = np.empty(SAMPLES * NEURONS, np.int32)
            self._run(
                words,
                start,
                stop,
                self._plan,
                self._weights,
                self._limits,
                self._sizes,
                now,
                then,
                wide,
                counts,
                activity,
            )

        share(task, len(words), self._grain, threads)


def laid_out(words: Words) -> Words:
    """Return words of shape (neurons, words, parts) as [block][word][part][vector][lane], flat, with blocks
    padded by zeros.
    """
    neurons, count, parts = words.shape
    blocks = -(-neurons // NEURONS)
    full = np.zeros((blocks * NEURONS, count, parts), np.uint64)
    full[:neurons] = words
    return np.ascontiguousarray(
        full.reshape(blocks, VECTORS, LANES, count, parts).transpose(0, 3, 4, 1, 2)
    ).reshape(-1)


def _by_block(values: npt.NDArray[np.int64], rest: int) -> npt.NDArray[np.int64]:
    """Pad to complete blocks with `rest`; a limit of -1 means that a neuron is never active."""
    return np.concatenate([values, np.full(-len(values) % NEURONS, rest)]).astype(np.int64)


def on_a_line(values: npt.NDArray[_Lane]) -> npt.NDArray[_Lane]:
    """Copy to an address that begins a cache line, so that no vector crosses two."""
    room = np.empty(values.nbytes + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    copy: npt.NDArray[_Lane] = room[start : start + values.nbytes].view(values.dtype)
    copy[:] = values
    return copy
