"""Why a neuron is active or not: focal sets that are active, and flips that change it (paper, Example 1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from sugenet.capacity.arguments import magnitude
from sugenet.nn.literals import Literal, active_set
from sugenet.reprs import ShortRepr

if TYPE_CHECKING:
    from sugenet.nn.neuron import Neuron, Turn

__all__ = ["NeuronReasons"]

_SHOWN = 6


@dataclass(frozen=True)
class NeuronReasons(ShortRepr):
    """Why a neuron is active in an input, or not: the focal sets that are active, and the flips that change
    it.

    A focal set is active if all of its literals hold. One active focal set suffices for the neuron.

    Reference: Baaj and Prade [BP26].

    Examples
    --------
    The two inputs of the paper's Example 1:

    >>> from sugenet import Neuron
    >>> neuron = Neuron.from_theta([+1, +1, -1, +1], theta=0)
    >>> reasons = neuron.why([+1, -1, +1, -1])
    >>> print(reasons)
    not active: M = 1 < tau = 2; of Lam, {+1} holds
    no focal set is active
    1 flip activates it, in 3 ways: input 2, 3, 4
    >>> reasons.is_active, sorted(reasons.held), list(reasons.focal_sets())
    (False, [1], [])
    >>> print(neuron.why([+1, +1, +1, -1]))
    active: M = 2 >= tau = 2; of Lam, {+1, +2} hold
    1 focal set is active: {+1, +2}
    1 flip deactivates it, in 2 ways: input 1, 2

    See Also
    --------
    Neuron.why : returns it.
    Neuron.rules : all focal sets.
    """

    neuron: Neuron
    x: tuple[int, ...]
    """The input: -1 or +1 per coordinate."""

    @cached_property
    def held(self) -> frozenset[Literal]:
        """The literals of Lam that hold: E(x) & Lam."""
        return active_set(self.x) & self.neuron.lam

    @property
    def match_count(self) -> int:
        """M: the number of literals of Lam that hold, with multiplicity."""
        return self._within.size

    @property
    def is_active(self) -> bool:
        """Whether M >= tau."""
        return self.match_count >= self.neuron.tau

    @property
    def focal_count(self) -> int:
        """Number of active focal sets."""
        return self._within.rule_count()

    @property
    def turn(self) -> Turn:
        """Smallest number of flips that change the neuron, and the number of ways."""
        return self.neuron.turn(self.x)

    def focal_sets(self, by: Any = None) -> Iterator[frozenset[Literal]]:
        """Yield the active focal sets: each is a minimal sufficient condition that the input meets.

        Parameters
        ----------
        by : str, mapping or list, default: None
            Order, as in `Neuron.rules`.

        Returns
        -------
        iterator of frozenset
            Each focal set is a set of literals.
        """
        return self._within.rules(by)

    def turning_sets(self) -> Iterator[frozenset[int]]:
        """Yield the smallest sets of inputs whose flip changes the neuron.

        Returns
        -------
        iterator of frozenset
            Each set has the numbers of inputs, from 1.
        """
        return self.neuron.turning_sets(self.x)

    @cached_property
    def _within(self) -> Neuron:
        """The neuron without the literals that do not hold: its focal sets are the active ones."""
        row = self.neuron.weights
        return type(self.neuron)(
            (w if i in self.held or -i in self.held else 0 for i, w in enumerate(row, start=1)),
            self.neuron.tau,
        )

    def __str__(self) -> str:
        m, tau = self.match_count, self.neuron.tau
        head = f"active: M = {m} >= tau = {tau}" if self.is_active else f"not active: M = {m} < tau = {tau}"
        verb = "holds" if len(self.held) <= 1 else "hold"
        sets, flips = self.focal_count, self.turn
        lines = [f"{head}; of Lam, {_literals(self.held) if self.held else 'nothing'} {verb}"]
        if sets:
            are = "1 focal set is active" if sets == 1 else f"{magnitude(sets)} focal sets are active"
            lines.append(f"{are}: {_listed(map(_literals, self.focal_sets()), sets)}")
        else:
            lines.append("no focal set is active")
        if flips.flips is None:
            lines.append("no flip changes it")
        else:
            changes = "deactivate" if self.is_active else "activate"
            what = f"1 flip {changes}s it" if flips.flips == 1 else f"{flips.flips} flips {changes} it"
            ways = "1 way" if flips.sets == 1 else f"{magnitude(flips.sets)} ways"
            shown = _listed(map(_inputs, self.turning_sets()), flips.sets)
            lines.append(f"{what}, in {ways}: {'input' if flips.flips == 1 else 'inputs'} {shown}")
        return "\n".join(lines)


def _listed(texts: Iterable[str], count: int) -> str:
    more = f" and {magnitude(count - _SHOWN)} more" if count > _SHOWN else ""
    return ", ".join(islice(texts, _SHOWN)) + more


def _literals(literals: Collection[Literal]) -> str:
    return "{" + _listed((f"{literal:+d}" for literal in sorted(literals, key=abs)), len(literals)) + "}"


def _inputs(numbers: Collection[int]) -> str:
    shown = _listed(map(str, sorted(numbers)), len(numbers))
    return shown if len(numbers) == 1 else f"{{{shown}}}"
