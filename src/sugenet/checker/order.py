"""The rule `order`: signs of weights show that the change from the left input to the right one only helps.

To be ensured: each value that can rise or fall from left to right is marked so. Only the standard library is
required. The rule needs no search, so it has no compiled form.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

from sugenet.checker.limit import Limit
from sugenet.checker.network import LayerForm, NetworkForm, Pooled
from sugenet.checker.setting import Setting
from sugenet.errors import CertificateError

__all__ = ["check_order"]

_Way: TypeAlias = tuple[bool, bool]
"""Whether a value can rise from the left side to the right, and whether it can fall."""


def check_order(setting: Setting, limit: Limit) -> str:
    """Check that each case has two opposite inequalities, left and right, about a sum that never falls.

    If ``s >= a`` holds left and s never falls, then ``-s >= b`` with a + b above 0 cannot hold right.
    """
    network = setting.networks[0]
    if len(setting.networks) != 2 or setting.networks[1] is not network:
        raise CertificateError("a proof of kind 'order' is about two inputs of one network.")
    ways = _inputs(setting, network)
    for layer in network.layers:
        ways = _after(layer, ways, limit)
    for case in setting.cases:
        limit.look()
        if not _is_excluded(case, network, ways):
            raise CertificateError("the signs of weights do not exclude a violation.")
    return "the signs of weights along all paths exclude every violation (plain form)"


def _inputs(setting: Setting, network: NetworkForm) -> list[_Way]:
    """Return the ways of the values that the first layer reads."""
    ways: list[_Way] = []
    for feature, states in enumerate(zip(*setting.base, strict=True)):
        pairs = [states, *(option.states for option in setting.options.get(feature, ()))]
        read = [[network.reading(feature, state) for state in pair] for pair in pairs if len({*pair}) > 1]
        for index in range(len(network.reading(feature, 0))):
            steps = [right[index] - left[index] for left, right in read]
            ways.append((any(step > 0 for step in steps), any(step < 0 for step in steps)))
    return ways


def _after(layer: LayerForm, ways: Sequence[_Way], limit: Limit) -> list[_Way]:
    """Return the ways of the neurons of a layer; a level never falls if its sum does not."""
    out = []
    for neuron in layer.neurons:
        limit.look()
        weights = [1] * len(neuron.inputs) if isinstance(neuron, Pooled) else neuron.weights
        out.append(_of_sum(zip(weights, (ways[index] for index in neuron.inputs), strict=True)))
    return out


def _of_sum(terms: Iterable[tuple[int | Fraction, _Way]]) -> _Way:
    rises = falls = False
    for weight, (up, down) in terms:
        rises |= (weight > 0 and up) or (weight < 0 and down)
        falls |= (weight > 0 and down) or (weight < 0 and up)
    return rises, falls


def _is_excluded(
    case: Sequence[tuple[list[Fraction], Fraction]], network: NetworkForm, ways: Sequence[_Way]
) -> bool:
    outputs, rows = network.head.outputs, network.head.weights
    right: dict[tuple[Fraction, ...], Fraction] = {}
    for factors, bound in case:
        if not any(factors[:outputs]):  # equal rows, such as those of constant scores, keep the largest bound
            opposite = tuple(-f for f in factors[outputs:])
            right[opposite] = max(bound, right.get(opposite, bound))
    for factors, a in case:
        b = right.get(tuple(factors[:outputs]))
        # a class for broken laws has no row, and is not followed
        if any(factors[len(rows) :]) or b is None or a + b <= 0:
            continue
        terms = [(factor, row) for factor, row in zip(factors, rows, strict=False) if factor]
        if not _of_sum((sum(f * row[j] for f, row in terms), way) for j, way in enumerate(ways))[1]:
            return True
    return False
