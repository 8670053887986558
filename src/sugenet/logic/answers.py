"""Answers about composites, one type for each outcome.

Each prints as a sentence and is written to JSON and read back (`answer_of`). Its certificate is composed of
those of its parts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from sugenet.checker.form import exact
from sugenet.errors import CertificateError
from sugenet.logic.addition import Sum
from sugenet.logic.composed import Choice, Composed
from sugenet.logic.envelopes import composite_in
from sugenet.logic.readings import Gap, exact_gap, gap_text
from sugenet.logic.stated import Statement
from sugenet.logic.sudoku import Sudoku
from sugenet.nn import Network
from sugenet.problem.neighbourhood import row_of
from sugenet.problem.regions import region_of
from sugenet.reason.counterfactuals import Counterfactual
from sugenet.reason.envelope import Recorded, Source, changes_data, is_outcome, opened
from sugenet.reason.phrases import advice, changes_listed, show_cost
from sugenet.reason.questions import raw_of, reading_data
from sugenet.reason.reasons import Reason
from sugenet.reason.verdicts import Refuted
from sugenet.visible import visible

__all__ = [
    "ComposedAnswer",
    "ComposedChange",
    "ComposedProved",
    "ComposedRead",
    "ComposedReason",
    "ComposedRefuted",
    "ComposedUndecided",
    "NoComposedChange",
    "OpenComposedChange",
    "answer_of",
]


def _fields(**extra: Source) -> Mapping[str, Source]:
    """Return the fields of an answer in JSON: its own between the common ones."""
    return {
        "claim": "claim",
        "stated": lambda answer: answer.whole.text if isinstance(answer.whole, Statement) else ...,
        **extra,
        "seconds": "seconds",
    }


def _certified(name: str, about: str, read: Callable[[Any], Any] = exact) -> Any:
    """Return a property that reads a field of the certificate; None if it is missing."""

    def value(answer: ComposedAnswer) -> Any:
        stated = answer.certificate.get(name)
        return None if stated is None else read(stated)

    return property(value, doc=about)


def _gap_in(text: str) -> Gap:
    return exact_gap(exact(text))


@dataclass(frozen=True, eq=False)
class ComposedAnswer(Recorded):
    """Base class of answers about a composite."""

    outcome: ClassVar[str]
    json: ClassVar[Mapping[str, Source]] = _fields()

    whole: Composed
    certificate: dict[str, Any]
    seconds: float

    @property
    def claim(self) -> str:
        """The answer as a sentence."""
        return str(self)

    @property
    def question(self) -> dict[str, Any]:
        """The question as JSON data, as in the certificate."""
        question: dict[str, Any] = self.certificate["question"]
        return question

    def _question_data(self) -> dict[str, Any]:
        return {"question": self.question}

    @property
    def is_certified(self) -> bool:
        """Whether the certificate proves something: all except undecided answers."""
        return self.outcome != "undecided"

    @property
    def _parts(self) -> list[tuple[int, dict[str, Any]]]:
        return [(part["reading"], part["certificate"]) for part in self.certificate["parts"]]

    def _network(self, index: int) -> Network:
        network = self.whole.readings[index].network
        if network is None:
            raise CertificateError("a part is about a reading that no network reads.")
        return network

    @property
    def _choice(self) -> Choice:
        return tuple(self.certificate["choice"])

    @property
    def shown(self) -> Choice:
        """Positions of the values that the answer shows, one per reading: as read, if nothing changes."""
        return self._choice if "choice" in self.certificate else self.whole.read

    def _changes(self) -> dict[int, dict[str, tuple[Any, Any]]]:
        """Return the changes of images, by the position of their reading."""
        changes: dict[int, dict[str, tuple[Any, Any]]] = {}
        costs: dict[int, Fraction] = {}
        for index, part in self._parts:
            network, chosen = self._network(index), self._choice[index]
            if chosen == self.whole.read[index] or part["answer"] not in ("refuted", "counterfactual"):
                continue
            asked = opened(part, network)
            witness = raw_of(network, part["witness"])
            if self.whole.readings[index].values[chosen] != _label(network, witness):
                continue
            if part["answer"] == "refuted":
                label = (_label(network, witness),)
                changes[index] = Refuted(network, asked, "", witness, label, "", 0.0, part).changes()  # type: ignore[arg-type]
            else:
                value, lower = exact(part["value"]), exact(part["lower"])
                if index not in changes or value < costs[index]:
                    one = Counterfactual(network, asked, value, lower, witness, "", part)  # type: ignore[arg-type]
                    changes[index], costs[index] = one.changes(), value
        return changes

    def _listed(self) -> str:
        """Return the changed images in words."""
        rows = []
        for index, changes in sorted(self._changes().items()):
            reading = self.whole.readings[index]
            network, now = self._network(index), reading.values[self._choice[index]]
            was = reading.values[self.whole.read[index]]
            text = visible(f"{reading.name} from {was} to {now}")
            rows.append(f"{text} ({changes_listed(network, changes)})")
        return "; ".join(rows)


def _label(network: Network, witness: Sequence[Any]) -> str:
    return network.classes[int(network.predict(row_of(witness), engine="definition")[0])]


def _shown(composed: Composed, choice: Choice) -> str:
    """Return a choice in words."""
    match composed:
        case Sum():
            return composed.equation(choice)
        case Sudoku():
            return " / ".join(composed.digits(choice))
    pairs = zip(composed.readings, choice, strict=True)
    return ", ".join(visible(f"{reading.name} = {reading.values[k]}") for reading, k in pairs)


def _claimed(composed: Composed) -> str:
    """Return the value of the composite as it is read."""
    return composed.equation(composed.read) if isinstance(composed, Sum) else composed.words(composed.says)


# -- how possible --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComposedRead(ComposedAnswer):
    """Possibility of a value of a composite, and the gap of any other value."""

    is_read = is_outcome("read")
    outcome: ClassVar[str] = "read"
    json: ClassVar[Mapping[str, Source]] = _fields(
        value="value",
        gap=lambda answer: None if answer.gap is None else str(answer.gap),
        margin=lambda answer: None if answer.margin is None else str(answer.margin),
        shown=lambda answer: None if answer.choice is None else _shown(answer.whole, answer.choice),
    )

    @property
    def value(self) -> Any:
        """The value in question."""
        return self.certificate["question"]["value"]

    gap = _certified(
        "gap", "How far it is behind the most possible; 0: it is that; None: it is impossible.", _gap_in
    )
    margin = _certified(
        "margin",
        "How far any other value is behind: the necessity of this one; None: any other is impossible.",
        _gap_in,
    )

    @property
    def choice(self) -> Choice | None:
        """The most possible values of the readings that give the composite this value."""
        return None if self.gap is None else self._choice

    def __str__(self) -> str:
        claim = self.whole.words(self.value)
        if self.gap is None:
            return f"{claim}: impossible, whatever the readings are"
        shown = _shown(self.whole, self._choice)
        if self.gap:
            return f"{claim}: behind by {gap_text(self.gap)}, at best {shown}"
        sure = "any other is impossible" if self.margin is None else f"ahead by {gap_text(self.margin)}"
        sure = "but so is another" if self.margin == 0 else sure
        return f"{claim}: most possible, {sure}: {shown}"


class _Changed(ComposedAnswer):
    """Base class of answers with images that change the composite."""

    @property
    def value(self) -> Any:
        """The value of the composite after the change."""
        return self.whole.value(self._choice)

    def changes(self) -> dict[str, dict[str, tuple[Any, Any]]]:
        """Return the changes of images, by the name of their reading."""
        return {
            self.whole.readings[index].name: changes for index, changes in sorted(self._changes().items())
        }

    def _changes_data(self) -> dict[str, Any]:
        return {name: changes_data(changes) for name, changes in self.changes().items()}


# -- can it fail ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _OfRegion(ComposedAnswer):
    @property
    def where(self) -> str:
        """The region of the images, in words."""
        question = self.certificate["question"]
        network = next(reading.network for reading in self.whole.readings if reading.network is not None)
        region = region_of(question["region"], network)
        together = "all samples together" if question.get("joint") else "each sample"
        return f"{region} in {together}"

    @property
    def _claim(self) -> str:
        return f"{_claimed(self.whole)}, with {self.where}"


@dataclass(frozen=True, eq=False)
class _OfVerify(_OfRegion):
    is_proved = is_outcome("proved")
    is_refuted = is_outcome("refuted")
    is_undecided = is_outcome("undecided")


@dataclass(frozen=True, eq=False)
class ComposedProved(_OfVerify):
    """The composite keeps its value."""

    outcome: ClassVar[str] = "proved"

    @property
    def kept(self) -> tuple[int, ...]:
        """Positions of the readings whose class was proved to stay; that is enough."""
        return tuple(sorted({index for index, _ in self._parts}))

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict."""
        n_parts = len(self._parts)
        return f"{self._claim}: {mark('proved')}, by {n_parts} {'part' if n_parts == 1 else 'parts'}"


