"""The printed report: well formed, self-contained, honest, and its certificates hold when they are read back out of the file."""

import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

import sugenet as sg
from sugenet.bnn import Network
from sugenet.errors import QuestionError
from sugenet.show import report
from tests.show.conftest import HOSTILE, bits

SECTIONS = ["verdict", "rests", "changes", "robust", "chain", "model", "certificates", "words"]
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Checks that tags are balanced; keeps ids, addresses, texts of certificates and all words."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.certificates, self.words, self.tags = [], [], [], [], [], set()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs[name] for name in ("href", "src", "action", "data", "xlink:href") if name in attrs]
        assert not [name for name in attrs if name.startswith("on") or name == "style"]
        if tag == "pre" and "data-sha256" in attrs:
            self.certificates.append([attrs["data-sha256"], ""])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "pre":
            self.certificates[-1][1] += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert [name for name in reader.ids if name in SECTIONS] == SECTIONS
    assert len(set(reader.ids)) == len(reader.ids)
    assert all(link.startswith("#") and link[1:] in reader.ids for link in reader.links)
    return reader


def checked(reader, network):
    for digest, text in reader.certificates:
        assert hashlib.sha256(text.encode()).hexdigest() == digest
        assert sg.check(json.loads(text), network)
    return len(reader.certificates)


@pytest.fixture(scope="module")
def digits_page():
    X, y = sg.models.samples("digits")
    return report(sg.models.digits(), X[7], truth=int(y[7]), index=7, title="digits")


def test_an_image(digits_page):
    reader = read(digits_page)
    words = " ".join(" ".join(reader.words).split())
    assert "3. No change of 1 pixel alters it: proved." in words
    assert "The network answers 3, which is right." in words
    assert sg.models.digits().fingerprint in words
    assert "sugenet check certificate.json digits" in words
    assert "sample 7" in words
    assert checked(reader, sg.models.digits()) >= 7
    assert len(digits_page) < 200_000


def test_it_is_the_same_for_the_same_seed(digits_page):
    X, y = sg.models.samples("digits")
    assert report(sg.models.digits(), X[7], truth=int(y[7]), index=7, title="digits") == digits_page


def test_nothing_runs_and_nothing_is_loaded(digits_page):
    reader = read(digits_page)
    assert not reader.tags & {"script", "link", "img", "iframe", "object", "form", "input", "a:external"}
    addresses = set(re.findall(r"https?://[^\s\"'<]+", digits_page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', digits_page)[1].replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "@import" not in digits_page
    assert "url(" not in digits_page


def test_a_table():
    network, (X, y) = sg.models.breast_cancer(), sg.models.samples("breast_cancer")
    page = report(network, X[5], truth=int(y[5]), index=5, title="breast_cancer", time_limit=10)
    reader = read(page)
    words = " ".join(reader.words)
    assert all(name in words for name in network.encoder.names)
    assert checked(reader, network) >= 5


def test_bits_and_a_wrong_answer():
    network = bits()
    reader = read(report(network, [+1, -1, +1, -1], truth="on"))
    words = " ".join(" ".join(reader.words).split())
    assert "off. A change of 1 feature can alter it." in words
    assert "✗ The network answers off, but the true class is on." in words
    assert "refuted" in words
    assert checked(reader, network) >= 4


def test_without_time_it_is_honest():
    network, (X, _) = sg.models.digits(), sg.models.samples("digits")
    reader = read(report(network, X[7], time_limit=0))
    words = " ".join(" ".join(reader.words).split())
    assert "3. Whether a small change alters it is undecided." in words
    assert "the time was up" in words
    checked(reader, network)


def test_categories():
    encoder = sg.Encoder([sg.integer(0, 5), sg.OneHot(("left", "right", "none")), sg.threshold(2.5)], ["size", "side", "weight"])
    layer = sg.DenseLayer([[1, 1, 1, 1, 1, -1, 1, -1, 1], [-1, 1, -1, 1, 1, 1, -1, 1, 1]], [5, 4])
    network = Network(encoder, [layer], sg.Head([[1, 1], [-1, 1], [-1, -1]]), ["a", "b", "c"])
    reader = read(report(network, [2, "left", 1.5], time_limit=5))
    words = " ".join(reader.words)
    assert "side" in words
    assert "left" in words
    assert checked(reader, network) >= 4


def test_a_class_that_nothing_changes():
    head = sg.Head([[1, 1], [1, 1]], bias=[0, 9])
    network = Network.of_bits([sg.DenseLayer([[1, 1], [1, -1]], [1, 1])], head, classes=["never", "always"])
    reader = read(report(network, [1, 1], time_limit=5))
    assert "always. No change whatever alters it: proved." in " ".join(reader.words)
    checked(reader, network)


def test_a_network_without_hidden_layers():
    network = Network.of_bits([], sg.Head([[1, 1, -1], [-1, -1, 1]]))
    reader = read(report(network, [1, 1, 0], time_limit=5))
    assert "inputs suffice" in " ".join(reader.words)
    checked(reader, network)


def test_a_network_that_is_too_large_says_so():
    rng = __import__("numpy").random.default_rng(0)
    first = sg.LevelLayer(rng.choice([-1, 1], (1100, 256)), [255 * 64] * 1100, [255] * 256)
    network = Network(sg.Encoder.of_integers(256), [first], sg.Head(rng.choice([-1, 1], (2, 1100))))
    reader = read(report(network, [7] * 256, time_limit=5))
    words = " ".join(reader.words)
    assert "too large to ask them within a report" in words
    assert words.count("not asked") >= 4
    assert reader.certificates == []


def test_names_that_look_like_markup_stay_names():
    network = bits(HOSTILE[:2], HOSTILE)
    network = Network(network.encoder, network.layers, network.head, network.classes, {"<i>note</i>": "<script>x</script>"})
    reader = read(report(network, [+1, -1, +1, -1], title="</title><script>t</script>", truth=1))
    assert not reader.tags & {"script", "img", "b", "i"}
    words = " ".join(reader.words)
    assert HOSTILE[0] in words
    assert HOSTILE[2] in words
    assert "sugenet check certificate.json MODEL" in words
    checked(reader, network)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"time_limit": -1}, "time_limit=-1 must be a number of seconds"),
        ({"time_limit": "soon"}, "time_limit='soon' must be"),
        ({"index": -1}, "index=-1 must be the number of a sample"),
        ({"truth": 12}, "there is no class 12"),
    ],
)
def test_wrong_arguments_are_named(wrong, words):
    with pytest.raises(QuestionError, match=words):
        report(bits(), [1, 1, 1, 1], **wrong)


def test_progress_is_told():
    told = []
    report(bits(), [1, 1, 1, 1], notify=told.append)
    assert "report: the least change ..." in told
