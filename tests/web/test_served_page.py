"""The page with answers from Python, in a real browser: those of the server, which it asks and nobody else,
and those in a file.
"""

import json
import re

import pytest

import sugenet as sg
from sugenet.web import page_html, payload
from sugenet.web.asking import precompute
from sugenet.web.serving import _way_in
from tests.web.serving import LONG, serving

NETWORK = sg.models.digits()
SAMPLE = sg.models.samples("digits")[0][7].tolist()
WAIT = LONG * 1000


@pytest.fixture(scope="module")
def server():
    with serving() as client:
        yield client


@pytest.fixture
def served(page, server):
    """The page, opened from the server, with its verdict; a page that asks somebody else fails
    by its own fixture.
    """
    page.set_default_timeout(WAIT)
    page.goto(server.link)
    shown(page, "verdict", "proved")
    return page


def part(page, name):
    return page.locator(f'[data-test="{name}"]')


def shown(page, name, words):
    """Wait until a part shows some words."""
    found = part(page, name).filter(has_text=re.compile(words)).first
    found.wait_for()
    return found


def asked(page, act):
    """What the page posts to the server when something is done."""
    with page.expect_request(lambda request: request.method == "POST") as found:
        act()
    return found.value


def test_the_verdict_stands_there(served):
    assert part(served, "verdict").text_content().startswith("3. ")
    assert served.evaluate("window.sugenet.payload.server") is True


def test_the_address_shows_no_token(page, server):
    page.set_default_timeout(WAIT)
    page.goto(f"{server.link}#s=8")
    shown(page, "verdict", "proved")
    assert page.url == f"{server.address}#s=8"
    cookies = [
        (one["name"], one["httpOnly"], one["sameSite"], one["expires"]) for one in page.context.cookies()
    ]
    assert cookies == [(f"sugenet-{server.port}", True, "Strict", -1)]
    page.reload()
    shown(page, "verdict", "proved")


def test_a_link_in_another_page_opens_it(page, server):
    page.set_default_timeout(WAIT)
    for link, then in ((server.link, ""), (server.address, "?"), (f"{server.address}?", "")):
        page.goto("about:blank")
        page.set_content(f'<a href="{link}#s=8">look</a>')
        page.click("a")
        page.wait_for_url(lambda url, then=then: url == f"{server.address}{then}#s=8")
        shown(page, "verdict", "proved")


def test_the_file_that_a_browser_is_given_leads_to_the_page(page, server, tmp_path):
    """A link with the token would stand among the arguments of the browser, which all users see."""
    page.set_default_timeout(WAIT)
    page.goto(_way_in(tmp_path, server.link))
    page.wait_for_url(f"{server.address}*")
    shown(page, "verdict", "proved")


def test_a_question_that_waits_shows_its_place_in_the_queue(served, server):
    forever = {"kind": "why", "sample": SAMPLE, "region": {"kind": "AnyInput"}, "minimal": "size", "n": 50}
    busy = server.post("/api/questions", forever | {"time_limit": 600}).json["id"]
    try:
        part(served, "why").first.click()
        shown(served, "run", "waiting: place 1 in the queue")
    finally:
        server.cancel(busy)
    shown(served, "answer", "pixel")


def test_reasons_come_from_the_server_and_their_certificates_hold_there(served):
    question = asked(served, part(served, "why").first.click)
    assert question.url.endswith("/api/questions")
    assert question.headers["x-sugenet"] == "1"
    assert question.post_data_json["kind"] == "why"
    shown(served, "answer", "pixel")
    part(served, "open-certificate").first.click()
    checked = asked(served, part(served, "recheck-server").click)
    assert checked.url.endswith("/api/check")
    assert checked.response().json() == {
        "holds": True,
        "said": sg.check(checked.post_data_json["certificate"], NETWORK),
    }
    shown(served, "recheck-result", "sets of changes")


def test_a_tampered_certificate_does_not_hold_on_the_server(served):
    asked(served, part(served, "why").first.click)
    shown(served, "answer", "pixel")
    part(served, "open-certificate").first.click()
    text = part(served, "certificate")
    tampered = text.input_value().replace('"enumerate"', '"enumerated"')
    assert tampered != text.input_value()
    text.fill(tampered)
    checked = asked(served, part(served, "recheck-server").click)
    assert checked.response().json()["holds"] is False


def test_counting_more_than_can_be_walked_is_asked_of_the_server(served):
    served.select_option('[data-test="region"]', "any")
    question = asked(served, part(served, "count").click)
    assert question.post_data_json == {"kind": "count", "sample": SAMPLE, "region": {"kind": "AnyInput"}}
    part(served, "cancel").click()
    part(served, "run").first.wait_for(state="detached")