@dataclass(frozen=True, eq=False)
class ComposedRefuted(_OfVerify, _Changed):
    """The composite changes with these images."""

    outcome: ClassVar[str] = "refuted"
    json: ClassVar[Mapping[str, Source]] = _fields(value="value", changes="_changes_data")

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict."""
        return f"{self._claim}: {mark('refuted')}. {_shown(self.whole, self._choice)}, with {self._listed()}"


@dataclass(frozen=True, eq=False)
class ComposedUndecided(_OfVerify):
    """Neither proved nor refuted: some parts are undecided."""

    outcome: ClassVar[str] = "undecided"
    json: ClassVar[Mapping[str, Source]] = _fields(open="open", proved="proved")

    @property
    def open(self) -> tuple[str, ...]:
        """The undecided readings."""
        indices = {index for index, part in self._parts if part["answer"] == "undecided"}
        return tuple(self.whole.readings[index].name for index in sorted(indices))

    @property
    def proved(self) -> int:
        """Number of proved parts."""
        return sum(part["answer"] == "proved" for _, part in self._parts)

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict."""
        left = ", ".join(map(visible, self.open)) or "some parts"
        return (
            f"{self._claim}: {mark('undecided')}; {self.proved} parts are proved, and open are {left}. "
            f"{advice('time limit')}"
        )


