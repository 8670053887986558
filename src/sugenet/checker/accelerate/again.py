"""A part of what a compiled rule has accepted, drawn at random and checked in the plain form.

To be ensured: what is drawn is judged by `rules` alone. It shows a mistake of a compiled form that is not
rare; a certificate that holds is never refused.
"""

from __future__ import annotations

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
"""What part of the time of a check the plain form may take."""
_WRITTEN = 1_000_000
"""Weights that are written out in a second."""


def check_again(proof: Single, setting: Setting, took: float) -> None:
    """Check a part of a proof in the plain form, for a tenth of the time that the compiled form took: sets of
    changes and clauses drawn at random, and other proofs in whole if there is time for it.
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
        raise CertificateError(f"the plain form refuses what the compiled form accepts: {error}") from error


def _weights(network: NetworkForm) -> int:
    """How many weights a network has, each neuron written out."""
    n_weights = 0
    for layer in backed(network).stairs.layers:
        if isinstance(layer, Picking):
            n_weights += layer.window.taps.size * len(layer.every)
        else:
            n_weights += layer.outputs * (layer.weights.size // max(1, len(layer.weights)))
    return n_weights


def _check_sampled(problem: IntegerProblem) -> None:
    """Draw a choice of options within the budget at random, and see that it is not a violation."""
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
