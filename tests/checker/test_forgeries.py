"""Forged certificates are refused, or true: brute force decides.

Small ones that ask for much are refused within limits.
"""

from functools import cache
from itertools import islice

import pytest

from sugenet.bnn import DenseLayer, LevelLayer
from sugenet.checker import proof as check_proof
from tests.fuzzing.forgeries import bombs, difference, forgeries, tried

MEGABYTES = 500


@cache
def small_bombs():
    return list(bombs(size=1 << 26))


@pytest.mark.parametrize("seed", range(4))
def test_no_false_certificate_is_accepted(seed):
    kinds = set()
    for forgery in islice(forgeries(seed), 700):
        assert difference(forgery) is None
        if forgery.how == "as it is" and forgery.certificate["proof"] is not None:
            kinds.add(forgery.certificate["proof"]["kind"])
    assert kinds >= {"bounds", "walk", "rup", "partition"}


def test_the_checker_of_large_networks_says_the_same_of_small_ones(monkeypatch):
    maps = 0
    for forgery in (forgery for seed in (20, 22, 24) for forgery in islice(forgeries(seed), 250)):
        maps += not all(isinstance(layer, DenseLayer | LevelLayer) for layer in forgery.network.layers)
        said = {}
        for cells in (1 << 60, -1):  # written out, or not
            monkeypatch.setattr(check_proof, "_CELLS", cells)
            said[cells] = tried(forgery)
            assert not said[cells].false, forgery.how
        coarser = (
            "bounds do not exclude" in said[-1].said
        )  # convolutions are bounded less closely than their neurons one by one
        assert said[-1].accepted == (said[1 << 60].accepted and not coarser), forgery.how
    assert maps > 200


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_no_false_certificate_is_accepted_at_length(seed):
    for forgery in islice(forgeries(seed), 20_000):
        assert difference(forgery) is None


def test_certificates_as_they_are_hold():
    found = [forgery for forgery in islice(forgeries(9), 900) if forgery.how == "as it is"]
    proofs = [
        forgery.certificate["proof"]["kind"] for forgery in found if forgery.certificate["proof"] is not None
    ]
    assert {"bounds", "walk", "rup", "partition"} <= set(proofs)
    held = [forgery for forgery in found if tried(forgery).accepted]
    assert len(held) > len(found) // 2  # the others are false claims with the right numbers


@pytest.mark.parametrize("number", range(32))
def test_what_asks_for_much_is_refused_within_limits(number):
    forgery = small_bombs()[number]
    found = tried(forgery, seconds=0.5, memory=100 << 20)
    assert not found.accepted, forgery.how
    assert found.megabytes < MEGABYTES, forgery.how


@pytest.mark.slow
def test_what_asks_for_much_more_is_refused_too():
    for forgery in bombs():
        found = tried(forgery)
        assert not found.accepted, forgery.how
        assert found.megabytes < MEGABYTES, forgery.how
