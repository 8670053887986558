"""Functions for any question and any answer: `ask` answers a question, `answer_of` reads an answer from JSON.

The module also tells whether an answer is settled, gives its outcome in one word, and answers `Predict`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from sugenet.errors import CertificateError, QuestionError, refuse
from sugenet.fields import KINDS
from sugenet.nn import Network, network_of
from sugenet.problem.neighbourhood import row_of
from sugenet.reason.counterfactuals import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.counterfactuals.searching import is_minimum_up_to_rounding, nearest
from sugenet.reason.counts import Counted, CountOpen, CountSampled, count
from sugenet.reason.envelope import Recorded, Source, answered, asked_of, is_outcome, opened
from sugenet.reason.questions import Asked, Count, Predict, Question, Suffices, WhatIf, Why, reading_data
from sugenet.reason.reasons import Reason, Reasons, why
from sugenet.reason.rules.book import Rulebook
from sugenet.reason.rules.checked import CheckedRule
from sugenet.reason.verdicts import Proved, Refuted, Undecided, verify
from sugenet.reprs import quoted

__all__ = [
    "Answer",
    "Found",
    "Predicted",
    "answer_of",
    "ask",
    "is_settled",
    "settings_of",
]


@dataclass(frozen=True, eq=False)
class Predicted(Recorded):
    """The class of a sample: the answer to `Predict`.

    It has no certificate: to check it, predict again by the definition.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import Predict, ask
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> ask(net, Predict([1, 1, 1])).label
    'on'

    See Also
    --------
    Predict : gives this answer.
    check : verifies its certificate.
    """

    outcome: ClassVar[str] = "predicted"
    certificate: ClassVar[None] = None
    is_certified: ClassVar[bool] = False
    json: ClassVar[Mapping[str, Source]] = {
        name: name for name in ("label", "index", "matches", "scores", "is_tie")
    }
    is_predicted = is_outcome("predicted")

    network: Network
    question: Predict
    matches: tuple[int, ...]
    """Match count M of every class; all other attributes follow from it."""

    @property
    def label(self) -> str:
        """Name of the class."""
        return self.network.classes[self.index]

    @property
    def index(self) -> int:
        """The class with the largest exact score; in a tie, the lowest index."""
        return int(self.network.head.classes(self._counts)[0])

    @property
    def scores(self) -> tuple[float, ...]:
        """Score of every class, rounded once."""
        return tuple(self.network.head.logits(self._counts)[0].tolist())

    @property
    def is_tie(self) -> bool:
        """Whether other classes have the same exact score."""
        return bool(self.network.head.tied(self._counts)[0])

    @property
    def possibility(self) -> tuple[float, ...]:
        """pi of every class: 1 for the best."""
        return tuple(self.network.head.possibility(self._counts)[0].tolist())

    @property
    def _counts(self) -> Any:
        return np.array([self.matches], dtype=np.int64)

    def is_as_defined(self) -> bool:
        """Return whether evaluating the definition, neuron by neuron, gives the same match counts."""
        row = row_of(self.question.values(self.network))
        return tuple(self.network.match_counts(row, engine="definition")[0].tolist()) == self.matches

    @classmethod
    def known(cls, network: Network, question: Any, data: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """Return the match counts, if they are possible for the network."""
        sizes, matches = network.head.sizes.tolist(), data["matches"]
        for n_matches, size in zip(matches, sizes, strict=True):
            if type(n_matches) is not int or not 0 <= n_matches <= size:
                raise CertificateError(f"a class has {str(n_matches)[:40]} matches of {size}.")
        return {"matches": tuple(matches)}

    def __str__(self) -> str:
        label, head = self.index, self.network.head
        tie = ", a tie that the lowest class wins" if self.is_tie else ""
        match_text = f"{self.matches[label]} of {int(head.sizes[label])} matches"
        return f"class {self.network.class_texts[label]}, score {self.scores[label]:.6g} ({match_text}{tie})"


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
"""Answers that `ask` returns."""

_SETTINGS = {kind.question: kind.settings for kind in KINDS.values()}


def settings_of(question: Asked, **values: Any) -> dict[str, Any]:
    """Return the settings of a kind of question other than time, threads and seed.

    Settings that are not given have the defaults of the function that answers the question.

    Parameters
    ----------
    question : question
        A question for `ask`.
    values : Any
        Settings by name, in place of their defaults.

    Returns
    -------
    dict
        Every setting of this kind of question, by name.

    Raises
    ------
    QuestionError
        If the setting or the question does not exist.

    Examples
    --------
    >>> from sugenet import L1, WhatIf, each
    >>> settings_of(WhatIf(each, L1), n="all")
    {'n': 'all', 'engine': 'auto'}

    See Also
    --------
    ask : takes these settings.
    """
    kind = type(question).__name__
    known = _SETTINGS.get("Robust" if isinstance(question, Question) else kind)
    if known is None:
        raise QuestionError(
            f"{kind} is not a question for ask(). Ask Robust, Why, WhatIf, Count, Predict, Always, "
            f"Never, Monotone, Fair, Agree or a Query."
        )
    for name, value in values.items():
        if name not in known:
            has = f"It has {', '.join(known)}." if known else "It has none."
            raise QuestionError(f"{name}={quoted(value)} is not a setting of {kind}. {has}")
    return known | values


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
    """Answer any question: as `verify`, `whatif`, `why` and `count` do, or `Predict`.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.
    question : question
        `Robust`, `Why`, `WhatIf`, `Count`, `Predict`, or anything else that `verify` decides.
    within : str, list of str or Domain, default: None
        Ask only about inputs that can occur, as in `Network.within`. None: the domain of the network.
    time_limit : float, default: None
        Seconds after which the best answer so far is given. None: no limit.
    threads : int, default: None
        How many threads may work at once. None: one per core.
    seed : int, default: 0
        Seed of random choices. The answer is the same for the same seed, unless time runs out.
    notify : callable, default: None
        Called with a sentence about the progress.
    settings : Any
        Settings of its kind (`settings_of`), as in the function that answers it.

    Returns
    -------
    answer
        As `verify`, `whatif`, `why` or `count` gives it, or `Predicted`.

    Raises
    ------
    QuestionError
        If the question does not make sense for this network, or does not have a setting.
    EncodingError
        If the sample has a value that its feature cannot have.
    TooLargeError
        If `Count` has a region whose costs are too finely divided to count.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import Predict, WhatIf
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> print(ask(net, WhatIf([+1, -1, +1, -1])))
    off becomes on with 1 feature changed, proved to be the least: x4 from -1 to 1
    >>> print(ask(net, Predict([+1, -1, +1, -1])))
    class off, score 1 (1 of 1 matches)

    See Also
    --------
    settings_of : settings of a kind of question.
    sweep : asks about each sample of a data set.
    """
    asked = settings_of(question, **settings)
    network = network_of(network).within(within)
    how: dict[str, Any] = {"time_limit": time_limit, "threads": threads, "seed": seed, "notify": notify}
    match question:
        case Predict():
            counts = network.match_counts(row_of(question.values(network)), threads=threads)
            return Predicted(network, question, tuple(counts[0].tolist()))
        case Why():
            about = {name: getattr(question, name) for name in ("target", "ties", "precision")}
            return why(network, question.sample, question.region, **about, **asked, **how)
        case WhatIf():
            return nearest(network, question, **asked, **how)
        case Count():
            return count(network, question.sample, question.region, where=question.where, **asked, **how)
    return verify(network, question, **asked, **how)


def is_settled(answer: Found, **settings: Any) -> bool:
    """Return whether an answer is complete for these settings, so that more time could not improve it.

    Parameters
    ----------
    answer : answer
        Any answer of `ask`.
    settings : Any
        The settings with which it was asked, as in `settings_of`.

    Returns
    -------
    bool
        False if more time could improve it.

    Raises
    ------
    QuestionError
        If the question of the answer does not have a setting.

    Examples
    --------
    >>> from sugenet.nn import Head, Network
    >>> from sugenet.reason import L0, Robust
    >>> net = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    >>> is_settled(ask(net, Robust([1, -1], L0(0))))
    True

    See Also
    --------
    ask : gives the answer.
    settings_of : settings of a kind of question.
    """
    asked = settings_of(answer.question, **settings)
    match answer:
        case Undecided() | OpenCounterfactual() | CountOpen():
            return False
        case Counterfactual():
            return answer.all_listed and is_minimum_up_to_rounding(answer)
        case Reasons():
            enough = answer.all_reasons or (asked["n"] != "all" and len(answer.reasons) >= asked["n"])
            status = [reason.status for reason in answer.reasons]
            proved = {"minimum", "minimal"} if asked["minimal"] else {"minimum", "minimal", "sufficient"}
            first = {"minimum"} if asked["minimal"] == "size" else proved
            return enough and bool(status) and status[0] in first and set(status) <= proved
    return True


Answer: TypeAlias = (
    Proved
    | Refuted
    | Undecided
    | Counterfactual
    | NoCounterfactual
    | OpenCounterfactual
    | Reason
    | Reasons
    | Counted
    | CountOpen
    | CountSampled
    | Predicted
    | CheckedRule
    | Rulebook
)

_VERDICTS: dict[str, Any] = {"proved": Proved, "refuted": Refuted, "undecided": Undecided}
_WHATIFS: dict[str, Any] = {
    "counterfactual": Counterfactual,
    "none": NoCounterfactual,
    "open": OpenCounterfactual,
}
_COUNTS: dict[str, Any] = {"counted": Counted, "undecided": CountOpen, "estimated": CountSampled}
_PREDICTIONS: dict[str, Any] = {"predicted": Predicted}

_FREE: dict[str, Any] = {
    "reason": str,
    "order": str,
    "engine": str,
    "facts": Mapping,
    "seconds": int | float,
    "sets": int | None,
}
"""Fields that are kept as they are given, with their required types."""

_ADDED = ("conditions",)
"""Fields that answers of earlier versions lack."""


def answer_of(data: Mapping[str, Any], network: Network, other: Network | None = None) -> Answer:
    """Read an answer from the JSON data that its `data` returned; the result has the same type and content.

    Reading does not verify the answer: call `check` on it. Only a rulebook is checked at once.

    Parameters
    ----------
    data : mapping
        JSON data of any answer.
    network : Network
        The network of the answer.
    other : Network, default: None
        The second network, if the question was `Agree`.

    Returns
    -------
    answer
        The answer, of the type that it had.

    Raises
    ------
    CertificateError
        If a field is missing or unknown, contradicts the others, or belongs to another network.

    Examples
    --------
    >>> from sugenet.nn import Head, Network
    >>> from sugenet.reason import L0, Robust, verify
    >>> net = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    >>> print(answer_of(verify(net, Robust([1, -1], L0(0))).data(), net))
    the class stays 0, with up to 0 features changed: proved by bounds through all layers

    See Also
    --------
    check : verifies the certificate of an answer.
    question_of : reads a question.
    """
    if not isinstance(data, Mapping):
        raise CertificateError("an answer is a JSON object, as its data() gives it.")
    if data.get("format") == "sugenet rulebook":
        return Rulebook.from_data(network, data)
    with reading_data("the answer"):
        answer: Answer = _read(data, network, other)
        again, _ = answer.data(), str(answer)  # an answer that cannot be printed is damaged
    for name in (*again, *data):
        if name not in data and name in _ADDED:
            continue
        value, expected = data.get(name), again.get(name)
        refuse(
            CertificateError,
            (name not in data, f"the answer has no field {name!r}."),
            (name not in again, f"the answer has a field {str(name)[:40]!r} that it must not have."),
            (
                name in _FREE and not isinstance(value, _FREE[name]),
                f"the field {name!r} of the answer is not what it must be.",
            ),
            (value != expected, f"the field {name!r} does not fit the rest of the answer."),
        )
    return answer


def _read(data: Mapping[str, Any], network: Network, other: Network | None) -> Any:
    if "verdict" in data:
        verdict = _read(data["verdict"], network, other)
        return CheckedRule.of(verdict.network, verdict, data)
    network = asked_of(data.get("certificate") or data, network)
    if data.get("certificate") is None:
        asked = answered(data["question"], network, other)
        return _type(asked, data.get("outcome")).of(network, asked, data)
    asked = opened(data["certificate"], network, other)
    return _type(asked, data["certificate"]["answer"]).of(network, asked, data)


def _type(asked: Asked, outcome: Any) -> Any:
    """Return the type of an answer."""
    if isinstance(asked, Why | Suffices):
        return Reasons if isinstance(asked, Why) else Reason
    others = {WhatIf: _WHATIFS, Count: _COUNTS, Predict: _PREDICTIONS}
    kinds = others.get(type(asked), _VERDICTS)
    if not isinstance(outcome, str) or outcome not in kinds:
        raise CertificateError(f"there is no such answer: {str(outcome)[:40]!r}.")
    return kinds[outcome]
