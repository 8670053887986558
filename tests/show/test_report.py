"""The printed report: well formed, self-contained, honest, and its certificates hold when they are read
back out of the file.
"""

import hashlib
import json
import re
import signal
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.errors import QuestionError
from sugenet.show import report
from sugenet.show.findings import find
from sugenet.show.report_pieces import STYLE
from sugenet.show.reports import Page
from tests.problem.clocks import hold
from tests.show.conftest import HOSTILE, bits


@pytest.fixture(scope="module", autouse=True)
def held_clock():
    """No time passes: what a report says does not depend on how fast the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        hold(patch)
        yield


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
        self.links += [
            attrs[name] for name in ("href", "src", "action", "data", "xlink:href") if name in attrs
        ]
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


def read(page, sections=SECTIONS):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert [name for name in reader.ids if name in sections] == sections
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
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', digits_page)[1])
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
    encoder = sg.nn.Encoder(
        [sg.nn.integer(0, 5), sg.nn.OneHot(("left", "right", "none")), sg.nn.threshold(2.5)],
        ["size", "side", "weight"],
    )
    layer = sg.nn.DenseLayer([[1, 1, 1, 1, 1, -1, 1, -1, 1], [-1, 1, -1, 1, 1, 1, -1, 1, 1]], [5, 4])
    network = Network(encoder, [layer], sg.nn.Head([[1, 1], [-1, 1], [-1, -1]]), ["a", "b", "c"])
    reader = read(report(network, [2, "left", 1.5], time_limit=5))
    words = " ".join(reader.words)
    assert "side" in words
    assert "left" in words
    assert checked(reader, network) >= 4


def test_a_class_that_nothing_changes():
    head = sg.nn.Head([[1, 1], [1, 1]], bias=[0, 9])
    network = Network.of_bits(
        [sg.nn.DenseLayer([[1, 1], [1, -1]], [1, 1])], head, classes=["never", "always"]
    )
    reader = read(report(network, [1, 1], time_limit=5))
    assert "always. No change whatever alters it: proved." in " ".join(reader.words)
    checked(reader, network)


def test_a_network_without_hidden_layers():
    network = Network.of_bits([], sg.nn.Head([[1, 1, -1], [-1, -1, 1]]))
    reader = read(report(network, [1, 1, 0], time_limit=5))
    assert "These 2 features suffice for 0, whatever the others are: x2 = +1; x3 = -1." in " ".join(
        reader.words
    )
    checked(reader, network)


def test_a_network_that_is_too_large_says_so():
    rng = __import__("numpy").random.default_rng(0)
    first = sg.nn.LevelLayer(rng.choice([-1, 1], (1100, 256)), [255 * 64] * 1100, [255] * 256)
    network = Network(sg.nn.Encoder.of_integers(256), [first], sg.nn.Head(rng.choice([-1, 1], (2, 1100))))
    reader = read(report(network, [7] * 256, time_limit=5))
    words = " ".join(reader.words)
    assert "too large to ask them within a report" in words
    assert words.count("not asked") >= 4
    assert reader.certificates == []


def test_names_that_look_like_markup_stay_names():
    network = bits(HOSTILE[:2], HOSTILE)
    network = Network(
        network.encoder, network.layers, network.head, network.classes, {"<i>note</i>": "<script>x</script>"}
    )
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


def said(html):
    """The words of a part of a page."""
    return " ".join(re.sub(r"<svg.*?</svg>|<[^>]+>", " ", html, flags=re.DOTALL).split())


def majority():
    """Three bits, two of which decide: each pair that agrees is a reason."""
    return Network.of_bits(
        [sg.nn.DenseLayer([[1, 1, 1]], [2])], sg.nn.Head([[-1], [1]]), classes=["few", "many"]
    )


def test_that_all_features_are_needed_is_proved_not_open():
    network = Network.of_bits(
        [], sg.nn.Head([[1, 1, 1], [0, 0, 0]], bias=[-3, 0]), classes=["all", "not all"]
    )
    words = said(report(network, [1, 1, 1], time_limit=20))
    assert "For any input, all 3 features are needed: none of them can be left out. ✓ proved" in words
    one = Network.of_bits([], sg.nn.Head([[1], [-1]]))
    words = said(report(one, [1], time_limit=20))
    assert "For any input, the only feature decides. ✓ proved" in words
    assert "This feature suffices for 0, whatever the others are: x1 = +1." in words


def test_what_is_in_every_reason_is_what_is_in_every_listed_one():
    network = majority()
    findings = find(network, [1, 1, 1], time_limit=20)
    near = findings.near
    assert sorted(reason.features for reason in near.reasons) == [(0, 1), (0, 2), (1, 2)]
    whole = said(Page(findings, None, "m").rests())
    assert (
        "There are 3 minimal sets, and no others. No feature is in every one of them. 3 features matter "
        "in some set, 0 in none."
    ) in whole
    two = tuple(reason for reason in near.reasons if 0 in reason.features)
    some = replace(near, reasons=two, all_reasons=False, all_contrasts=False)
    words = said(Page(replace(findings, near=some), None, "m").rests())
    assert (
        "There are 2 minimal sets, and there may be more. In every one of them: x1. "
        "3 features matter in some set."
    ) in words


def test_a_reason_that_is_not_proved_is_not_called_one():
    findings = find(majority(), [1, 1, 1], time_limit=20)
    open_reason = replace(findings.near.reasons[0], status="unknown")
    some = replace(findings.near, reasons=(open_reason,), all_reasons=False, all_contrasts=False)
    words = said(Page(replace(findings, near=some), None, "m").rests())
    assert (
        "With up to 2 features changed, no set of features was proved to suffice in the time. ? undecided"
        in words
    )


def test_a_change_of_one_feature_that_a_narrower_question_found_is_told_first():
    network = Network.of_bits([], sg.nn.Head([[1, 1], [-1, 1], [-1, -1]]))
    findings = find(network, [1, 1], time_limit=20)
    found = findings.nearest
    assert found.cost == 1
    late = sg.whatif(network, [1, 1], time_limit=0)
    assert isinstance(late, sg.OpenCounterfactual)
    page = Page(replace(findings, nearest=late, targets=((found.index, found),)), None, "m")
    assert page.headline() == "0. A change of 1 feature can alter it."


def test_ctrl_c_ends_all_questions_and_the_report_is_whole():
    network, (X, _) = sg.models.digits(), sg.models.samples("digits")
    told = []

    def interrupt_once(words):
        told.append(words)
        if words == "search ..." and told.count(words) == 1:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    page = report(network, X[7], time_limit=1000, notify=interrupt_once)
    assert signal.getsignal(signal.SIGINT) is before
    words = said(page)
    assert "3. Whether a small change alters it is undecided." in words
    assert "interrupted" in words
    assert words.count("the time was up") >= 4
    assert checked(read(page), network) >= 4


def test_a_chain_of_a_constant_class_and_of_one_neuron_reads_well():
    constant = Network.of_bits([sg.nn.DenseLayer([[1, 1, 1]], [2])], sg.nn.Head([[1], [1]], bias=[0, 9]))
    assert "The class is 1, whatever the input." in said(
        Page(find(constant, [1, 1, 1], time_limit=5), None, "m").chain()
    )
    stuck = Network.of_bits([sg.nn.DenseLayer([[1, 1, 1]], [9])], sg.nn.Head([[1], [-1]]))
    words = said(Page(find(stuck, [1, 1, 1], time_limit=5), None, "m").chain())
    assert (
        "The only neuron of the last hidden layer suffices for 1, whatever the others do. "
        "It is so for any input."
    ) in words


def test_certificates_of_two_reasons_say_where_they_hold(digits_page):
    words = said(digits_page)
    assert re.search(r"C1 ✓ proved with up to 2 pixels changed, [0-9]+ pixels suffice for 3", words)
    assert re.search(r"C2 ✓ proved for any input, [0-9]+ pixels suffice for 3", words)


def test_a_refutation_with_many_changes_counts_those_that_are_left_out():
    network = Network.of_bits([], sg.nn.Head([[1] * 11, [-1] * 11]))
    findings = find(network, [1] * 11, time_limit=5)
    refuted = sg.verify(network, sg.Robust([1] * 11, sg.Free(network.encoder.names)))
    changed = [f"{name} from {a} to {b}" for name, (a, b) in refuted.changes().items()]
    assert len(changed) > 4
    _, by = Page(findings, None, "m")._decided(refuted)
    assert by.endswith(f"{'; '.join(changed[:4])}; and {len(changed) - 4} more")


def test_paper_has_the_wide_layout():
    """A sheet is narrower than a small screen: rules for those must not reach it."""
    assert "@media screen and (max-width" in STYLE
    assert "@media (max-width" not in STYLE


def test_a_report_says_which_inputs_can_occur():
    network = Network.of_bits([DenseLayer([[+1, +1, +1, +1]], [2])], Head([[-1], [+1]]))
    law = "if x1 then x2"
    readers = [read(report(one, [+1] * 4)) for one in (network, network.within(law))]
    free, known = (" ".join(" ".join(reader.words).split()) for reader in readers)
    assert f'All claims on this page are about inputs that obey "{law}"' in known
    assert "No change of up to 2 features alters it, for inputs that can occur: proved." in known
    assert "For any input that can occur, " in known
    assert "all others may take values that can occur with them" in known
    assert "any value at all" not in known
    assert "No change of up to 2 features alters it: proved." in free
    assert "can occur" not in free
