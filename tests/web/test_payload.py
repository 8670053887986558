"""What the page is given, and the one HTML text that is made of it."""

import json
import re
from base64 import b64encode
from fractions import Fraction
from hashlib import sha256
from html import unescape

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import EncodingError, NetworkError, SugenetError
from sugenet.nn import ConvLayer, DenseLayer, Encoder, Head, Network, OneHot, Window, bit, threshold
from sugenet.web import bundle, content_policy, page_html, payload
from sugenet.web.page_data import first_right

NASTY = "</script><script>document.title='caught'</script><!-- \u2028 \" ' & z"


def network_of(codings, names=None, classes=None):
    encoder = Encoder(codings, names)
    return Network(encoder, [], Head(np.ones((2, encoder.width), int)), classes)


def test_digits_in_full():
    X, y = sg.models.samples("digits")
    network = sg.models.digits()
    page = payload(network, X, y, title="digits", index=7)
    assert json.loads(json.dumps(page, allow_nan=False)) == page
    assert (page["format"], page["version"], page["server"]) == ("sugenet page", 1, False)
    assert (page["fingerprint"], page["description"]) == (network.fingerprint, str(network))
    assert (page["grid"], page["levels"], page["start"]) == (
        {"rows": 8, "columns": 8, "channels": 1, "last": True},
        False,
        7,
    )
    assert page["samples"][7] == {"index": 7, "values": X[7].tolist(), "truth": int(y[7])}
    (coding,) = page["codings"]
    assert coding["cuts"] == [4.0, 8.0, 12.0]
    assert len(page["features"]) == 64
    assert page["features"][9] == ["pixel (1,1)", 0]


def test_at_most_400_samples_the_chosen_one_among_them():
    page = payload(network_of([bit()]), [[k % 2] for k in range(1000)], title="many", index=900)
    assert len(page["samples"]) == 400
    assert page["samples"][page["start"]]["index"] == 900


def test_without_samples_there_is_one_that_can_occur():
    page = payload(network_of([threshold(-3, low=2), OneHot(("a", "b")), bit()]), title="none")
    assert page["samples"] == [{"index": None, "values": [2.0, "a", 0], "truth": None}]


def test_numbers_of_every_kind_in_samples():
    network = network_of([threshold(0.5)] * 5)
    row = [Fraction(1, 4), np.float32(0.25), np.int8(1), True, 2**60]
    page = payload(network, [row], np.array([1]), title="kinds")
    assert page["samples"][0] == {"index": 0, "values": [0.25, 0.25, 1, 1, 2**60], "truth": 1}
    whole = network_of([threshold(0.5, whole=True), OneHot((True, "b")), bit()])
    (shown,) = payload(whole, [[2**60 + 1, 1, -1]], title="kinds")["samples"]
    assert shown["values"] == [str(2**60 + 1), True, -1]  # JavaScript would round the first
    assert shown["values"][1] is True  # as the category is
    json.dumps(page, allow_nan=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: payload(network_of([bit()]), [[0]], title="t", index=3), "index=3 is not a sample"),
        (lambda: payload(network_of([bit()]), [[0, 1]], title="t"), "sample 0 has 2 values"),
        (lambda: payload(network_of([bit()]), [[7]], title="t"), "it must be -1, 0 or"),
        (lambda: payload(network_of([threshold(1)]), [[float("inf")]], title="t"), "must be a finite number"),
        (lambda: payload(network_of([OneHot((2**53, "b"))]), title="t"), "cannot hold the category"),
        (lambda: payload(network_of([OneHot((1.0, "b"))]), title="t"), "cannot hold the category 1.0"),
    ],
)
def test_what_cannot_be_shown_is_said(make, message):
    with pytest.raises(EncodingError, match=message):
        make()


def test_no_layer_counts_beyond_the_31_bits_of_the_page():
    layer = ConvLayer([[[[2**15]]]], [1], Window((1, 1, 1), kernel=1), top=2**17)
    network = Network(Encoder.of_integers(1, 0, 2**17), [layer], Head([[1], [-1]]))
    with pytest.raises(NetworkError, match=r"reach beyond 2\^31"):
        payload(network, title="wide")


