"""A part of what compiled rules accept is done again in the plain form."""

import pytest

import sugenet as sg
from sugenet.checker.accelerate import again
from sugenet.checker.form import Bound, Enumerate
from sugenet.checker.limit import Limit
from sugenet.checker.setting import setting_of
from sugenet.errors import CertificateError
from sugenet.nn import Head, Network
from tests.checker.typed import asked_of

NET = Network.of_bits([], Head([[1, 1, 1], [-1, -1, -1]]))


def setting(question):
    """What a question asks about, as the certificate of its answer says it."""
    return setting_of(asked_of(sg.verify(NET, question).certificate["question"], NET), Limit())


FALSE, TRUE = sg.Never(0), sg.Robust([1, 1, 1], sg.L0(1))


def test_what_a_compiled_form_should_have_refused_is_seen():
    with pytest.raises(CertificateError, match="plain form refuses a proof that the compiled form accepts"):
        again.check_again(Enumerate(), setting(FALSE), 5.0)
    with pytest.raises(CertificateError, match="the plain form refuses"):
        again.check_again(Bound(), setting(FALSE), 5.0)


def test_what_holds_is_not_refused():
    again.check_again(Enumerate(), setting(TRUE), 0.5)
    again.check_again(Bound(), setting(TRUE), 0.5)
    again.check_again(Enumerate(), setting(FALSE), 0.0)  # no time, so nothing is drawn


def test_a_check_that_takes_long_is_done_again_in_part(monkeypatch):
    certificate = sg.verify(NET, TRUE, engine="flips").certificate
    drawn = []
    monkeypatch.setattr("sugenet.checker.proof._LEAST", 0.0)
    monkeypatch.setattr(again, "check_again", lambda proof, *_: drawn.append(proof))
    sg.check(certificate, NET)
    assert len(drawn) == 1
    sg.check(certificate, NET, plain=True)
    assert len(drawn) == 1
