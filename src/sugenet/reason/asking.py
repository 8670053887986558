"""Any question to the verb that answers it: `ask`; and of any answer whether it is settled, and its outcome
in one word, as whoever asks many questions wants to know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sugenet.bnn import Network
from sugenet.errors import QuestionError
from sugenet.problem.neighbourhood import row_of
from sugenet.reason.counterfactuals import Counterfactual, NoCounterfactual, OpenCounterfactual, whatif
from sugenet.reason.counterfactuals.levels import is_least_but_for_rounding
from sugenet.reason.counts import Counted, CountOpen, CountSampled, count
from sugenet.reason.predictions import Predicted
from sugenet.reason.questions import Asked, HowMany, Predict, Question, WhatIf, Why
from sugenet.reason.reasons import Reasons, why
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify

__all__ = ["Found", "ask", "is_settled", "outcome_of", "settings_of"]

Found: TypeAlias = (
    Proved
    | Refuted
    | Undecided
    | Counterfactual
    | NoCounterfactual
    | OpenCounterfactual
    | Reasons
    | Counted
    | CountOpen
    | CountSampled
    | Predicted
)
"""What `ask` answers."""

_SETTINGS: list[tuple[Any, dict[str, Any]]] = [
    (Question, {"engine": "auto"}),
    (WhatIf, {"n": 1, "engine": "auto"}),
    (Why, {"minimal": "subset", "n": 1}),
    (HowMany, {"method": "auto", "samples": None, "confidence": 0.99}),
    (Predict, {}),
]


def settings_of(question: Asked, **given: Any) -> dict[str, Any]:
    """The settings that a kind of question has besides time, threads and seed: those given, else their
    defaults, as the verb that answers it has them.

    Raises
    ------
    QuestionError
        Where there is no such setting, or no such question.

    Examples
    --------
    >>> from sugenet import L1, WhatIf, each
    >>> settings_of(WhatIf(each, L1), n="all")
    {'n': 'all', 'engine': 'auto'}
    """
    known = next((known for kind, known in _SETTINGS if isinstance(question, kind)), None)
    kind = type(question).__name__
    if known is None:
        raise QuestionError(
            f"{kind} is no question that is asked so. Ask Robust, Why, WhatIf, HowMany, Predict, Always, "
            f"Never, Monotone, Fair, Agree or a Query."
        )
    for name, value in given.items():
        if name not in known:
            has = f"It has {', '.join(known)}." if known else "It has none."
            raise QuestionError(f"{name}={value!r} is no setting of {kind}. {has}")
    return known | given


def ask(
    network: Network,
    question: Asked,
    *,
    within: Any = None,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
    **settings: Any,
) -> Found:
    """Answer any question that is a value: as `verify`, `whatif`, `why` and `count` do; or `Predict`.

    Parameters
    ----------
    network
        The network.
    question
        `Robust`, `Why`, `WhatIf`, `HowMany`, `Predict`, or anything else that `verify` decides.
    within
        Ask about inputs that can occur, as in `Network.within`.
    time_limit, threads, seed, notify
        As in `verify`.
    settings
        Those that its kind has (`settings_of`), as in the verb that answers it.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> from sugenet.reason import Predict, WhatIf
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(ask(net, WhatIf([+1, -1, +1, -1])))
    off becomes on with 1 feature changed, proved to be the least: x4 from -1 to 1
    >>> print(ask(net, Predict([+1, -1, +1, -1])))
    class off, score 1 (1 of 1 matches)
    """
    asked = settings_of(question, **settings)
    network = network.within(within)
    how: dict[str, Any] = {"time_limit": time_limit, "threads": threads, "seed": seed, "notify": notify}
    match question:
        case Predict():
            counts = network.match_counts(row_of(question.values(network)), threads=threads)
            return Predicted(network, question, tuple(counts[0].tolist()))
        case Why():
            about = {"target": question.target, "ties": question.ties}
            return why(network, question.sample, question.region, **about, **asked, **how)
        case WhatIf():
            names = ("target", "immutable", "region", "limit", "ties")
            about = {name: getattr(question, name) for name in names}
            return whatif(network, question.sample, question.cost, **about, **asked, **how)
        case HowMany():
            return count(network, question.sample, question.region, where=question.where, **asked, **how)
    return verify(network, question, **asked, **how)  # type: ignore[arg-type]  # its kind is known by now


def is_settled(answer: Found, **settings: Any) -> bool:
    """Whether an answer is all that was asked for with these settings, so that more time could not better it.

    Examples
    --------
    >>> from sugenet.bnn import Head, Network
    >>> from sugenet.reason import L0, Robust
    >>> net = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    >>> is_settled(ask(net, Robust([1, -1], L0(0))))
    True
    """
    asked = settings_of(answer.question, **settings)
    match answer:
        case Undecided() | OpenCounterfactual() | CountOpen():
            return False
        case Counterfactual():
            return answer.all_listed and is_least_but_for_rounding(answer)
        case Reasons():
            enough = answer.all_reasons or (asked["n"] != "all" and len(answer.reasons) >= asked["n"])
            status = [reason.status for reason in answer.reasons]
            proved = {"minimum", "minimal"} if asked["minimal"] else {"minimum", "minimal", "sufficient"}
            first = {"minimum"} if asked["minimal"] == "size" else proved
            return enough and bool(status) and status[0] in first and set(status) <= proved
    return True


def outcome_of(answer: Found) -> str:
    """What came out, in one word: proved, refuted or undecided; minimum, found or none for `whatif`; what is
    proved of the first reason for `why`: minimum, minimal, sufficient or unknown; counted or estimated;
    predicted.
    """
    if isinstance(answer, Reasons):
        return answer.reasons[0].status if answer.reasons else "undecided"
    return str(answer.data()["outcome"])
