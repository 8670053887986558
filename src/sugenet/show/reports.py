"""One decision on a few printed pages: a self-contained HTML file without scripts, for people who must sign
for what a network does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sugenet.bnn import Network
from sugenet.errors import QuestionError
from sugenet.reason.questions import class_of
from sugenet.show.findings import find
from sugenet.show.markup import Html, element
from sugenet.show.report_page import Page
from sugenet.show.report_pieces import document, section

__all__ = ["GLOSSARY", "report"]

GLOSSARY = (
    (
        "proved",
        (
            "Every input that the claim is about was covered by a complete argument in exact integers. It "
            "can be checked again from the certificate, by a separate and simpler program, without trusting "
            "the one that found it."
        ),
    ),
    ("refuted", "An input against the claim is given. Anyone can run the network on it."),
    (
        "undecided",
        "Neither was reached in the time. It says nothing about the network; more time may settle it.",
    ),
    (
        "feature",
        (
            "One value that the network reads, such as a pixel or a column of a table. It counts as changed "
            "when it enters another range."
        ),
    ),
    (
        "reason",
        (
            "Features that decide: while they stay in their range, the class stays, whatever all others do "
            "inside the stated region."
        ),
    ),
    (
        "votes",
        (
            "How many of a class's literals match. Scores follow from votes exactly; the class with the best "
            "score is the answer."
        ),
    ),
    (
        "possibility",
        (
            "1 for the best class; for the others, how close their score comes. "
            "It is not a probability of being right."
        ),
    ),
    (
        "limits",
        (
            "All claims are about this network, named by its fingerprint, and this sample. They do not say "
            "that the class is true, nor what happens with inputs outside the stated regions, nor anything "
            "about how samples were measured."
        ),
    ),
)


def report(
    network: Network,
    x: Any,
    *,
    truth: Any = None,
    index: int | None = None,
    title: str = "model",
    time_limit: float = 30.0,
    seed: int = 0,
    threads: int | None = None,
    notify: Callable[[str], None] | None = None,
) -> str:
    """Write the report of one decision as HTML: what, why, what would change it, how robust,
    with certificates.

    Parameters
    ----------
    network, x
        The network and one raw sample.
    truth
        The true class, by name or number, where it is known.
    index
        Number of the sample, for the head of the report.
    title
        What the model is called; also in the command that checks a certificate.
    time_limit
        Seconds for all questions together. What is not settled then is said to be undecided.
    seed, threads, notify
        As in `verify`. The same seed gives the same text, unless time runs out.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head
    >>> neuron = DenseLayer([[+1, +1, -1, +1]], [2])
    >>> net = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    >>> page = report(net, [+1, +1, +1, +1], title="example", time_limit=5)
    >>> "on. No change of 1 feature alters it: proved." in page
    True
    """
    known = None if truth is None else class_of(network, truth)
    if index is not None and (isinstance(index, bool) or index < 0):
        raise QuestionError(f"index={index!r} must be the number of a sample, from 0.")
    findings = find(network, x, time_limit=time_limit, seed=seed, threads=threads, notify=notify)
    page = Page(findings, known, str(title))
    head = page.head(index, time_limit, seed)
    parts = [
        page.verdict(),
        page.rests(),
        page.changes(),
        page.robust(),
        page.chain(),
        page.model(),
        page.certificates(),
        _glossary(),
    ]
    return str(document(f"{title}: report on one decision", Html().join([head, *parts, page.foot()])))


def _glossary() -> Html:
    items = (element("dt", word) + element("dd", text) for word, text in GLOSSARY)
    return section("words", "What the words mean", element("dl", *items))
