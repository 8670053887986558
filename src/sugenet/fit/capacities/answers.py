"""Answers about capacities learned from ratings: all that fit, why none does, a best one.

Each answer is read from its certificate, both when it is found and when it is loaded. All capacities within a
tolerance lie between two envelopes (docs/theory.md 10.1).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity import (
    Conjugate,
    Focal,
    RuleSet,
    Scale,
    SetFunction,
    elimination_rules,
    lower_envelope,
    selection_rules,
    sugeno,
    upper_envelope,
)
from sugenet.capacity.arguments import rating_text, show_number
from sugenet.capacity.criteria import containing_none_before
from sugenet.capacity.scales import UNIT, Value
from sugenet.checker.form import exact
from sugenet.errors import CertificateError, CriteriaError, SugenetError
from sugenet.fit.capacities.clashes import Tolerance
from sugenet.fit.capacities.ratings import Ratings
from sugenet.plottable import Plottable
from sugenet.visible import visible

__all__ = [
    "Answered",
    "CapacityFit",
    "Conflict",
    "Envelopes",
    "Fit",
    "Learned",
    "LearnedCertificate",
    "VersionSpace",
    "answer_from",
    "certificate_of",
    "envelopes_of",
    "learned_of",
    "words_of",
]


@dataclass(frozen=True, slots=True)
class Envelopes:
    """All capacities within a tolerance: those from `lower` to `upper`."""

    lower: Focal
    upper: Conjugate
    lower_from: tuple[int, ...]
    """The samples that the focal sets of `lower` come from."""
    upper_from: tuple[int, ...]


def envelopes_of(ratings: Ratings, tolerance: Tolerance, samples: Iterable[int] | None = None) -> Envelopes:
    """Return the envelopes of those samples (default: all). Callers check whether anything lies between
    them.
    """
    top = ratings.samples.top
    indices = list(range(len(ratings)) if samples is None else samples)
    reached, below = _masks(tolerance.reached), _masks(~tolerance.above)
    low, high = tolerance.low.tolist(), tolerance.high.tolist()
    lower_from = _needed(indices, reached, [-worth for worth in low], [worth > 0 for worth in low])
    upper_from = _needed(indices, below, high, [worth < top for worth in high])
    value = ratings.value
    full = ratings.criteria.full
    return Envelopes(
        lower_envelope(ratings.criteria, [(reached[k], value(low[k])) for k in lower_from], ratings.scale),
        upper_envelope(
            ratings.criteria, [(full ^ below[k], value(high[k])) for k in upper_from], ratings.scale
        ),
        tuple(lower_from),
        tuple(upper_from),
    )


def _masks(held: npt.NDArray[np.bool_]) -> list[int]:
    rows = np.packbits(held, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def _needed(indices: list[int], masks: list[int], costs: list[Any], told: list[bool]) -> list[int]:
    """Return the samples whose set contains no set of a sample that says as much or more; one of equal
    ones.
    """
    order = sorted((k for k in indices if told[k]), key=lambda k: (costs[k], masks[k].bit_count(), k))
    return sorted(order[number] for number in containing_none_before([masks[k] for k in order]))


_SHOWN = 3
_DROPS = 10
_LONG = 20
_RULES = 10_000


class LearnedCertificate(dict[str, Any]):
    """JSON data that proves an answer; its `repr` is a short summary."""

    def __repr__(self) -> str:
        about = f"{self['answer']}, proof: {self['proof']['kind']}, ratings {self['ratings'][:12]}"
        return f"<certificate: {self['question']['kind']}, {about}; fields {', '.join(self)}>"


def certificate_of(ratings: Ratings, question: Mapping[str, Any], **contents: Any) -> dict[str, Any]:
    """Return a certificate about ratings: its contents are the answer and its proof."""
    about = {"format": "sugenet certificate", "version": 3, "ratings": ratings.fingerprint}
    return LearnedCertificate(about | {"question": dict(question)} | contents)


def words_of(value: Value) -> str:
    """Return a value of a scale in words: as it is written, else rounded."""
    text = rating_text(value)
    return show_number(value) if isinstance(value, Fraction) and len(text) > _LONG else text


class Learned(Plottable):
    """An answer about capacities, with the ratings it was learned from and a certificate."""

    ratings: Ratings
    certificate: dict[str, Any]

    def data(self) -> dict[str, Any]:
        """Return the answer as JSON; the ratings and the certificate determine it."""
        return {"ratings": self.ratings.data(), "certificate": dict(self.certificate)}


@dataclass(frozen=True, eq=False)
class Fit(Learned):
    """Capacities from `lower` to `upper`."""

    ratings: Ratings
    envelopes: Envelopes | None
    certificate: dict[str, Any]

    @property
    def lower(self) -> SetFunction:
        """The least of these capacities."""
        return self._single if self.envelopes is None else self.envelopes.lower

    @property
    def upper(self) -> SetFunction:
        """The greatest of these capacities."""
        return self._single if self.envelopes is None else self.envelopes.upper

    @property
    def _single(self) -> SetFunction:
        raise NotImplementedError

    @property
    def scale(self) -> Scale:
        """The scale of criteria and ratings."""
        return self.ratings.scale

    @cached_property
    def rules(self) -> RuleSet:
        """The rules of all these capacities: selection rules of the least, elimination rules of the
        greatest.
        """
        rules = [*selection_rules(self.lower, limit=_RULES), *elimination_rules(self.upper, limit=_RULES)]
        return RuleSet(self.ratings.criteria, rules, self.scale)

    def values(self, x: Any) -> tuple[Any, Any]:
        """Return the smallest and largest value that these capacities give to a sample, or to each of a
        batch.
        """
        return sugeno(self.lower, x, scale=self.scale), sugeno(self.upper, x, scale=self.scale)

    def says(self, x: Any) -> str:
        """Return the same for one sample, in words."""
        lowest, greatest = self.values(x)
        if np.ndim(lowest):
            raise CriteriaError(f"x has shape {np.shape(x)}. Say one sample at a time; values(x) takes many.")
        what = f"{words_of(lowest)}" if lowest == greatest else f"{words_of(lowest)} to {words_of(greatest)}"
        return f"{self._who} says {what}."

    _who = "every capacity that fits"


@dataclass(frozen=True, eq=False)
class VersionSpace(Fit):
    """All capacities that give every sample its rating: exactly those from `lower` to `upper`.

    Examples
    --------
    >>> from sugenet.fit import Ratings, version_space
    >>> stays = Ratings(
    ...     [["good", "bad"], ["ok", "good"]], ["ok", "ok"], ["bad", "ok", "good"], ["room", "food"]
    ... )
    >>> space = version_space(stays)
    >>> print(space)
    Capacities fit all 2 samples: exactly those that obey 2 selection rules and 3 elimination rules.
    >>> print(space.says(["bad", "good"]))
    every capacity that fits says bad to ok.
    """

    def __str__(self) -> str:
        n_samples = len(self.ratings)
        fit = "Capacities fit the sample" if n_samples == 1 else f"Capacities fit all {n_samples} samples"
        n_selection, greatest = self.lower.focal_count(), self.upper.conjugate().focal_count()
        rules = [
            f"{count} {kind} rule{'s' if count != 1 else ''}"
            for count, kind in ((n_selection, "selection"), (greatest, "elimination"))
        ]
        return f"{fit}: exactly those that obey {rules[0]} and {rules[1]}."


@dataclass(frozen=True, eq=False)
class Conflict(Learned):
    """Proof that no capacity gives every sample its rating.

    `alone` are the samples that no capacity can meet. `pairs` are samples (k, m) that no capacity can meet
    together. Both are indices from 0. `dropped` is a smallest set of samples without which some capacity fits
    the `rest`.
    """

    ratings: Ratings
    alone: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    dropped: tuple[int, ...]
    certificate: dict[str, Any]

    @cached_property
    def rest(self) -> Ratings | None:
        """The samples that are kept, which some capacity fits; None if none are left."""
        return self.ratings.without(self.dropped) if len(self.dropped) < len(self.ratings) else None

    def sentences(self, limit: int | None = None) -> list[str]:
        """Return each conflict in words: those of single samples, then those of pairs."""
        alone = (self._alone_text(k) for k in self.alone)
        pairs = (self._pair_text(k, m) for k, m in self.pairs)
        return list(islice(chain(alone, pairs), limit))

    def _rating(self, k: int) -> str:
        return words_of(self.ratings.value(self.ratings.samples.ratings[k]))

    def _alone_text(self, k: int) -> str:
        row, rating = self.ratings.samples.rows[k], self.ratings.samples.ratings[k]
        worse = rating > max(row)
        side, value = ("at most", max(row)) if worse else ("at least", min(row))
        return (
            f"{self.ratings.label(k)} has {side} {words_of(self.ratings.value(value))} on every criterion, "
            f"but is rated {self._rating(k)}."
        )

    def _pair_text(self, k: int, m: int) -> str:
        samples, names = self.ratings.samples, self.ratings.criteria.names
        held = [
            name for name, value in zip(names, samples.rows[k], strict=True) if value >= samples.ratings[k]
        ]
        where = " and ".join(visible(str(name)) for name in held[:_SHOWN]) + (
            f" and {len(held) - _SHOWN} more" if len(held) > _SHOWN else ""
        )
        one, other = self.ratings.label(k), self.ratings.label(m)
        return (
            f"{one} is rated {self._rating(k)} and reaches that on {where} alone, where {other} is "
            f"above {self._rating(m)}; yet that is rated {self._rating(m)}."
        )

    def __str__(self) -> str:
        n_samples, dropped = len(self.ratings), len(self.dropped)
        total = len(self.alone) + len(self.pairs)
        first = self.sentences(_SHOWN)
        drop = ", ".join(map(self.ratings.label, self.dropped[:_DROPS]))
        drop += f" and {dropped - _DROPS} more" if dropped > _DROPS else ""
        head = f"No capacity fits all {n_samples} samples: {total:,} conflict{'s' if total != 1 else ''}."
        more = [f"... and {total - len(first):,} more."] if total > len(first) else []
        last = f"Fewest samples to drop so that one fits the rest: {dropped}, for instance {drop}."
        return "\n".join([head, *(f"- {one[0].upper()}{one[1:]}" for one in first), *more, last])


@dataclass(frozen=True, eq=False)
class CapacityFit(Fit):
    """A capacity that fits as well as any, or nearly.

    `capacity` is the least of those known to be equally good. `error` is its error, in the numbers of the
    scale or in levels. No capacity has an error below `least`. Both are equal, so that the capacity is best
    (`is_best`), unless ``loss="total"`` ran out of time. The range from `lower` to `upper` depends on the
    loss:

    - ``loss="largest"``: all best capacities.
    - ``loss="total"``: all capacities that give the samples the values `fitted`, which cost the same.
    - `maxitive` or `minitive`: the one capacity that was found.
    """

    loss: str
    error: int | Fraction
    least: int | Fraction
    capacity: SetFunction
    because: str

    @property
    def is_best(self) -> bool:
        """Whether it is proved that no capacity has a smaller error."""
        return self.error == self.least

    @property
    def limited(self) -> str | None:
        """``"maxitive"`` or ``"minitive"`` if only such capacities were requested."""
        question = self.certificate["question"]
        return next((name for name in ("maxitive", "minitive") if question.get(name) is not None), None)

    @property
    def _single(self) -> SetFunction:
        return self.capacity

    @cached_property
    def fitted(self) -> Any:
        """The values that `capacity` gives to the samples."""
        return self.predict(self.scale.decode(self.ratings.X))

    _who = "every capacity of this fit"

    def __str__(self) -> str:
        levels = self.scale != UNIT
        kind = "" if self.limited is None else " of this kind"
        size = words_of(self.error)
        if levels:
            size = f"{size} level{'s' if self.error != 1 else ''}"
        if self.loss == "largest":
            first = (
                f"A capacity fits all {len(self.ratings)} samples exactly"
                if not self.error
                else f"No capacity{kind} errs by less than {size} on every sample, "
                "and this one errs by no more"
            )
        elif not self.is_best:
            first = (
                f"This capacity costs {words_of(self.error)} in total, and none costs less than "
                f"{words_of(self.least)}; whether one lies between was not decided in time"
            )
        else:
            first = (
                f"No capacity has less cost in total than {words_of(self.error)}, and this one has no more"
            )
        return f"{first}. {self.because}".strip()

    def predict(self, X: Any) -> Any:
        """Return the values that `capacity` gives to samples."""
        return sugeno(self.capacity, X, scale=self.scale)


Answered = VersionSpace | Conflict | CapacityFit


def learned_of(data: Mapping[str, Any]) -> Answered:
    """Return the answer about capacities that has this `data`. `check` verifies whether it is true.

    Examples
    --------
    >>> from sugenet.fit import Ratings, version_space
    >>> space = version_space(Ratings([[0.5, 1], [1, 0.25]], [0.5, 1]))
    >>> print(learned_of(space.data()))
    Capacities fit all 2 samples: exactly those that obey 1 selection rule and 2 elimination rules.
    """
    if not isinstance(data, Mapping) or set(data) != {"ratings", "certificate"}:
        raise CertificateError(
            "this is not an answer about capacities: the fields must be ratings and certificate."
        )
    ratings, certificate = Ratings.of(data["ratings"]), data["certificate"]
    if not isinstance(certificate, Mapping) or certificate.get("ratings") != ratings.fingerprint:
        raise CertificateError("the certificate of the answer is about other ratings.")
    try:
        return answer_from(ratings, LearnedCertificate(certificate))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        if isinstance(error, SugenetError):
            raise
        raise CertificateError(
            f"the answer is damaged: {type(error).__name__}: {str(error)[:200]}"
        ) from error


def answer_from(ratings: Ratings, certificate: dict[str, Any], known: Envelopes | None = None) -> Answered:
    """Return the answer that a certificate shows; its envelopes are computed if they are not known."""
    samples, answer = ratings.samples, certificate["answer"]
    exactly = Tolerance.of(samples)
    if answer == "fits":
        return VersionSpace(ratings, known or envelopes_of(ratings, exactly), certificate)
    if answer == "conflict":
        return _conflict(ratings, exactly, certificate)
    if answer not in ("fitted", "between"):
        raise CertificateError(f"unknown answer {str(answer)[:40]!r}.")
    question, proof = certificate["question"], certificate["proof"]
    error = exact(certificate["error"], least=0)
    size = _number(error)
    lower = _number(exact(certificate.get("least", certificate["error"]), least=0))
    loss = question["loss"]
    if proof["kind"] == "sets":
        name = "maxitive" if question["minitive"] is None else "minitive"
        mu = _limited(ratings, proof["capacity"], name)
        reason = _limited_text(ratings, question[name], name, proof["because"]) if error else ""
        return CapacityFit(ratings, None, certificate, loss, size, lower, mu, reason)
    if proof["kind"] == "envelopes":
        envelopes = known or envelopes_of(ratings, Tolerance.of(samples, int(error * samples.unit)))
        reason = _because(ratings, proof["because"]) if error else ""
    else:
        fitted = np.array([int(exact(value) * samples.unit) for value in proof["fitted"]], samples.a.dtype)
        envelopes = envelopes_of(ratings, Tolerance(samples, fitted, fitted))
        moved = int(np.count_nonzero(fitted != samples.a))
        reason = f"{moved} of {len(ratings)} samples get another value than their rating."
    return CapacityFit(ratings, envelopes, certificate, loss, size, lower, envelopes.lower, reason)


def _number(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def _conflict(ratings: Ratings, exactly: Tolerance, certificate: dict[str, Any]) -> Conflict:
    alone, (k, m) = exactly.alone, exactly.clashes()
    both = ~alone[k] & ~alone[m]
    pairs = tuple(zip(k[both].tolist(), m[both].tolist(), strict=True))
    return Conflict(
        ratings,
        tuple(np.flatnonzero(alone).tolist()),
        pairs,
        tuple(certificate["dropped"]),
        certificate,
    )


def _limited(ratings: Ratings, capacity: list[Any], name: str) -> SetFunction:
    names, unit = ratings.criteria.names, ratings.samples.unit
    weights = [
        ({names[i] for i in chosen}, ratings.value(int(exact(worth) * unit))) for chosen, worth in capacity
    ]
    mu = Focal(ratings.criteria, weights, ratings.scale)  # type: ignore[arg-type]
    return mu if name == "maxitive" else mu.conjugate()


def _limited_text(ratings: Ratings, k: int, name: str, because: int | None) -> str:
    forced = "that all criteria together are worth top" if because is None else ratings.label(because)
    return f"Among {k}-{name} capacities {forced} forces that."


def _because(ratings: Ratings, because: list[int]) -> str:
    value, samples = ratings.value, ratings.samples
    k = because[0]
    rating, first = words_of(value(samples.ratings[k])), ratings.label(k)
    first = f"{first[:1].upper()}{first[1:]}"
    if len(because) == 1:
        low, high = words_of(value(min(samples.rows[k]))), words_of(value(max(samples.rows[k])))
        return f"{first} forces that: it is rated {rating}, and its values go from {low} to {high}."
    m = because[1]
    other = words_of(value(samples.ratings[m]))
    return f"{first} and {ratings.label(m)}, rated {rating} and {other}, force that."
