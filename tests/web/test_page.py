"""The explorer as people use it: opened from disk in a real browser, by pointer and by keys,
wide and narrow, light and dark.
"""

import json
import re

import numpy as np
import pytest

import sugenet as sg
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, Steps
from sugenet.web import page_html, payload

pytest.importorskip("playwright")
from playwright.sync_api import expect

LUMINANCE = """(colour) => {
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((v) => linear(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}"""
NAMED = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def cancer_file(tmp_path_factory):
    X, y = sg.models.samples("breast_cancer")
    path = tmp_path_factory.mktemp("page") / "cancer.html"
    path.write_text(
        page_html(
            payload(sg.models.breast_cancer(), X[:20], y[:20], title="breast_cancer", index=3), server=False
        ),
        encoding="utf-8",
    )
    return path


@pytest.fixture(scope="module")
def odd_file(tmp_path_factory):
    """A small network with every kind of feature, two layers, and names that look like HTML."""
    encoder = Encoder(
        [Steps((18.0, 65.0), 0.0, 120.0, whole=True), OneHot(("red", NAMED, "blue"))], ["age", NAMED]
    )
    first = DenseLayer([[1, -1, 1, -1, 1], [1, 1, -1, 1, -1], [-1, 1, 1, 1, -1]], [3, 2, 3])
    network = Network(
        encoder,
        [first, DenseLayer([[1, -1, 1], [-1, 1, 1]], [2, 2])],
        Head([[1, 1], [-1, 1]]),
        classes=[NAMED, "no"],
    )
    path = tmp_path_factory.mktemp("page") / "odd.html"
    path.write_text(
        page_html(payload(network, [[20, "red"], [70, "blue"]], [0, 1], title=NAMED), server=False),
        encoding="utf-8",
    )
    return path


def by(page, name):
    return page.locator(f'[data-test="{name}"]')


def settle(page):
    """Wait for the verdict."""
    expect(by(page, "state")).to_have_text("proved")
    return by(page, "verdict").inner_text()


def show(page, path, hash_=""):
    page.goto(path.as_uri() + hash_)
    return settle(page)


def pixel(page, feature):
    return page.locator(f'[data-feature="{feature}"]')


def shown_values(page):
    return page.evaluate("window.sugenet.state.values")


# -- the verdict ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "verdict"),
    [
        (2, r"2\. Changing 1 pixel makes it an? \d: proved"),
        (7, r"3\. No change of 1 pixel alters it, but 2 make it an? \d: proved"),
        (3, r"4\. No change of up to 2 pixels alters it, but 3 make it an? \d: proved"),
    ],
)
def test_the_verdict_is_found_and_proved_in_the_page(page, digits_file, index, verdict):
    X, _ = sg.models.samples("digits")
    least = sg.whatif(sg.models.digits(), X[index])
    assert least.is_minimum
    assert ("Changing 1 pixel" if least.cost == 1 else f"but {least.cost} make") in verdict
    assert re.fullmatch(verdict, show(page, digits_file, f"#s={index}"))
    assert page.locator(".pixel .mark").count() == least.cost


def test_a_flip_changes_the_verdict_and_undo_brings_it_back(page, digits_file):
    X, _ = sg.models.samples("digits")
    network = sg.models.digits()
    before = show(page, digits_file, "#s=2")
    pixel(page, 27).click()  # one pixel whose change makes another class
    pixel(page, 27).click()
    changed = X[2].copy()
    changed[27] = shown_values(page)[27]
    assert changed[27] != X[2][27]
    expect(by(page, "verdict")).to_contain_text(f"{network.classes[network.predict(changed[None])[0]]}.")
    assert settle(page) != before
    assert by(page, "flipped").inner_text() == "You changed 1 pixel; the sample itself is 2."
    by(page, "undo").click()
    by(page, "undo").click()
    assert settle(page) == before
    by(page, "redo").click()
    by(page, "reset").click()
    assert shown_values(page) == X[2].tolist()


