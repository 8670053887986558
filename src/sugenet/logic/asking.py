"""Questions about a composite: `read`, `verify`, `why` (docs/theory.md 12.5).

Each asks as few questions about the parts as possible, with `verify`, `whatif` and `why`, and combines their
certificates.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

from sugenet.errors import QuestionError
from sugenet.logic.answers import (
    ComposedProved,
    ComposedRead,
    ComposedReason,
    ComposedRefuted,
    ComposedUndecided,
)
from sugenet.logic.composed import Composed, Least, Wanted, see_composed
from sugenet.logic.envelopes import PartOf, certificate_of, proof_that_none
from sugenet.problem.clock import Clock
from sugenet.problem.neighbourhood import row_of
from sugenet.problem.regions import L0, L1, L2, AnyInput, Hamming, Linf, Region
from sugenet.reason import Robust, reasons, verdicts
from sugenet.reason.questions import named_region
from sugenet.reason.verdicts import Proved, Refuted, Undecided
from sugenet.reprs import quoted

__all__ = ["read", "see_network", "verify", "why"]

_STATUS = ("unknown", "sufficient", "minimal", "minimum")


def read(composed: Composed, value: Any = None) -> ComposedRead:
    """Return how possible a value of a composite is.

    The result has the gap of the value to the most possible one, and the gap of any other value (possibility
    and necessity, as gaps).

    Parameters
    ----------
    composed
        A `Sum`, a `Sudoku` or a `Statement`.
    value
        The sum; or whether it is a Sudoku, or holds (default: the sum as it is read, or True).

    Examples
    --------
    >>> from sugenet.logic import Reading, Sum
    >>> digits = [Reading.given("a", {"3": 0, "5": 2}), Reading.given("b", {"3": 0, "8": 4})]
    >>> total = Sum(digits[:1], digits[1:])
    >>> print(read(total))
    the sum is 6: most possible, ahead by 2 points: 3 + 3 = 6
    >>> print(read(total, 13))
    the sum is 13: behind by 4 points, at best 5 + 8 = 13
    """
    see_composed(composed)
    clock = Clock()
    wanted = _wanted(
        composed, (composed.says if composed.kind == "sum" else True) if value is None else value
    )
    rest = Wanted(wanted.value, other=True)
    best, other = composed.min_gap(wanted), composed.min_gap(rest)
    question = {"kind": "possible", "value": wanted.value}
    contents: dict[str, Any] = {} if best is None else {"gap": str(best[0]), "choice": list(best[1])}
    contents |= {"proof": _proof_of_gap(composed, wanted, best)}
    contents |= (
        {"margin": None, "other": None}
        if other is None
        else {"margin": str(other[0]), "other": list(other[1])}
    )
    contents |= {"other_proof": _proof_of_gap(composed, rest, other)}
    certificate = certificate_of(composed, question, "impossible" if best is None else "possible", **contents)
    return ComposedRead(composed, certificate, clock.seconds)


def _proof_of_gap(composed: Composed, wanted: Wanted, best: Least | None) -> dict[str, Any] | None:
    """Return why no choice with a wanted value has a smaller gap than the best."""
    rows = [
        {k: 0 for k, gap in enumerate(reading.gaps) if best is None or gap < best[0]}
        for reading in composed.readings
    ]
    return proof_that_none(composed, wanted, rows)


def _wanted(composed: Composed, value: Any) -> Wanted:
    if composed.kind == "sum":
        if isinstance(value, bool) or not isinstance(value, int):
            raise QuestionError(f"value={quoted(value)} is not a sum: give an integer.")
    elif not isinstance(value, bool):
        raise QuestionError(f"value={quoted(value)} must be True or False.")
    return Wanted(value)


def _region_data(region: Any, *, joint: bool = False) -> dict[str, Any]:
    """Return a region as JSON with the same meaning for every network; refuse regions that name features."""
    if not isinstance(region, Hamming | L0 | L1 | L2 | Linf | AnyInput):
        raise QuestionError(
            f"region={quoted(region)} is none for several images: give Hamming, L0, L1, L2, Linf or AnyInput."
        )
    if joint and isinstance(region, Linf | AnyInput):
        raise QuestionError(f"{quoted(region)} has no budget that images could share: leave joint out.")
    if isinstance(region, AnyInput):
        return {"kind": "AnyInput"}
    return {"kind": type(region).__name__, "radius": str(Fraction(region.radius))}


def see_network(composed: Composed) -> list[int]:
    """Return the positions of readings that can change; refuse a composite without any."""
    indices = [index for index, reading in enumerate(composed.readings) if reading.network is not None]
    if not indices:
        raise QuestionError("no reading comes from a network, so there are no images that could change.")
    return indices


# -- can it fail ---------------------------------------------------------------------------------------------


def verify(
    composed: Composed,
    region: Region,
    *,
    joint: bool = False,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> ComposedProved | ComposedRefuted | ComposedUndecided:
    """Decide whether a composite keeps its value while its images change.

    Parameters
    ----------
    composed
        A `Sum`, a `Sudoku` or a `Statement`.
    region
        How far each image may change: `L0`, `L1`, `L2`, `Linf`, `Hamming` or `AnyInput`.
    joint
        Whether the images share the budget of the region, instead of each having its own. For a sum and a
        valid Sudoku both are equivalent, since one changed reading changes them.
    time_limit, threads, seed, notify
        As in `sugenet.verify`; the time is for all parts together.

    Examples
    --------
    >>> from sugenet import L0, models
    >>> from sugenet.logic import Sum
    >>> X, y = models.samples("digits")
    >>> print(verify(Sum.of(models.digits(), X[[7]], X[[4]]), L0(1)))
    3 + 6 = 9, with up to 1 feature changed in each sample: proved, by 2 parts
    """
    see_composed(composed)
    clock, region = Clock(time_limit, threads, seed, notify), named_region(region)
    question = {"kind": "robust", "region": _region_data(region, joint=joint), "joint": joint}
    asking = _Verifying(composed, region, clock, see_network(composed))
    if joint and not composed.is_sensitive():
        raise QuestionError(
            "here several images may have to change together, which a shared budget counts in all: ask what "
            "would change it (whatif), whose cost is that."
        )
    try:
        choice = asking.one_by_one() if composed.is_sensitive() else asking.by_need()
        if choice is None and not asking.is_open:
            asking.prove()
    except (KeyboardInterrupt, TimeoutError):
        choice, asking.is_open = None, True
    if choice is not None:
        certificate = certificate_of(
            composed, question, "refuted", asking.refuted(choice), choice=list(choice)
        )
        return ComposedRefuted(composed, certificate, clock.seconds)
    if asking.is_open:
        certificate = certificate_of(composed, question, "undecided", asking.parts)
        return ComposedUndecided(composed, certificate, clock.seconds)
    proved = [(index, part) for index, part in asking.parts if part["answer"] == "proved"]
    certificate = certificate_of(composed, question, "proved", proved, proof=asking.proof)
    return ComposedProved(composed, certificate, clock.seconds)


class _Verifying:
    """State of a verification: which classes the readings may have in a region."""

    def __init__(self, whole: Composed, region: Region, clock: Clock, places: list[int]) -> None:
        self.whole, self.region, self.clock, self.places = whole, region, clock, places
        self.parts: list[PartOf] = []
        self.is_open = False
        self.proof: dict[str, Any] | None = None
        self.asked: set[int] = set()
        self.reached: dict[tuple[int, int], dict[str, Any]] = {}
        """For readings and classes that they can have, the evidence."""
        as_read = whole.read
        self.possible = [
            {as_read[index]} | (set(range(len(reading.values))) if index in places else set())
            for index, reading in enumerate(whole.readings)
        ]
        self.unclear: set[tuple[int, int]] = set()

    def ask(self, index: int, target: int | None = None) -> None:
        """Decide whether a reading keeps its class, or does not become one class."""
        reading = self.whole.readings[index]
        network = reading.network
        assert network is not None
        self.clock.tell(f"{reading.name}: can it change?")
        verdict = verdicts.verify(
            network,
            Robust(network.encoder.values(reading.sample), self.region, target),
            time_limit=_share(self.clock, len(self.places) - len(self.asked) if target is None else 2),
            threads=self.clock.threads,
            seed=self.clock.seed,
            notify=self.clock.notify,
        )
        current = self.whole.read[index]
        others = {k for k in range(len(reading.values)) if k != current and target in (None, k)}
        match verdict:
            case Proved() if verdict.is_certified:
                self.possible[index] -= others
            case Refuted():
                became = int(network.predict(row_of(verdict.witness), engine="definition")[0])
                self.reached[index, became] = verdict.certificate
            case _:
                self.unclear |= {(index, k) for k in others}
        if verdict.certificate is not None:
            self.parts.append((index, verdict.certificate))
        if target is None:
            self.asked.add(index)
        if isinstance(verdict, Undecided) and verdict.reason == "interrupted":
            raise KeyboardInterrupt

    def one_by_one(self) -> tuple[int, ...] | None:
        """Decide every reading: one that changes alone changes the composite."""
        as_read = self.whole.read
        for index in self.places:
            self.ask(index)
            for at, became in self.reached:
                return (*as_read[:at], became, *as_read[at + 1 :])
        self.is_open = bool(self.unclear)
        return None

    def by_need(self) -> tuple[int, ...] | None:
        """Decide the parts of each choice that changes the composite, until there is none, or one is
        reached.
        """
        wanted = Wanted(self.whole.says, other=True)
        while True:
            clear = [{k for k in row if (p, k) not in self.unclear} for p, row in enumerate(self.possible)]
            choice = self.whole.find(wanted, clear)
            if choice is None:
                self.is_open = self.whole.find(wanted, self.possible) is not None
                return None
            moved = [(p, k) for p, k in enumerate(choice) if k != self.whole.read[p]]
            missing = next(((p, k) for p, k in moved if (p, k) not in self.reached), None)
            if missing is None:
                return choice
            index, k = missing
            self.ask(index, None if index not in self.asked else k)

    def prove(self) -> None:
        """Prove that no choice of possible classes changes the composite."""
        wanted, rows = Wanted(self.whole.says, other=True), [dict.fromkeys(row, 0) for row in self.possible]
        self.proof = proof_that_none(self.whole, wanted, rows, clock=self.clock.for_proof())

    def refuted(self, choice: tuple[int, ...]) -> list[PartOf]:
        """Return the evidence that a choice is reached."""
        as_read = self.whole.read
        return [(p, self.reached[p, k]) for p, k in enumerate(choice) if k != as_read[p]]


def _share(clock: Clock, parts: int) -> float | None:
    """Return the seconds for the next of several parts."""
    left = clock.left()
    return None if left is None else left / max(1, parts)


# -- why -----------------------------------------------------------------------------------------------------


def why(
    composed: Composed,
    region: Region | None = None,
    *,
    minimal: Literal["subset", "size"] | None = "subset",
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> ComposedReason:
    """Find features of the images that suffice for the value of a composite.

    While they keep their values, it keeps its value, whatever else changes inside a region in every image.

    Parameters
    ----------
    composed
        A `Sum`, a `Sudoku` or a `Statement`.
    region
        How far each image may change, as in `verify` (default: any input).
    minimal
        ``subset``, ``size`` or None, as in `sugenet.why`. In a sum every reading matters, and the claim is
        about the composite. If some readings suffice, as two equal digits do for an invalid Sudoku, only
        these have a reason. It is then claimed to be sufficient.
    time_limit, threads, seed, notify
        As in `sugenet.why`; the time is for all parts together.

    Examples
    --------
    >>> from sugenet import Hamming, models
    >>> from sugenet.logic import Sum
    >>> X, y = models.samples("digits")
    >>> found = why(Sum.of(models.digits(), X[[8]], X[[4]]), Hamming(3))
    >>> found.status, found.size
    ('minimum', 2)
    """
    see_composed(composed)
    clock = Clock(time_limit, threads, seed, notify)
    region = AnyInput() if region is None else named_region(region)
    question = {"kind": "reason", "region": _region_data(region)}
    indices = see_network(composed)
    sensitive = composed.is_sensitive()
    needed = indices if sensitive else composed.deciding(indices)
    parts: list[PartOf] = []
    lowest = len(_STATUS) - 1 if sensitive else _STATUS.index("sufficient")
    stopped = False
    for done, index in enumerate(needed):
        reading = composed.readings[index]
        assert reading.network is not None
        clock.tell(f"{reading.name}: why?")
        answer = reasons.why(
            reading.network,
            reading.network.encoder.values(reading.sample),
            region,
            minimal=minimal,
            time_limit=0 if stopped else _share(clock, len(needed) - done),  # then all of its features
            threads=threads,
            seed=seed,
            notify=notify,
        )
        stopped = stopped or answer.interrupted
        if not answer.reasons:
            lowest = 0
            continue
        parts.append((index, answer.reasons[0].certificate))
        lowest = min(lowest, _STATUS.index(answer.reasons[0].status))
    more = {}
    if lowest:
        as_read, fixed = composed.read, {position for position, _ in parts}
        rows = [
            dict.fromkeys(
                range(len(reading.values))
                if position in indices and position not in fixed
                else [as_read[position]],
                0,
            )
            for position, reading in enumerate(composed.readings)
        ]
        try:
            wanted = Wanted(composed.says, other=True)
            more = {"proof": proof_that_none(composed, wanted, rows, clock=clock.for_proof())}
        except TimeoutError:
            lowest = 0
    certificate = certificate_of(composed, question, _STATUS[lowest], parts, **more)
    return ComposedReason(composed, certificate, clock.seconds)
