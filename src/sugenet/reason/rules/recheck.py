"""Checks of a rulebook: the form of its data, the proof of every rule, that rules are prime, and their
coverage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from sys import float_info
from typing import TYPE_CHECKING, Any

import numpy as np

from sugenet.checker.certificate import check
from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError, CheckLimitError, refuse
from sugenet.nn import Network
from sugenet.reason.envelope import envelope
from sugenet.reason.phrases import uncovered_text
from sugenet.reason.questions import Always
from sugenet.reason.rules.grid import Grid, Masks, indices_of
from sugenet.reason.rules.rule import NetworkRule
from sugenet.reason.rules.small import CODEWORDS, all_primes, marked
from sugenet.reason.verdicts import Proved, Refuted, verify

if TYPE_CHECKING:
    from sugenet.reason.rules.book import ProvedRule, Rulebook

__all__ = ["KINDS", "LEFT_OUT", "check_book", "check_data", "masks_in", "only"]

KINDS = ("cover", "every", "some")
LEFT_OUT = ("too long", "beyond most", "not proved in time")
_FIELDS = (
    "format",
    "version",
    "outcome",
    "question",
    "network",
    "classes",
    "complete",
    "kind",
    "left_out",
    "covered",
    "rules",
    "seconds",
)
_RULE = ("if", "then", "states", "coverage", "prime", "certificate")


def only(data: Any, names: tuple[str, ...], what: str) -> None:
    """Check that an object has exactly these fields."""
    if not isinstance(data, Mapping):
        raise CertificateError(f"the rulebook is damaged: {what} must be a JSON object.")
    for name in names:
        if name not in data:
            raise CertificateError(f"the rulebook is damaged: {what} has no field {name!r}.")
    for name in data:
        if name not in names:
            raise CertificateError(f"{what} has a field {str(name)[:40]!r} that it must not have.")


def check_data(data: Any, network: Network) -> None:
    """Check that data of a book is well-formed and does not contradict itself."""
    if (
        not isinstance(data, Mapping)
        or data.get("format") != "sugenet rulebook"
        or type(data.get("version")) is not int
        or data["version"] != 1
    ):
        raise CertificateError("this is not a sugenet rulebook of version 1.")
    only(data, _FIELDS, "the rulebook")
    classes, left, seconds = data["classes"], data["left_out"], data["seconds"]
    name, fingerprint = str(data["network"]), network.fingerprint
    named = isinstance(classes, list) and all(name in network.classes for name in classes)
    refuse(
        CertificateError,
        (
            data["network"] != fingerprint,
            f"the rulebook is for the network {name[:12]}, not for {fingerprint[:12]}.",
        ),
        (
            not named or len(set(classes)) < len(classes),
            "the rulebook is damaged: its classes must be names of the network's, each once.",
        ),
        (
            not isinstance(data["complete"], bool) or data["kind"] not in KINDS,
            f"the rulebook is damaged: complete is true or false, and kind one of {', '.join(KINDS)}.",
        ),
    )
    only(left, LEFT_OUT, "what was left out")
    refuse(
        CertificateError,
        (
            not all(type(count) is int and count >= 0 for count in left.values()),
            "the rulebook is damaged: the numbers of rules left out must be integers of at least 0.",
        ),
        (
            type(seconds) not in (int, float) or not 0 <= seconds <= float_info.max,
            "the rulebook is damaged: its 'seconds' field is not a valid duration.",
        ),
        (
            data["complete"] and (data["kind"] == "some" or any(left.values())),
            "the rulebook says that it is complete, and that rules are missing.",
        ),
        (
            not isinstance(data["rules"], list),
            "the rulebook is damaged: its rules must be a list.",
        ),
    )
    for number, row in enumerate(data["rules"], start=1):
        only(row, _RULE, f"rule {number}")
        is_rule = isinstance(row["prime"], bool) and isinstance(row["certificate"], dict)
        if not is_rule or row["then"] not in classes:
            raise CertificateError(
                f"the rulebook is damaged: rule {number} has a class of the book, a certificate, "
                f"and is prime or not."
            )


def masks_in(grid: Grid, row: Mapping[str, Any], number: int) -> Masks:
    """Return the box of a rule's data."""
    masks = list(grid.full)
    for feature, kept in row["states"]:
        known = type(feature) is int and 0 <= feature < len(masks) and masks[feature] == grid.full[feature]
        if (
            not known
            or not all(type(state) is int and state in grid.states[feature] for state in kept)
            or len(set(kept)) < len(kept)
        ):
            raise CertificateError(
                f"the rulebook is damaged: rule {number} has states of feature {str(feature)[:40]} "
                f"that there are not."
            )
        masks[feature] = sum(1 << grid.states[feature].index(state) for state in kept)
    return grid.check_box(tuple(masks))