# -- what if -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _OfChange(ComposedAnswer):
    is_found = is_outcome("found")
    is_none = is_outcome("none")
    is_undecided = is_outcome("undecided")

    @property
    def metric(self) -> str:
        """Cost function of the changes."""
        return str(self.certificate["question"]["cost"]["kind"])

    @property
    def _wanted(self) -> str:
        question = self.certificate["question"]
        value = question["value"]
        if isinstance(self.whole, Sum):
            return f"another sum than {value}" if question["other"] else self.whole.words(value)
        return self.whole.words(value != question["other"])


@dataclass(frozen=True, eq=False)
class ComposedChange(_OfChange, _Changed):
    """Changed images that give the composite another value, and the proved bound on their cost."""

    outcome: ClassVar[str] = "found"
    json: ClassVar[Mapping[str, Source]] = _fields(
        value="value",
        metric="metric",
        cost="cost",
        lower="lower",
        is_minimum="is_minimum",
        changes="_changes_data",
    )
    cost = _certified("cost", "What the changes cost together; for L2 a sum of squares.")
    lower = _certified(
        "lower", "Nothing cheaper than this does it: equal to `cost` where it is proved to be the least."
    )

    @property
    def is_minimum(self) -> bool:
        """Whether it is proved that no cheaper change exists."""
        return bool(self.lower == self.cost)

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict."""
        proof = f"{mark('proved')} to be the least"
        if not self.is_minimum:
            proof = f"the least is at least {show_cost(self.metric, self.lower, -1)}"
            if show_cost(self.metric, self.lower) == show_cost(self.metric, self.cost):
                proof = f"{mark('proved')} to be the least but for rounding"
        before, after = _claimed(self.whole), self.whole.words(self.value)
        after = _shown(self.whole, self._choice) if isinstance(self.whole, Sum) else after
        return f"{before}; {after} with {show_cost(self.metric, self.cost)}, {proof}: {self._listed()}"


@dataclass(frozen=True, eq=False)
class NoComposedChange(_OfChange):
    """No change gives the composite this value: proved."""

    outcome: ClassVar[str] = "none"

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict."""
        question, claim = self.certificate["question"], _claimed(self.whole)
        if isinstance(self.whole, Sum) and not question["other"]:
            claim += f", and never {question['value']}"
        return f"{claim}, whatever is changed: {mark('proved')}"


