"""Checking that none of very many changes is a violation: all are gone through once more (`words`).

To be ensured: the changes are all that the question allows, as many as the certificate says, and each is
judged. Unlike in a `walk`, what was met on the way is not compared, so it is not kept.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from sugenet.checker.form import Sweep
from sugenet.checker.plain import plain_walk
from sugenet.checker.walk import MOST_SETS, walk
from sugenet.checker.whole import Whole
from sugenet.checker.words import SetsSeen, WordWalk
from sugenet.errors import CertificateError, TooLargeError

__all__ = ["check_sweep"]

_CLOSE = 16  # neurons near tau: options that do the same to them stand together, so that blocks differ less


def check_sweep(proof: Sweep, whole: Whole, *, plain: bool = False) -> str:
    """Go through all changes once more."""
    sets = proof.sets
    if not 0 < sets <= MOST_SETS:
        raise CertificateError(f"a walk goes through at most {MOST_SETS:,} sets.")
    problem = whole.base, whole.features, whole.budget, whole.layers, whole.head, whole.violates
    words = None if plain else _words(whole)
    if words is None:  # the same as a walk, whose patterns are kept as long as there is room
        form = plain_walk if plain else walk
        seen = form(*problem, most=sets, patterns=MOST_SETS, limit=whole.limit)
        met, bad = seen.sets, seen.bad
    else:
        met, bad = _swept(words, whole)
    if bad:
        raise CertificateError("a change that the certificate excludes is a violation.")
    if met != sets:
        raise CertificateError(f"there are {met:,} sets of changes, not {sets:,} as the certificate says.")
    return f"none of the {met:,} changes is a violation"


def _words(whole: Whole) -> WordWalk | None:
    """The walk in words, where the question is one for it."""
    prices = [price for row in whole.features for price, _ in row]
    if whole.budget is None or not prices or not len(whole.base) or sum(prices) >= 1 << 60:
        return None
    close = np.argsort(np.abs(2 * whole.base + 1), kind="stable")[:_CLOSE]
    features = sorted(whole.features, key=lambda row: tuple(row[0][1][close].tolist()))
    try:
        found = WordWalk(
            whole.base,
            features,
            int(whole.budget),
            whole.layers,
            whole.head,
            whole.cases,
            whole.limit,
        )
    except TooLargeError:
        return None
    return found if found.is_for() else None


def _swept(words: WordWalk, whole: Whole) -> tuple[int, bool]:
    """How many sets there are, the empty one included, and whether some is a violation."""
    lock, met, bad = Lock(), [1], [bool(whole.violates(words.sample())[0])]

    def use(_first: int, seen: SetsSeen) -> None:
        wrong = len(seen.patterns) > 0 and bool(np.any(whole.violates(words.counts(seen.patterns))))
        with lock:
            met[0] += int(seen.many.sum()) + seen.calm
            bad[0] |= wrong

    words.each(list(range(words.many)), use)
    return met[0], bad[0]
