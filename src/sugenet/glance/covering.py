"""Rules with support: few proved rules that cover most of the given samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from sugenet.capacity import PossibilisticBase
from sugenet.glance.claims import Claim, margin_bounds
from sugenet.nn import Encoder, Network
from sugenet.plottable import Plottable
from sugenet.problem import Clock
from sugenet.reason.phrases import percent_text
from sugenet.reason.rules.book import BookWork, ProvedRule
from sugenet.reason.rules.export import possibilistic_base
from sugenet.reason.rules.grid import Grid
from sugenet.reason.rules.large import Grower
from sugenet.reprs import roughly

__all__ = ["Covering", "SupportedRule", "covering_of", "fewest", "last_layer"]

_GROWN = 0.6
"""Share of the time in which rules grow; the rest is for their margins."""
_AIM = Fraction(19, 20)
"""Share of the samples that selected rules should cover."""
_LISTED = 5
"""Number of rules in the text."""
_CONDITIONS = 12
"""Number of conditions of a rule that are written; `rule` has all."""
_NODES = 100_000
"""Maximum number of partial selections that are looked at for the fewest rules."""


@dataclass(frozen=True, eq=False)
class SupportedRule:
    """A proved rule, the samples that it covers, and its least margin."""

    rule: ProvedRule
    samples: tuple[int, ...]
    """Numbers of the samples that it covers; the network gives them the class of the rule."""
    found: Fraction | None
    """Smallest margin of the class that was found among the inputs of the rule."""
    least: Fraction
    """Proved: no input of the rule has a smaller margin. It is the necessity of the rule."""
    claim: Claim | None

    @property
    def least_text(self) -> str:
        """The least margin in words."""
        exact = self.found is not None and self.found == self.least
        return f"{'' if exact else 'at least '}{roughly(self.least, up=False)}"

    def __str__(self) -> str:
        conditions, label = self.rule.conditions(), self.rule.network.class_texts[self.rule.index]
        more = len(conditions) - _CONDITIONS
        shown = conditions[:_CONDITIONS] + ([f"{more} more conditions"] if more > 0 else [])
        return f"{' and '.join(shown) or 'any input'} -> {label}"

    def data(self) -> dict[str, Any]:
        """Return the rule as JSON data."""
        return {
            "rule": self.rule.data(),
            "samples": list(self.samples),
            "least margin at least": str(self.least),
            "least margin found": None if self.found is None else str(self.found),
        }


@dataclass(frozen=True, eq=False)
class Covering(Plottable):
    """Proved rules, those that cover most samples first, and a selection of few rules."""

    network: Network
    rules: tuple[SupportedRule, ...]
    samples: tuple[int, ...]
    """Numbers of the samples that were to be covered."""
    aim: Fraction
    """Share of the samples that the selection should cover."""
    chosen: tuple[int, ...]
    """Positions of the selected rules; all of them if the aim is out of reach."""
    lower: int
    """No fewer of these rules reach the aim; 0 if all of them do not."""

    @property
    def covered(self) -> frozenset[int]:
        """Numbers of the samples that the selection covers."""
        return frozenset().union(*(self.rules[k].samples for k in self.chosen))

    @property
    def uncovered(self) -> list[int]:
        """Numbers of the samples that no rule covers."""
        return sorted(set(self.samples).difference(*(one.samples for one in self.rules)))

    @property
    def reaches(self) -> bool:
        """Whether the selection reaches the aim."""
        return len(self.covered) >= self.aim * len(self.samples)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The proofs of the rules and of their least margins."""
        proofs = [Claim(f"{one.rule}", self.network.anywhere(), one.rule) for one in self.rules]
        return (*proofs, *(one.claim for one in self.rules if one.claim is not None))

    def __str__(self) -> str:
        if not self.rules:
            return "no rule was proved in the time"
        count, share = len(self.chosen), Fraction(len(self.covered), max(1, len(self.samples)))
        verb = "rule covers" if count == 1 else "rules cover"
        first = f"{count} proved {verb} {percent_text(share)} of the samples"
        if self.reaches:
            aim = percent_text(self.aim)
            first += (
                f"; no fewer of the {len(self.rules)} rules found cover {aim}"
                if self.lower == count
                else f"; at least {self.lower} of the {len(self.rules)} rules found are needed for {aim}"
            )
        lines = [
            f"  {one} ({_samples(len(one.samples))}, least margin {one.least_text})"
            for one in (self.rules[k] for k in self.chosen[:_LISTED])
        ]
        if count > _LISTED:
            lines.append(f"  ... and {count - _LISTED:,} more rules")
        return "\n".join([first, *lines, f"  covered by no rule: {_samples(len(self.uncovered))}"])

    def possibilistic_base(self) -> PossibilisticBase:
        """Return the selected rules as weighted clauses: the weight is the least margin as a share of the
        largest one among these rules.

        A clause says that a bit of the body differs, or that the class is that of the rule. Only the order of
        the weights has a meaning. Rules with a least margin of 0 are left out.

        Examples
        --------
        >>> from sugenet.nn import DenseLayer, Head
        >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]], [1, 0]))
        >>> print(covering_of(net, [[1, 1, 1], [-1, 1, 1]], [0, 1], Clock()).possibilistic_base())
        (-1 >= 1 or -2 >= 1 or "class 1" >= 1, 1/3)
        (1 >= 1 or -3 >= 1 or "class 0" >= 1, 1)
        """
        rules = [self.rules[k] for k in self.chosen if self.rules[k].least > 0]
        top = max((one.least for one in rules), default=Fraction(1))
        weights = [one.least / top for one in rules]
        return possibilistic_base(Grid(self.network.anywhere()), [one.rule for one in rules], weights)

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {
            "rules": [one.data() for one in self.rules],
            "samples": list(self.samples),
            "aim": str(self.aim),
            "chosen": list(self.chosen),
            "at least": self.lower,
            "uncovered": self.uncovered,
        }