@dataclass(frozen=True, eq=False)
class OpenComposedChange(_OfChange):
    """No change was found, and only a lower bound is proved."""

    outcome: ClassVar[str] = "undecided"
    json: ClassVar[Mapping[str, Source]] = _fields(metric="metric", lower="lower")
    lower = _certified("lower", "Nothing cheaper than this does it.")

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict."""
        bound = show_cost(self.metric, self.lower, -1)
        return (
            f"{self._wanted}: {mark('undecided')}. Proved so far: it needs at least {bound}. "
            f"{advice('time limit', 'ask for another value')}"
        )


# -- why -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComposedReason(_OfRegion):
    """Features of the images that suffice for the value of the composite, whatever else changes in the
    region.
    """

    is_found = is_outcome("found")
    is_undecided = is_outcome("undecided")
    json: ClassVar[Mapping[str, Source]] = _fields(
        status="status",
        reasons=lambda answer: {name: reason.conditions() for name, reason in answer.reasons.items()},
    )
    status = _certified(
        "answer",
        "``minimum``: none smaller exists; ``minimal``: none can be left out; ``sufficient``; ``unknown``.",
        str,
    )

    @property
    def outcome(self) -> str:  # type: ignore[override]
        """``"found"``, or ``"undecided"`` if nothing is proved."""
        return "undecided" if self.status == "unknown" else "found"

    @cached_property
    def reasons(self) -> dict[str, Reason]:
        """The reason of each required sample, by the name of its reading."""
        return {
            self.whole.readings[index].name: Reason.of(
                self._network(index), opened(part, self._network(index)), {"certificate": part}
            )
            for index, part in self._parts
        }

    @property
    def size(self) -> int:
        """Total number of features."""
        return sum(len(reason.features) for reason in self.reasons.values())

    def said(self, mark: Callable[[str], str] = str) -> str:
        """Return one sentence, with `mark` applied to its verdict."""
        if self.status == "unknown":
            names = [visible(name) for name, reason in self.reasons.items() if reason.status == "unknown"]
            about = f", for {', '.join(names)}" if names else ""
            return f"{self._claim}: no reason was found in the time{about}. Allow more time."
        if not self.size:
            few = len(self.reasons) < len(self.whole.readings)
            about = f", as {', '.join(map(visible, self.reasons))} decided" if few and self.reasons else ""
            proved = f"it stays whatever changes ({mark('proved')}){about}"
            return f"{self._claim}: nothing needs to be known, {proved}"
        listed = [f"{visible(name)}: {reason}" for name, reason in self.reasons.items() if reason.features]
        free = [visible(name) for name, reason in self.reasons.items() if not reason.features]
        silent = f"; {', '.join(free)}: nothing" if free else ""
        summary = f"{self.size} feature{'' if self.size == 1 else 's'}: {mark('proved')} {self.status}"
        return f"{self._claim}, because of {'; '.join(listed)}{silent} ({summary})"


# -- and back ------------------------------------------------------------------------------------------------

_TYPES: dict[tuple[str, str], type[ComposedAnswer]] = {
    ("possible", "possible"): ComposedRead,
    ("possible", "impossible"): ComposedRead,
    ("robust", "proved"): ComposedProved,
    ("robust", "refuted"): ComposedRefuted,
    ("robust", "undecided"): ComposedUndecided,
    ("whatif", "counterfactual"): ComposedChange,
    ("whatif", "none"): NoComposedChange,
    ("whatif", "open"): OpenComposedChange,
    ("reason", "minimum"): ComposedReason,
    ("reason", "minimal"): ComposedReason,
    ("reason", "sufficient"): ComposedReason,
    ("reason", "unknown"): ComposedReason,
}


def answer_of(data: Mapping[str, Any], *networks: Network) -> ComposedAnswer:
    """Read an answer about a composite from the data that `data` returned, for the same networks.

    Reading does not verify it: call `check`, which covers every field except `seconds`.

    Examples
    --------
    >>> from sugenet.logic import Reading, Sum, read
    >>> digits = [Reading.given(name, {"3": 0, "5": 2}) for name in "ab"]
    >>> print(answer_of(read(Sum(digits[:1], digits[1:])).data()))
    the sum is 6: most possible, ahead by 2 points: 3 + 3 = 6
    """
    with reading_data("the answer"):
        certificate = data["certificate"]
        composed = composite_in(certificate, networks, data.get("stated"))
        made = _TYPES[certificate["question"]["kind"], certificate["answer"]]
        if type(data["seconds"]) not in (int, float):
            raise CertificateError("the field 'seconds' of the answer is not a number.")
        answer = made(composed, certificate, data["seconds"])
        again = answer.data()
    for name in {**again, **data}:
        if data.get(name, again) != again.get(name, data):
            raise CertificateError(f"the field {str(name)[:40]!r} does not fit the rest of the answer.")
    return answer
