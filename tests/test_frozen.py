"""What cannot be changed takes no new fields: a name spelled wrongly would be set, and never read."""

from dataclasses import FrozenInstanceError

import pytest

import sugenet as sg
from sugenet.capacity import Join, Meet, Necessity, Possibility

BALL = sg.L0(1)
PARTS = [Possibility([1, 0.5]), Necessity([0.5, 1])]
FROZEN = [
    *(kind(1) for kind in (sg.Hamming, sg.L0, sg.L1, sg.L2, sg.Linf)),
    *(
        sg.Robust([1], BALL),
        sg.Why([1], BALL),
        sg.Predict([1]),
        sg.WhatIf([1]),
        sg.Count([1], BALL),
        sg.Always(0),
        sg.Never(0),
    ),
    *(sg.Free([0]), sg.Box({}), sg.AnyInput(), sg.Monotone(0), sg.Fair([0])),
    *(*PARTS, Join(PARTS), Meet(PARTS)),
]


@pytest.mark.parametrize("thing", FROZEN, ids=lambda thing: type(thing).__name__)
def test_a_name_that_is_no_field_cannot_be_set(thing):
    with pytest.raises(FrozenInstanceError):
        thing.raduis = 2
    with pytest.raises(FrozenInstanceError):
        setattr(thing, next(iter(vars(thing)), "limits"), 2)