def check_book(book: Rulebook, network: Network, limit: Limit) -> str:
    """Check every claim of a book by the definition; describe the checks, and name the fields without
    certificate.
    """
    network = network.anywhere()  # a book covers any input
    for number, rule in enumerate(book.rules, start=1):
        limit.look()
        _check_envelope(rule, number, network)
        check(rule.certificate, network, time_limit=limit.left(), memory_limit=limit.memory)
    summary = f"{len(book.rules)} rules hold for any input"
    grid = Grid(network)
    table = grid.table("definition") if grid.total <= CODEWORDS else None
    prime = [(number, rule) for number, rule in enumerate(book.rules, start=1) if rule.prime]
    for number, rule in prime:
        for wider in _widened(grid, rule.masks):
            limit.look()
            if _holds(grid, table, rule, wider, limit):
                raise CertificateError(
                    f"rule {number} is not prime: {' and '.join(grid.words(wider)) or 'any input'} is enough."
                )
    if prime:
        summary += f", {'all' if len(prime) == len(book.rules) else len(prime)} of them prime"
    if book.kind != "some":
        _check_kind(book, grid, table)
    covering = [rule.coverage for rule in book.rules]
    if covering != sorted(covering, reverse=True) or len(
        {(rule.index, rule.masks) for rule in book.rules}
    ) < len(book.rules):
        raise CertificateError("each rule stands once in a book, those that cover most first.")
    if book.complete:
        summary += (
            f", and cover exactly the inputs of {', '.join(network.class_texts[k] for k in book.classes)}"
        )
    return f"{summary}; {uncovered_text(_uncovered(book))}"


def _check_envelope(rule: ProvedRule, number: int, network: Network) -> None:
    """Check that a certificate claims exactly that a rule holds for any input."""
    if rule.certificate.get("network") != network.fingerprint:
        return  # `check` reports the right network
    claim = envelope(network, Always(rule.index, rule.box), answer="proved", witness=None)
    for name in {**claim, **rule.certificate}:
        if name != "proof" and (name not in claim or rule.certificate.get(name, claim) != claim[name]):
            raise CertificateError(
                f"the certificate of rule {number} is not about the rule {rule}: its {str(name)[:40]} is "
                f"another one."
            )


def _uncovered(book: Rulebook) -> list[str]:
    """Return the fields of a book without proof."""
    names = [] if all(rule.prime for rule in book.rules) else ["prime"]
    names += ["kind"] if book.kind == "some" else []
    names += [] if book.complete or book.kind == "every" else ["left_out"]
    return [*names, "seconds"]


def _check_kind(book: Rulebook, grid: Grid, table: Any) -> None:
    """Check that the rules match their kind and their joint claims."""
    if table is None:
        raise CertificateError(
            f"that the rules are of kind {book.kind!r} cannot be checked: there are {grid.total:,} codewords."
        )
    if not all(rule.prime for rule in book.rules):
        raise CertificateError(f"rules of kind {book.kind!r} are prime, but some are not said to be.")
    missing = sum(book.left_out.values())
    for label in book.classes:
        missing -= _check_class(book, grid, table == label, label)
    if book.kind == "every" and missing:
        raise CertificateError("the rules that were left out are not as many as the book says.")


def _check_class(book: Rulebook, grid: Grid, has_class: Any, label: int) -> int:
    """Check that the rules of a class match their kind, and cover exactly its codewords if the book is
    complete.

    For the kind ``every``, return how many rules are missing.
    """
    boxes, name = [rule.masks for rule in book.of(label)], grid.network.class_texts[label]
    if book.complete and not np.array_equal(marked(grid, boxes), has_class):
        raise CertificateError(f"the rules do not cover exactly the inputs of {name}.")
    if book.kind == "every":
        every = set(all_primes(grid, has_class))
        if (
            len(set(boxes)) < len(boxes)
            or not set(boxes) <= every
            or (book.complete and len(boxes) < len(every))
        ):
            raise CertificateError(f"these are not all prime rules of {name}.")
        return len(every) - len(boxes)
    times = np.zeros(has_class.shape, np.int64)
    alone = [marked(grid, [box]) for box in boxes]
    for part in alone:
        times += part
    if any(not (times[part] == 1).any() for part in alone):
        raise CertificateError(f"a rule of {name} is needless, against what the book says.")
    return 0


def _widened(grid: Grid, masks: Masks) -> Iterator[Masks]:
    """Yield every box that allows one more state: a neighbouring one of a number, any of a category."""
    for feature in grid.conditions(masks):
        mask, indices = masks[feature], indices_of(masks[feature])
        more = [indices[0] - 1, indices[-1] + 1] if grid.is_number(feature) else range(grid.sizes[feature])
        for index in more:
            if 0 <= index < grid.sizes[feature] and not mask >> index & 1:
                yield (*masks[:feature], mask | 1 << index, *masks[feature + 1 :])


def _holds(grid: Grid, table: Any, rule: ProvedRule, masks: Masks, limit: Limit) -> bool:
    """Return whether every codeword of a box has a class.

    For a large network an engine decides, and a counterexample is replayed by the definition.
    """
    if table is not None:
        return bool((table[marked(grid, [masks])] == rule.index).all())
    answer = verify(
        grid.network,
        Always(rule.index, NetworkRule(grid.network, grid.limits(masks), rule.index).box),
        time_limit=limit.left(),
    )
    if not isinstance(answer, Proved | Refuted):
        raise CheckLimitError(
            "not checked within the limit: that a rule is prime takes more time. Allow more: time_limit=."
        )
    check(answer.certificate, grid.network, time_limit=limit.left())
    return isinstance(answer, Proved)
