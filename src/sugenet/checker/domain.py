"""The inputs that a certificate is about: limits of features and laws, which it contains itself.

To be ensured: the question is about all inputs within them, and a witness is one of these. Only the limits
and laws of the certificate count, not those stored with the network. A law is a list of clauses; its text is
for people, and is not read here.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from sugenet.checker.form import InputDomain, Limit
from sugenet.checker.limit import Limit as Resources
from sugenet.checker.network import Categories, Clause, Coding, NetworkForm
from sugenet.errors import CertificateError

__all__ = ["obeying", "some_obey", "within_domain"]

_TRIED = 100_000
"""Number of clauses visited before giving up on whether laws can be obeyed."""


def within_domain(
    domain: InputDomain | None, network: NetworkForm, resources: Resources
) -> tuple[NetworkForm, Mapping[int, Limit]]:
    """Return the network with only the laws of a certificate, and the limits by feature."""
    if domain is None:
        return network, {}
    network.see_texts(domain.laws)
    clauses = [_clause(clause, network) for law in domain.laws for clause in law.clauses]
    width = sum(coding.width for coding in network.codings)
    resources.take(16 * len(clauses) * (width + len(clauses)), "the neurons of all laws")
    if clauses and network.passes_reals:
        raise CertificateError("laws over real numbers are not supported.")
    return network.obeying(clauses), dict(domain.limits)


def _clause(clause: Clause, network: NetworkForm) -> Clause:
    """Return a clause of a certificate after checking that its conditions fit their features."""
    for feature, at, _ in clause:
        coding = network.codings[feature]
        if isinstance(coding, Categories):
            known = any(type(at) is type(category) and at == category for category in coding.categories)
        else:
            known = type(at) in (int, float) and float(at) == at
        if not known:
            raise CertificateError(f"a law compares feature {feature} with {str(at)[:40]!r}.")
    return tuple(
        dict.fromkeys(  # each condition once: the compiled form counts them
            (f, at if isinstance(network.codings[f], Categories) else float(at), on) for f, at, on in clause
        )
    )


def obeying(
    network: NetworkForm, cases: list[list[tuple[list[Fraction], Fraction]]]
) -> list[list[tuple[list[Fraction], Fraction]]]:
    """Return violations by inputs that obey the laws.

    They are over the classes of a network with laws. The match count of its last class is the number of
    broken clauses.
    """
    if not network.clauses:
        return cases
    none = ([Fraction(0)] * (network.head.outputs - 1) + [Fraction(-1)], Fraction(0))
    return [[*(([*factors, Fraction(0)], bound) for factors, bound in case), none] for case in cases]


def some_obey(clauses: Iterable[Clause], codings: Sequence[Coding], states: Sequence[set[int]]) -> bool:
    """Return whether some choice of allowed states obeys all clauses; also True if this takes too long to
    decide.
    """
    rows = [[(f, _meeting(codings[f], at, on)) for f, at, on in clause] for clause in clauses]
    return _chosen(rows, list(states), [_TRIED])


def _meeting(coding: Coding, at: object, on: bool) -> set[int]:
    """Return the states of a feature in which a condition holds; the feature has its cut."""
    if isinstance(coding, Categories):
        return {state for state, category in enumerate(coding.categories) if (category == at) == on}
    reached = set(range(coding.cuts.index(at) + 1, coding.width + 1))
    return reached if on else set(range(coding.width + 1)) - reached


def _chosen(rows: list[list[tuple[int, set[int]]]], free: list[set[int]], left: list[int]) -> bool:
    left[0] -= 1 + len(rows)
    if left[0] < 0:
        return True
    waiting = []
    for row in rows:
        if any(free[f] <= states for f, states in row):
            continue
        possible = [(f, states) for f, states in row if free[f] & states]
        if not possible:
            return False
        waiting.append(possible)
    if not waiting:
        return all(free)
    for f, states in min(waiting, key=len):
        if _chosen(waiting, [*free[:f], free[f] & states, *free[f + 1 :]], left):
            return True
        free = [*free[:f], free[f] - states, *free[f + 1 :]]  # from here on the condition is false
    return False
