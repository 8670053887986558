"""Forged certificates are refused, or true: brute force decides.

Small ones that ask for much are refused within limits.
"""

import re
from functools import cache
from itertools import islice

import pytest

from sugenet.checker.accelerate import enumeration
from sugenet.nn import DenseLayer, LevelLayer, SparseLayer
from sugenet.reason.envelope import kind_of
from tests.fuzzing.forgeries import EDGES, ODD, bombs, difference, forgeries, replace_value, tried

MEGABYTES = 500


@cache
def small_bombs():
    return list(bombs(size=1 << 26))


ABOUT = {
    "add_field": (
        r"'.*' that it must not have|above the limit|^0 proofs|no len|or null is needed|of 0\.$"
        r"|inputs, not 0\.$"
    ),
    "free_a_feature": r"has a field 'features' that it must not have|sets of changes|violation|propagation",
    "widen_region": (
        r"sets of changes|the region has .* inputs|exclude|other clauses|not a "
        r"propagation proof|follow|no budget"
    ),
    "widen_where": (
        r"exclude|sets of changes|other clauses|not a propagation proof|the "
        r"region has|not about|limits"
    ),
    "other_label": r"class|target|not a violation|exclude|other clauses|follow|change the answer|propagation",
    "move_count": r"inputs of the classes, not|an integer of at least 0 is needed",
    "only_the_end": r"has a field 'clauses' that|clauses: an integer is needed|does not follow",
    "invent_cut": r"cut",
    "invent_fact": r"fact|is not a literal",
    "shrink_reason": r"exclude|sets of changes|other clauses|propagation|needed|counterexample|left out",
    "raise_lower": r"lower bound|costs|sets of changes|exclude|proof must be",
    "huge head": r"that the certificate excludes is a violation|too finely",
}
"""What a refusal speaks of, by the one thing that was changed."""


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_no_false_certificate_is_accepted(seed):
    kinds, spoken = set(), 0
    for forgery in islice(forgeries(seed), 700):
        found = tried(forgery)
        assert not found.false, forgery.how
        about = ABOUT.get(forgery.how.removeprefix("reals: "))
        if about is not None and not found.accepted:
            assert re.search(about, found.said), (forgery.how, found.said)
            spoken += 1
        if forgery.how == "as it is":
            kinds.add(kind_of(forgery.certificate["proof"]))
    assert kinds >= {"bound", "enumerate", "partition"}
    assert spoken > 20


def test_the_checker_of_large_networks_says_the_same_of_small_ones(monkeypatch):
    maps = 0
    for forgery in (forgery for seed in (20, 22, 24) for forgery in islice(forgeries(seed), 250)):
        maps += not all(
            isinstance(layer, DenseLayer | LevelLayer | SparseLayer) for layer in forgery.network.layers
        )
        said = {}
        for cells in (1 << 60, -1):  # written out, or not
            monkeypatch.setattr(enumeration, "_CELLS", cells)
            said[cells] = tried(forgery)
            assert not said[cells].false, forgery.how
        coarser = (
            "bounds do not exclude" in said[-1].said
        )  # convolutions are bounded less closely than their neurons one by one
        assert said[-1].accepted == (said[1 << 60].accepted and not coarser), forgery.how
    assert maps > 200


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 106))
def test_no_false_certificate_is_accepted_at_length(seed):
    for forgery in islice(forgeries(seed), 20_000):
        assert difference(forgery) is None


def test_no_change_writes_a_list_into_itself_or_into_the_next_forgery():
    class Rolled:
        """A generator whose numbers are given."""

        def __init__(self, *numbers):
            self.numbers = iter(numbers)

        def integers(self, _below):
            return next(self.numbers)

    odd = len(EDGES) + ODD.index([[]])
    forged = {"proof": 0}
    replace_value(Rolled(0, odd), forged, [])
    replace_value(Rolled(1, odd), forged, [])  # the list in the list
    assert forged == {"proof": [[[]]]}
    assert ODD.count([[]]) == 1


def test_no_two_parts_of_a_forgery_are_one_list():
    for forgery in islice(forgeries(7), 300):
        inner = list(_containers(forgery.certificate))
        assert len({id(part) for part in inner}) == len(inner), forgery.how


def _containers(data):
    if isinstance(data, dict | list):
        yield data
        for part in data.values() if isinstance(data, dict) else data:
            yield from _containers(part)


def test_certificates_as_they_are_hold():
    found = [forgery for forgery in islice(forgeries(9), 900) if forgery.how == "as it is"]
    proofs = {kind_of(forgery.certificate["proof"]) for forgery in found}
    assert {"bound", "enumerate", "lemma", "partition"} <= proofs
    held = [forgery for forgery in found if tried(forgery).accepted]
    assert len(held) > len(found) // 2  # the others are false claims with the right numbers


@pytest.mark.parametrize("number", range(31))
def test_what_asks_for_much_is_refused_within_limits(number):
    forgery = small_bombs()[number]
    found = tried(forgery, seconds=0.5, memory=100 << 20)
    assert not found.accepted, forgery.how
    assert found.megabytes < MEGABYTES, forgery.how


@pytest.mark.slow
def test_what_asks_for_much_more_is_refused_too():
    for forgery in small_bombs():  # so that compiled code, which stays, is there before memory is measured
        tried(forgery, seconds=0.5, memory=100 << 20)
    for forgery in bombs():
        found = tried(forgery)
        assert not found.accepted, forgery.how
        assert found.megabytes < MEGABYTES, forgery.how
