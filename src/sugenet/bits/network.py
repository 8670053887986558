"""A packed network: hidden layers and a head, run as one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from sugenet.bits.engine import Counts, EngineName, Program, engine_named
from sugenet.bits.layer import PackedLayer
from sugenet.bits.words import Words, check_words
from sugenet.errors import NetworkError

__all__ = ["PackedNetwork"]


@dataclass(frozen=True, eq=False, repr=False)
class PackedNetwork:
    """Hidden layers that feed each other, and a head whose match counts are the answer;
    the head's tau is ignored.

    A block of samples goes through all layers while its words stay in the cache, in one compiled call.

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
            Samples as `pack` gives them. Bits after the last input are ignored.
        threads : int, optional
            How many threads may work at once; one per core when not given.
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
        return engine_named(self.engine).program([*self.layers, self.head])

    def __repr__(self) -> str:
        sizes = [layer.width for layer in (*self.layers, self.head)]
        return f"PackedNetwork({' -> '.join(map(str, [*sizes, self.head.neurons]))}, engine={self.engine!r})"

    def __reduce__(self) -> tuple[Callable[..., "PackedNetwork"], tuple[Any, ...]]:
        return PackedNetwork, (self.layers, self.head)
