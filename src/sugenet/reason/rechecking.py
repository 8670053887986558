"""Checking of whole answers, not only their certificates: `check_answer`.

An answer says more than its certificate proves: further counterfactuals, that all reasons are listed, facts
about every feature. `answer_of` checks that its fields fit each other and the question. This module compares
each claim with the certificates, proves it again, or reports it as not covered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sugenet.checker import check as check_certificate
from sugenet.checker.limit import MEMORY, SECONDS, Limit
from sugenet.checker.reason import hitting_set_within
from sugenet.engines.ladder import decide
from sugenet.errors import CertificateError, CheckLimitError, SugenetError, TooLargeError, refuse
from sugenet.nn import Network, network_of
from sugenet.problem import Box, Clock, Fails, Holds, Problem, plain
from sugenet.reason.asking import Answer, Predicted
from sugenet.reason.counterfactuals import Counterfactual, NoCounterfactual
from sugenet.reason.counts import Counted, CountOpen, CountSampled, count
from sugenet.reason.counts.space import combinations_within
from sugenet.reason.envelope import envelope
from sugenet.reason.phrases import uncovered_text
from sugenet.reason.questions import Count, Robust, Suffices
from sugenet.reason.reasons import Inflated, Reasons
from sugenet.reason.reasons.hitting import is_antichain, unlisted_change
from sugenet.reason.reasons.oracle import Features
from sugenet.reason.rules.book import Rulebook
from sugenet.reason.rules.checked import CheckedRule
from sugenet.reason.verdicts import Proved, Refuted, Undecided
from sugenet.reprs import Sentences

__all__ = [
    "STATUSES",
    "AnswerCheck",
    "certificates_of",
    "check",
    "check_answer",
    "is_checkable",
    "trusted_in",
]

STATUSES = {
    "holds": "hold",
    "partly": "hold in part: not all that they claim is covered",
    "recomputed": "computed again with the same result",
    "trusted": "rest on the word of a solver: nothing to check",
    "nothing": "claim nothing: nothing to check",
    "not checked": "not checked within the limits",
    "fails": "do not hold",
}
"""Possible results of checking one answer, and the words for many."""

REMARKS = ("engine", "facts", "is_nearest", "method", "order", "reason", "seconds", "sets")
"""Fields that describe how an answer was found. They have no proof, and no claim depends on them."""

_DRAWN = 1 << 24
"""Maximum number of inputs that are drawn again."""
_PROOFS = 64
"""Maximum number of further reasons that are proved to check that all contrastive sets are listed."""


@dataclass(frozen=True)
class AnswerCheck(Sentences):
    """Result of checking an answer.

    `status` is ``holds``, ``partly``, ``recomputed``, ``trusted`` or ``nothing``. `words` describes the
    checks. `uncovered` lists the fields without proof, and `claims` those of them that claim something.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import L0, check_answer, verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> checked = check_answer(verify(net, [1, 1, -1], L0(1)))
    >>> checked.status, checked.words
    ('holds', 'the witness lies in the region and has class off')

    See Also
    --------
    check_answer : gives it.
    """

    status: str
    words: str
    uncovered: tuple[str, ...]
    claims: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {"status": self.status, "checked": self.words.split("; "), "not_covered": list(self.uncovered)}

    def __str__(self) -> str:
        return f"{self.words}; {uncovered_text(self.uncovered)}" if self.uncovered else self.words


def check(
    answer: Any,
    network: Any,
    other: Any = None,
    *,
    time_limit: float | None = SECONDS,
    memory_limit: int | None = MEMORY,
    plain: bool = False,
) -> str:
    """Check the certificate of an answer by code that shares nothing with the engines.

    Parameters
    ----------
    answer : answer or dict
        Any answer, or a certificate as JSON data. If an answer has several certificates, such as
        one for each reason, all of them are checked.
    network : Network or list of Network or Ratings
        The network of the answer. For a composite of several readings, the list of their networks.
    other : Network, default: None
        The second network of a certificate about `Agree`. The question of an answer already has it.
    time_limit : float or None, default: 60
        Seconds for each certificate. None: no limit.
    memory_limit : int or None
        Bytes that may be used in addition to network and certificate (default: 2 GiB). None: no limit.
    plain : bool, default: False
        Use only the plain form of each rule, which is short to read but only suitable for small cases.

    Returns
    -------
    str
        Description of the checks.

    Raises
    ------
    CertificateError
        If there is no certificate, if it is damaged or about another network, or if a claim is not true.
    CheckLimitError
        If time or memory ended first. Then it is not known whether the certificate holds.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import L0, verify
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> check(verify(net, [-1, -1, +1, -1], L0(1)), net)
    'bounds through all layers exclude every violation'

    See Also
    --------
    check_answer : checks everything that an answer says, not only its certificates.
    """
    if hasattr(network, "fit"):  # a classifier or a pipeline
        network = network_of(network)
    if isinstance(answer, Rulebook):
        return answer.check(network, time_limit=time_limit)
    if isinstance(answer, Mapping) and answer.get("format") == "sugenet rulebook":
        return str(check_answer(Rulebook.from_data(network, answer, time_limit=time_limit)))
    certificates: list[Any] = [answer]
    if hasattr(answer, "certificate"):
        certificates = list(certificates_of(answer)) or [None]
        other = getattr(answer.question, "other", other) if hasattr(answer, "question") else other
    limits: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, "plain": plain}
    return "; ".join(check_certificate(one, network, other, **limits) for one in certificates)


def check_answer(
    answer: Answer, *, n: int | Literal["all"] | None = None, time_limit: float | None = SECONDS
) -> AnswerCheck:
    """Check everything that an answer says by the definition: its certificates and all its other claims.

    Parameters
    ----------
    answer : answer
        The answer, as it was given or as `answer_of` read it.
    n : int or "all", default: None
        Requested number of counterfactuals, if known. With ``"all"``, all of minimum cost must be listed.
    time_limit : float or None, default: 60
        Seconds for each certificate, and for each new proof. None: no limit.

    Returns
    -------
    AnswerCheck
        Result of the check, and the fields that no proof covers.

    Raises
    ------
    CertificateError
        If the answer says something false.
    CheckLimitError
        If time or memory runs out.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.reason import why
    >>> net = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> found = check_answer(why(net, [1, 1, -1], n="all"))
    >>> found.status, found.uncovered
    ('holds', ('is_nearest', 'order', 'seconds'))

    See Also
    --------
    check : checks the certificates only.
    answer_of : reads an answer from JSON.
    """
    if isinstance(answer, Rulebook):
        message, _, names = answer.check(time_limit=time_limit).partition("; not covered by a certificate: ")
        return AnswerCheck("holds", message, tuple(names.split(", ")), ())
    work = _Recheck(answer, Limit(time_limit), n)
    try:
        status, text = work.see(answer)
    except CertificateError:
        raise
    except TooLargeError as error:
        raise CheckLimitError(f"not checked within the limit: {error}") from error
    except SugenetError as error:
        raise CertificateError(f"the answer is damaged: {error}") from error
    claims = tuple(dict.fromkeys(work.claims))
    fields = (answer.verdict if isinstance(answer, CheckedRule) else answer).data()
    remarks = [name for name in REMARKS if name in fields]
    if status == "holds" and claims:
        status = "partly"
    return AnswerCheck(status, text, (*claims, *(name for name in remarks if name not in claims)), claims)


# -- certificates --------------------------------------------------------------------------------------------


def certificates_of(answer: Answer | Inflated) -> list[dict[str, Any]]:
    """Return all certificates of an answer, the main one first; an empty list if nothing was certified."""
    match answer:
        case Reasons():
            return [reason.certificate for reason in answer.reasons]
        case Counterfactual():
            return [answer.certificate, *(other.certificate for other in answer.others)]
        case Inflated():
            return [*([] if answer.certificate is None else [answer.certificate]), *answer.beyond]
        case Rulebook():
            return [rule.certificate for rule in answer.rules]
        case CheckedRule():
            more = answer.figures.certificate
            return [*certificates_of(answer.verdict), *([] if more is None else [more])]
    certificate = getattr(answer, "certificate", None)
    return [] if certificate is None else [certificate]


def is_checkable(answer: Answer) -> bool:
    """Return whether every certificate of an answer has a proof or a witness that `check` can verify."""
    certificates = certificates_of(answer)
    if isinstance(answer, Counterfactual | Refuted):  # a witness is enough if the answer claims nothing more
        return trusted_in(answer) is None
    return bool(certificates) and all(one["proof"] is not None for one in certificates)


def trusted_in(answer: Answer) -> str | None:
    """Return the engine without a proof that an answer relies on; None if there is no such engine."""
    every = [answer, *answer.others] if isinstance(answer, Counterfactual) else [answer]
    settled = (one for one in every if isinstance(one, Counterfactual | NoCounterfactual | Proved))
    return next((one.engine for one in settled if not one.is_certified), None)


# -- one answer ----------------------------------------------------------------------------------------------


class _Recheck:
    """Check of one answer; `claims` collects the fields that are not covered."""

    def __init__(self, answer: Any, limit: Limit, n: int | Literal["all"] | None) -> None:
        self.network: Network = answer.network
        self.other: Network | None = getattr(answer.question, "other", None)
        self.limit, self.n = limit, n
        self.claims: list[str] = []

    def see(self, answer: Answer) -> tuple[str, str]:
        """Return the status of an answer, and a description of the checks."""
        match answer:
            case Predicted():
                if not answer.is_as_defined():
                    raise CertificateError("the definition has other match counts.")
                return "recomputed", "predicted again by the definition"
            case CountSampled():
                return self._counted_again(answer)
            case CountOpen():
                self.claims += ["lower", "upper", "total"]
                return "nothing", "there is no certificate"
            case CheckedRule():
                return self._rule(answer)
        solver = trusted_in(answer)
        if solver is not None:
            return self._trusting(answer, solver)
        messages = [self.checked(one) for one in certificates_of(answer)]
        match answer:
            case Counterfactual():
                messages += self._several(answer)
            case Reasons():
                messages += _Reasons(self, answer).see()
            case Undecided():
                self._facts(answer)
        return "holds" if is_checkable(answer) else "nothing", "; ".join(messages) or "nothing is claimed"

    def checked(self, certificate: dict[str, Any]) -> str:
        """Return the result of `check` for a certificate."""
        return check_certificate(certificate, self.network, self.other, time_limit=self.limit.seconds)

    def _trusting(self, answer: Answer, solver: str) -> tuple[str, str]:
        for certificate in certificates_of(answer):  # the witness can still be replayed
            self.checked(certificate)
        return "trusted", f"not certified: {solver} gives no proof"

    def _counted_again(self, answer: CountSampled) -> tuple[str, str]:
        if answer.drawn > _DRAWN:
            raise CheckLimitError(f"not checked within the limit: {answer.drawn:,} draws are too many.")
        how: dict[str, Any] = {
            "samples": answer.drawn,
            "confidence": answer.confidence,
            "seed": answer.seed,
            "where": answer.question.where,
        }
        again = count(self.network, answer.question.sample, answer.question.region, method="sample", **how)
        assert isinstance(again, CountSampled)
        if (again.hits, again.intervals, again.total) != (answer.hits, answer.intervals, answer.total):
            raise CertificateError("the same draw gives another estimate.")
        return "recomputed", "drawn again with the same seed"

    def _facts(self, answer: Undecided) -> None:
        """Check the known facts: the certificate proves up to which radius the claim holds."""
        known, shown = answer.facts.get("proved_up_to"), answer.certificate["proved_up_to"]
        if shown is not None and known != shown:
            raise CertificateError("the answer is proved up to another bound than its certificate says.")
        if set(answer.facts) - ({"proved_up_to"} if shown is not None else set()):
            self.claims.append("facts")

    # -- rules -----------------------------------------------------------------------------------------------

    def _rule(self, answer: CheckedRule) -> tuple[str, str]:
        """Check the verdict on a rule, and the count of its figures."""
        status, text = self.see(answer.verdict)
        figures, certificate = answer.figures, answer.figures.certificate
        if certificate is None:
            self.claims.append("figures")
            return status, text
        asked = envelope(self.network, Count(None, None, answer.rule.box))
        if certificate["question"] != asked["question"] or certificate.get("domain") != asked.get("domain"):
            raise CertificateError("the count is about other inputs than those that the rule covers.")
        counted = self.checked(certificate)
        counts = certificate["counts"][: self.network.head.outputs]
        right = counts[answer.rule.index]
        if (figures.covered, figures.right, figures.max_right) != (sum(counts), right, right):
            raise CertificateError("the figures of the rule are not those of the count.")
        if self.network.domain.laws:  # the number of inputs that obey the laws has no proof
            self.claims.append("figures")
        elif figures.total != combinations_within(Box({}).of(self.network)):
            raise CertificateError("the figures are shares of another number of inputs than there are.")
        return status, f"{text}; {counted}"

    # -- counterfactuals -------------------------------------------------------------------------------------

    def _several(self, answer: Counterfactual) -> list[str]:
        """Check that further counterfactuals answer the same question at higher cost.

        If all of minimum cost were requested, also check that none is missing.
        """
        rows, n = [answer, *answer.others], self.n
        asked = answer.question.data(self.network)
        states = [self._states(row.changed) for row in rows]
        for row in answer.others:
            if row.question.data(self.network) != asked:
                raise CertificateError("a further counterfactual is about another question.")
        costs = [row.cost for row in rows]
        refuse(
            CertificateError,
            (
                costs != sorted(costs) or len(set(states)) < len(states),
                "further counterfactuals are others, and the cheapest come first.",
            ),
            (n == "all" and len(set(costs)) > 1, "a further counterfactual is not of least cost."),
            (
                isinstance(n, int) and len(rows) > n,
                f"{n} counterfactuals were asked for, but there are {len(rows)}.",
            ),
        )
        if n == 1 or not answer.all_listed or (n is None and not answer.others):
            return []
        if len(set(costs)) == 1 and n in (None, "all"):
            n_changes = self._of_min_cost(answer)
            if n_changes == len(rows):
                return [f"no more than {n_changes} inputs do it at this cost"]
            if n_changes is not None and n == "all":
                raise CertificateError(
                    f"{n_changes} changes of least cost change the class, but {len(rows)} are listed."
                )
        self.claims += ["others"] * bool(answer.others)
        self.claims += ["all_listed"] * (not isinstance(n, int) or len(rows) < n)
        return []

    def _states(self, values: tuple[Any, ...]) -> tuple[int, ...]:
        codings = self.network.lawful.encoder.codings
        return tuple(coding.state(value) for coding, value in zip(codings, values, strict=True))

    def _of_min_cost(self, answer: Counterfactual) -> int | None:
        """Return how many changes have the proved minimum cost, by counting around the sample.

        None if they cannot be counted.
        """
        question, asked = answer.question, answer.question.data(self.network)
        simple = asked["region"] is None and asked["ties"] == "lowest"
        simple &= asked["movable"] == list(range(self.network.encoder.features))
        if not simple or not answer.is_minimum or question.cost_name not in ("L0", "L1", "Hamming"):
            return None
        kind: Any = question.cost
        try:
            region = kind(int(answer.cost) if answer.cost.denominator == 1 else answer.cost)
            counted = count(self.network, question.sample, region, time_limit=self.limit.left())
        except SugenetError:  # too large, or costs are divided too finely
            return None
        if not isinstance(counted, Counted):
            return None
        self.checked(counted.certificate)
        labels = [asked["target"]] if asked["target"] is not None else range(len(counted.counts))
        return sum(counted.counts[k] for k in labels if k != asked["label"])


# -- reasons -------------------------------------------------------------------------------------------------


class _Reasons:
    """Check of the claims of an answer to `why` that go beyond the certificates of its reasons."""

    def __init__(self, work: _Recheck, answer: Reasons) -> None:
        self.work, self.answer, self.network, self.limit = work, answer, answer.network, work.limit
        self.proved = [frozenset(one.features) for one in answer.reasons if one.status != "unknown"]
        self.contrasts = [contrast.features for contrast in answer.contrasts]
        self.said: list[str] = []

    def see(self) -> list[str]:
        """Check everything, and return a description of the checks."""
        answer = self.answer
        self._questions()
        sizes = [len(reason.features) for reason in answer.reasons]
        if sizes != sorted(sizes) or not is_antichain(frozenset(one.features) for one in answer.reasons):
            raise CertificateError("reasons are listed shortest first, and none contains another.")
        for index in range(len(answer.contrasts)):
            self._replay(index)
        if self.contrasts:
            self.said.append(f"{len(self.contrasts)} contrastive sets change the class")
        self._lower()
        self._all()
        return self.said

    def _questions(self) -> None:
        """Check that each reason answers the question."""
        answer = self.answer
        asked = answer.question.data(self.network)
        for reason in answer.reasons:
            its = reason.question.data(self.network)
            for name in sorted((set(asked) | set(its)) - {"kind", "fixed"}):  # either may lack a precision
                if its.get(name) != asked.get(name):
                    raise CertificateError(f"a reason is about another question: it has another {name}.")
        if answer.question.precision is not None and (
            self.contrasts or answer.all_reasons or answer.all_contrasts
        ):
            raise CertificateError(
                "contrastive sets and lists of reasons are not about a share of the inputs."
            )

    def _replay(self, index: int) -> None:
        """Check that a contrastive set changes the class with the values given for it."""
        self.limit.look()
        why, contrast = self.answer.question, self.answer.contrasts[index]
        question = Robust(why.sample, why.region, why.target, why.ties)
        data = envelope(self.network, question, answer="refuted", proof=None)
        row = list(data["question"]["sample"])
        for feature, value in ((f, plain(v)) for f, v in contrast.values.items()):
            if row[feature] == value:
                raise CertificateError(f"a contrastive set does not change {self._names({feature})}.")
            row[feature] = value
        if set(contrast.values) != contrast.features:
            raise CertificateError("a contrastive set has values of other features.")
        try:
            self.work.checked(data | {"witness": row})
        except CheckLimitError:
            raise
        except CertificateError as error:
            raise CertificateError(
                f"{self._names(contrast.features)} are not a contrastive set: {error}"
            ) from error

    def _lower(self) -> None:
        """Check that no reason is smaller: no smaller set meets all contrastive sets."""
        lower = self.answer.lower
        if lower < 0 or (self.answer.upper is not None and lower > self.answer.upper):
            raise CertificateError(f"a reason is said to have {lower} features at least.")
        minimum_sizes = [len(one.features) for one in self.answer.reasons if one.status == "minimum"]
        if lower <= max(minimum_sizes, default=0):
            return
        if hitting_set_within([set(row) for row in self.contrasts], lower - 1, self.limit):
            raise CertificateError(f"nothing shows that every reason has at least {lower} features.")
        self.said.append(f"no {lower - 1} features meet all contrastive sets")

    def _all(self) -> None:
        """Check that no reason and no contrastive set is missing, if the answer says so."""
        answer = self.answer
        if not answer.all_reasons and not answer.all_contrasts:
            return
        if answer.all_contrasts and not is_antichain(self.contrasts):
            raise CertificateError("a contrastive set contains another one, so it is not minimal.")
        if answer.all_reasons and len(self.proved) < len(answer.reasons):
            self.work.claims += ["all_reasons", "attribution", "irrelevant"]
            return
        for _ in range(_PROOFS):
            beside = unlisted_change(self.proved, self.contrasts, self.limit.look)
            if beside is None:
                self.said.append("no set of features is missing: those that are listed are dual")
                return
            rest = self._least(answer.movable - beside)
            if answer.all_reasons:
                raise CertificateError(
                    f"nothing shows that all reasons are listed: none of them is within {self._names(rest)}."
                )
            if not self._suffices(rest):
                break
        self.work.claims += ["all_contrasts", "relevant", "irrelevant"]

    def _least(self, features: Features) -> Features:
        """Return a minimum set of features that meets every contrastive set."""
        for feature in sorted(features):
            if all(row & (features - {feature}) for row in self.contrasts):
                features -= {feature}
        return features

    def _suffices(self, features: Features) -> bool:
        """Prove that features suffice, and check the proof; False if it stays undecided."""
        why = self.answer.question
        fixed = tuple(sorted(features))
        near = why.near(self.network).fixing(set(fixed))
        outcome = decide(
            Problem(near, why.label_goal(self.network).goal), Clock(self.limit.left(), 1, 0, None)
        )
        if isinstance(outcome, Fails):
            raise CertificateError(
                f"not all contrastive sets are listed: the class also changes while {self._names(features)} "
                f"stay."
            )
        if not isinstance(outcome, Holds) or outcome.proof is None:
            return False
        question = Suffices(why.sample, why.region, why.target, why.ties, fixed)
        contents: dict[str, Any] = {"answer": "sufficient", "witness": None, "proof": outcome.proof}
        self.work.checked(envelope(self.network, question, **contents))
        self.proved.append(frozenset(features))
        return True

    def _names(self, features: Any) -> str:
        names = [self.network.encoder.names[feature] for feature in sorted(features)]
        return ", ".join(names) or "nothing"