def test_painting_and_holding_by_dragging(page, digits_file):
    show(page, digits_file)
    by(page, "mode-paint").click()
    pixel(page, 0).hover()
    page.mouse.down()
    pixel(page, 3).hover()
    page.mouse.up()
    assert shown_values(page)[:4] == [12, 12, 12, 12]  # the highest level, nearest to the sample's own values
    by(page, "undo").click()
    assert shown_values(page) == sg.models.samples("digits")[0][7].tolist()
    by(page, "mode-hold").click()
    pixel(page, 8).click()
    expect(by(page, "changed")).to_have_text("1 pixel held")
    assert settle(page).startswith("3. With 1 pixel held, no change of 1 pixel alters it")


# -- nearest, reasons, rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["8", "5"])
def test_the_way_to_the_nearest_class_is_the_proved_minimum(page, digits_file, target):
    X, _ = sg.models.samples("digits")
    network = sg.models.digits()
    least = sg.whatif(network, X[7], sg.L0, target=target)
    page.emulate_media(reduced_motion="reduce")
    show(page, digits_file)
    by(page, f"nearest-{target}").click()
    expect(by(page, "morph")).to_contain_text("proved to be the least")
    values = shown_values(page)
    assert sum(a != b for a, b in zip(values, X[7].tolist(), strict=True)) == least.cost
    assert network.classes[network.predict(np.array([values]))[0]] == target
    by(page, "back").click()
    assert shown_values(page) == X[7].tolist()


def test_reasons_stream_in_and_two_can_be_pinned(page, digits_file):
    X, _ = sg.models.samples("digits")
    show(page, digits_file, "#s=8")
    by(page, "why").click()
    cards = page.locator('[data-test="answer"][data-kind="reason"]')
    expect(by(page, "run")).to_have_count(0)
    expect(cards).to_have_count(1)  # one click, one card, drawn on the input at once
    marks = page.locator(".pixel .mark[data-holds=keep]")
    expect(marks).to_have_count(int(cards.first.get_attribute("data-size")))
    by(page, "more-reasons").click()
    expect(cards.nth(1)).to_be_visible()
    page.select_option('[data-test="sort"]', "size")
    sizes = [int(card.get_attribute("data-size")) for card in cards.all()]
    assert sizes == sorted(sizes)
    smallest = sg.why(sg.models.digits(), X[8], sg.L0(2), minimal="size")
    assert sizes[0] >= smallest.lower
    hidden = [place for place, card in enumerate(cards.all()) if by(card, "show").inner_text() == "Show"]
    assert len(hidden) == len(sizes) - 1  # one answer is drawn at a time
    by(cards.nth(hidden[0]), "show").click()
    expect(marks).to_have_count(sizes[hidden[0]])
    by(page, "pin").nth(0).click()
    by(page, "pin").nth(1).click()
    expect(by(page, "pinned")).to_contain_text("In both")


def test_a_reason_of_the_page_is_one(page, digits_file):
    X, _ = sg.models.samples("digits")
    network = sg.models.digits()
    show(page, digits_file, "#s=1")
    by(page, "why").click()
    expect(by(page, "run")).to_have_count(0)
    kept = [
        int(e.get_attribute("data-feature")) for e in page.locator(".pixel:has(.mark[data-holds=keep])").all()
    ]
    names = [network.encoder.names[f] for f in kept]
    found = sg.whatif(network, X[1], keep=names, max_cost=2)
    assert found.data()["outcome"] == "none"
    for name in names:  # and none of them can be left out
        assert (
            sg.whatif(network, X[1], keep=[n for n in names if n != name], max_cost=2).data()["outcome"]
            != "none"
        )


