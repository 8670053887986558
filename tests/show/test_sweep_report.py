"""The report of a results file: well formed, self-contained, whole, and its certificates hold."""

import base64
import hashlib
import re
from html import unescape

import pytest

import sugenet as sg
from sugenet.errors import QuestionError
from sugenet.show import report_results
from sugenet.sweeps.store import writing
from tests.show.conftest import HOSTILE, bits
from tests.show.test_report import checked
from tests.show.test_report import read as read_page

X = [[1, 1, -1, 1], [-1, -1, 1, -1], [1, -1, 1, 1], [-1, 1, 1, 1], [1, 1, 1, 1]]
Y = [1, 0, 1, 1, 0]
SECTIONS = ["outcome", "all", "answers", "words"]


def swept(network, question, path=None, rows=X, **settings):
    return sg.sweep(network, rows, question, y=Y[: len(rows)], store=path, jobs=1, **settings)


def near(radius):
    return sg.Robust(sg.each, sg.Hamming(radius))


def read(page):
    return read_page(page, SECTIONS)


QUESTIONS = [
    near(1),
    sg.WhatIf(sg.each, sg.Hamming),
    sg.Why(sg.each, sg.Hamming(2)),
    sg.Count(sg.each, sg.Hamming(2)),
    sg.Predict(sg.each),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_every_sample_leads_to_its_answer(question):
    network = bits()
    found = swept(network, question)
    page = report_results([found], ["r.db"])
    reader = read(page)
    words = " ".join(" ".join(reader.words).split())
    for sample in range(len(X)):
        assert f"s{sample}" in reader.ids
        assert f"#s{sample}" in reader.links
        assert " ".join(str(found.answer(sample)).splitlines()[0].split()) in words
    certificates = checked(reader, network)
    assert certificates >= (0 if isinstance(question, sg.Predict) else len(X))
    for word in found.tally().accuracy_lines():
        assert word in words
    for word in found.tally().outcomes:
        assert f"<dt>{word}</dt>" in page


def test_several_sweeps_have_a_curve_and_a_column_each():
    network = bits()
    page = report_results([swept(network, near(r)) for r in (1, 2)], ["one.db", "two.db"])
    reader = read(page)
    words = " ".join(" ".join(reader.words).split())
    assert "certified accuracy of 5 samples, up to R bits flipped" not in words  # that is in the figure
    assert "R: up to R bits flipped" in words
    assert "sample class true class one.db two.db" in words
    assert checked(reader, network) == 10


def test_commands_can_be_copied_and_check_every_file():
    page = report_results([swept(bits(), near(r)) for r in (1, 2)], ["my one.db", "two.db"])
    assert "sugenet results 'my one.db' two.db --check" in unescape(page)


def test_only_its_own_script_may_run():
    page = report_results([swept(bits(), near(1))])
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not read(page).tags & {"link", "img", "iframe", "object", "form", "input"}
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}


def test_hostile_names_stay_words():
    network = bits(HOSTILE[:2], HOSTILE)
    page = report_results([swept(network, sg.WhatIf(sg.each))], ["<b>.db"])
    reader = read(page)
    assert page.count("<script>") == 1
    assert "img" not in reader.tags
    assert "b" not in reader.tags


def test_missing_samples_are_rows_too(tmp_path):
    path = tmp_path / "r.db"
    swept(bits(), near(1), path).close()
    store, _ = writing(path)
    store._connection.execute("DELETE FROM answers WHERE sample IN (1, 3)")
    store.close()
    with sg.read_results(path) as found:
        page = report_results([found])
    words = " ".join(" ".join(read(page).words).split())
    assert words.count("? missing") == 2
    assert "#s1" not in page
    assert "missing 2 40.00 %" in words


def test_what_is_left_out_is_said():
    found = swept(bits(), near(1))
    page = report_results([found], ["r.db"], samples=2)
    reader = read(page)
    words = " ".join(" ".join(reader.words).split())
    assert "2 of 5 samples have a place here" in words
    assert "sugenet results r.db --sample I shows any other" in words
    sections = [name for name in reader.ids if re.fullmatch(r"s\d", name)]
    assert len(sections) == 2
    wrong = {row.sample for row in found.rows() if row.index != row.truth}
    assert {int(name[1:]) for name in sections} >= set(sorted(wrong)[:2])
    assert len(re.findall("<tr>", page.split('id="samples"')[1].split("</table>")[0])) == 6


def test_a_long_certificate_is_named_with_the_command_that_writes_it(monkeypatch):
    monkeypatch.setattr("sugenet.show.sweep_report.WHOLE", 10)
    page = report_results([swept(bits(), near(1))], ["r.db"])
    reader = read(page)
    assert reader.certificates == []
    assert "sugenet results r.db --sample 3 -o certificate.json writes it" in " ".join(reader.words)


def test_a_damaged_answer_is_said_where_it_stands(tmp_path):
    path = tmp_path / "r.db"
    swept(bits(), near(1), path).close()
    store, _ = writing(path)
    store._connection.execute("UPDATE answers SET answer = x'00' WHERE sample = 2")
    store.close()
    with sg.read_results(path) as found:
        words = " ".join(" ".join(read(report_results([found])).words).split())
    assert "? damaged" in words
    assert "the answer of sample 2 is not as it was written" in words


def test_a_sample_that_was_not_asked_about_says_why():
    page = report_results([swept(bits(), sg.Robust(sg.each, sg.Hamming(1), "on"))])
    words = " ".join(" ".join(read(page).words).split())
    assert "? refused" in words
    assert "damaged" not in words


def test_what_makes_no_page_is_refused():
    found = swept(bits(), near(1))
    with pytest.raises(QuestionError, match="a report needs results"):
        report_results([])
    with pytest.raises(QuestionError, match="1 names for 2 results"):
        report_results([found, found], ["a"])
    with pytest.raises(QuestionError, match="same radius, 1"):
        report_results([found, found])
