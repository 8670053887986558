"""What questions are made of, declared once: the fields of each kind of question, and of each field its
option on the command line, what it means, its choices and its default.

Python, the command line and the HTTP interface read these tables. Nothing is imported here, so that help and
errors come at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["BALLS", "FIELDS", "KINDS", "Field", "Kind"]


class Field(NamedTuple):
    """A field of a question, or a setting of the function that answers it."""

    flag: str
    """The option on the command line."""
    metavar: str
    about: str
    """In the help of that option."""
    choices: tuple[str, ...] = ()
    default: Any = None


FIELDS = {
    "target": Field("--to", "CLASS", "only changes to this class count; any other unless given"),
    "ties": Field(
        "--ties",
        "WHO",
        "a tie is won by the lowest class, or counts against",
        ("lowest", "against"),
        "lowest",
    ),
    "cost": Field(
        "--cost",
        "COST",
        "what a change costs: L0, L1, L2, Linf or Hamming; L0 unless given",
        ("L0", "L1", "L2", "Linf", "Hamming"),
    ),
    "prices": Field("--price", "PRICE", "instead, FEATURE=P, the price of changing a feature; others stay"),
    "keep": Field("--keep", "FEATURES", "features that must stay, commas between them; may be repeated"),
    "max_cost": Field("--within", "COST", "look no further than this cost"),
    "where": Field("--where", "LIMITS", "within FEATURE=LOW..HIGH or FEATURE=VALUE; may be repeated"),
    "minimal": Field(
        "--minimal",
        "HOW",
        "subset: none can be left out; size: none smaller exists",
        ("subset", "size"),
        "subset",
    ),
    "n": Field("-n", "N", "how many, the best first; or all", (), 1),
    "engine": Field("--engine", "NAME", "one engine by name; auto: cheapest first", (), "auto"),
    "method": Field(
        "--method",
        "NAME",
        "how to count: auto, walk, sums or sample",
        ("auto", "walk", "sums", "sample"),
        "auto",
    ),
}

BALLS = {
    "hamming": "up to R bits flipped",
    "l0": "up to R features changed",
    "l1": "raw changes of up to R in all",
    "l2": "a raw distance of up to R",
    "linf": "every feature changed by up to R",
}
"""Regions with a radius R, as the command line has them."""


class Kind(NamedTuple):
    """A kind of question."""

    question: str
    """Its class in `sugenet.reason`."""
    fields: tuple[str, ...]
    """What that is made with."""
    settings: dict[str, Any]
    """What the function that answers it takes besides time, threads and seed; with defaults."""
    required: tuple[str, ...] = ()
    """Fields and settings without which it is not asked over HTTP; none: it is not asked there."""
    optional: tuple[str, ...] = ()
    """Those that may be given there, too."""


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
        ("sample", "region", "target", "ties"),
        {"minimal": "subset", "n": 1},
        ("sample", "region"),
        ("minimal", "n"),
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
"""By the name of the command that asks it; a rule is asked by text."""
