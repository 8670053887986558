"""The report of a results file in a real browser: its table sorts, by mouse and keyboard, and without scripts
it is whole.
"""

from fractions import Fraction

import pytest

import sugenet as sg
from sugenet.reprs import time_text
from sugenet.show import report_results


@pytest.fixture(scope="module")
def report_file(tmp_path_factory):
    """Least changes of a few digits; some classes are wrong."""
    X, y = sg.models.samples("digits")
    found = sg.sweep(sg.models.digits(), X[:12], sg.WhatIf(sg.each), y=y[:12], jobs=1)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_results([found], ["r.db"]), encoding="utf-8")
    return path, found.rows()


def column(page, k):
    return [text.strip() for text in page.locator(f"#samples tbody td:nth-child({k})").all_inner_texts()]


def test_a_click_on_the_head_of_a_column_sorts(page, report_file):
    path, rows = report_file
    page.goto(path.as_uri())
    heads = page.locator("#samples th").all_inner_texts()
    assert heads == ["sample", "class", "true class", "outcome", "cost", "at least", "time"]
    assert column(page, 1) == [str(k) for k in range(12)]
    page.click("#samples th:nth-child(7) button")
    times = [time_text(one) for one in sorted(row.seconds for row in rows)]
    assert column(page, 7) == times  # by all digits: 90 ms before 0.1 s
    page.click("#samples th:nth-child(7) button")
    assert column(page, 7) == times[::-1]
    assert page.get_attribute("#samples th:nth-child(7)", "aria-sort") == "descending"
    page.click("#samples th:nth-child(1) button")
    assert column(page, 1) == [str(k) for k in range(12)]  # by value: 2 before 10
    assert page.locator("#samples th[aria-sort]").count() == 1


def test_the_keyboard_sorts_and_a_sample_leads_to_its_answer(page, report_file):
    path, rows = report_file
    page.goto(path.as_uri())
    page.focus("#samples th:nth-child(5) button")
    page.keyboard.press("Enter")
    costs = [int(row.cost) for row in rows if row.cost is not None]
    assert [int(text) for text in column(page, 5) if text] == sorted(costs)
    page.click("#samples a >> text=7")
    assert page.url.endswith("#s7")
    assert page.locator("#s7 svg").count() >= 1
    assert page.locator("#s7 h3").inner_text().startswith("Sample 7: 3")


def test_costs_that_are_long_fractions_are_shown_in_few_digits(page, tmp_path):
    X, _ = sg.models.samples("breast_cancer")
    found = sg.sweep(sg.models.breast_cancer(), X[9:11], sg.WhatIf(sg.each, sg.L2), jobs=1)
    path = tmp_path / "report.html"
    path.write_text(report_results([found], ["r.db"]), encoding="utf-8")
    page.goto(path.as_uri())
    values = [row.cost for row in found.rows()]
    assert [len(value) > 30 for value in values] == [True, True]
    assert column(page, 4) == [f"about {float(Fraction(value)):.6g}" for value in values]
    cells = page.locator("#samples tbody td:nth-child(4)").all()
    assert [cell.get_attribute("title") for cell in cells] == values


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_on_a_small_screen(page, report_file, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(report_file[0].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_scripts_the_table_is_whole(browser, report_file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report_file[0].as_uri())
    assert page.locator("#samples button").count() == 0
    assert column(page, 1) == [str(k) for k in range(12)]
    assert page.locator("#samples th").first.inner_text() == "sample"
    context.close()