def test_a_rule_in_words_is_refuted_by_the_server(served):
    part(served, "rule-text").fill("pixel (3,3) >= 12 -> 3")
    question = asked(served, part(served, "ask-rule").click)
    assert question.post_data_json == {"kind": "rule", "text": "pixel (3,3) >= 12 -> 3"}
    shown(served, "answer", "refuted")  # before it is known how far the rule reaches
    if part(served, "cancel").count():
        part(served, "cancel").first.click()
    part(served, "run").first.wait_for(state="detached")
    assert not re.search(r"\de-\d", shown(served, "answer", "refuted").text_content())


def test_a_long_question_is_cancelled_and_leaves_what_is_known(served):
    question = {
        "kind": "why",
        "sample": SAMPLE,
        "region": {"kind": "AnyInput"},
        "minimal": "size",
        "n": 50,
        "time_limit": 600,
    }
    served.route(
        "**/api/questions", lambda route: route.continue_(post_data=json.dumps(question))
    )  # takes far more than minutes
    asked(served, part(served, "why").click)
    shown(served, "run", "every reason has at least")
    part(served, "cancel").click()
    shown(served, "answer", "pixel")
    part(served, "run").first.wait_for(state="detached")


def test_a_wrong_rule_is_answered_with_the_sentence_of_the_server(browser, server):
    context = (
        browser.new_context()
    )  # of its own, since a browser writes every refusal of a server to its console
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.goto(server.link)
    part(page, "rule-text").fill("pixel (9,9) >= 12 -> 3")
    with page.expect_response(lambda reply: reply.url.endswith("/api/questions")) as found:
        part(page, "ask-rule").click()
    assert found.value.status == 422
    shown(page, "run", re.escape(found.value.json()["error"]))
    context.close()


MINIMUM = {
    "kind": "whatif",
    "outcome": "found",
    "is_minimum": True,
    "cost": "1",
    "lower": "1",
    "label": "8",
    "sentence": "x",
    "certificate": None,
}
FOREIGN = {
    "kind": "why",
    "outcome": "found",
    "reasons": [],
    "sentence": "x",
    "certificate": {"network": "0" * 64},
}


UNFIT, UNREADABLE = "does not fit this network", "cannot be read"
REPLIES = [
    ({"parts": [], "state": "done", "answer": FOREIGN}, UNFIT),
    ({"parts": [FOREIGN], "state": "working", "answer": None}, UNFIT),
    ({"parts": [], "state": "done", "answer": {**MINIMUM, "changes": {"pixel (0,0)": [0, 1]}}}, UNFIT),
    ({"parts": [], "state": "done", "answer": {**MINIMUM, "changes": {"nobody": [0, 1]}}}, UNFIT),
    ({"parts": [], "state": "done", "answer": {}}, UNREADABLE),
    ({"parts": None}, UNREADABLE),
    (None, UNREADABLE),
]


def test_an_answer_that_cannot_be_of_this_network_is_not_shown(served):
    now = {}
    served.route(
        "**/api/questions/*",
        lambda route: (
            route.fulfill(body=now["reply"]) if route.request.method == "GET" else route.continue_()
        ),
    )
    for reply, words in REPLIES:
        now["reply"] = json.dumps(reply)
        part(served, "nearest-8").click()
        shown(served, "run", words)
        assert part(served, "answer").count() == 0
        assert part(served, "morph").is_hidden()
        part(served, "cancel").click()  # dismiss it


def test_cancel_ends_a_question_to_a_server_that_hangs(served):
    served.route("**/api/questions", lambda route: None)
    part(served, "why").click()
    part(served, "cancel").click()
    shown(served, "run", "stopping")
    part(served, "run").first.wait_for(state="detached")
    shown(served, "verdict", "proved")


def test_a_file_shows_the_answers_that_were_precomputed(page, tmp_path):
    X, y = sg.models.samples("digits")
    answers = precompute(NETWORK, X[7])
    path = tmp_path / "digits.html"
    path.write_text(
        page_html(payload(NETWORK, X[:9], y[:9], title="digits", index=7, answers=answers), server=False),
        encoding="utf-8",
    )
    page.goto(path.as_uri())
    part(page, "why").first.click()
    shown(page, "answer", "pixel")
    part(page, "open-certificate").first.click()
    kept = [reason["certificate"] for pair in answers for reason in pair["answer"].get("reasons", [])]
    assert json.loads(part(page, "certificate").input_value()) in kept
    part(page, "recheck").click()
    shown(page, "recheck-result", "sets of changes")
