"""The page at work: on a phone and on a desk, answers appear where one looks, numbers that it shows can be
typed back in, and what is found first is shown first.
"""

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Encoder, Head, Network, Steps
from sugenet.reason.phrases import percent_text
from sugenet.web import page_html, payload
from sugenet.web.bundle import bundled

pytest.importorskip("playwright")
from playwright.sync_api import expect

from tests.problem.small import random_network, random_sample
from tests.web.test_engine import json_row
from tests.web.test_page import by, pixel, settle, show, shown_values

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESK = {"viewport": {"width": 1280, "height": 800}}
MODELS = {"digits": sg.models.digits, "breast_cancer": sg.models.breast_cancer}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The pages of both shipped models, and of networks over pictures without names, grey and coloured."""
    folder = tmp_path_factory.mktemp("everyday")
    rng = np.random.default_rng(0)

    def write(name, network, X, y=None, **options):
        (folder / f"{name}.html").write_text(
            page_html(payload(network, X, y, title=name, **options), server=False), encoding="utf-8"
        )

    for name, network in MODELS.items():
        X, y = sg.models.samples(name)
        write(name, network(), X[:40], y[:40])
    layer = DenseLayer(rng.choice([-1, 1], (32, 784)), [392] * 32)
    head = Head(rng.choice([-1, 1], (10, 32)))
    write("grey", Network.of_bits([layer], head), rng.choice([-1, 1], (30, 784)).tolist())
    coloured = Encoder.of_integers(75, 0, 9, shape=(5, 5, 3))
    weights = rng.choice([-1, 1], (6, 9 * 75))
    layer = DenseLayer(weights, [300] * 6)
    head = Head(rng.choice([-1, 1], (2, 6)))
    write("coloured", Network(coloured, [layer], head), [[9, 0, 0] * 25, [0, 0, 9] * 25])
    return lambda name: folder / f"{name}.html"


@pytest.fixture(params=[PHONE, DESK], ids=["390", "1280"])
def sized(request, browser):
    """A page of a phone or of a desk, where nothing moves slowly; it stays silent."""
    context = browser.new_context(**request.param, reduced_motion="reduce")
    opened = context.new_page()
    errors = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda one: errors.append(one.text) if one.type in ("error", "warning") else None)
    yield opened
    context.close()
    assert not errors


def settled_answers(page):
    expect(by(page, "answer").first).to_be_visible(timeout=30000)
    expect(by(page, "run")).to_have_count(0, timeout=60000)


# -- values that can be typed back in ------------------------------------------------------------------------


def changes_shown(text):
    """Every change that a text shows: the feature, its number and the condition."""
    found = re.findall(r"([^;:]+): (\S+) → (-?[\d.e-]+)(?: \(([^)]*)\))?(?=;|$)", text)
    return [(name.strip(), before, after, condition) for name, before, after, condition in found]


def test_shares_are_those_of_python(page):
    """However long the numbers are: all but one of very many is not all of them."""
    rng = np.random.default_rng(1)
    cases = [(part, 32) for part in range(33)] + [(1, 10**30), (10**30 - 1, 10**30), (34263, 34281)]
    cases += [(int(part), 10**9) for part in rng.integers(0, 10**9, 20)] + [(1, 20000), (3, 20000)]
    page.add_script_tag(content=bundled("words.js"))
    texts = [(str(part), str(whole)) for part, whole in cases]
    found = page.evaluate("cases => cases.map(([a, b]) => _words.percent(a, b))", texts)
    assert found == [percent_text(Fraction(part, whole)) for part, whole in cases]


@pytest.mark.parametrize(("model", "indices"), [("digits", [7]), ("breast_cancer", [5, 19])])
def test_every_number_of_a_counterfactual_can_be_typed_back_in(page, files, model, indices):
    network = MODELS[model]()
    X, _ = sg.models.samples(model)
    names = network.encoder.names
    page.emulate_media(reduced_motion="reduce")
    for index in indices:
        page.goto(files(model).as_uri() + f"#s={index}")
        page.reload()
        settle(page)
        by(page, "nearest-all").click()
        settled_answers(page)
        cards = page.locator('[data-test="answer"][data-kind="change"]').all()
        assert cards
        for card in cards:
            goal = re.match(r"nearest (.+)", card.locator(".kind > span").first.inner_text().lower())[1]
            changes = changes_shown(card.locator(".list").inner_text())
            assert len(changes) == min(12, int(card.get_attribute("data-size")))
            row = [float(value) for value in X[index]]
            for name, before, after, condition in changes:
                feature = names.index(name)
                assert float(before) == row[feature]
                row[feature] = float(after)  # exactly as shown
                coding = network.encoder.codings[feature]
                ends = [float(number) for number in re.findall(r"-?\d[\d.e-]*", condition)]
                assert set(ends) <= set(coding.cuts), condition
                assert "below" not in condition or float(after) < ends[-1]
                assert "at least" not in condition or float(after) >= ends[0]
                assert len(after.strip("0.")) <= 6, after  # few digits
            if len(changes) < 12:
                assert network.classes[network.predict(np.array([row]))[0]] == goal
        if model == "digits":
            continue
        changes = changes_shown(cards[0].locator(".list").inner_text())
        for name, _, after, _ in changes:  # now by hand
            field = by(pixel(page, names.index(name)), "value")
            field.fill(after)
            field.press("Tab")
            expect(field).to_have_value(after)
        labels = network.predict(np.array([shown_values(page), X[index]]))
        assert labels[0] != labels[1]
        assert page.evaluate("window.sugenet.state.label") == network.classes[labels[0]]


SHOWN = """(cases) => cases.map(([cuts, near, state]) => {
  const coding = new _engine_codings.Steps({ cuts, whole: false, bipolar: false });
  return [coding.valueOf(state, near), coding.shownOf(state, near)];
})"""


def test_short_values_lie_in_their_step_and_not_much_further(engine):
    """Against the definition: of the decimals up to a tenth further away, the first of the largest unit."""
    rng = np.random.default_rng(3)
    cases = []
    for _ in range(60):
        cuts = sorted(round(float(cut), int(rng.integers(0, 5))) for cut in rng.normal(0, 10, 3))
        if len(set(cuts)) == 3:
            near = round(float(rng.normal(0, 15)), 2)
            cases += [(list(cuts), near, state) for state in range(4)]
    found = engine(SHOWN, cases)
    shorter = 0
    for (cuts, near, state), (nearest, shown) in zip(cases, found, strict=True):
        coding = Steps(tuple(cuts))
        assert coding.state(shown) == state
        assert nearest == coding.move(near, state).value
        assert abs(shown - nearest) <= max(abs(nearest) / 1000, abs(nearest - near) / 10) * 1.000001
        shorter += shown != nearest
    assert shorter > 30


def test_short_values_are_those_of_python(engine):
    shown = pytest.importorskip("sugenet.reason.shown")
    rng = np.random.default_rng(5)
    cases = []
    for _ in range(150):
        scale = 10.0 ** rng.integers(-6, 7)
        cuts = sorted({float(f"{cut:.{rng.integers(1, 9)}g}") for cut in rng.normal(0, scale, 3)})
        near = float(f"{rng.normal(0, 2 * scale):.4g}")
        cases += [(cuts, near, state) for state in range(len(cuts) + 1)]
    found = engine(SHOWN, cases)
    for (cuts, near, state), (nearest, short) in zip(cases, found, strict=True):
        python = next(shown._shorter(nearest, near, [Steps(tuple(cuts))]), nearest)
        assert short == python, (cuts, near, state)


def test_bits_of_a_sample_of_minus_one_and_one_never_become_zero(page, files, tmp_path):
    page.emulate_media(reduced_motion="reduce")
    show(page, files("grey"))
    by(page, "go").click() if by(page, "go").count() else pixel(page, 3).click()
    assert set(shown_values(page)) == {-1, 1}
    network = Network.of_bits([], Head([[1, 1, 1, -1], [-1, -1, -1, 1]]))
    path = tmp_path / "zeros.html"
    path.write_text(page_html(payload(network, [[1, 0, 1, 0]], title="z"), server=False), encoding="utf-8")
    show(page, path)
    page.locator(".choice input").first.click(force=True)
    assert shown_values(page) == [0, 0, 1, 0]  # as its user writes bits


def test_what_cannot_be_a_value_is_told_and_put_back(page, files):
    show(page, files("breast_cancer"))
    field = by(pixel(page, 0), "value")
    before = field.input_value()
    for text in ("wide", "", "-1", "1e999"):
        field.fill(text)
        field.press("Tab")
        expect(field).to_have_value(before)
        expect(page.locator("#toast")).to_contain_text("it is a number of at least 0")
    field.fill("12.23")
    field.press("Enter")
    assert shown_values(page)[0] == 12.23
    by(page, "undo").click()
    expect(field).to_have_value(before)


# -- where one looks -----------------------------------------------------------------------------------------


def in_sight(page, locator):
    box = locator.bounding_box()
    return box["y"] >= 0 and box["y"] + min(box["height"], 60) <= page.viewport_size["height"]


def test_answers_are_scrolled_into_sight_and_said(sized, files):
    network, (X, _) = sg.models.digits(), sg.models.samples("digits")
    show(sized, files("digits"), "#s=7")
    assert sg.whatif(network, X[7]).cost == 2  # so that is the smallest region in which something matters
    by(sized, "why").click()
    settled_answers(sized)
    cards = by(sized, "answer")
    assert in_sight(sized, cards.first)
    said = cards.first.locator(".said").inner_text()
    assert said.startswith("A 3, with up to 2 pixels changed, while these ")
    assert "answer" in by(sized, "spoken").text_content()
    sized.evaluate("window.scrollTo(0, 0)")
    by(sized, "count").click()
    expect(cards.first).to_contain_text("inputs with up to 2 pixels changed")
    assert in_sight(sized, cards.first)
    counted = sg.count(network, X[7], sg.L0(2))
    assert f"Of {counted.total:,} inputs" in cards.first.inner_text()
    share = percent_text(Fraction(counted.counts[3], counted.total))
    assert f"{counted.counts[3]:,} are a 3: {share}" in cards.first.inner_text()
    assert by(sized, "spoken").text_content() == cards.first.locator(".said").text_content()
    assert sized.evaluate("document.documentElement.scrollWidth") == sized.viewport_size["width"]


def test_only_a_desk_is_told_about_keys(sized, files):
    show(sized, files("digits"))
    is_phone = sized.viewport_size["width"] == 390
    expect(by(sized, "help")).to_be_visible(visible=not is_phone)
    for words in ("Shift", "press L", "Point at"):
        assert (words in sized.locator("main:visible").inner_text()) != is_phone


def test_a_table_shows_first_what_the_verdict_names(sized, files):
    X, _ = sg.models.samples("breast_cancer")
    network = sg.models.breast_cancer()
    index = next(i for i in range(40) if sg.whatif(network, X[i], max_cost=1).data()["outcome"] != "none")
    show(sized, files("breast_cancer"), f"#s={index}")
    rows = sized.locator(".feature")
    expect(rows.first).to_have_class(re.compile("aimed"))
    named = int(rows.first.get_attribute("data-feature"))
    words = rows.first.locator(".note").inner_text()
    after = re.search(r"becomes (\S+) \((below|at least)", words)[1]
    changed = X[index].copy()
    changed[named] = float(after)
    assert network.predict([changed])[0] != network.predict(X[[index]])[0]
    others = [int(row.get_attribute("data-feature")) for row in rows.all()][1:]
    assert others == sorted(others)


# -- counting ------------------------------------------------------------------------------------------------


COUNT = """(cases) => cases.map(([page, row, options]) => {
  const model = new _engine_model.Model(page);
  return _engine_walk.countUpTo(model, model.statesOf(row), options);
})"""


def test_counts_of_the_page_are_those_of_brute_force(engine):
    cases, wanted = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        network = random_network(rng)
        x = random_sample(network, rng)
        most, locked = int(rng.integers(0, 4)), [0] * int(rng.random() < 0.3)
        cases.append([payload(network, title="s"), json_row(x), {"most": most, "locked": locked}])
        wanted.append(by_hand(network, x, most, locked))
    found = engine(COUNT, cases)
    for one, (counts, total) in zip(found, wanted, strict=True):
        assert (one["counts"], one["all"]) == (counts, total)
    assert sum(len([c for c in counts if c]) > 1 for counts, _ in wanted) > 10
    page, row, _ = cases[0]
    assert engine(COUNT, [[page, row, {"budget": 0}]])[0]["counts"] is None


def by_hand(network, x, most, locked):
    codings = network.encoder.codings
    own = [coding.state(value) for coding, value in zip(codings, x, strict=True)]
    ways = [
        [own[f]] if f in locked else [s for s in range(c.states) if c.reachable(s)]
        for f, c in enumerate(codings)
    ]
    near = [
        states for states in product(*ways) if sum(a != b for a, b in zip(states, own, strict=True)) <= most
    ]
    rows = np.empty((len(near), len(codings)), object)
    for place, states in enumerate(near):
        rows[place] = [c.move(v, s).value for c, v, s in zip(codings, x, states, strict=True)]
    labels = network.predict(rows)
    return [int((labels == k).sum()) for k in range(len(network.classes))], len(near)


# -- nearest changes -----------------------------------------------------------------------------------------


def test_nearest_changes_stand_there_before_they_are_worked_out(page, files):
    page.emulate_media(reduced_motion="reduce")
    page.goto(files("grey").as_uri())
    expect(by(page, "verdict")).not_to_have_text("Reading the network.")
    page.evaluate("""() => {
      window.first = null; // what the first card says, and how many lines of work there are
      window.isPressed = false; // Cancel, as soon as there are three cards
      new MutationObserver(() => {
        const cards = document.querySelectorAll('[data-test="answer"]');
        const left = document.querySelectorAll('[data-test="run"]').length;
        if (cards.length && window.first === null) window.first = [cards[0].innerText, left];
        if (cards.length < 3 || window.isPressed) return;
        window.isPressed = true;
        document.querySelector('[data-test="cancel"]').click();
      }).observe(document.getElementById("answers"), { childList: true, subtree: true });
    }""")
    by(page, "nearest-all").click()
    expect(by(page, "answer").nth(2)).to_be_visible()
    said, left = page.evaluate("window.first")
    assert "is being worked out" in said
    assert left == 1
    expect(by(page, "run")).to_have_count(0)
    assert page.evaluate("window.isPressed")
    cards = by(page, "answer").all()
    assert len(cards) >= 3  # what was found stays
    sizes = [int(card.get_attribute("data-size")) for card in cards]
    assert sizes == sorted(sizes)
    assert not any("worked out" in card.inner_text() for card in cards)
    text = cards[0].locator(".list").inner_text()
    assert re.fullmatch(r"(pixel \(\d+,\d+\): (-1 → 1|1 → -1)(; )?)+(and \d+ more)?", text)
    expect(page.locator('[role="gridcell"]').first).to_have_attribute(
        "aria-label", re.compile(r"pixel \(0,0\) = ")
    )


# -- pictures, the lesson, neurons ---------------------------------------------------------------------------


def test_a_coloured_picture_is_drawn_in_its_colours(sized, files):
    sized.goto(files("coloured").as_uri())
    expect(by(sized, "state")).not_to_have_text("working")
    colour = "e => getComputedStyle(e).backgroundColor"
    cells = sized.locator(".pixel")
    assert cells.count() == 25
    assert cells.nth(3).evaluate(colour) == "rgb(255, 0, 0)"
    by(sized, "channel-1").click()
    cells.nth(12).click()  # green, from 0 to its next level
    assert shown_values(sized)[3 * 12 + 1] == 1
    assert cells.nth(12).evaluate(colour) == "rgb(255, 28, 0)"
    expect(by(sized, "cell")).to_contain_text("pixel (2,2) green = 1, was 0")
    assert by(sized, "changed").inner_text() == "1 colour value changed"
    sized.goto(files("coloured").as_uri() + "#s=1")
    expect(cells.nth(0)).to_have_css("background-color", "rgb(0, 0, 255)")


def test_undo_survives_the_lesson(page, files):
    X, _ = sg.models.samples("digits")
    show(page, files("digits"), "#s=7")
    pixel(page, 12).click()
    pixel(page, 13).click()
    values = shown_values(page)
    by(page, "to-lesson").click()
    by(page, "lesson-x2").click()
    by(page, "from-lesson").click()
    settle(page)
    assert shown_values(page) == values
    by(page, "undo").click()
    by(page, "undo").click()
    assert shown_values(page) == X[7].tolist()
    by(page, "redo").click()
    by(page, "redo").click()
    assert shown_values(page) == values


def test_neurons_may_turn_and_are_not_undecided(page, files):
    show(page, files("digits"), "#s=7&h=20,21")
    shown = page.locator("#neurons").inner_text()
    assert "may turn" in shown
    assert "undecided" not in shown
    assert page.locator('[data-test="neuron"][aria-label*="undecided"]').count() == 0
    assert page.locator('[data-test="neuron"][aria-label*="may turn: M may be"]').count() > 0


def test_possibilities_are_said_without_powers_of_ten(page, files):
    for model in MODELS:
        show(page, files(model))
        labels = page.locator(".race .line").evaluate_all("all => all.map((one) => one.ariaLabel)")
        assert all(re.search(r"possibility (under 0\.0001|[\d.]+),", label) for label in labels)
