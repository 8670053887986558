"""A question as options: the states that each feature may take, their costs, and the violations.

To be ensured: no input of the question is missing (`meaning`), and no violation. Assumptions of the checker
itself are passed as arguments (`InputSet`). A question about two inputs or two networks has two *sides*,
whose classes are listed one after another.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import lcm
from typing import Any, TypeAlias

from sugenet.checker.domain import obeying, some_obey
from sugenet.checker.form import (
    Agree,
    Always,
    CaseAsked,
    Count,
    Fair,
    Limit,
    Limits,
    Monotone,
    Never,
    QueryAsked,
    Question,
    Reason,
    Robust,
    WhatIf,
)
from sugenet.checker.limit import Limit as Resources
from sugenet.checker.meaning import (
    OPTION_BYTES,
    InputSet,
    Priced,
    Values,
    around,
    row_of,
    scores,
    some,
    state_of,
    states_within,
    top,
    within_limits,
)
from sugenet.checker.network import Categories, NetworkForm
from sugenet.errors import CertificateError

__all__ = [
    "Asked",
    "Option",
    "Setting",
    "inputs_asked",
    "parts_of",
    "sample_of",
    "see_other",
    "see_query",
    "setting_of",
]

_Demands: TypeAlias = list[list[tuple[list[Fraction], Fraction]]]
_PAIRS = "the list of all pairs of values"


@dataclass(frozen=True, slots=True)
class Option:
    """A state that a feature may take instead of its state in the base."""

    order: int
    """Position among the feature's states."""
    states: tuple[int, ...]
    """The state on each side."""
    price: Fraction


@dataclass(frozen=True, eq=False)
class Setting:
    """Networks of one or two sides, an input to start from, and the options of every feature."""

    networks: tuple[NetworkForm, ...]
    base: tuple[tuple[int, ...], ...]
    """On each side, the state of every feature to start from."""
    own: tuple[int, ...]
    """For each feature, the position of that state among its states."""
    options: dict[int, list[Option]]
    budget: Fraction | None
    """Budget for the total cost of the options."""
    strict: bool
    """Whether inputs that cost exactly the budget are excluded."""
    cases: _Demands
    """Violations: all inequalities of some case, each ``sum(factor * match count) >= least`` over the
    classes of all sides.
    """


@dataclass(frozen=True, eq=False)
class Asked:
    """A question about a network, with the limits by feature, the network with laws, and the other network if
    there is one.
    """

    question: Question
    network: NetworkForm
    lawful: NetworkForm
    limits: Mapping[int, Limit]
    other: NetworkForm | None = None


# -- inputs --------------------------------------------------------------------------------------------------


def sample_of(asked: Asked) -> tuple[Any, ...]:
    """Return the sample of a question, after checking that it has the class that the question states."""
    question = asked.question
    assert isinstance(question, Robust | Reason | WhatIf)
    sample = row_of(asked.network, question.sample)
    first = top(scores(asked.network, sample))[0]
    if first != question.label:
        raise CertificateError(f"the sample has class {first}, not {question.label}.")
    return sample


def inputs_asked(asked: Asked, part: int = 0) -> InputSet:
    """Return the inputs of a question or of a part of it; for a question about pairs, of either input."""
    question, network = asked.question, asked.network
    match question:
        case Robust() | Reason():
            fixed = question.fixed if isinstance(question, Reason) else ()
            sample = row_of(network, question.sample)
            return around(asked.lawful, network, sample, question.region, asked.limits, fixed=fixed)
        case Count() | Agree() if question.sample is not None:
            assert question.region is not None
            sample = row_of(network, question.sample)
            return around(asked.lawful, network, sample, question.region, asked.limits, dict(question.where))
        case QueryAsked():
            case = _fitting(question.cases[part], network)
            pairs = zip(case.lower, case.upper, strict=True)
            return _inside(asked, tuple(enumerate(pairs)))
    assert not isinstance(question, WhatIf)
    return _inside(asked, question.where)


def _inside(asked: Asked, where: Limits) -> InputSet:
    """Return all inputs within limits that can occur."""
    named, known = dict(where), dict[Any, Values]()
    allowed = []
    for feature, coding in enumerate(asked.network.codings):
        limits = tuple(
            limit for limit in (asked.limits.get(feature), named.get(feature)) if limit is not None
        )
        key = (id(coding), limits)
        if key not in known:
            known[key] = within_limits(coding, limits)
        allowed.append(known[key])
        if not allowed[-1]:
            raise _NoInputError(
                f"no value of feature {feature} is allowed, so the question is about no input."
            )
    if asked.lawful.clauses:
        codings = asked.lawful.codings
        states = [
            {state for state, _ in states_within([coding], values)}
            for coding, values in zip(codings, allowed, strict=True)
        ]
        if not some_obey(asked.lawful.clauses, codings, states):
            raise _NoInputError("no allowed input obeys the laws, so the question is about no input.")
    return InputSet(asked.network, asked.lawful, allowed)


