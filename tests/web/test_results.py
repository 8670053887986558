"""A results file in the page, in a real browser: a table to sort and to filter, whose rows lead to samples,
their stored answers and certificates. What is shown is what the file holds.
"""

import json
import re
import shutil
import sqlite3
import zlib
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError
from sugenet.nn import Encoder, Head, Network, threshold
from sugenet.reason import Count, Predict, Robust, WhatIf, Why, each
from sugenet.sweeps import read_results, sweep
from sugenet.sweeps.store import Entry, writing
from sugenet.web import page_html, payload
from sugenet.web.results import COLUMNS, Shelf, embedded, overview, stored, with_results
from tests.web.serving import LONG, serving
from tests.web.test_page import LUMINANCE, by

pytest.importorskip("playwright")
from playwright.sync_api import expect

NETWORK = sg.models.digits()
X, Y = sg.models.samples("digits")
COUNT = 60
"""More than one page of the table."""
QUESTIONS = {
    "verify": (Robust(each, sg.L0(1)), COUNT, {"engine": "flips"}),
    "bounds": (Robust(each, sg.L0(1)), COUNT, {"engine": "bounds"}),
    "whatif": (WhatIf(each, sg.L0), 6, {}),
    "why": (Why(each, sg.L0(2)), 6, {"n": 2}),
    "count": (Count(each, sg.L0(1)), 4, {}),
    "predict": (Predict(each), COUNT, {}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A results file for each question, and its page."""
    made = tmp_path_factory.mktemp("results")
    for name, (question, count, settings) in QUESTIONS.items():
        path = made / f"{name}.db"
        truth = (Y + (np.arange(len(Y)) % 7 == 0)) % 10 if name == "bounds" else Y  # more of them wrong
        sweep(NETWORK, X[:count], question, y=truth[:count], store=path, jobs=1, **settings).close()
        write_page(made / f"{name}.html", path)
    return made


def write_page(page, path, most=None):
    with read_results(path, NETWORK) as results:
        data = with_results(results, title="digits", server=False)
        if most is not None:
            data["results"] = embedded(results, most)
    page.write_text(page_html(data, server=False), encoding="utf-8")


def open_page(page, folder, name, hash_="#results"):
    page.goto((folder / f"{name}.html").as_uri() + hash_)
    if hash_.startswith("#results"):
        by(page, "row").first.wait_for()
    with read_results(folder / f"{name}.db") as results:
        return results.rows()


def cells(page, column):
    return [text.strip() for text in page.locator(f"tbody .c-{column}").all_inner_texts()]


def numbers(page):
    """Samples in the order of the table, on all its pages from this one on."""
    found = [int(text) for text in cells(page, "sample")]
    while by(page, "page-after").is_visible() and by(page, "page-after").is_enabled():
        by(page, "page-after").click()
        found += [int(text) for text in cells(page, "sample")]
    return found


def said(path, sample):
    with read_results(path, NETWORK) as results:
        return str(results.answer(sample))


# -- data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_data_are_those_of_the_file(folder, name):
    with read_results(folder / f"{name}.db", NETWORK) as results:
        rows, found = results.rows(), overview(results)
        for column in COLUMNS:
            assert found["rows"][column] == [getattr(row, column) for row in rows]
        assert found["samples"] == len(rows) == QUESTIONS[name][1]
        for row in rows:
            one = stored(results, row.sample)
            assert one["row"] == {column: getattr(row, column) for column in COLUMNS}
            data = results.data(row.sample)
            assert one["answer"]["sentence"] == str(results.answer(row.sample))
            assert one["answer"].get("certificate") == data.get("certificate")
            assert one["answer"].get("changes") == data.get("changes")


def test_what_is_too_large_for_a_file_goes_without_certificates_and_is_counted(folder):
    with read_results(folder / "verify.db", NETWORK) as results:
        every = embedded(results)
        assert every["notes"] == []
        sizes = [len(json.dumps(answer)) for answer in every["answers"].values()]
        some = embedded(results, most=sum(sizes[:3]))
    kept = [sample for sample, answer in some["answers"].items() if "certificate" in answer]
    assert kept[:3] == [0, 1, 2]
    assert f"{COUNT - len(kept)} answers are here without their certificates" in some["notes"][0]
    assert [a["sentence"] for a in some["answers"].values()] == [
        a["sentence"] for a in every["answers"].values()
    ]


def test_of_very_many_rows_the_first_are_taken_and_the_others_counted(folder, monkeypatch):
    monkeypatch.setattr("sugenet.web.results.MOST_ROWS", 25)
    with read_results(folder / "verify.db", NETWORK) as results:
        found, inside = overview(results), embedded(results)
        assert found["rows"]["sample"] == list(range(25)) == list(inside["answers"])
        assert found["notes"] == [f"The table has the first 25 of {COUNT} answered samples."]
        assert f"{COUNT} of {COUNT} samples answered" in found["summary"]


def test_without_samples_those_of_the_file_are_shown(folder, tmp_path):
    half = tmp_path / "half.db"
    shutil.copy(folder / "verify.db", half)
    remove(half, "sample % 2 = 0")
    with read_results(half, NETWORK) as results:
        data = with_results(results, title="digits", server=True)
        assert [one["index"] for one in data["samples"]] == list(range(1, COUNT, 2))
        for one in data["samples"]:
            assert one["values"] == X[one["index"]].tolist()
            assert one["truth"] == Y[one["index"]]
        assert data["count"] == COUNT
        assert with_results(results, title="digits", index=7, server=True)["start"] == 3
        with pytest.raises(sg.errors.QuestionError, match="sample 8 has no answer yet"):
            with_results(results, title="digits", index=8, server=True)
        remove(half, "true")
        assert with_results(results, title="digits", server=True)["samples"][0]["index"] is None


def remove(path, where):
    """Take answers out of a results file, as if they were not there yet."""
    with sqlite3.connect(path) as connection:
        connection.execute(f"DELETE FROM answers WHERE {where}")
    connection.close()


def test_another_network_and_other_samples_are_refused(folder):
    path = folder / "verify.db"
    with pytest.raises(FileError, match="is about the network"):
        Shelf(path, sg.models.breast_cancer()).ask(overview)
    with read_results(path, NETWORK) as results:
        with pytest.raises(FileError, match=r"is about 60 samples, but 59 are given. Give the samples"):
            with_results(results, X[:59], title="digits", server=True)
        other = X[:COUNT].copy()
        other[41, 3] += 1
        with pytest.raises(FileError, match="sample 41 is another one"):
            with_results(results, other, title="digits", server=True)
        assert with_results(results, X[:COUNT], title="digits", server=True)["count"] == COUNT


# -- the table -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_table_shows_what_the_file_holds(page, folder, name):
    rows = open_page(page, folder, name)
    with read_results(folder / f"{name}.db") as results:
        tally = results.tally()
    head = by(page, "results-headline").inner_text()
    wanted = tally.certified
    assert (f"Certified accuracy: {wanted}" if wanted else f"{len(rows)} of {len(rows)} samples") in head
    assert f"accuracy {tally.accuracy}" in by(page, "results-facts").inner_text().lower()
    assert by(page, "results-question").inner_text() == f"{name}.db: {tally.asked}"
    for outcome, count in tally.outcomes.items():
        assert by(page, f"outcome-{outcome}").inner_text() == f"{outcome} {count}"
    shown = rows[:50]
    assert cells(page, "sample") == [str(row.sample) for row in shown]
    assert cells(page, "class") == [NETWORK.classes[row.index] for row in shown]
    assert cells(page, "truth") == [NETWORK.classes[row.truth] for row in shown]
    assert cells(page, "outcome") == [row.outcome for row in shown]
    assert cells(page, "certificate") == ["yes" if row.certified else "none" for row in shown]
    assert cells(page, "engine") == [row.engine or "" for row in shown]
    assert cells(page, "cost") == (
        [row.cost or f"≥ {row.lower}" for row in shown] if name == "whatif" else []
    )


@pytest.mark.parametrize("dark", [False, True])
def test_pictures_are_the_samples(page, folder, dark):
    page.emulate_media(color_scheme="dark" if dark else "light")
    open_page(page, folder, "verify")
    read = """() => [...document.querySelectorAll("canvas")].map((one) => {
        const copy = new OffscreenCanvas(8, 8).getContext("2d", { willReadFrequently: true });
        copy.drawImage(one, 0, 0);
        return [...copy.getImageData(0, 0, 8, 8).data].filter((_, i) => i % 4 === 3);
    })"""
    page.wait_for_function(f"({read})().every((one) => one.some(Boolean))")
    for sample, found in enumerate(page.evaluate(read)):
        assert found == [int(255 * value / 16 + 0.5) for value in X[sample].tolist()]
    filtered = page.evaluate("getComputedStyle(document.querySelector('canvas')).filter")
    assert filtered == ("invert(1)" if dark else "none")


KEYS = {
    "sample": lambda row: row.sample,
    "class": lambda row: row.index,
    "truth": lambda row: row.truth,
    "outcome": lambda row: row.outcome,
    "time": lambda row: row.seconds,
    "certificate": lambda row: row.certified,
    "engine": lambda row: row.engine,
    "cost": lambda row: Fraction(row.cost),
}


@pytest.mark.parametrize(
    ("name", "column"), [*(("verify", column) for column in KEYS if column != "cost"), ("whatif", "cost")]
)
def test_every_column_sorts_both_ways_by_keys(page, folder, name, column):
    rows = open_page(page, folder, name)
    key = KEYS[column]
    heads = page.locator("th[aria-sort=ascending], th[aria-sort=descending]")
    button = by(page, f"by-{column}")
    button.focus()
    if column != "sample":  # by which it is sorted at first
        page.keyboard.press("Enter")
    expect(heads).to_have_attribute("aria-sort", "ascending")
    expect(button).to_be_focused()
    assert numbers(page) == [row.sample for row in sorted(rows, key=lambda row: (key(row), row.sample))]
    button.focus()
    page.keyboard.press("Space")
    expect(heads).to_have_attribute("aria-sort", "descending")
    expect(heads).to_contain_text("▼")
    backwards = sorted(sorted(rows, key=lambda row: row.sample), key=key, reverse=True)
    assert numbers(page) == [row.sample for row in backwards]
    assert page.url.endswith(f"&o=-{column}" + ("&p=2" if name == "verify" else ""))


def test_costs_that_are_long_fractions_are_shown_in_few_digits(page, tmp_path):
    cases, path = sg.models.samples("breast_cancer")[0], tmp_path / "r.db"
    network, question = sg.models.breast_cancer(), WhatIf(each, sg.L2)
    with sweep(network, cases[9:11], question, store=path, jobs=1) as results:
        values, nearest = [row.cost for row in results.rows()], results.answer(0)
        data = with_results(results, title="cells", server=False)
    (tmp_path / "r.html").write_text(page_html(data, server=False), encoding="utf-8")
    page.goto((tmp_path / "r.html").as_uri() + "#results")
    by(page, "row").first.wait_for()
    assert [len(value) > 30 for value in values] == [True, True]
    assert cells(page, "cost") == [f"{float(Fraction(value)):.6g}" for value in values]
    titles = [one.get_attribute("title") for one in page.locator("tbody .c-cost span").all()]
    assert titles == values
    page.locator("tbody a").first.click()
    notes = page.locator(".feature .note:visible")
    notes.first.wait_for()
    codings = dict(zip(network.encoder.names, network.encoder.codings, strict=True))
    for name, (_, after) in nearest.changes().items():
        note = page.get_by_role("group", name=name, exact=True).locator(".note")
        shown = float(
            note.inner_text().partition(" becomes ")[2].split()[0]
        )  # typed in, it does what is said
        assert codings[name].state(shown) == codings[name].state(after)


def test_a_cost_whose_parts_no_float_holds_is_shown(page, tmp_path):
    network = Network(Encoder([threshold(0.0)]), [], Head([[1], [-1]]))
    path = tmp_path / "r.db"
    with sweep(network, [[1.5]], WhatIf(each, sg.L1), store=path, jobs=1) as results:
        assert results.answer(0).changed == (-5e-324,)
        data = with_results(results, title="one", server=False)
    (tmp_path / "r.html").write_text(page_html(data, server=False), encoding="utf-8")
    page.goto((tmp_path / "r.html").as_uri() + "#results")
    by(page, "row").first.wait_for()
    assert cells(page, "cost") == ["1.5"]


def test_outcomes_are_walked_by_arrows(page, folder):
    rows = open_page(page, folder, "bounds")
    words = ["", *sorted({row.outcome for row in rows})]
    assert len(words) == 3
    by(page, "outcome-all").locator("input").focus()
    for word in (*words[1:], words[0]):
        page.keyboard.press("ArrowRight")
        expect(page.locator("input[name=outcome]:focus")).to_have_value(word)
        expect(page.locator("input[name=outcome]:checked")).to_have_value(word)
        assert page.url.endswith(f"&f={word}" if word else "#results")


def test_filters_count_and_stay_in_the_address(page, folder):
    rows = open_page(page, folder, "bounds")
    open_ = [row.sample for row in rows if row.outcome == "undecided"]
    wrong = [row.sample for row in rows if row.index != row.truth]
    both = sorted(set(open_) & set(wrong))
    assert 0 < len(both) < len(wrong)
    by(page, "outcome-undecided").click()
    assert numbers(page) == open_
    by(page, "only-wrong").check()
    assert numbers(page) == both
    assert f"wrongly classified {len(wrong)}" in page.locator(".filters").inner_text()
    by(page, "by-time").click()
    assert page.url.endswith("#results&o=time&f=undecided&w=1")
    page.reload()
    by(page, "row").first.wait_for()
    assert sorted(numbers(page)) == both
    assert by(page, "only-wrong").is_checked()
    by(page, "outcome-all").click()
    assert sorted(numbers(page)) == wrong
    by(page, "only-wrong").uncheck()
    by(page, "outcome-proved").click()
    assert sorted(numbers(page)) == [row.sample for row in rows if row.outcome == "proved"]


@pytest.mark.parametrize("hash_", ["&o=nothing&f=%&p=x", "&p=99", "&f=refuted", "&o=-picture&p=-3"])
def test_an_address_that_does_not_fit_shows_what_there_is(page, folder, hash_):
    open_page(page, folder, "bounds", f"#results{hash_}")
    assert by(page, "row").count() in (10, 50)
    expect(by(page, "range")).to_contain_text(f"of {COUNT}")


def test_thousands_of_rows_are_drawn_a_page_at_a_time(page, folder, tmp_path):
    with read_results(folder / "verify.db", NETWORK) as results:
        data = with_results(results, title="digits", server=False)
    many = 20_000
    rows = {name: (column * many)[:many] for name, column in data["results"]["rows"].items()}
    data["results"]["rows"] = rows | {"sample": list(range(many))}
    path = tmp_path / "many.html"
    path.write_text(page_html(data, server=False), encoding="utf-8")
    page.goto(f"{path.as_uri()}#results&o=-sample")
    by(page, "row").first.wait_for()
    assert cells(page, "sample") == [str(many - 1 - place) for place in range(50)]
    assert page.locator("#results-page *").count() < 2000
    by(page, "page-after").click()
    assert cells(page, "sample")[0] == str(many - 51)
    expect(by(page, "range")).to_have_text("51 to 100 of 20,000")
    by(page, "row").first.click()  # a sample that this file does not hold: nowhere to go
    assert "#results" in page.url


@pytest.mark.parametrize("name", ["verify", "whatif", "predict"])
def test_nothing_is_wider_than_the_window(page, folder, name):
    for hash_ in ("#results", "#s=0&a=stored%3A0%3A0"):
        open_page(page, folder, name, hash_)
        for width in (360, 768, 1100):
            page.set_viewport_size({"width": width, "height": 740})
            assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_themes(page, folder, scheme):
    page.emulate_media(color_scheme=scheme)
    open_page(page, folder, "bounds")
    paper = page.evaluate(f"({LUMINANCE})(getComputedStyle(document.documentElement).backgroundColor)")
    assert (paper > 0.5) == (scheme == "light")
    for selector in (
        "th",
        "td",
        "td a",
        ".sort",
        "td.c-engine",
        ".chip",
        "#results-page .facts",
        ".filters span",
    ):
        for place in range(page.locator(selector).count())[:3]:
            colour = page.locator(selector).nth(place).evaluate("(one) => getComputedStyle(one).color")
            text = page.evaluate(f"({LUMINANCE})({json.dumps(colour)})")
            assert (max(text, paper) + 0.05) / (min(text, paper) + 0.05) >= 4.5, selector


# -- from a row to its sample --------------------------------------------------------------------------------


def test_a_row_leads_to_its_sample_its_answer_and_its_certificate(page, folder):
    rows = open_page(page, folder, "verify")
    refuted = next(row.sample for row in rows if row.outcome == "refuted")
    page.locator(f'[data-sample="{refuted}"] .c-outcome').click()
    assert page.evaluate("window.sugenet.state.values") == X[refuted].tolist()
    card = by(page, "stored").locator(".answer")
    expect(card.locator(".said")).to_have_text(said(folder / "verify.db", refuted))
    expect(card.locator(".chip")).to_have_text("refuted")
    expect(by(page, "verdict")).to_contain_text(NETWORK.classes[rows[refuted].index])
    with read_results(folder / "verify.db", NETWORK) as results:
        certificate = results.data(refuted)["certificate"]
        changes = results.answer(refuted).changes()
    assert page.locator(".pixel .mark[data-holds=set]").count() == len(changes)
    card.locator('[data-test="open-certificate"]').click()
    assert json.loads(by(page, "certificate").input_value()) == certificate
    by(page, "recheck").click()
    expect(by(page, "recheck-result")).to_contain_text("Holds")
    with page.expect_download() as found:
        page.get_by_role("button", name="Download").click()
    assert json.loads(found.value.path().read_text()) == certificate
    by(page, "close-drawer").click()
    page.go_back()
    expect(page.locator("tr.chosen a")).to_be_focused()
    assert page.url.endswith("#results")


def test_rows_are_walked_and_opened_by_keys(page, folder):
    open_page(page, folder, "verify", "#results&o=-sample")
    page.locator("tbody a").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(page.locator('[data-sample="58"] a')).to_be_focused()
    assert page.locator('tbody a[tabindex="0"]').count() == 1
    page.keyboard.press("End")
    expect(page.locator('[data-sample="10"] a')).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(by(page, "stored").locator(".said")).to_have_text(said(folder / "verify.db", 59))
    assert "#s=59" in page.url
    by(page, "to-results").click()
    expect(page.locator("tr.chosen a")).to_be_focused()
    assert cells(page, "sample")[0] == "59"


def test_the_stored_answer_follows_the_sample_and_its_link(page, folder):
    path = folder / "verify.db"
    open_page(page, folder, "verify", "#s=3&a=stored%3A3%3A0")
    card = by(page, "stored").locator(".answer")
    expect(card).to_have_class(re.compile("shown"))
    expect(card.locator(".said")).to_have_text(said(path, 3))
    page.keyboard.press("n")
    expect(card.locator(".said")).to_have_text(said(path, 4))
    page.locator('[data-feature="20"]').click()  # the input is changed: the answer is about the sample
    expect(card).to_contain_text("for the input before")
    by(page, "why").click()
    expect(by(page, "answers").locator(".answer").first).to_be_visible()
    expect(card.locator(".said")).to_have_text(said(path, 4))
    by(page, "reset").click()
    expect(card).not_to_contain_text("for the input before")
    page.go_back()
    expect(card.locator(".said")).to_have_text(said(path, 3))
    expect(card).to_have_count(1)


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [("whatif", "proved", "Holds"), ("count", "undecided", "Not checkable here"), ("why", "proved", "Holds")],
)
def test_each_kind_says_its_answer_and_whether_the_browser_can_check_it(page, folder, name, state, words):
    open_page(page, folder, name, "#s=2")
    with read_results(folder / f"{name}.db", NETWORK) as results:
        answer, data = results.answer(2), results.data(2)
    cards = by(page, "stored").locator(".answer")
    if name == "why":
        expect(cards).to_have_count(len(answer.reasons))
        assert len(answer.reasons) == 2
        for place, reason in enumerate(answer.reasons):
            size = len(reason.features)
            expect(cards.nth(place)).to_contain_text(
                f"with up to 2 features changed, while these {size} pixels stay"
            )
        certificate = data["reasons"][0]["certificate"]
    else:
        expect(cards.locator(".said")).to_have_text(str(answer))
        certificate = data["certificate"]
    cards.first.locator('[data-test="open-certificate"]').click()
    assert json.loads(by(page, "certificate").input_value()) == certificate
    by(page, "recheck").click()
    expect(by(page, "recheck-result")).to_contain_text(words)
    expect(by(page, "recheck-result")).to_have_attribute("data-state", state)


def test_a_prediction_has_no_certificate(page, folder):
    open_page(page, folder, "predict", "#s=2")
    card = by(page, "stored").locator(".answer")
    expect(card.locator(".said")).to_have_text(said(folder / "predict.db", 2))
    expect(card.locator(".chip")).to_have_text("predicted")
    expect(card.locator('[data-test="open-certificate"]')).to_have_count(0)


def test_a_sample_that_was_not_asked_about_says_why(page, tmp_path):
    """The question makes no sense for samples of the class that they must not become."""
    path = tmp_path / "target.db"
    question = Robust(each, sg.L0(1), target="4")
    sweep(NETWORK, X[:9], question, y=Y[:9], store=path, jobs=1, engine="flips").close()
    write_page(path.with_suffix(".html"), path)
    rows = open_page(page, tmp_path, "target")
    refused = [row.sample for row in rows if row.outcome == "refused"]
    assert refused == [3, 8]
    by(page, "outcome-refused").click()
    assert numbers(page) == refused
    by(page, "row").first.click()
    with read_results(path) as results:
        reason = results.data(3)["reason"]
    card = by(page, "stored").locator(".answer")
    expect(card.locator(".said")).to_have_text(f"not asked about: {reason}")
    expect(card.locator(".chip")).to_have_text("refused")
    expect(card.locator('[data-test="open-certificate"]')).to_have_count(0)


def test_a_certificate_that_was_left_out_is_said_to_be(page, folder, tmp_path):
    write_page(tmp_path / "small.html", folder / "verify.db", most=0)
    page.goto(f"{(tmp_path / 'small.html').as_uri()}#results")
    expect(by(page, "results-notes")).to_contain_text(f"{COUNT} answers are here without their certificates")
    by(page, "row").nth(3).click()
    card = by(page, "stored").locator(".answer")
    expect(card.locator(".said")).to_have_text(said(folder / "verify.db", 3))
    expect(card.locator('[data-test="open-certificate"]')).to_have_count(0)


def test_a_page_without_results_shows_none(page, tmp_path):
    path = tmp_path / "plain.html"
    path.write_text(page_html(payload(NETWORK, X[:2], Y[:2], title="digits"), server=False), encoding="utf-8")
    page.goto(f"{path.as_uri()}#results")
    expect(by(page, "verdict")).to_be_visible()
    assert by(page, "to-results").is_hidden()
    assert page.locator("#stored").is_hidden()


# -- served --------------------------------------------------------------------------------------------------


@pytest.fixture
def growing(folder, tmp_path):
    """A results file with answers about the first 20 samples, and what gives it the others."""
    path = tmp_path / "growing.db"
    shutil.copy(folder / "verify.db", path)
    remove(path, "sample >= 20")

    def grow():
        with sqlite3.connect(path) as connection:
            connection.execute("ATTACH ? AS whole", (str(folder / "verify.db"),))
            connection.execute("INSERT INTO answers SELECT * FROM whole.answers WHERE sample >= 20")
        connection.close()

    return path, grow


@pytest.mark.slow
def test_a_served_file_is_read_again_while_it_grows(page, folder, growing):
    path, grow = growing
    page.set_default_timeout(LONG * 1000)
    with serving(results=str(path)) as server:
        page.goto(f"{server.link}#results")
        expect(by(page, "results-facts")).to_contain_text(f"20 of {COUNT} samples answered")
        assert numbers(page) == list(range(20))
        page.goto(f"{server.link}#s=30")
        expect(by(page, "stored-note")).to_have_text("not answered yet")
        grow()
        by(page, "to-results").click()
        by(page, "reload").click()
        expect(by(page, "results-facts")).to_contain_text(f"{COUNT} of {COUNT} samples answered")
        assert numbers(page) == list(range(COUNT))
        page.goto(f"{server.link}#s=30")
        expect(by(page, "stored").locator(".said")).to_have_text(said(folder / "verify.db", 30))
        by(page, "stored").locator('[data-test="open-certificate"]').click()
        by(page, "recheck-server").click()
        expect(by(page, "recheck-result")).to_contain_text("Holds", timeout=LONG * 1000)


def test_samples_beyond_those_in_the_page_come_from_the_server(page, tmp_path):
    path, twice = tmp_path / "twice.db", np.concatenate([X, X[::-1]])
    sweep(NETWORK, twice, Predict(each), y=np.concatenate([Y, Y[::-1]]), store=path, jobs=1).close()
    first = (
        f"import numpy as np; twice = np.concatenate([X, X[::-1]]); call = lambda: serve(sg.models.digits(), \
title='digits', notify=notify, port=0, workers=1, results={str(path)!r})"
    )
    page.set_default_timeout(LONG * 1000)
    with serving(last=f"{first}\ncall()") as server:
        page.goto(f"{server.link}#s=700")
        expect(by(page, "stored").locator(".said")).to_have_text(said(path, 700))
        assert page.evaluate("window.sugenet.state.values") == twice[700].tolist()
        page.goto(f"{server.address}#results&o=-sample")
        by(page, "row").first.click()
        last = len(twice) - 1
        expect(by(page, "stored").locator(".said")).to_have_text(said(path, last))
        assert page.evaluate("window.sugenet.state.values") == twice[last].tolist()
        assert by(page, "sample").evaluate("(one) => one.selectedOptions[0].textContent") == str(last)
        by(page, "previous").click()
        expect(by(page, "stored").locator(".said")).to_have_text(said(path, 700))


def spoil(path):
    """Another outcome in every row."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data.replace(b"proved", b"PROVED").replace(b"refuted", b"REFUTED"))


TROUBLES = [
    (lambda path: path.unlink(), "cannot be read: there is no such file"),
    (lambda path: path.write_bytes(b""), "cannot be read|is damaged"),
    (lambda path: (path.unlink(), path.write_bytes(b"something else")), "is not a results file"),
    (spoil, "is damaged"),
]


def test_a_file_that_goes_or_is_damaged_is_answered_in_words(browser, growing, tmp_path):
    path, _ = growing
    whole = tmp_path / "whole.db"
    shutil.copy(path, whole)
    context = browser.new_context()  # of its own, since a browser writes every refusal to its console
    page = context.new_page()
    page.set_default_timeout(LONG * 1000)
    with serving(results=str(path)) as server:
        page.goto(f"{server.link}#results")
        by(page, "row").first.wait_for()
        for harm, words in TROUBLES:
            harm(path)
            for address in ("/api/results", "/api/results/3"):
                reply = server.get(address)
                assert reply.status == 503
                assert re.search(words, reply.json["error"]), reply.json
            by(page, "reload").click()
            expect(by(page, "results-trouble")).to_have_text(server.get("/api/results").json["error"])
            assert numbers(page) == list(range(20))  # what was read before
            shutil.copy(whole, path)
            assert server.get("/api/results/3").json["answer"]["sentence"] == said(whole, 3)
            by(page, "reload").click()
            expect(by(page, "results-trouble")).to_be_hidden()
    context.close()


@pytest.mark.slow
def test_a_file_that_goes_before_it_is_read_leaves_an_empty_page_until_it_is_there_again(browser, growing):
    path, _ = growing
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(LONG * 1000)
    with serving(results=str(path)) as server:
        path.rename(path.with_suffix(".gone"))
        page.goto(f"{server.link}#results")
        expect(by(page, "results-headline")).to_have_text("The results cannot be shown.")
        expect(by(page, "results-trouble")).to_contain_text("there is no such file")
        assert by(page, "page-after").is_hidden()
        assert by(page, "outcome-all").count() == 0
        page.goto(f"{server.link}#s=3")
        expect(by(page, "stored-note")).to_contain_text("there is no such file")
        path.with_suffix(".gone").rename(path)
        by(page, "to-results").click()
        expect(by(page, "row")).to_have_count(20)
        page.go_back()
        expect(by(page, "stored").locator(".said")).to_have_text(said(path, 3))
    context.close()


def test_what_somebody_wrote_with_fitting_digests_is_no_bug_of_the_server(folder, tmp_path):
    path = tmp_path / "forged.db"
    shutil.copy(folder / "verify.db", path)
    store, _ = writing(path)
    for sample, text in ((3, b"[]"), (4, b'{"certificate": 7}'), (5, b"\xff")):
        store.put([Entry(*store.row(sample), zlib.compress(text))])
    store.close()
    with serving(results=str(path)) as server:
        for sample in (3, 4, 5):
            reply = server.get(f"/api/results/{sample}")
            assert reply.status == 503
            assert "is damaged" in reply.json["error"]
        assert server.get("/api/results/6").status == 200


def test_without_a_file_there_are_no_results():
    with serving() as server:
        for address in ("/api/results", "/api/results/0"):
            reply = server.get(address)
            assert reply.status == 404
            assert (
                reply.json["error"]
                == "no results file is open. Serve one: sugenet serve MODEL --results FILE"
            )


def test_a_sample_that_the_data_set_does_not_have_is_not_there(folder):
    with serving(results=str(folder / "verify.db")) as server:
        reply = server.get(f"/api/results/{COUNT}")
        assert (reply.status, reply.json["error"]) == (
            404,
            "there is no sample 60: there are 60, numbered from 0.",
        )