def test_scores_beyond_the_floats_can_be_shown():
    network = Network.of_bits([DenseLayer([[1]], [1])], Head([[1], [1]], bias=[10**400, -(10**400)]))
    json.dumps(payload(network, title="huge"), allow_nan=False)


def test_names_do_no_harm(page, tmp_path):
    network = network_of([OneHot((NASTY, "b"))], [NASTY], [NASTY, "other"])
    about = payload(network, [[NASTY]], title=NASTY)
    path = tmp_path / "nasty.html"
    path.write_text(page_html(about, server=False), encoding="utf-8")
    page.goto(path.as_uri())
    seen = page.evaluate("JSON.parse(document.getElementById('payload').textContent)")
    assert seen == json.loads(json.dumps({**about, "server": False}))
    assert page.title() != "caught"


def test_the_page_is_one_text_that_asks_for_nothing(digits_page):
    assert not re.search(
        r"<(?:script|img|iframe)[^>]+src=|<link[^>]+href=[\"']?(?!data:|[\"'])|@import|url\((?!data:)",
        digits_page,
    )
    assert not re.search(r"<[^>]+\s(?:style|on\w+)=", digits_page.split("<script", maxsplit=1)[0])
    assert "{script}" not in digits_page
    assert '"server":false' in digits_page


def test_the_policy_names_every_script_and_style_by_its_hash(digits_page):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', digits_page)
    policy = unescape(policy)
    assert policy == content_policy(server=False)
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert "connect-src 'self'" in content_policy(server=True)
    texts = re.findall(
        r"<script(?: id=\"engine\")?>(.*?)</script>|<style>(.*?)</style>", digits_page, re.DOTALL
    )
    assert len(texts) == 3
    for text in (script or style for script, style in texts):
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy


def test_the_page_stays_small_beside_model_and_samples(digits_page):
    assert (
        len(re.sub(r'(?<=id="payload">).*?(?=</script>)', "", digits_page, count=1, flags=re.DOTALL).encode())
        < 350_000
    )


@pytest.mark.parametrize("text", ["a = '</script>'", "/* <!-- */", "b { } </STYLE>"])
def test_no_source_ends_its_element(monkeypatch, text):
    monkeypatch.setattr(bundle, "_app", lambda: text)
    with pytest.raises(SugenetError, match=f"would end early at .<{text.partition('<')[2][:3]}"):
        page_html({"title": "t"}, server=False)


def test_modules_are_joined_in_order_and_once(monkeypatch):
    texts = {
        "a.js": (
            'import { b } from "./in/b.js";\n'
            'import { c } from "./c.js";\n'
            "// words\n"
            "export const a = `${b}${c}`;\n"
        ),
        "in/b.js": 'import { c } from "../c.js";\nexport function b() {\n  return c;\n}\n',
        "c.js": "export const c = 1;\nexport class D {}\nexport async function e() {}\n",
        "circle.js": 'import { x } from "./circle.js";\n',
        "loose.js": 'import x from "./c.js";\n',
        "long.js": "const text = `one\ntwo`;\n",
    }
    monkeypatch.setattr(bundle, "source", texts.__getitem__)
    bundle.bundled.cache_clear()
    joined = bundle.bundled("a.js")
    assert [line for line in joined.splitlines() if line.startswith("//")] == [
        "// c.js",
        "// in/b.js",
        "// a.js",
    ]
    assert "function b() {\n  return c;\n}\n" in joined
    assert "const { c } = _c;" in joined
    assert "return { c, D, e };" in joined
    assert "// c.js" not in bundle.bundled("in/b.js", known="c.js")
    for name, message in [
        ("circle.js", "circle"),
        ("loose.js", "on one line"),
        ("long.js", "backquotes"),
    ]:
        with pytest.raises(SugenetError, match=message):
            bundle.bundled(name)
    bundle.bundled.cache_clear()


def test_the_page_begins_with_a_sample_that_is_classified_correctly():
    network = network_of([bit()])
    X = np.array([[0], [1], [1]])
    labels = network.predict(X)
    assert first_right(network, X, [1 - labels[0], labels[1], labels[2]]) == 1
    assert first_right(network, X, [1 - label for label in labels]) == first_right(network, X, None) == 0