def see_query(asked: Asked, question: QueryAsked) -> None:
    """Check that a query has the inputs and outputs of its network."""
    network = asked.network
    if (question.inputs, question.outputs) != (len(network.codings), network.head.outputs):
        raise CertificateError("the query is for another number of inputs or outputs.")
    if network.passes_reals and (asked.limits or asked.lawful.clauses):
        raise CertificateError("a query over real numbers has neither limits nor laws.")


def _fitting(case: CaseAsked, network: NetworkForm) -> CaseAsked:
    if not len(case.lower) == len(case.upper) == len(network.codings):
        raise CertificateError("the query is for another number of inputs.")
    return case


# -- violations ----------------------------------------------------------------------------------------------


def _scores_reach(
    network: NetworkForm,
    terms: Iterable[tuple[int, Fraction]],
    bound: Fraction,
    at: int = 0,
    of: int | None = None,
) -> tuple[list[Fraction], Fraction]:
    """Return the inequality that scores of classes, each times its factor, sum to at least a bound.

    It is over match counts; those of this head start at `at`.
    """
    head = network.head
    factors, threshold = [Fraction(0)] * (head.outputs if of is None else of), bound
    for k, value in terms:
        factors[at + k] = 2 * head.scale[k] * value
        threshold -= value * (head.bias[k] - head.scale[k] * int(head.sizes[k]))
    return factors, threshold


def _over(
    network: NetworkForm, a: int, b: int, *, strictly: bool, at: int = 0, of: int | None = None
) -> tuple[list[Fraction], Fraction]:
    """Return the inequality that class a scores more than class b, or as much."""
    factors, threshold = _scores_reach(network, [(a, Fraction(1)), (b, Fraction(-1))], Fraction(0), at, of)
    if strictly:  # the next larger possible value: all terms are multiples of a common unit
        unit = Fraction(
            1, lcm(*(value.denominator for value in (factors[at + a], factors[at + b], threshold)))
        )
        threshold += unit
    return factors, threshold


def _wins(
    network: NetworkForm, k: int, ties: str, at: int = 0, of: int | None = None
) -> list[tuple[list[Fraction], Fraction]]:
    others = [j for j in range(network.head.outputs) if j != k]
    return [_over(network, k, j, strictly=ties == "lowest" and j < k, at=at, of=of) for j in others]


def _loses(network: NetworkForm, label: int, ties: str) -> _Demands:
    others = [j for j in range(network.head.outputs) if j != label]
    return [[_over(network, j, label, strictly=ties == "lowest" and j > label)] for j in others]


def _both(left: NetworkForm, right: NetworkForm, wrong: list[tuple[int, int]]) -> _Demands:
    k = left.head.outputs
    total = k + right.head.outputs
    return [[*_wins(left, p, "lowest", 0, total), *_wins(right, q, "lowest", k, total)] for p, q in wrong]


# -- questions -----------------------------------------------------------------------------------------------


class _NoInputError(CertificateError):
    """A question, or a part of it, is about no input."""


def parts_of(asked: Asked) -> list[int]:
    """Return the indices of the settings of a question, none of which may have a violation.

    Cases of a query without an input are left out, unless all of them are.
    """
    parts, refused = list[int](), None
    cases = asked.question.cases if isinstance(asked.question, QueryAsked) else None
    for part in range(len(cases or ())):
        try:
            inputs_asked(asked, part)
            parts.append(part)
        except _NoInputError as error:
            refused = error
    if refused is not None and not parts:
        raise refused
    return [0] if cases is None else parts


def setting_of(asked: Asked, resources: Resources, part: int = 0, inputs: InputSet | None = None) -> Setting:
    """Return the setting of a question, or of the part of it with an index.

    `inputs` replaces the question's own inputs: always for a counterfactual, and for robustness if only a
    part of the region is claimed.
    """
    question, network = asked.question, asked.network
    match question:
        case Monotone() | Fair():
            return _pairs(asked, question, resources)
        case Agree():
            return _two_networks(asked, resources)
        case Robust() | Reason() | WhatIf():
            sample_of(asked)
            ties, target, label = question.ties, question.target, question.label
            cases = _loses(network, label, ties) if target is None else [_wins(network, target, ties)]
        case Always():
            cases = _loses(network, question.label, "lowest")
        case Never():
            cases = [_wins(network, question.label, "lowest")]
        case Count():
            cases = []
        case QueryAsked():
            cases = _meeting(network, question.cases[part])
    return _options(inputs or inputs_asked(asked, part), obeying(asked.lawful, cases), resources)


def _options(inputs: InputSet, cases: _Demands, resources: Resources) -> Setting:
    """Return a set of inputs as options around its cheapest input."""
    base, others, budget = inputs.states(resources)
    known: dict[int, list[Option]] = {}  # equal features share one list
    for row in others.values():
        if id(row) not in known:
            known[id(row)] = [Option(one.state, (one.state,), one.price) for one in row]
    base_states = tuple(first.state for first in base)
    options = {feature: known[id(row)] for feature, row in others.items()}
    return Setting((inputs.lawful,), (base_states,), base_states, options, budget, inputs.strict, cases)


