"""The report on a whole network in a real browser: its tables sort, nothing is cut off, and nothing is
loaded.
"""

import pytest

import sugenet as sg
from sugenet.show import report_overview
from sugenet.web import page_html, payload
from sugenet.web.composites import overview_data


@pytest.fixture(scope="module")
def overview_file(tmp_path_factory):
    """The shipped table with a few samples."""
    X, y = sg.models.samples("breast_cancer")
    seen = sg.overview(sg.models.breast_cancer(), X, y, samples=8)
    path = tmp_path_factory.mktemp("overview") / "overview.html"
    path.write_text(report_overview(seen, title="tumours <b>"), encoding="utf-8")
    return path, seen


def column(page, k):
    cells = page.locator(f"table[aria-label='neurons of layer 1'] tbody td:nth-child({k})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_neurons_are_listed_and_sorted(page, overview_file):
    path, seen = overview_file
    page.goto(path.as_uri())
    assert page.locator("h1").inner_text() == "tumours <b>: the network at a glance"
    assert sorted(map(int, column(page, 1))) == list(range(1, 17))
    page.click("table[aria-label='neurons of layer 1'] th:nth-child(1) button")
    assert column(page, 1) == [str(number) for number in range(1, 17)]
    names = [one.name for one in seen.atlas.neurons]
    assert column(page, 4) == names
    assert column(page, 8).count("decides nothing: proved") == 10


def test_all_sections_are_there(page, overview_file):
    path, seen = overview_file
    page.goto(path.as_uri())
    heads = page.locator("h2").all_inner_texts()
    parts = ["Classes", "Where it is fragile", "Importance", "Rules", "Neurons"]
    assert heads == [*parts, "Proofs", "What the words mean"]
    assert page.locator("#certificates .certificate").count() == len(seen.claims)
    assert page.locator("#fragile svg").count() >= 2


def test_the_explorer_has_a_tab_for_it(page, overview_file, tmp_path):
    X, y = sg.models.samples("breast_cancer")
    network = sg.models.breast_cancer()
    data = payload(network, X[:2], y[:2], title="tumours") | {"overview": overview_data(overview_file[1])}
    path = tmp_path / "page.html"
    path.write_text(page_html(data, server=False), encoding="utf-8")
    page.goto(path.as_uri())
    page.click('[data-test="to-overview"]')
    parts = page.locator('[data-test="overview-part"]')
    assert parts.locator("h2").all_inner_texts() == [part["title"] for part in data["overview"]]
    assert "seen on 8 of 113 samples" in parts.first.inner_text()
    image = parts.locator("img").first
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert page.locator("#explorer").is_hidden()
    page.click('[data-test="from-overview"]')
    assert page.locator("#explorer").is_visible()
    assert page.locator("#overview-page").is_hidden()


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_cut_off(page, overview_file, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(overview_file[0].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
