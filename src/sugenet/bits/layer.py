"""Packed layers of many neurons (Lam, tau) over one input space, and packed networks: hidden layers and a
head in one call.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from sugenet.bits.engine import Counts, EngineName, Program, engine_named, program_of
from sugenet.bits.words import Words, check_words, pack
from sugenet.errors import NetworkError

__all__ = ["PackedLayer", "PackedNetwork"]


@dataclass(frozen=True, eq=False, repr=False)
class PackedLayer:
    """A layer of neurons in packed words; neuron ``j`` is active iff its match count is at least ``tau[j]``.

    Created by `PackedLayer.from_arrays`. A weight of 0 selects no literal, so it never matches.

    Parameters
    ----------
    positive, negative : uint64 arrays of shape (m, words)
        The literals that each neuron's weights select: bit ``i`` of `positive` is set if the weight is +1, of
        `negative` if it is -1.
    tau : int64 array of shape (m,)
        In ``0 .. |Lam| + 1``.
    width : int
        The number of inputs.
    engine : {"auto", "numba", "numpy"}
        Engine that counts; "auto" becomes the one that the environment names, if it does.

    Examples
    --------
    >>> layer = PackedLayer.from_arrays([[1, -1, 1], [0, 1, 0]], tau=[2, 5], engine="numpy")
    >>> layer
    PackedLayer(3 -> 2, ternary, engine='numpy')
    >>> layer.match_counts(pack([[1, 1, 1], [0, 0, 0]]))
    array([[2, 1],
           [1, 0]], dtype=int32)
    """

    positive: Words
    negative: Words
    tau: npt.NDArray[np.int64]
    width: int
    engine: EngineName = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "engine", engine_named(self.engine))
        for array in (self.positive, self.negative, self.tau):
            array.flags.writeable = False

    @classmethod
    def from_arrays(cls, signs: npt.ArrayLike, tau: npt.ArrayLike, *, engine: EngineName = "auto") -> Self:
        """Pack a matrix of weights.

        Parameters
        ----------
        signs : array of shape (m, n)
            The weights of m neurons over n inputs, each -1, 0 or +1.
        tau : integers of shape (m,)
            Integers of any size: with ``tau <= 0`` a neuron is always active, with ``tau > |Lam|`` never.
            Clipped to ``0 .. |Lam| + 1``, which changes no answer.
        engine : {"auto", "numba", "numpy"}
            Engine that counts; see `sugenet.bits.engine`.
        """
        weights = np.asarray(signs)
        if weights.ndim != 2 or 0 in weights.shape:
            raise NetworkError(
                f"signs has shape {weights.shape}, but must have one row per neuron and one column per "
                f"input, at least one each."
            )
        up, down = np.asarray(weights == 1, bool), np.asarray(weights == -1, bool)
        good = up | down | np.asarray(weights == 0, bool)
        if weights.dtype == np.bool_ or not good.all():
            j, i = (0, 0) if weights.dtype == np.bool_ else (int(k) for k in np.argwhere(~good)[0])
            raise NetworkError(
                f"signs[{j}, {i}] is {weights[j, i]!r}, but a weight must be one of the numbers -1, 0 and +1."
            )
        sizes = (up | down).sum(axis=1, dtype=np.int64)
        return cls(pack(up), pack(down), _clamped(tau, sizes), weights.shape[1], engine)

    def match_counts(self, words: Words, threads: int | None = None) -> Counts:
        """Return M, how many literals of each neuron's Lam hold, as int32 of shape (batch, m).

        Parameters
        ----------
        words : uint64 array of shape (batch, ceil(n / 64))
            Samples as returned by `pack`. Bits after the last input are ignored.
        threads : int, optional
            Number of threads (default: one per core).
        """
        return self._program.match_counts(check_words(words, self.width), threads)

    def activity(self, words: Words, threads: int | None = None) -> Words:
        """Return which neurons are active, ``M >= tau``, packed to shape (batch, ceil(m / 64))."""
        return self._program.activity(check_words(words, self.width), threads)

    def with_engine(self, engine: EngineName) -> "PackedLayer":
        """Return the same layer, counted by another engine."""
        return PackedLayer(self.positive, self.negative, self.tau, self.width, engine)

    @property
    def neurons(self) -> int:
        """The number of neurons, m."""
        return len(self.tau)

    @property
    def products(self) -> int:
        """Products of inputs and weights per sample."""
        return self.width * self.neurons

    @cached_property
    def lam_sizes(self) -> npt.NDArray[np.int64]:
        """``|Lam|`` of each neuron: the number of its nonzero weights."""
        chosen = self.positive | self.negative
        return np.asarray(np.bitwise_count(chosen).sum(axis=1, dtype=np.int64))

    @cached_property
    def is_dense(self) -> bool:
        """True if no weight is 0."""
        return bool((self.lam_sizes == self.width).all())

    @cached_property
    def _program(self) -> Program:
        return program_of("layers", [self], self.engine)

    def __repr__(self) -> str:
        kind = "dense" if self.is_dense else "ternary"
        return f"PackedLayer({self.width} -> {self.neurons}, {kind}, engine={self.engine!r})"

    def __reduce__(self) -> tuple[Callable[..., "PackedLayer"], tuple[Any, ...]]:
        return PackedLayer, (self.positive, self.negative, self.tau, self.width, self.engine)


def _clamped(tau: npt.ArrayLike, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    # NumPy would round a list of large integers to floats
    values = tau if isinstance(tau, np.ndarray) else np.array(tau, object)
    if values.dtype == object:
        wrong = [t for t in values.flat if not isinstance(t, Integral) or isinstance(t, bool)]
    else:
        wrong = [] if values.dtype.kind in "iu" else list(values.flat[:1])
    if wrong:
        raise NetworkError(
            f"tau holds {wrong[0]!r}, but match counts are compared with integers. "
            f"For a threshold t, tau is ceil(t)."
        )
    if values.shape != sizes.shape:
        raise NetworkError(
            f"tau has shape {values.shape}, but signs has {len(sizes)} rows: give one integer per neuron."
        )
    top = int(sizes.max()) + 1
    small = np.array([min(max(int(t), 0), top) for t in values], np.int64)
    return cast("npt.NDArray[np.int64]", np.minimum(small, sizes + 1))


@dataclass(frozen=True, eq=False, repr=False)
class PackedNetwork:
    """Hidden layers that feed each other, and a head whose match counts are the output; the tau of the head
    is ignored.

    A block of samples passes through all layers while its words stay in the cache, in one compiled call.

    Parameters
    ----------
    layers : iterable of PackedLayer
        From the input to the last hidden layer; may be empty.
    head : PackedLayer
        Its K neurons are the classes.

    Examples
    --------
    >>> from sugenet.bits import pack
    >>> hidden = PackedLayer.from_arrays([[1, 1, -1], [-1, 0, 1]], tau=[2, 1], engine="numpy")
    >>> head = PackedLayer.from_arrays([[1, -1], [-1, 1]], tau=[0, 0], engine="numpy")
    >>> network = PackedNetwork([hidden], head)
    >>> network
    PackedNetwork(3 -> 2 -> 2, engine='numpy')
    >>> network.match_counts(pack([[1, 1, 0], [0, 0, 1]]))
    array([[2, 0],
           [0, 2]], dtype=int32)
    """

    layers: tuple[PackedLayer, ...]
    head: PackedLayer

    def __init__(self, layers: Iterable[PackedLayer], head: PackedLayer) -> None:
        chain = tuple(layers)
        object.__setattr__(self, "layers", chain)
        object.__setattr__(self, "head", head)
        for number, (layer, following) in enumerate(pairwise((*chain, head))):
            after = "the head" if number + 1 == len(chain) else f"layer {number + 1}"
            if layer.neurons != following.width:
                raise NetworkError(
                    f"layer {number} has {layer.neurons} neurons, but {after} reads {following.width} "
                    f"inputs; the two must be equal."
                )
            if layer.engine != following.engine:
                raise NetworkError(
                    f"layer {number} has the engine {layer.engine!r}, but {after} has {following.engine!r}. "
                    f"Give all of them one engine: layer.with_engine({following.engine!r})."
                )

    @property
    def engine(self) -> EngineName:
        """The engine of all layers."""
        return self.head.engine

    @property
    def width(self) -> int:
        """The number of inputs."""
        return (*self.layers, self.head)[0].width

    def match_counts(self, words: Words, threads: int | None = None) -> Counts:
        """Return the match counts of the head, int32 of shape (batch, K).

        Parameters
        ----------
        words : uint64 array of shape (batch, ceil(n / 64))
            Samples as returned by `pack`. Bits after the last input are ignored.
        threads : int, optional
            Number of threads (default: one per core).
        """
        return self._program.match_counts(check_words(words, self.width), threads)

    def hidden(self, words: Words, threads: int | None = None) -> tuple[Words, ...]:
        """Return the packed activity of every hidden layer, in order."""
        activities: list[Words] = []
        for layer in self.layers:
            words = layer.activity(words, threads)
            activities.append(words)
        return tuple(activities)

    def with_engine(self, engine: EngineName) -> "PackedNetwork":
        """Return the same network, counted by another engine."""
        return PackedNetwork(
            [layer.with_engine(engine) for layer in self.layers], self.head.with_engine(engine)
        )

    @cached_property
    def _program(self) -> Program:
        return program_of("layers", [*self.layers, self.head], self.engine)

    def __repr__(self) -> str:
        sizes = [layer.width for layer in (*self.layers, self.head)]
        return f"PackedNetwork({' -> '.join(map(str, [*sizes, self.head.neurons]))}, engine={self.engine!r})"

    def __reduce__(self) -> tuple[Callable[..., "PackedNetwork"], tuple[Any, ...]]:
        return PackedNetwork, (self.layers, self.head)