def test_what_was_held_belongs_to_what_is_said(page, digits_file):
    network, sample = sg.models.digits(), sg.models.samples("digits")[0][7]
    free = sg.whatif(network, sample, sg.L0, target="8")
    held = list(free.data()["changes"])
    bound = sg.whatif(network, sample, sg.L0, target="8", keep=held)
    assert bound.cost >= free.cost  # so the sentence would be wrong without what is held
    page.emulate_media(reduced_motion="reduce")
    show(page, digits_file, f"#s=7&h={','.join(str(network.encoder.names.index(name)) for name in held)}")
    by(page, "nearest-8").click()
    expect(by(page, "morph")).to_contain_text(f"With {len(held)} pixels held, {bound.cost} pixels changed")
    by(page, "back").click()
    by(page, "release").click()
    said = page.locator('[data-test="answer"][data-kind="change"] .said')
    expect(said).to_have_text(
        f"With {len(held)} pixels held, {bound.cost} changed pixels make it an 8, and no fewer can: proved"
    )


def test_check_my_rule_gives_a_counterexample_or_a_proof(page, digits_file):
    X, _ = sg.models.samples("digits")
    page.emulate_media(reduced_motion="reduce")
    show(page, digits_file, "#s=7&h=20,21,28,29")
    expect(by(page, "rule-words")).to_have_text(
        "While these 4 pixels stay, it is a 3 whatever the others do."
    )
    by(page, "check-rule").click()
    expect(by(page, "morph")).to_contain_text("A counterexample")
    values = shown_values(page)
    assert [values[f] for f in (20, 21, 28, 29)] == X[7][[20, 21, 28, 29]].tolist()
    by(page, "keep").click()
    page.goto(digits_file.as_uri() + "#s=7&h=" + ",".join(map(str, range(2, 64))))
    page.reload()
    settle(page)
    by(page, "check-rule").click()
    card = page.locator('[data-test="answer"][data-kind="rule"]')
    expect(card).to_contain_text("While these 62 pixels stay, it is a 3 whatever the others do: proved")


# -- neurons -------------------------------------------------------------------------------------------------


def test_neurons_show_their_rule_and_lock_with_what_is_held(page, digits_file):
    X, _ = sg.models.samples("digits")
    network = sg.models.digits()
    show(page, digits_file)
    seen = network.trace(X[7]).layers[0]
    nearest = np.argsort(np.abs(2 * seen.slack + 1), kind="stable")[:24]
    rows = by(page, "neuron")
    assert [int(row.get_attribute("data-neuron")) for row in rows.all()] == nearest.tolist()
    rows.first.focus()
    neuron = network.neuron(1, int(nearest[0]) + 1)
    expect(by(page, "rule")).to_contain_text(
        f"any {neuron.tau} of these {neuron.size} hold; {seen.matches[nearest[0]]} hold now"
    )
    marks = page.locator(".pixel:has(.mark:not([data-holds=set]))")
    words = [network.words(1, literal) for literal in neuron.lam]
    assert marks.count() == len({word.split(" <")[0].split(" >=")[0] for word in words})
    by(page, "show-all").click()
    assert page.locator('[data-test="neuron"]:visible').count() == 64
    page.goto(digits_file.as_uri() + "#s=7&h=" + ",".join(map(str, range(63))))
    page.reload()
    settle(page)
    expect(page.get_by_text("■ locked on").nth(1)).to_be_visible()


# -- certificates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "hash_", "answer"),
    [
        ("digits", "#s=7", "counterfactual"),
        ("digits", "#s=2", "counterfactual"),
        ("digits", "#s=7&h=20,21,28,29", "counterfactual"),
        ("breast_cancer", "", "none"),
    ],
)
def test_a_certificate_is_checked_again_and_a_changed_one_fails(
    page, digits_file, cancer_file, model, hash_, answer
):
    show(page, digits_file if model == "digits" else cancer_file, hash_)
    by(page, "verdict-certificate").click()
    text = by(page, "certificate")
    expect(text).to_be_visible()
    by(page, "recheck").click()
    expect(by(page, "recheck-result")).to_contain_text("Holds")
    certificate = json.loads(text.input_value())
    assert certificate["answer"] == answer
    sg.check(certificate, getattr(sg.models, model)())  # Python sees it too
    certificate["proof"]["digest"] = "0" * 16
    text.fill(json.dumps(certificate))
    by(page, "recheck").click()
    expect(by(page, "recheck-result")).to_contain_text("Does not hold")
    text.fill("{")
    by(page, "recheck").click()
    expect(by(page, "recheck-result")).to_contain_text("not JSON")
    page.keyboard.press("Escape")
    expect(by(page, "drawer")).to_be_hidden()