def fewest(sets: Sequence[frozenset[int]], target: int) -> tuple[tuple[int, ...], int]:
    """Return positions of few sets that hold at least so many members together, and a lower bound.

    The selection is greedy first; then smaller ones are sought, up to a number of steps. The bound is on the
    number of sets; it is 0 if all sets together hold too few.

    Examples
    --------
    >>> sets = [frozenset({1, 2, 3, 4}), frozenset({1, 2, 5}), frozenset({3, 4, 6})]
    >>> fewest(sets, 6), fewest(sets, 4), fewest(sets, 7)
    (((1, 2), 2), ((0,), 1), ((0, 1, 2), 0))
    """
    members = {member: 1 << k for k, member in enumerate(sorted(frozenset().union(*sets)))}
    masks = [sum(members[member] for member in one) for one in sets]
    if len(members) < target:
        return tuple(range(len(sets))), 0
    greedy: list[int] = []
    reached = 0
    while reached.bit_count() < target:
        best = max(range(len(masks)), key=lambda k: ((masks[k] & ~reached).bit_count(), -k))
        greedy.append(best)
        reached |= masks[best]
    order = sorted(range(len(masks)), key=lambda k: -masks[k].bit_count())
    budget = [_NODES]

    def search(reached: int, start: int, left: int) -> tuple[int, ...] | None:
        budget[0] -= 1
        if reached.bit_count() >= target:
            return ()
        if not left or budget[0] < 0:
            return None
        gains = sorted(((masks[k] & ~reached).bit_count() for k in order[start:]), reverse=True)
        if reached.bit_count() + sum(gains[:left]) < target:
            return None
        for at in range(start, len(order)):
            rest = search(reached | masks[order[at]], at + 1, left - 1)
            if rest is not None:
                return (order[at], *rest)
        return None

    for size in range(len(greedy)):
        selection = search(0, 0, size)
        if selection is not None:
            return tuple(sorted(selection)), size
        if budget[0] < 0:
            return tuple(sorted(greedy)), size
    return tuple(sorted(greedy)), len(greedy)


