"""The replay gate: what is found is a witness once the definition agrees; a wrong finding is our mistake."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sugenet.errors import SoundnessError
from sugenet.nn import Head, Network
from sugenet.problem.goal import loses
from sugenet.problem.problem import Fails, Open, Problem, replayed
from sugenet.problem.regions import Hamming

NETWORK = Network.of_bits([], Head([[1], [-1]]))
PROBLEM = Problem(Hamming(1).around(NETWORK, [1]), loses(NETWORK.head, 0))


def test_what_the_definition_confirms_is_a_witness():
    assert replayed(PROBLEM, "me", tuple(PROBLEM.near.moves)) == Fails("me", (0,))


def test_a_wrong_finding_is_a_bug():
    with pytest.raises(SoundnessError, match=r"me answered \(1,\), which does not reach the goal"):
        replayed(PROBLEM, "me", ())
    (move,) = PROBLEM.near.moves
    with pytest.raises(SoundnessError, match="does not reach the goal"):
        replayed(PROBLEM, "me", (move._replace(value=1),))  # no move of the neighbourhood


def test_what_only_rounding_allows_stays_open():
    near = replace(PROBLEM.near, limit=Fraction(1, 2))
    found = replayed(Problem(near, PROBLEM.goal), "me", tuple(near.moves))
    assert isinstance(found, Open)
    assert "beyond the limit by less than rounding" in found.reason
