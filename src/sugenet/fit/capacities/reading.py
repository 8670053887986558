"""Answers about capacities, from their certificates: as they are found, and as they are read back."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sugenet.capacity import Focal, SetFunction
from sugenet.checker.form import exact
from sugenet.errors import CertificateError, SugenetError
from sugenet.fit.capacities.answers import CapacityFit, Conflict, LearnedCertificate, VersionSpace, words_of
from sugenet.fit.capacities.clashes import Tolerance
from sugenet.fit.capacities.envelopes import Envelopes, envelopes_of
from sugenet.fit.capacities.ratings import Ratings

__all__ = ["Answered", "answer_from", "learned_of"]

Answered = VersionSpace | Conflict | CapacityFit


def learned_of(data: Mapping[str, Any]) -> Answered:
    """The answer about capacities of which this is the `data`. Whether it is true, `check` says.

    Examples
    --------
    >>> from sugenet.fit import Ratings, version_space
    >>> space = version_space(Ratings([[0.5, 1], [1, 0.25]], [0.5, 1]))
    >>> print(learned_of(space.data()))
    Capacities fit all 2 samples: exactly those that obey 1 selection rule and 2 elimination rules.
    """
    if not isinstance(data, Mapping) or set(data) != {"ratings", "certificate"}:
        raise CertificateError(
            "this is no answer about capacities: the fields must be ratings and certificate."
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


def answer_from(
    ratings: Ratings, certificate: dict[str, Any], known: Envelopes | None = None
) -> Answered:
    """The answer that a certificate shows; its envelopes are made unless they are known."""
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
    least = _number(exact(certificate.get("least", certificate["error"]), least=0))
    loss = question["loss"]
    if proof["kind"] == "sets":
        name = "maxitive" if question["minitive"] is None else "minitive"
        mu = _limited(ratings, proof["capacity"], name)
        words = _limited_words(ratings, question[name], name, proof["because"]) if error else ""
        return CapacityFit(ratings, None, certificate, loss, size, least, mu, words)
    if proof["kind"] == "envelopes":
        found = known or envelopes_of(ratings, Tolerance.of(samples, int(error * samples.unit)))
        words = _because(ratings, proof["because"]) if error else ""
    else:
        fitted = np.array([int(exact(value) * samples.unit) for value in proof["fitted"]], samples.a.dtype)
        found = envelopes_of(ratings, Tolerance(samples, fitted, fitted))
        moved = int(np.count_nonzero(fitted != samples.a))
        words = f"{moved} of {len(ratings)} samples get another value than their rating."
    return CapacityFit(ratings, found, certificate, loss, size, least, found.lower, words)


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


def _limited_words(ratings: Ratings, k: int, name: str, because: int | None) -> str:
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