def _meeting(network: NetworkForm, case: CaseAsked) -> _Demands:
    """Return the condition of a query over match counts."""
    if any(not row for row in case.condition):
        raise CertificateError(
            "a conjunction without inequalities is always met, so nothing proves the query."
        )
    return [
        [
            _scores_reach(network, [(k, Fraction(f)) for k, f in terms], Fraction(bound))
            for terms, bound in row
        ]
        for row in case.condition
    ]


def _listed(networks: tuple[NetworkForm, ...], rows: list[list[tuple[Any, ...]]], cases: _Demands) -> Setting:
    """Return every combination of listed values, each with a value for each side.

    The first value of each feature is the base.
    """
    state_rows = []
    for feature, row in enumerate(rows):
        codings = [network.codings[feature] for network in networks]
        state_rows.append([tuple(map(state_of, codings, values)) for values in row])
    base = tuple(tuple(row[0][side] for row in state_rows) for side in range(len(networks)))
    options = {
        feature: [Option(order, states, Fraction(0)) for order, states in enumerate(row)][1:]
        for feature, row in enumerate(state_rows)
        if len(row) > 1
    }
    return Setting(networks, base, (0,) * len(rows), options, None, False, cases)


def _pairs(asked: Asked, question: Monotone | Fair, resources: Resources) -> Setting:
    inputs, classes = inputs_asked(asked), range(asked.network.head.outputs)
    laws = asked.lawful.clauses
    network = asked.lawful  # its last class wins if a law is broken, so that no other class does
    resources.take(800 * len(classes) ** 3, "the list of all pairs of classes")
    special = (question.feature,) if isinstance(question, Monotone) else question.protected
    rows: list[list[tuple[Any, ...]]] = []
    for feature, (coding, allowed) in enumerate(zip(network.codings, inputs.allowed, strict=True)):
        values = [some(cell) for _, cell in states_within([coding], allowed)]
        resources.take(OPTION_BYTES * len(values), _PAIRS)
        if feature not in special:
            rows.append([(value, value) for value in values])
            continue
        if isinstance(question, Monotone):
            if isinstance(coding, Categories):
                raise CertificateError("a category cannot be raised.")
            # a state between two others may break a law, and then the two cannot be compared through it
            resources.take(OPTION_BYTES * len(values) ** 2 * bool(laws), _PAIRS)
            steps = combinations(values, 2) if laws else pairwise(values)
            chosen = [(a, b) if question.rising else (b, a) for a, b in steps]
        else:
            resources.take(OPTION_BYTES * len(values) ** 2, _PAIRS)
            numbered = product(enumerate(values), repeat=2)
            chosen = [(a, b) for (i, a), (j, b) in numbered if len(special) > 1 or i < j]
        if not chosen:
            raise CertificateError(f"feature {feature} takes one value only, so there is nothing to compare.")
        rows.append(chosen)
    if isinstance(question, Fair):
        wrong = [(p, q) for p in classes for q in classes if p != q]
    elif question.label is None:
        wrong = [(p, q) for p in classes for q in classes if p > q]
    else:
        wrong = [(question.label, q) for q in classes if q != question.label]
    return _listed((network, network), rows, _both(network, network, wrong))


def see_other(asked: Asked) -> NetworkForm:
    """Return the other network, if the certificate is about it and it has the same inputs and classes."""
    question, network, other = asked.question, asked.network, asked.other
    assert isinstance(question, Agree)
    if other is None:
        raise CertificateError("the certificate is about two networks: give the other one too.")
    if question.other != other.fingerprint:
        raise CertificateError("the other network is not the one that the certificate is about.")
    if network.names != other.names or network.classes != other.classes:
        raise CertificateError("the two networks do not have the same features and classes.")
    for f, (a, b) in enumerate(zip(network.codings, other.codings, strict=True)):
        if isinstance(a, Categories) or isinstance(b, Categories):
            if a != b:
                raise CertificateError(f"feature {f} is coded differently in the two networks.")
        elif (a.low, a.high, a.whole, a.bipolar) != (b.low, b.high, b.whole, b.bipolar):
            raise CertificateError(f"feature {f} can take other values in one network than in the other.")
    return other


def _two_networks(asked: Asked, resources: Resources) -> Setting:
    other, count = see_other(asked), asked.network.head.outputs
    networks = asked.lawful, other  # as above
    resources.take(800 * count**3, "the list of all pairs of classes")
    inputs = inputs_asked(asked)
    base, others, budget = inputs.states(resources, other)

    def option(feature: int, one: Priced) -> Option:
        sides = tuple(state_of(network.codings[feature], one.value) for network in networks)
        return Option(one.state, sides, one.price)

    starts = [option(feature, one) for feature, one in enumerate(base)]
    options = {feature: [option(feature, one) for one in row] for feature, row in others.items()}
    sides = tuple(tuple(start.states[side] for start in starts) for side in range(2))
    wrong = [(p, q) for p in range(count) for q in range(count) if p != q]
    orders = tuple(start.order for start in starts)
    return Setting(networks, sides, orders, options, budget, inputs.strict, _both(*networks, wrong))
