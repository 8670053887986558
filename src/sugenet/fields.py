"""Fields of each kind of question, defined once: command-line option, help, choices and default.

Python, the command line and the HTTP interface read these tables. Nothing is imported here, so that help and
errors are fast.
"""

from typing import Any, NamedTuple

__all__ = ["BALLS", "FIELDS", "KINDS", "Field", "Kind"]


class Field(NamedTuple):
    """A field of a question, or a setting of the function that answers it."""

    flag: str
    """The option on the command line."""
    metavar: str
    about: str
    """Help of that option."""
    choices: tuple[str, ...] = ()
    default: Any = None


FIELDS = {
    "target": Field("--target", "CLASS", "only changes to this class (default: any)"),
    "ties": Field(
        "--ties",
        "TIES",
        "ties go to the lowest class, or count against",
        ("lowest", "against"),
        "lowest",
    ),
    "cost": Field(
        "--cost",
        "COST",
        "metric: L0, L1, L2, Linf or Hamming (default: L0)",
        ("L0", "L1", "L2", "Linf", "Hamming"),
    ),
    "prices": Field("--price", "PRICE", "FEATURE=P, cost of a change, others fixed; repeatable"),
    "keep": Field("--keep", "FEATURES", "features that stay, separated by commas; repeatable"),
    "max_cost": Field("--max-cost", "COST", "only changes up to this cost"),
    "where": Field("--where", "CONDITIONS", "such as 'income < 30000 and city = Paris'; repeatable"),
    "minimal": Field(
        "--minimal", "HOW", "no subset suffices, or no smaller set", ("subset", "size"), "subset"
    ),
    "precision": Field("--precision", "SHARE", "share of inputs that keep the class (default: all)"),
    "n": Field("-n", "N", "how many, best first, or all", (), 1),
    "engine": Field("--engine", "NAME", "engine to use; auto: cheapest first", (), "auto"),
    "method": Field("--method", "NAME", "how to count", ("auto", "walk", "sums", "sample"), "auto"),
}

BALLS = {
    "hamming": "up to R bits flipped",
    "l0": "up to R features changed",
    "l1": "total raw change of up to R",
    "l2": "distance of up to R",
    "linf": "each feature changed by up to R",
}
"""Regions with a radius R, as the command line spells them."""


class Kind(NamedTuple):
    """A kind of question."""

    question: str
    """Its class in `sugenet.reason`."""
    fields: tuple[str, ...]
    """Its fields."""
    settings: dict[str, Any]
    """Settings of the function that answers it, other than time, threads and seed, with defaults."""
    required: tuple[str, ...] = ()
    """Fields and settings that HTTP requires; if there are none, HTTP does not offer it."""
    optional: tuple[str, ...] = ()
    """Fields and settings that HTTP accepts in addition."""


KINDS = {
    "verify": Kind(
        "Robust",
        ("sample", "region", "target", "ties"),
        {"engine": "auto"},
        ("sample", "region"),
        ("target",),
    ),
    "whatif": Kind(
        "WhatIf",
        ("sample", "cost", "target", "keep", "region", "max_cost", "ties"),
        {"n": 1, "engine": "auto"},
        ("sample",),
        ("cost", "target", "keep", "n"),
    ),
    "why": Kind(
        "Why",
        ("sample", "region", "target", "ties", "precision"),
        {"minimal": "subset", "n": 1},
        ("sample", "region"),
        ("minimal", "n", "precision"),
    ),
    "rule": Kind("Always", ("label", "where"), {}, ("text",)),
    "count": Kind(
        "Count",
        ("sample", "region", "where"),
        {"method": "auto", "samples": None, "confidence": 0.99},
        ("sample", "region"),
    ),
    "predict": Kind("Predict", ("sample",), {}),
}
"""Kinds by the name of their command; a rule is given as text."""