# -- keys, links, looks --------------------------------------------------------------------------------------


def test_everything_by_keys(page, digits_file):
    X, _ = sg.models.samples("digits")
    show(page, digits_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "gridcell":
            break
    at = int(page.evaluate("document.activeElement.dataset.feature"))
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"  # one can see where one is
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    cell = at - 9
    assert int(page.evaluate("document.activeElement.dataset.feature")) == cell
    page.keyboard.press("Space")
    assert shown_values(page)[cell] != X[7][cell]
    page.keyboard.press("Shift+Space")
    assert shown_values(page) == X[7].tolist()
    page.keyboard.press("3")
    assert shown_values(page)[cell] >= 12
    page.keyboard.press("u")
    page.keyboard.press("l")
    expect(by(page, "changed")).to_have_text("1 pixel held")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    assert page.evaluate("window.sugenet.state.sample") == 8
    for _ in range(60):  # on to a class of the race
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.test || ''").startswith("nearest-"):
            break
    page.keyboard.press("Enter")
    expect(by(page, "morph")).to_be_visible()


def test_a_link_gives_the_same_screen_and_the_back_button_works(page, digits_file):
    show(page, digits_file)
    pixel(page, 12).click()
    pixel(page, 40).click(modifiers=["Shift"])
    by(page, "mode-hold").click()
    pixel(page, 5).click()
    by(page, "neuron").nth(2).click()
    page.mouse.move(0, 0)
    verdict, values = settle(page), shown_values(page)
    page.wait_for_url(re.compile(r"#s=7&c=12:.*&h=5&n=1\.\d+$"))
    address = page.url
    other = page.context.new_page()
    other.goto(address)
    assert (settle(other), shown_values(other)) == (verdict, values)
    expect(other.locator(".pixel.held")).to_have_count(1)
    assert by(other, "rule").inner_text() == by(page, "rule").inner_text()
    other.close()
    by(page, "next").click()
    settle(page)
    page.go_back()
    expect(by(page, "changed")).to_have_text("2 pixels changed, 1 pixel held")
    assert (shown_values(page), page.url) == (values, address)
    page.goto(
        digits_file.as_uri() + "#s=99999&c=12:what,9999:1,x&h=-1,5000&n=9.9&a=%E0%A4%A"
    )  # nonsense is left out
    page.reload()
    assert settle(page).startswith("3.")


def test_a_link_to_an_answer_asks_for_it_again(page, digits_file):
    show(page, digits_file, "#s=7&a=whatif%3A8")
    card = page.locator('.answer.shown[data-kind="change"]')
    expect(card).to_contain_text("an 8")
    least = sg.whatif(sg.models.digits(), sg.models.samples("digits")[0][7], sg.L0, target="8")
    assert card.get_attribute("data-size") == str(least.cost)
    assert page.locator(".pixel .mark[data-holds=set]").count() == least.cost


@pytest.mark.parametrize("hash_", ["", "#lesson"])
@pytest.mark.parametrize("model", ["digits", "cancer"])
def test_nothing_is_wider_than_the_window(page, request, model, hash_):
    page.goto(request.getfixturevalue(f"{model}_file").as_uri() + hash_)
    if not hash_:
        settle(page)
        by(page, "why").click()
        expect(by(page, "answer").first).to_be_visible()
    for width in (360, 768, 1100):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_themes(page, digits_file, cancer_file, scheme):
    page.emulate_media(color_scheme=scheme)
    show(page, cancer_file, "#n=1.2")  # features that a neuron counts have a colour behind them
    wash = page.evaluate(
        f"({LUMINANCE})(getComputedStyle(document.querySelector('.feature.shown')).backgroundColor)"
    )
    for selector in (
        ".feature.shown .words",
        ".feature.shown .note",
        ".feature.shown .note.wants",
        ".feature.shown .value",
    ):
        text = page.evaluate(f"({LUMINANCE})(getComputedStyle(document.querySelector('{selector}')).color)")
        assert (max(text, wash) + 0.05) / (min(text, wash) + 0.05) >= 4.5, selector
    show(page, digits_file)
    paper = page.evaluate(f"({LUMINANCE})(getComputedStyle(document.documentElement).backgroundColor)")
    assert (paper > 0.5) == (scheme == "light")
    for selector in (
        "h1",
        "h1 .label",
        ".chip",
        ".quiet",
        ".facts",
        ".button",
        ".votes",
        ".behind",
        ".neuron .is",
        "button.link",
    ):
        text = page.evaluate(f"({LUMINANCE})(getComputedStyle(document.querySelector('{selector}')).color)")
        assert (max(text, paper) + 0.05) / (min(text, paper) + 0.05) >= 4.5, selector
    by(page, "theme").click()  # auto, then light
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    by(page, "theme").click()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


# -- honest at every moment ----------------------------------------------------------------------------------


def test_a_proof_about_the_input_before_is_never_shown(page, cancer_file):
    after = show(page, cancer_file, "#s=4")
    page.goto("about:blank")
    show(page, cancer_file, "#s=3")
    page.evaluate("""() => {
      const farther = document.querySelector('[data-test="farther"]');
      farther.click();
      farther.click();
      document.querySelector('[data-test="next"]').click();
    }""")
    assert settle(page) == after
    page.wait_for_timeout(700)  # the proofs that were given up would have ended
    assert by(page, "verdict").inner_text() == after


def test_a_way_ends_where_something_else_changes_the_input(page, digits_file):
    X, _ = sg.models.samples("digits")
    show(page, digits_file, "#s=3")
    by(page, "go").click()
    expect(by(page, "facts")).to_have_text("on the way")  # the sentence about the input before is gone
    assert "proved" not in by(page, "verdict").inner_text()
    page.keyboard.press("n")
    page.wait_for_timeout(1400)  # three steps would have been made
    assert shown_values(page) == X[4].tolist()
    expect(by(page, "morph")).to_be_hidden()
    settle(page)


def test_of_two_ways_the_last_one_asked_for_is_gone(page, digits_file):
    page.emulate_media(reduced_motion="reduce")
    show(page, digits_file, "#s=2")
    page.evaluate(
        """() => ['8', '3'].forEach((name) =>
            document.querySelector(`[data-test="nearest-${name}"]`).click())"""
    )
    expect(by(page, "morph")).to_be_visible()
    assert page.evaluate("window.sugenet.state.label") == "3"
    expect(by(page, "answer")).to_have_count(2)


def test_clear_ends_a_row_of_questions(page, digits_file):
    show(page, digits_file, "#s=2")
    by(page, "nearest-all").click()
    expect(by(page, "answer").first).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    page.wait_for_timeout(300)
    expect(by(page, "answer")).to_have_count(0)
    expect(by(page, "run")).to_have_count(0)


def test_a_check_of_an_older_text_says_nothing_of_the_new_one(page, digits_file):
    show(page, digits_file)
    by(page, "verdict-certificate").click()
    expect(by(page, "certificate")).to_be_visible()
    page.evaluate("""() => {
      const text = document.querySelector('[data-test="certificate"]');
      document.querySelector('[data-test="recheck"]').click();
      text.value = text.value.replace("proof", "prof");
      text.dispatchEvent(new Event("input"));
    }""")
    page.wait_for_timeout(500)
    expect(by(page, "recheck-result")).to_have_text("Changed. Check it again.")


def test_the_verdict_is_said_once_and_not_at_every_step(page, digits_file):
    show(page, digits_file)
    assert page.locator("[aria-live], [role=status]").evaluate_all(
        "all => all.map((e) => e.id || e.className)"
    ) == [
        "status",
        "result",
        "morph",
        "toast",
        "spoken",
    ]
    page.evaluate("""() => {
      window.said = [];
      const spoken = document.getElementById("spoken");
      const heard = () => spoken.textContent && window.said.push(spoken.textContent);
      new MutationObserver(heard).observe(spoken, { childList: true });
    }""")
    for feature in (20, 21, 22, 23):
        pixel(page, feature).click()
    verdict = settle(page)
    assert page.evaluate("window.said").count(verdict) == 1
    assert len(page.evaluate("window.said")) <= 4  # a slow pointer may let a proof end between two clicks


def test_the_focus_stays_with_what_was_asked(page, cancer_file):
    show(page, cancer_file)
    by(page, "farther").focus()
    page.keyboard.press("Enter")
    expect(by(page, "facts")).to_contain_text("up to 4 features")
    settle(page)
    assert page.evaluate("document.getElementById('verdict-actions').contains(document.activeElement)")
    by(page, "verdict-certificate").focus()
    page.keyboard.press("Enter")
    expect(by(page, "certificate")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.test") == "verdict-certificate"


@pytest.mark.parametrize("model", ["digits", "cancer"])
def test_the_columns_are_wide_enough_for_what_stands_in_them(page, request, model):
    show(page, request.getfixturevalue(f"{model}_file"))
    for width in (1100, 1240, 1360, 1500):
        page.set_viewport_size({"width": width, "height": 800})
        tops = [by(page, name).bounding_box()["y"] for name in ("why", "region", "nearest-all", "check-rule")]
        assert tops[0] == tops[1]
        assert tops[2] == tops[3]
        # lines that can be clicked reach 8 px into the gutter
        wide = "all => all.filter((e) => e.scrollWidth > e.clientWidth + 8).map((e) => e.id || e.className)"
        assert page.locator(".columns > *, .middle > *, .rule").evaluate_all(wide) == []
        assert page.locator(".rule").evaluate("e => e.scrollHeight <= e.clientHeight")


# -- tables, odd networks, the lesson ------------------------------------------------------------------------


def test_a_table_has_sliders_whose_cuts_are_marked(page, cancer_file):
    X, _ = sg.models.samples("breast_cancer")
    network = sg.models.breast_cancer()
    assert show(page, cancer_file) == "malignant. No change of up to 3 features alters it: proved"
    row = pixel(page, 0)
    assert row.locator(".tick").count() == 2
    expect(by(row, "flip")).to_have_text(">= 14.8")
    row.get_by_role("slider").focus()
    page.keyboard.press("Space")
    expect(by(row, "flip")).to_have_text("< 12.23")
    page.keyboard.press("Home")
    page.keyboard.press("l")
    expect(by(page, "changed")).to_have_text("1 feature changed, 1 feature held")
    changed = X[3].copy()
    changed[0] = shown_values(page)[0]
    assert changed[0] < 12.23
    assert settle(page).startswith(
        f"{network.classes[network.predict(changed[None])[0]]}. With 1 feature held, "
    )
    by(page, "nearest-benign").click()
    expect(by(page, "morph")).to_contain_text("changed", timeout=15000)
    least = sg.whatif(network, changed, sg.L0, target="benign", keep=["mean radius"])
    assert sum(a != b for a, b in zip(shown_values(page), changed.tolist(), strict=True)) == least.cost


def test_every_kind_of_feature_and_names_that_look_like_html(page, odd_file):
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    verdict = show(page, odd_file)
    assert verdict.startswith((f"{NAMED}.", "no."))
    assert page.locator("img").count() == 0
    expect(pixel(page, 1).locator(".name")).to_have_text(NAMED)
    pixel(page, 1).get_by_role("radio", name=NAMED).check()
    assert shown_values(page)[1] == NAMED
    page.select_option('[data-test="layer"]', index=1)
    by(page, "neuron").first.focus()
    expect(by(page, "rule")).to_contain_text("of layer 1 is on")
    page.wait_for_url(re.compile("c=1:~1"))
    page.reload()
    settle(page)
    assert shown_values(page)[1] == NAMED


def file_of(network, samples, path):
    path.write_text(page_html(payload(network, samples, title="odd"), server=False), encoding="utf-8")
    return path


def test_classes_that_count_unlike_many_literals_are_compared_by_score(page, tmp_path):
    head = Head([[1, 1, 1, 1], [1, 0, 0, 0]])
    network = Network.of_bits([], head)
    show(page, file_of(network, [[1, 1, -1, -1]], tmp_path / "odd.html"))
    votes = [row.inner_text() for row in page.locator(".votes").all()]
    assert votes == ["2 of 4", "1 of 1"]
    assert network.predict([[1, 1, -1, -1]])[0] == 1  # fewer votes, but the larger score
    assert [row.inner_text() for row in page.locator(".behind").all()] == ["−1", "wins"]
    expect(page.get_by_text("right: score below the winner")).to_be_visible()
    expect(page.get_by_text("This network has no hidden layer")).to_be_visible()


def test_a_neuron_that_no_input_turns_is_not_locked_by_anything_held(page, tmp_path):
    network = Network.of_bits([DenseLayer([[1, 1], [1, -1]], [0, 1])], Head([[1, 1], [-1, 1]]))
    assert show(page, file_of(network, [[1, 1]], tmp_path / "odd.html")).endswith(
        " Nothing that may change alters it: proved"
    )
    expect(
        page.get_by_role("button", name="Neuron 1: M 2 of 2, tau 0, on, the same for every input")
    ).to_be_visible()
    expect(page.get_by_text("■ always on")).to_be_visible()


def test_a_certificate_with_many_negative_numbers_opens_at_once(page, tmp_path):
    encoder = Encoder([Steps((-5.0,))] * 40 + [OneHot(("red", "blue"))])
    network = Network(encoder, [], Head([[1] * 42, [-1] * 42]))
    path = file_of(network, [[-9.5] * 40 + ["red"]], tmp_path / "odd.html")
    show(page, path, "#c=0:Infinity,1:-Infinity,2:-1e999,3:-7")
    assert shown_values(page)[:4] == [-9.5, -9.5, -9.5, -7]
    by(page, "verdict-certificate").click()
    expect(by(page, "certificate")).to_have_value(re.compile(r'-9\.5,\s+"red"'))
    by(page, "recheck").click()
    expect(by(page, "recheck-result")).to_contain_text("Holds")


def test_the_lesson_is_the_papers_example_and_can_be_played(page, digits_file):
    page.goto(digits_file.as_uri())
    by(page, "to-lesson").click()
    expect(by(page, "lesson-status")).to_have_text("M = 1 < 2: the neuron is off.")
    rules = by(page, "focal").locator("li")
    expect(rules).to_have_count(6)
    expect(by(page, "integral-value")).to_have_text("S(x) = max(0, 0, 0, 0, 0, 0) = 0")
    by(page, "lesson-x2").click()
    expect(by(page, "lesson-status")).to_have_text("M = 2 ≥ 2: the neuron is on.")
    expect(rules.locator("css=:scope.lit")).to_have_text(["●if x1 = +1 and x2 = +1, then ontrue"])
    expect(by(page, "integral-value")).to_have_text("S(x) = max(1, 0, 0, 0, 0, 0) = 1")
    expect(by(page, "tasks").locator(".done")).to_have_count(1)
    by(page, "lesson-w4").click()  # +1 becomes -1, which x4 agrees with
    expect(by(page, "lesson-status")).to_have_text("M = 3 ≥ 2: the neuron is on.")
    by(page, "lesson-w4").click()  # 0: no longer read
    expect(rules).to_have_count(3)
    by(page, "lesson-tau-up").click()
    by(page, "lesson-tau-up").click()
    expect(by(page, "integral")).to_contain_text("constant")
    address = page.url
    page.reload()
    assert page.url == address
    expect(by(page, "integral")).to_contain_text("constant")
    by(page, "from-lesson").click()
    settle(page)
