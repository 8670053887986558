"""Answers about several samples on the page: they are shown, and checked as Python checks them."""

import json
from copy import deepcopy

import numpy as np
import pytest

import sugenet as sg
from sugenet import logic
from sugenet.cli import main
from sugenet.errors import CertificateError, QuestionError
from sugenet.logic import Reading, Sudoku, Sum, readings_of
from sugenet.nn import DenseLayer, Head, Network
from sugenet.web import page_html, payload
from sugenet.web.composites import composed_data
from tests.web.test_check_here import here, plain


def network_of(rng):
    """A network of digits 0 to 2 over four bits."""
    weights = rng.choice([-1, 1], (5, 4))
    return Network.of_bits(
        [DenseLayer(weights, [2] * 5)], Head(rng.choice([-1, 1], (3, 5)), bias=[2, 0, 0]), classes="012"
    )


def sums(rng):
    """A network, and answers about sums of its readings, some of them given."""
    network = network_of(rng)
    rows = rng.choice([-1, 1], (3, 4)).tolist()
    made = readings_of(network, rows, ["a", "b", "c"])
    known = Reading.given("d", {"7": 0, "4": 3})
    whole = Sum(made[:2], (*made[2:], *([known] if rng.random() < 0.5 else [])))
    for region in (sg.L0(1), sg.Hamming(2), sg.AnyInput()):
        yield network, logic.verify(whole, region)
    yield network, logic.verify(whole, sg.L0(1), joint=True)
    yield network, logic.verify(whole, sg.L0(2), time_limit=0)


def forged(certificate, rng):
    """Copies with one change each: of an answer, a part, a choice, the region or a reading."""
    changes = [
        lambda c: c.update(answer="proved", proof={"kind": "enumerate"}),
        lambda c: (c.pop("choice", None), c.update(answer="proved", proof={"kind": "enumerate"})),
        lambda c: (c.pop("proof", None), c.update(answer="refuted", choice=[0] * len(c["readings"]))),
        lambda c: (c.pop("proof", None), c.pop("choice", None), c.update(answer="undecided")),
        lambda c: c["parts"].pop(int(rng.integers(len(c["parts"])))),
        lambda c: c["parts"].append(c["parts"][0]),
        lambda c: c["parts"][0].update(reading=(c["parts"][0]["reading"] + 1) % len(c["readings"])),
        lambda c: c["question"].update(region={"kind": "L0", "radius": "3"}),
        lambda c: c["question"].update(joint=not c["question"]["joint"]),
        lambda c: c["whole"].update(left=1 + c["whole"]["left"] % (len(c["readings"]) - 1)),
        lambda c: c["readings"][0]["sample"].reverse(),
        lambda c: c["readings"][0].update(name="b"),
        lambda c: c["readings"][-1].update(values=["1", "4"]),
        lambda c: c.update(proof=None),
        lambda c: c.update(proof={"kind": "lemma"}),
        lambda c: c["choice"].reverse(),
        lambda c: c["parts"][0]["certificate"].update(answer="proved", witness=None, proof={"kind": "bound"}),
        lambda c: c["parts"][0]["certificate"]["question"].update(ties="against"),
        lambda c: c["networks"].append("0" * 64),
        lambda c: c.update(more=1),
    ]
    for change in changes:
        copy = deepcopy(certificate)
        try:
            change(copy)
        except (KeyError, ValueError, IndexError):
            continue
        yield copy


def holds(certificate, network):
    try:
        return sg.check(certificate, network)
    except CertificateError:
        return None


def test_sums_are_checked_as_python_checks_them(engine):
    networks, asked, expected = [], [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        for network, answer in sums(rng):
            if network not in networks:
                networks.append(network)
            certificate = plain(answer.certificate)
            for one in (certificate, *forged(certificate, rng)):
                asked.append((networks.index(network), one))
                expected.append((one is certificate, answer.outcome, holds(one, network)))
    counts = {True: 0, False: 0, None: 0}
    for found, (is_real, outcome, said) in zip(here(engine, networks, asked), expected, strict=True):
        counts[found["holds"]] += 1
        if found["holds"] is not None:
            assert found["holds"] == (said is not None), (found, said)
        if found["holds"]:
            assert found["said"] == said
        if is_real and outcome != "undecided":
            assert found["holds"], found
    assert min(counts.values()) > 10, counts


def test_other_composites_are_left_to_the_server(engine):
    X, _ = sg.models.samples("digits")
    network = sg.models.digits()
    total, grid = Sum.of(network, X[[7]], X[[4]]), Sudoku.of(network, X[:16])
    left_open = [logic.read(total), logic.whatif(total), logic.why(total, sg.L0(1)), logic.read(grid)]
    found = here(engine, [network], [(0, plain(answer.certificate)) for answer in left_open])
    assert [one["holds"] for one in found] == [None] * 4


def test_the_page_shows_them_and_opens_their_certificates(page, tmp_path):
    X, _ = sg.models.samples("digits")
    network = sg.models.digits()
    answer = logic.verify(Sum.of(network, X[[7, 3]], X[[4]]), sg.L0(1))
    data = payload(network, X[:3], title="<digits>") | {"composed": composed_data([answer])}
    path = tmp_path / "page.html"
    path.write_text(page_html(data, server=False), encoding="utf-8")
    page.goto(path.as_uri())
    card = page.locator('[data-test="composed"]')
    assert str(answer) in card.inner_text()
    assert card.locator("img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    page.locator('[data-test="open-composed"]').click()
    page.locator('[data-test="recheck"]').click()
    result = page.locator('[data-test="recheck-result"]')
    result.get_by_text("3 parts checked").wait_for()
    assert result.inner_text().startswith("Holds")


def test_only_such_answers_are_taken(tmp_path):
    X, _ = sg.models.samples("digits")
    with pytest.raises(QuestionError, match="is not an answer about several samples"):
        composed_data([sg.verify(sg.models.digits(), sg.Robust(X[7], sg.L0(1)))])
    assert json.dumps(composed_data([])) == "[]"


def test_a_report_has_a_section_with_them(tmp_path, monkeypatch, capsys):
    X, _ = sg.models.samples("digits")
    answer = logic.verify(Sum.of(sg.models.digits(), X[[7, 3]], X[[4]]), sg.L0(1))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.json").write_text(json.dumps(answer.data()))
    assert (
        main(
            ["report", "digits", "--index", "7", "-o", "r.html", "--time-limit", "0", "--answer", "sum.json"]
        )
        == 0
    )
    text = (tmp_path / "r.html").read_text()
    assert text.count('id="several"') == 1
    assert "34 + 6 = 40, with up to 1 feature changed in each sample: proved, by 3 parts" in text
    (tmp_path / "sum.json").write_text(json.dumps(answer.certificate))
    assert (
        main(
            ["report", "digits", "--index", "7", "-o", "r.html", "--time-limit", "0", "--answer", "sum.json"]
        )
        == 1
    )
    assert "the answer has no field" in capsys.readouterr().err
