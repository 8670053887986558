"""Repeat a random part of an accepted compiled check in the plain form.

To be ensured: the drawn part is checked by `rules` alone. This finds frequent mistakes of a compiled form. A
valid certificate is never refused.
"""

from collections.abc import Sequence
from random import SystemRandom

from sugenet.checker.accelerate.arrays import Picking, backed
from sugenet.checker.form import Dual, Enumerate, Single
from sugenet.checker.limit import MEMORY, Limit
from sugenet.checker.network import NetworkForm
from sugenet.checker.problem import IntegerProblem, problem_of
from sugenet.checker.setting import Setting
from sugenet.errors import CertificateError, CheckLimitError

__all__ = ["check_again"]

_SHARE = 10
"""The plain form may take one part in this many of the time of a check."""
_WRITTEN = 1_000_000
"""Number of weights written out per second."""


def check_again(proof: Single, setting: Setting, took: float) -> None:
    """Check a part of a proof in the plain form, for a tenth of the time that the compiled form took.

    Sets of changes and clauses are drawn at random. Other proofs are checked completely if there is time.
    """
    limit = Limit(took / _SHARE, MEMORY)
    if sum(map(_weights, setting.networks)) > _WRITTEN * took / _SHARE:
        return
    try:
        if isinstance(proof, Dual):
            from sugenet.checker.multipliers import check_multipliers

            check_multipliers(proof, setting, limit)
            return
        problem = problem_of(setting, limit)
        if isinstance(proof, Enumerate):
            while True:
                _check_sampled(problem)
        from sugenet.checker.rules import prove

        prove(proof, problem, drawn=True)
    except CheckLimitError:
        return
    except CertificateError as error:
        raise CertificateError(
            f"the plain form refuses a proof that the compiled form accepts: {error}"
        ) from error


def _weights(network: NetworkForm) -> int:
    """Return the number of weights of a network, with each neuron written out."""
    n_weights = 0
    for layer in backed(network).quantized.layers:
        if isinstance(layer, Picking):
            n_weights += layer.window.taps.size * len(layer.every)
        else:
            n_weights += layer.outputs * (layer.weights.size // max(1, len(layer.weights)))
    return n_weights


def _check_sampled(problem: IntegerProblem) -> None:
    """Draw a random choice of options within the budget, and check that it is not a violation."""
    problem.limit.look()
    chance, margins, left = SystemRandom(), list(problem.base), problem.budget
    features: Sequence[int] = chance.sample(range(len(problem.features)), len(problem.features))
    for index in features[: chance.randint(0, len(features))]:
        fit = [one for one in problem.features[index] if left is None or one[0] <= left]
        if fit:
            price, gain = chance.choice(fit)
            margins = [a + b for a, b in zip(margins, gain, strict=True)]
            left = None if left is None else left - price
    if problem.is_violated([margin >= 0 for margin in margins]):
        raise CertificateError("a change that the certificate excludes is a violation.")
