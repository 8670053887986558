"""Global rules: a network, or one of its classes, as prime rules over raw features, each proved.

A rule limits some features: numbers to neighbouring states, categories to a set. Every input within its
limits has its class. A rule is *prime* if no limit can be widened without losing this. The rules of a network
with few codewords cover everything (`complete`). Those of a large network cover only part of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sugenet.capacity import PossibilisticBase
from sugenet.checker.limit import SECONDS, Limit
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import Network, network_of
from sugenet.nn.arrays import Ints
from sugenet.problem.clock import Clock
from sugenet.reason.envelope import Answered, is_outcome
from sugenet.reason.phrases import part_text
from sugenet.reason.questions import Always, Rules, class_of, reading_data
from sugenet.reason.rules import export
from sugenet.reason.rules.grid import Grid, Masks, Share, indices_of
from sugenet.reason.rules.recheck import LEFT_OUT, check_book, check_data, masks_in
from sugenet.reason.rules.rule import NetworkRule
from sugenet.reason.rules.small import CODEWORDS, all_primes, cover, marked
from sugenet.reason.verdicts import Proved, verify
from sugenet.visible import visible

__all__ = ["BookWork", "ProvedRule", "Rulebook", "rulebook"]

_SMALL, _LARGE = 0.5, 0.9
"""Shares of the time for finding rules of a small and of a large network; the rest is for proofs."""
_RANDOM = 32
"""Number of random codewords from which rules of a large network grow, if there are no samples."""
_DRAWS = 4096


@dataclass(frozen=True, eq=False)
class ProvedRule(NetworkRule):
    """A rule with its proof."""

    grid: Grid
    masks: Masks
    """The rule as a box of the grid."""
    prime: bool
    """Whether no limit can be widened; False if this was not decided."""
    certificate: dict[str, Any]

    def __len__(self) -> int:
        """Number of conditions."""
        return len(self.limits)

    @property
    def coverage(self) -> Fraction:
        """Share of all codewords within its limits, with equal weights."""
        return self.grid.coverage(self.masks)

    @property
    def states(self) -> dict[int, tuple[int, ...]]:
        """Return the features that it limits, from 0, each with the allowed states."""
        indices = {f: indices_of(self.masks[f]) for f, _ in self.limits}
        return {f: tuple(self.grid.states[f][index] for index in row) for f, row in indices.items()}

    def conditions(self) -> list[str]:
        """Return one condition per feature, in words."""
        return self.grid.words(self.masks)

    def data(self) -> dict[str, Any]:
        """Return the rule as JSON data."""
        return {
            "if": self.conditions(),
            "then": self.label,
            "states": [[feature, list(states)] for feature, states in self.states.items()],
            "coverage": str(self.coverage),
            "prime": self.prime,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        return f"{' and '.join(self.conditions()) or 'any input'} -> {self.network.class_texts[self.index]}"


@dataclass(frozen=True, eq=False)
class Rulebook(Answered):
    """Rules of a network, those with the largest coverage first: the answer of `rulebook`.

    Its `outcome` is ``"complete"`` if the rules cover exactly the inputs of their classes, else
    ``"partial"``.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import rulebook
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> rulebook(net).outcome
    'complete'

    See Also
    --------
    rulebook : gives this answer.
    check : verifies its certificate.
    """

    is_complete = is_outcome("complete")
    is_partial = is_outcome("partial")

    network: Network
    rules: tuple[ProvedRule, ...]
    classes: tuple[int, ...]
    """Classes of the question."""
    complete: bool
    """Whether the rules of these classes together cover exactly the inputs of each."""
    kind: str
    """``cover``: no rule can be left out. ``every``: all prime rules. ``some``: the rules that were found."""
    left_out: Mapping[str, int]
    """Rules that were found and left out: ``too long``, ``beyond most``, ``not proved in time``."""
    seconds: float
    interrupted: bool = False
    """Whether Ctrl-C ended it."""

    @property
    def outcome(self) -> str:
        """``"complete"`` if the rules cover exactly the inputs of their classes, else ``"partial"``."""
        return "complete" if self.complete else "partial"

    @property
    def certificate(self) -> dict[str, Any]:
        """The whole book as JSON data, with a certificate for each rule; `check` verifies all of it."""
        return self.data()

    @property
    def is_certified(self) -> bool:
        """Whether every rule has a certificate: always."""
        return True

    @property
    def question(self) -> Rules:
        """The question."""
        return Rules(self.classes)

    @cached_property
    def _grid(self) -> Grid:
        return Grid(self.network)

    def of(self, label: Any) -> tuple[ProvedRule, ...]:
        """Return the rules of one class, by name or index.

        Parameters
        ----------
        label : str or int
            Name or index of the class.

        Returns
        -------
        tuple
            The rules.
        """
        chosen = class_of(self.network, label)
        return tuple(rule for rule in self.rules if rule.index == chosen)

    def predict(self, X: Any) -> list[int | None]:
        """Return the class of each raw sample by the rules alone; None if no rule covers it.

        Parameters
        ----------
        X : array, data frame or list
            Raw samples, one per row.

        Returns
        -------
        list of int or None
            One class index per sample.
        """
        indices = self._grid.places(X)
        labels = np.full(len(indices), -1)
        for rule in self.rules:
            labels[self._grid.inside(rule.masks, indices)] = rule.index
        return [None if label < 0 else label for label in labels.tolist()]

    def covered(self, label: Any) -> Share:
        """Return the share of all codewords that the rules of a class cover; a lower bound if it is not
        exact.

        Parameters
        ----------
        label : str or int
            Name or index of the class.

        Returns
        -------
        Share
            The share, and whether it is exact.
        """
        boxes = [rule.masks for rule in self.of(label)]
        if self._grid.total <= CODEWORDS:
            return Share(Fraction(int(marked(self._grid, boxes).sum()), self._grid.total), True)
        return self._grid.union(boxes)

    def _shares(self) -> dict[str, Share]:
        return {self.network.classes[label]: self.covered(label) for label in self.classes}

    def check(self, network: Network | None = None, *, time_limit: float | None = SECONDS) -> str:
        """Check every claim by the definition, and return a description that names the fields without proof.

        The claims are: the certificate of each rule, that it covers any input, that the rule is prime, and
        the joint properties of the rules.

        Raises `CertificateError` if a claim is false, and `CheckLimitError` if the time runs out.

        Parameters
        ----------
        network : Network, default: None
            Network to check against. None: the network of the book.
        time_limit : float, default: 600
            Seconds. None: no limit.

        Returns
        -------
        str
            Description of the check; it names the fields without proof.
        """
        return check_book(self, self.network if network is None else network, Limit(time_limit))

    # -- in other forms --------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return a summary, then one rule per line with its coverage."""
        shares = [_percent(rule.coverage) for rule in self.rules]
        width = max(map(len, shares), default=0)
        lines = (
            f"  {share:>{width}}  {rule}{'' if rule.prime else '  (may be widened)'}"
            for share, rule in zip(shares, self.rules, strict=True)
        )
        return "\n".join([self._summary(), *lines])

    def _summary(self) -> str:
        names = ", ".join(self.network.class_texts[label] for label in self.classes)
        kinds = {
            "every": "all prime rules",
            "cover": "prime rules, none of them needless",
            "some": "those that were found",
        }
        what = "rule" if len(self.rules) == 1 else "rules"
        text = f"{len(self.rules)} {what} for {names}: {kinds[self.kind]}"
        if self.complete:
            text += "; together they say everything"
        else:
            parts = [
                f"{known} for {visible(name)}"
                for name, at in self._shares().items()
                for known in [_percent(at.value) if at.exact else f"at least {_percent(at.value, -1)}"]
            ]
            text += f"; of all codewords they cover {', '.join(parts)}"
        left = ", ".join(f"{count} {why}" for why, count in self.left_out.items() if count)
        return text + (f"; left out: {left}" if left else "") + ("; interrupted" if self.interrupted else "")

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data; `from_data` reads it back."""
        return {
            "format": "sugenet rulebook",
            "version": 1,
            "outcome": self.outcome,
            "question": self.question.data(self.network),
            "network": self.network.fingerprint,
            "classes": [self.network.classes[label] for label in self.classes],
            "complete": self.complete,
            "kind": self.kind,
            "left_out": dict(self.left_out),
            "covered": {
                name: {"share": str(share.value), "exact": share.exact}
                for name, share in self._shares().items()
            },
            "rules": [rule.data() for rule in self.rules],
            "seconds": self.seconds,
        }

    @classmethod
    def from_data(
        cls, network: Network, data: Mapping[str, Any], *, time_limit: float | None = SECONDS
    ) -> Rulebook:
        """Read a book from the data that `data` returned, and check all its claims, as `check` does.

        Parameters
        ----------
        network : Network
            The network that is asked about.
        data : dict
            JSON data from `data`.
        time_limit : float, default: 600
            Seconds for the check. None: no limit.

        Returns
        -------
        Rulebook
            The checked book.
        """
        network = network.anywhere()  # a book covers any input
        check_data(data, network)
        with reading_data("the rulebook"):
            grid = Grid(network)
            rules = []
            for number, row in enumerate(data["rules"], start=1):
                masks, label = masks_in(grid, row, number), network.classes.index(row["then"])
                rule = _rule(grid, masks, label, row["prime"], row["certificate"])
                if row["if"] != rule.conditions() or row["coverage"] != str(rule.coverage):
                    raise CertificateError(
                        f"the words or the coverage of rule {number} are not about the rule {rule}."
                    )
                rules.append(rule)
            classes = tuple(sorted(network.classes.index(name) for name in data["classes"]))
            seconds, kept = float(data["seconds"]), dict(data["left_out"])
            book = cls(network, tuple(rules), classes, data["complete"], data["kind"], kept, seconds)
        book.check(time_limit=time_limit)
        again = book.data()
        if data["covered"] != again["covered"]:
            raise CertificateError(
                "the rules do not cover exactly the shares of all codewords that the book says."
            )
        for name, value in again.items():
            if data[name] != value:
                raise CertificateError(f"the rulebook spells its {name} in another way than sugenet does.")
        return book

    def to_python(self) -> str:
        """Return a standalone Python function `classify(sample)`: the class name of a raw sample, None if no
        rule covers it.
        """
        return export.to_python(self._grid, self.rules)

    def to_dnf(self, label: Any = None) -> str:
        """Return the rules of one class as a disjunction of terms over the encoder's bits, like DIMACS (``p
        dnf``).

        A legal codeword satisfies it iff a rule of the class covers it; if the book is complete, iff the
        network gives the class.

        Parameters
        ----------
        label : str or int, default: None
            Name or index of the class. None: the only class of the book.

        Returns
        -------
        str
            Text with one term per line.
        """
        return export.to_dnf(self._grid, self.of(self._one(label)), self._one(label))

    def to_cnf_dimacs(self) -> str:
        """Return the rules as DIMACS CNF over the encoder's bits and one variable per class.

        Its models are the legal codewords, each with one class that no rule contradicts. If the book is
        complete for all classes, this is the network's class, so there are as many models as codewords.
        """
        return export.to_cnf_dimacs(self._grid, self.rules)

    def possibilistic_base(self) -> PossibilisticBase:
        """Return the rules as a possibilistic base of certain clauses: "a bit of the body differs, or the
        class holds".

        Every clause has weight 1.

        Criteria are the literals of the encoder's bits, and one named ``class c`` for each class. A sample
        with a class is impossible (degree 0) iff a rule gives the sample another class. Otherwise it is fully
        possible.
        """
        return export.possibilistic_base(self._grid, self.rules)

    def _one(self, label: Any) -> int:
        if label is None and len(self.classes) != 1:
            raise QuestionError(
                f"the book has rules of {len(self.classes)} classes. Say "
                f"which: label={self.network.classes[self.classes[0]]!r}."
            )
        return self.classes[0] if label is None else class_of(self.network, label)

    def __len__(self) -> int:
        return len(self.rules)

    def __str__(self) -> str:
        return self.text()


def rulebook(
    network: Network,
    label: Any = None,
    *,
    X: Any = None,
    most: int | None = None,
    longest: int | None = None,
    every: bool = False,
    time_limit: float | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> Rulebook:
    """Describe a network by rules over raw features.

    For a network of up to 2^20 codewords, prime rules cover each class exactly, and none is redundant. Rules
    of a larger network grow from samples: one prime rule for each sample that no rule covers yet.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    label : str or int, default: None
        Return only rules of this class, by name or index.
    X : array or data frame, default: None
        Raw samples that rules of a large network grow from, in order. None: 32 random codewords. A small
        network needs none.
    most : int, default: None
        Keep at most this many rules: of a small network those that cover most, of a large one the first.
    longest : int, default: None
        Leave out rules with more conditions than this; they are counted.
    every : bool, default: False
        List all prime rules of a small network, instead of a cover.
    time_limit : float, default: None
        Seconds after which the rules proved so far are returned. Part of the time is reserved for proofs.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    notify : callable, default: None
        Called with a sentence about the progress.

    Returns
    -------
    Rulebook
        Its `outcome` is ``"complete"`` if the rules cover exactly the inputs of their classes, else
        ``"partial"``.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1]], [2])], Head([[-1], [+1]]), classes=["off", "on"])
    >>> print(rulebook(net, "on"))
    3 rules for on: prime rules, none of them needless; together they say everything
      25 %  x1 = +1 and x2 = +1 -> on
      25 %  x1 = +1 and x3 = -1 -> on
      25 %  x2 = +1 and x3 = -1 -> on

    See Also
    --------
    check_rule : decides one rule.
    """
    for name, value in (("most", most), ("longest", longest)):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0
        ):
            raise QuestionError(f"{name}={value!r} must be an integer, at least 0.")
    network = network_of(network)
    classes = tuple(range(len(network.classes))) if label is None else (class_of(network, label),)
    network = network.anywhere()  # a rule for all inputs also holds for those that can occur
    work = BookWork(Grid(network), classes, most, longest, Clock(time_limit, None, seed, notify))
    try:
        if work.grid.total <= CODEWORDS:
            return work.small(every)
        if every:
            raise QuestionError(
                f"there are {work.grid.total:,} codewords, too many for every rule. Leave out every=True."
            )
        return work.large(X)
    except KeyboardInterrupt:
        work.clock.tell("interrupted")
        return replace(work.book(False, "some"), interrupted=True)


class BookWork:
    """Construction of one book."""

    def __init__(
        self, grid: Grid, classes: tuple[int, ...], most: int | None, longest: int | None, clock: Clock
    ) -> None:
        self.grid, self.classes, self.most, self.longest, self.clock = grid, classes, most, longest, clock
        self.rules: list[ProvedRule] = []
        self.left_out = dict.fromkeys(LEFT_OUT, 0)

    def small(self, every: bool) -> Rulebook:
        """Find rules of a network whose codewords can all be enumerated."""
        search = self.clock.share(_SMALL)
        labelled_boxes: list[tuple[int, Masks]] = []
        with suppress(TimeoutError):
            table = self.grid.table(stop=search.up)
            for label in self.classes:
                self.clock.tell(f"rules of {self.grid.network.class_texts[label]} ...")
                has_class = np.asarray(table == label)
                if every:
                    boxes = all_primes(self.grid, has_class, search.up)
                else:
                    how: dict[str, Any] = {"stop": search.up, "notify": self.clock.tell}
                    boxes = cover(self.grid, has_class, seed=self.clock.seed, **how)
                labelled_boxes += [(label, masks) for masks in boxes]
        stopped = search.up()
        labelled_boxes.sort(key=lambda pair: _rank(self.grid, *pair))
        for label, masks in labelled_boxes:
            if self._fits(masks):
                if self.most is not None and len(self.rules) >= self.most:
                    self.left_out["beyond most"] += 1
                elif self.clock.up():
                    self.left_out["not proved in time"] += 1
                else:
                    self.prove(masks, label, prime=True)
        kind = "cover" if not every else "some" if stopped else "every"
        return self.book(not stopped and not any(self.left_out.values()), kind)

    def large(self, X: Any) -> Rulebook:
        """Grow rules from samples."""
        from sugenet.reason.rules.large import Grower

        indices, labels = self._seeds(X)
        growers: dict[int, Grower] = {}
        search = self.clock.share(_LARGE)
        for row, label in zip(indices, labels.tolist(), strict=True):
            if search.up() or (self.most is not None and len(self.rules) >= self.most):
                break
            if label not in self.classes or any(
                rule.index == label and self.grid.inside(rule.masks, row[None, :])[0] for rule in self.rules
            ):
                continue
            if label not in growers:
                growers[label] = Grower(self.grid, label, search, indices[labels != label])
            grown = growers[label].grow(row.tolist())
            if grown is None:
                self.left_out["not proved in time"] += 1
            elif self._fits(grown.masks):
                self.prove(grown.masks, label, prime=grown.prime)
                self.clock.tell(f"{len(self.rules)} rules")
        return self.book(False, "some")

    def _seeds(self, X: Any) -> tuple[Ints, Ints]:
        """Return codewords to grow from, and their classes."""
        if X is not None:
            indices = self.grid.places(X)
            return indices, self.grid.classes(indices)
        rng = np.random.default_rng(self.clock.seed)
        indices = rng.integers(0, np.array(self.grid.sizes), (_DRAWS, len(self.grid.sizes)))
        labels = self.grid.classes(indices)
        chosen = np.flatnonzero(np.isin(labels, self.classes))[:_RANDOM]
        return indices[chosen], labels[chosen]

    def _fits(self, masks: Masks) -> bool:
        fits = self.longest is None or len(self.grid.conditions(masks)) <= self.longest
        self.left_out["too long"] += not fits
        return fits

    def prove(self, masks: Masks, label: int, *, prime: bool) -> None:
        """Add a rule with its certificate: by bounds if they suffice, else by the solver's clauses, else by
        any engine.
        """
        question = Always(label, _rule(self.grid, masks, label, prime, {}).box)
        for engine in ("bounds", "cdcl", "auto"):
            if self.clock.up():
                break
            answer = verify(
                self.grid.network, question, engine=engine, time_limit=self.clock.left(), seed=self.clock.seed
            )
            if isinstance(answer, Proved) and answer.certificate is not None:
                self.rules.append(_rule(self.grid, masks, label, prime, answer.certificate))
                return
        self.left_out["not proved in time"] += 1

    def book(self, complete: bool, kind: str) -> Rulebook:
        """Return the book: without rules inside others, largest coverage first."""
        kept = [
            rule for rule in self.rules if rule.prime or not any(_inside(rule, other) for other in self.rules)
        ]
        kept.sort(key=lambda rule: _rank(self.grid, rule.index, rule.masks))
        return Rulebook(
            self.grid.network, tuple(kept), self.classes, complete, kind, self.left_out, self.clock.seconds
        )


def _inside(rule: ProvedRule, other: ProvedRule) -> bool:
    if rule is other or rule.index != other.index or other.coverage <= rule.coverage:
        return False
    return all(a & ~b == 0 for a, b in zip(rule.masks, other.masks, strict=True))


def _rank(grid: Grid, label: int, masks: Masks) -> tuple[Any, ...]:
    conditions = grid.conditions(masks)
    return -grid.coverage(masks), len(conditions), label, conditions, masks


def _rule(grid: Grid, masks: Masks, label: int, prime: bool, certificate: dict[str, Any]) -> ProvedRule:
    return ProvedRule(grid.network, grid.limits(masks), label, grid, masks, prime, certificate)


def _percent(share: Fraction, towards: int = 0) -> str:
    """Return a share in percent, to three digits; near 0 as "1 in n", near 1 as "all but 1 in n"."""
    text = part_text(share, 3, towards)
    return text if " " in text else f"{100 * float(text):.3g} %"