def _samples(count: int) -> str:
    return f"{count:,} sample{'' if count == 1 else 's'}"


def covering_of(
    network: Network,
    X: Any,
    numbers: Sequence[int],
    clock: Clock,
) -> Covering:
    """Return proved rules that cover given samples.

    A rule grows from a sample that no rule covers yet: it takes in as many samples of its class as possible,
    the nearest first, and is then widened.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(covering_of(net, [[1, 1, 1], [1, -1, -1], [-1, 1, 1]], [0, 1, 2], Clock()))
    3 proved rules cover 100 % of the samples; no fewer of the 3 rules found cover 95.00 %
      x1 = +1 and x2 = +1 -> on (1 sample, least margin 2)
      x1 = +1 and x3 = -1 -> on (1 sample, least margin 2)
      x1 = -1 and x3 = +1 -> off (1 sample, least margin 2)
      covered by no rule: 0 samples
    """
    anywhere = network.anywhere()
    work = BookWork(Grid(anywhere), tuple(range(len(network.classes))), None, None, clock.share(_GROWN))
    grid = work.grid
    codes = grid.places(X)
    labels = grid.classes(codes)
    growers: dict[int, Grower] = {}
    open_rows = np.ones(len(codes), bool)
    for row in range(len(codes)):
        if work.clock.up() or not open_rows[row]:
            continue
        label = int(labels[row])
        if label not in growers:
            growers[label] = Grower(grid, label, work.clock, codes[labels != label])
        of_class = labels == label
        first = np.flatnonzero(of_class & open_rows)  # samples that no rule covers yet come first
        later = np.flatnonzero(of_class & ~open_rows)
        grown = growers[label].grow(codes[row].tolist(), codes[np.concatenate([first, later])])
        if grown is None:
            continue
        open_rows &= ~grid.inside(grown.masks, codes)
        work.prove(grown.masks, label, prime=grown.prime)
        work.clock.tell(f"{len(work.rules)} rules, {int(open_rows.sum()):,} samples left")
    supported = []
    for rule in work.rules:
        inside = np.flatnonzero(grid.inside(rule.masks, codes)).tolist()
        supported.append((rule, tuple(numbers[k] for k in inside)))
    supported.sort(key=lambda pair: (-len(pair[1]), len(pair[0]), str(pair[0])))
    sets = [frozenset(samples) for _, samples in supported]
    chosen, lower = fewest(sets, ceil(_AIM * len(codes))) if sets else ((), 0)
    rules = []
    for k, (rule, samples) in enumerate(supported):
        wanted = k in chosen and len(network.classes) > 1
        part = clock.share(1 / max(1, len(supported) - k)) if wanted else Clock(0)
        words = f"if {rule}, no margin is smaller than"
        best, bound, claim = None, Fraction(0), None
        if len(network.classes) > 1:
            best, _, bound, claim = margin_bounds(
                anywhere, rule.index, None, part, least=True, box=rule.box, words=words
            )
        # the rule itself is proved, so its class never loses
        rules.append(SupportedRule(rule, samples, best, max(bound, Fraction(0)), claim))
    return Covering(network, tuple(rules), tuple(numbers), _AIM, chosen, lower)


def last_layer(network: Network, names: Sequence[str]) -> Network:
    """Return the head of a network as a network of its own, over the named neurons of the last hidden layer.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]))
    >>> last_layer(net, ["majority"]).predict([[1], [0]]).tolist()
    [1, 0]
    """
    top, width = network.layers[-1].max_level, network.head.inputs
    if top is None:
        return Network(Encoder.of_bits(width, names), [], network.head, network.classes)
    encoder = Encoder.of_integers(width, 0, top, names=names)
    return Network(encoder, [], network.head.expanded(), network.classes)
