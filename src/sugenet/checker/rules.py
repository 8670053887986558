"""The rules of a proof in plain form: the definition of each rule, which the compiled forms follow.

To be ensured: a rule accepts only if no input of the problem is a violation. Only the standard library is
required.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from sugenet.checker.form import Bound, Enumerate, Lemma, Single
from sugenet.checker.limit import Limit
from sugenet.checker.problem import IntegerProblem, Row, max_together, reaches, swings_of
from sugenet.errors import CertificateError

__all__ = ["prove", "see_inputs"]


def prove(proof: Single, problem: IntegerProblem, *, drawn: bool = False) -> str:
    """Check that no input of a problem is a violation, by the rule that a proof names.

    With `drawn`, check only a random tenth of its clauses.
    """
    match proof:
        case Bound():
            return _bound(problem)
        case Enumerate():
            return _enumerate(problem)
        case Lemma():
            from sugenet.checker.lemma import check_lemma

            return check_lemma(proof, problem, drawn=drawn)
    raise CertificateError(f"a proof of kind {proof.tag[1]!r} has no plain form.")


# -- bound ---------------------------------------------------------------------------------------------------


def _bound(problem: IntegerProblem) -> str:
    """Check that intervals of all neurons exclude every violation.

    The budget limits how many of the neurons that can turn do so together.
    """
    base, features = problem.base, problem.features
    fits = max_together((min(price for price, _ in row) for row in features), problem.budget)
    state = [margin >= 0 for margin in base]
    loose = set()
    for j, margin in enumerate(base):
        problem.limit.look()
        falls = sorted(min(0, *(gain[j] for _, gain in row)) for row in features)[:fits]
        rises = sorted((max(0, *(gain[j] for _, gain in row)) for row in features), reverse=True)[:fits]
        if (margin + sum(falls) >= 0) != (margin + sum(rises) >= 0):
            loose.add(j)
    turning = _max_turned(problem, loose, fits)
    for layer in problem.layers:
        problem.limit.look()
        after = set()
        for j, row in enumerate(layer):
            low, high = _ends(row[0], state, loose, turning)
            if (low >= row[1]) != (high >= row[1]):
                after.add(j)
        state, loose = [reaches(row, state) for row in layer], after
        turning = len(loose)
    for case in problem.cases:
        rows = [problem.inequalities[number] for number in case]
        impossible = any(_ends(row[0], state, loose, turning)[1] < row[1] for row in rows)
        if not impossible and not any(_contradict(a, b) for a, b in combinations(rows, 2)):
            raise CertificateError("bounds do not exclude a violation, although the certificate claims so.")
    return "bounds through all layers exclude every violation (plain form)"


def _ends(weights: dict[int, int], state: Sequence[bool], loose: set[int], turning: int) -> tuple[int, int]:
    """Return the smallest and largest sum if at most `turning` of the loose bits turn."""
    here = sum(weight for bit, weight in weights.items() if state[bit])
    turns = sorted(-weight if state[bit] else weight for bit, weight in weights.items() if bit in loose)
    rises = [turn for turn in reversed(turns) if turn > 0]
    falls = [turn for turn in turns if turn < 0]
    return here + sum(falls[:turning]), here + sum(rises[:turning])


def _contradict(first: Row, second: Row) -> bool:
    """Return whether two inequalities say ``s >= a`` and ``-s >= b`` about one sum s, with a + b above 0."""
    opposite = {bit: -weight for bit, weight in second[0].items()}
    return first[0] == opposite and first[1] + second[1] > 0


def _max_turned(problem: IntegerProblem, loose: set[int], fits: int) -> int:
    """Return how many loose first-layer neurons can turn together.

    Each requires its distance from the threshold, and the total gain of the features is limited.
    """
    if problem.budget is None or not loose:
        return len(loose)
    base = problem.base
    need = {j: base[j] + 1 if base[j] >= 0 else -base[j] for j in loose}
    sign = {j: -1 if base[j] >= 0 else 1 for j in loose}
    if fits <= 1:
        turned = (
            sum(sign[j] * gain[j] >= need[j] for j in loose) for row in problem.features for _, gain in row
        )
        return max(turned, default=0)
    brought = sorted(
        (max(sum(max(sign[j] * gain[j], 0) for j in loose) for _, gain in row) for row in problem.features),
        reverse=True,
    )
    return max_together(need.values(), sum(brought[:fits]))


# -- enumerate -----------------------------------------------------------------------------------------------


def _enumerate(problem: IntegerProblem) -> str:
    """Evaluate every choice of options within the budget."""
    see_inputs(problem)
    swings = swings_of(problem.features, len(problem.base))
    loose = [j for j, (m, (a, b)) in enumerate(zip(problem.base, swings, strict=True)) if m + a < 0 <= m + b]
    features = [[(price, [gain[j] for j in loose]) for price, gain in row] for row in problem.features]
    state, known = [margin >= 0 for margin in problem.base], dict[tuple[bool, ...], bool]()
    n_sets = 0
    for margins in _choices(features, [problem.base[j] for j in loose], problem.budget, problem.limit):
        n_sets += 1
        pattern = tuple([margin >= 0 for margin in margins])
        if pattern not in known:
            for j, bit in zip(loose, pattern, strict=True):
                state[j] = bit
            known[pattern] = problem.is_violated(state)
        if known[pattern]:
            raise CertificateError("a change that the certificate excludes is a violation.")
    return f"none of the {n_sets:,} sets of changes is a violation (plain form)"


def see_inputs(problem: IntegerProblem) -> None:
    """Refuse a region without inputs."""
    if problem.budget is not None and problem.budget < 0:
        raise CertificateError("no input of the region meets the limits.")


def _choices(
    features: Sequence[Any], margins: list[int], left: int | None, limit: Limit
) -> Iterator[list[int]]:
    """Yield the margins of neurons for every choice of at most one option per feature within the budget."""
    if left is not None and left < 0:
        return
    limit.look()
    yield margins  # the other features stay fixed
    for index, row in enumerate(features):
        for price, gain in row:
            if left is None or price <= left:
                moved = [a + b for a, b in zip(margins, gain, strict=True)]
                yield from _choices(
                    features[index + 1 :], moved, None if left is None else left - price, limit
                )
