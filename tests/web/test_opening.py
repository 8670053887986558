"""Files opened in the page: the network that the browser reads from a `.sugenet` file is the one that Python
read, samples come from CSV files and images, and damaged files are refused by a sentence.
"""

import hashlib
import json
import re
from base64 import b64encode
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.cli import main
from sugenet.errors import SugenetError
from sugenet.io.native.file import network_bytes
from sugenet.nn import (
    DenseLayer,
    Domain,
    Encoder,
    Head,
    Network,
    OneHot,
    QuantizedLayer,
    Steps,
    bit,
    integer,
    threshold,
)
from sugenet.nn.codings import Span
from sugenet.web import empty_page, payload
from sugenet.web.bundle import bundled
from tests.io.exact.test_order import KINDS, twins
from tests.nn.nets import networks, raw, samples
from tests.problem.small import random_network
from tests.thinned import examples

READ = """(texts) => JSON.stringify(JSON.parse(texts).map((text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  try {
    return _engine_network_file.payloadOf(bytes, "test", "0");
  } catch (error) {
    return error.message;
  }
}))"""


@pytest.fixture
def reader(page):
    """The browser's reader: bytes of files in, payloads or refusals out."""
    page.add_script_tag(content=bundled("engine/network_file.js"))

    def read(files):
        return json.loads(page.evaluate(READ, json.dumps([b64encode(raw).decode() for raw in files])))

    return read


def compare(reader, cases):
    """Each network is read as Python's payload has it."""
    read = reader([network_bytes(network) for network in cases])
    for network, actual in zip(cases, read, strict=True):
        try:
            expected = json.loads(json.dumps(payload(network, title="test")))
        except SugenetError:
            assert isinstance(actual, str)
            continue
        assert isinstance(actual, dict), actual
        assert actual == {**expected, "sugenet": "0"}


def test_shipped_models(reader):
    compare(reader, [sg.models.digits(), sg.models.breast_cancer()])


def test_small_networks_of_every_coding(reader):
    cases = []

    @settings(
        max_examples=examples(150), database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(networks(most=3))
    def gather(network):
        cases.append(network)

    gather()
    compare(reader, cases)


def test_layers_of_every_kind(reader):
    cases = [twins(seed, kind, top)[1] for seed in range(3) for kind, top in KINDS]
    cases += [random_network(np.random.default_rng(seed)) for seed in range(40)]
    compare(reader, cases)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 31, 32, 33, 63, 64, 65])
def test_rows_around_bytes_and_words(reader, n):
    rng = np.random.default_rng(n)
    cases = []
    for least, most in ((0, 2), (-1, 2), (-5, 6)):
        weights = 2 * rng.integers(0, 2, (3, n)) - 1 if least == 0 else rng.integers(least, most, (3, n))
        head = Head(rng.integers(-1, 2, (2, 3)), bias=[Fraction(1, 3), 0.25], scale=[Fraction(2, 7), 1])
        cases.append(Network.of_bits([DenseLayer(weights, [0, 1, n])], head))
    compare(reader, cases)


def test_spellings_of_numbers_and_names(reader):
    codings = [
        Steps((-0.0, 1e-7, 5e-324, 1e16, 123456789012345680.0)[:1]),
        Steps((1e-7, 0.1, 1e15, 1e16, 1e22)),
        threshold(0.5, low=-1e300),
        integer(-3, 4),
        bit(),
        OneHot(("it's", 'a "b"', "both ' and \"", "back\\slash", "Zürich", "\u4e2d", "\U0001f600")),
        OneHot((True, None, 2, 0.5, -3)),
    ]
    encoder = Encoder(codings, ["plain", "naïve", 'quote"', "\u20ac", "b", "c", "d"])
    layer = DenseLayer(np.ones((2, encoder.width), int), [1, 2])
    net = Network(encoder, [layer], Head([[1, -1], [-1, 1]]), classes=["yes", "näh"], notes={"a": "b"})
    compare(reader, [net])


def test_levels_between_layers(reader):
    first = QuantizedLayer([[1, -2], [3, 0]], [[1, 2, 3], [0, 2, 1 << 31]], [4, 5])
    net = Network(Encoder([integer(0, 4), integer(0, 5)]), [first], Head([[1, -1], [2, 1]], tops=[3, 3]))
    compare(reader, [net])


def test_networks_that_the_page_cannot_hold_are_refused(reader):
    many = Network.of_bits([], Head([[1 << 40], [-1]]))
    lawful = sg.models.breast_cancer().within("mean radius < 20")
    wide, laws = reader([network_bytes(many), network_bytes(lawful)])
    assert "31 bits" in wide
    assert "laws that inputs obey" in laws


def test_limits_are_read_as_python_reads_them(reader):
    cases = [sg.models.digits().within("data"), sg.models.breast_cancer().within("data")]

    @settings(
        max_examples=examples(150), database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(networks(most=3), st.data())
    def gather(network, data):
        seen = network.with_training_range(raw(data.draw(samples(network, size=12))))
        few = seen.within("data").domain
        some = {f: few.limits[f] for f in data.draw(st.sets(st.sampled_from(range(len(few.limits)))))}
        cases.extend([seen.within("data"), *([seen.within(Domain(some))] if some else [])])

    gather()
    third, ends = Fraction(1, 3), [Span(Fraction(-1, 3), None), Span(None, Fraction(7, 3)), Span(1, 1)]
    encoder = Encoder([threshold(0.5), Steps((1.0, 2.0), low=0), integer(0, 4), bit()])
    plain = Network(encoder, [], Head(np.ones((2, encoder.width), int)))
    for span in [*ends, Span(third, third + 2), Span(values=(third, 1, 2.0))]:
        cases.append(plain.within(Domain(dict.fromkeys(range(3), span) | {3: Span(0, third)})))
    compare(reader, cases)


def resealed(raw):
    """The file with the SHA-256 that it has now."""
    mark = raw.index(b'\\"sha256\\":\\"') + len(b'\\"sha256\\":\\"')
    zeros = raw[:mark] + b"0" * 64 + raw[mark + 64 :]
    return raw[:mark] + hashlib.sha256(zeros).hexdigest().encode() + raw[mark + 64 :]


def test_damaged_and_forged_files_are_refused(reader):
    raw = network_bytes(sg.models.digits())
    end = 8 + int.from_bytes(raw[:8], "little")
    last = end + json.loads(raw[8:end])["layer1.tau"]["data_offsets"][1] - 1
    flipped = raw[:last] + bytes([raw[last] ^ 1]) + raw[last + 1 :]
    small = network_bytes(Network.of_bits([DenseLayer([[1, -1, 1]], [2])], Head([[1], [-1]])))
    padded = small.replace(b"\x05", b"\x85", 1)
    cases = [
        flipped,
        resealed(flipped),
        resealed(padded),
        raw[:-1],
        raw[:8],
        b"",
        b"\x00" * 100,
        b"PK\x03\x04" + raw,
    ]
    answers = reader(cases)
    assert all(
        isinstance(answer, str) and answer.startswith("The file cannot be read: ") for answer in answers
    )
    assert "SHA-256" in answers[0]
    assert "fingerprint" in answers[1]  # whoever changes a file can seal it anew, but not under the same name
    assert "bits that nothing reads" in answers[2]


@pytest.mark.parametrize("name", ["layers", "head", "codings", "features", "classes"])
def test_parts_of_other_types_are_refused_by_a_sentence(reader, name):
    raw = network_bytes(sg.models.digits())
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end])
    cases = []
    for value in (None, 3, "text", [None], {"kind": 1}):
        document = json.loads(header["__metadata__"]["sugenet"]) | {name: value}
        text = json.dumps(document, separators=(",", ":"))
        new = json.dumps(header | {"__metadata__": {"sugenet": text}}, separators=(",", ":")).encode()
        cases.append(resealed(len(new).to_bytes(8, "little") + new + raw[end:]))
    answers = reader(cases)
    assert all(isinstance(one, str) and one.startswith("The file cannot be read: ") for one in answers), (
        answers
    )


def test_no_single_changed_byte_passes(reader):
    raw = network_bytes(random_network(np.random.default_rng(3)))
    changed = [raw[:k] + bytes([raw[k] ^ 1]) + raw[k + 1 :] for k in range(len(raw))]
    assert all(isinstance(answer, str) for answer in reader(changed))


# -- the page ------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(page, tmp_path):
    """The empty page from disk, and a function that gives it files."""
    path = tmp_path / "sugenet.html"
    path.write_text(empty_page(), encoding="utf-8")
    page.goto(path.as_uri())

    def give(*files):
        page.set_input_files("#files", [str(file) for file in files])

    return page, give


def verdict(page):
    page.wait_for_selector("[data-test=state][data-state=proved]", timeout=30_000)
    return page.inner_text("[data-test=verdict]")


def write_csv(path, X, y=None, names=None):
    names = names or sg.models.digits().encoder.names
    lines = [",".join([*(f'"{name}"' for name in names), *(["class"] if y is not None else [])])]
    lines += [",".join(map(str, [*row, *([] if y is None else [y[k]])])) for k, row in enumerate(X.tolist())]
    path.write_text("\n".join(lines))
    return path


def test_a_network_then_samples(opened, tmp_path):
    page, give = opened
    assert page.is_visible("#open-page")
    sg.save(sg.models.digits(), tmp_path / "digits.sugenet")
    give(tmp_path / "digits.sugenet")
    page.wait_for_url(re.compile("^blob:"))
    verdict(page)
    X, y = sg.models.samples("digits")
    give(write_csv(tmp_path / "data.csv", X[7:10], y[7:10]))
    page.wait_for_selector("#which option:nth-child(3)", state="attached")
    text = verdict(page)
    assert text.startswith("3. No change of 1 pixel alters it, but 2 make it a")
    assert "truth: 3" in page.inner_text("#truth")


def test_only_the_first_samples_are_kept_and_the_title_says_so(opened, tmp_path):
    page, give = opened
    net = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[-1], [1]]))
    sg.save(net, tmp_path / "net.sugenet")
    (tmp_path / "data.csv").write_text("x1,x2\n" + "0,1\n" * 401)
    give(tmp_path / "net.sugenet", tmp_path / "data.csv")
    page.wait_for_url(re.compile("^blob:"))
    verdict(page)
    assert page.inner_text("#title") == "net, first 400 samples of 401"
    assert page.locator("#which option").count() == 400


def test_network_and_samples_at_once(opened, tmp_path):
    page, give = opened
    sg.save(sg.models.digits(), tmp_path / "digits.sugenet")
    X, _ = sg.models.samples("digits")
    give(write_csv(tmp_path / "data.csv", X[7:8]), tmp_path / "digits.sugenet")
    page.wait_for_url(re.compile("^blob:"))
    assert verdict(page).startswith("3.")


def test_limits_of_the_file_are_kept(opened, tmp_path):
    page, give = opened
    layer = DenseLayer([[1, 1]], [1])
    net = Network(Encoder([threshold(0.5), threshold(9.5)], ["a", "b"]), [layer], Head([[-1], [1]]))
    assert net.predict([[0, 0], [1, 0], [0, 9.5]]).tolist() == [0, 1, 1]
    sg.save(net.with_training_range([[0, 1], [1, 3]]).within("data"), tmp_path / "net.sugenet")
    give(tmp_path / "net.sugenet")
    page.wait_for_url(re.compile("^blob:"))
    text = verdict(page)
    assert text.startswith("0. Changing 1 feature makes it a 1, for inputs within what was seen in training")
    (tmp_path / "data.csv").write_text("a,b\n0,2\n1,2\n")
    give(tmp_path / "data.csv")
    page.wait_for_selector("#which option:nth-child(2)", state="attached")
    assert "for inputs within what was seen in training" in verdict(page)
    free = Network(Encoder([threshold(9.5)], ["b"]), [DenseLayer([[1]], [1])], Head([[-1], [1]]))
    sg.save(free.with_training_range([[1], [3]]).within("data"), tmp_path / "free.sugenet")
    give(tmp_path / "free.sugenet")
    page.wait_for_function("() => document.getElementById('title').textContent === 'free'")
    assert "Nothing that may change alters it" in verdict(page)


def test_an_image(opened, tmp_path):
    from PIL import Image

    page, give = opened
    layer = DenseLayer(np.ones((1, 16), int), [9])
    net = Network(
        Encoder([Steps((128.0,), 0, 255, whole=True)] * 16), [layer], Head([[-1], [1]]), ["dark", "light"]
    )
    sg.save(net, tmp_path / "net.sugenet")
    Image.fromarray(np.full((4, 4), 200, np.uint8)).save(tmp_path / "light.png")
    Image.fromarray(np.full((5, 4), 200, np.uint8)).save(tmp_path / "large.png")
    give(tmp_path / "net.sugenet", tmp_path / "light.png")
    page.wait_for_url(re.compile("^blob:"))
    assert verdict(page).startswith("light.")
    give(tmp_path / "large.png")
    page.wait_for_function("() => document.getElementById('toast').textContent.includes('4 x 5 pixels')")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "Line 1: x1 is a"),
        ("a\n1\n", "no column x1"),
        ("x1,x2,id\n0,1,7\n", "not features: id"),
        ("x1,x2\n0,maybe\n", "Line 2: x2 is maybe"),
        ("x1,x2\n0\n", "Line 2 has 1 fields"),
        ("x1,x2\n", "no samples"),
        ('x1,x2\n"0,1\n', "does not end"),
    ],
)
def test_samples_that_do_not_fit_are_refused(opened, tmp_path, text, said):
    page, give = opened
    net = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[-1], [1]]))
    sg.save(net, tmp_path / "net.sugenet")
    give(tmp_path / "net.sugenet")
    page.wait_for_url(re.compile("^blob:"))
    (tmp_path / "data.csv").write_text(text)
    give(tmp_path / "data.csv")
    page.wait_for_function("(said) => document.getElementById('toast').textContent.includes(said)", arg=said)


def test_samples_without_a_network_are_refused(opened, tmp_path):
    page, give = opened
    (tmp_path / "data.csv").write_text("x1\n1\n")
    give(tmp_path / "data.csv")
    page.wait_for_function(
        "() => document.getElementById('toast').textContent.includes('.sugenet file first')"
    )


def test_a_wrong_prediction_says_so(opened, tmp_path):
    page, give = opened
    net = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[-1], [1]]), classes=["off", "on"])
    sg.save(net, tmp_path / "net.sugenet")
    (tmp_path / "data.csv").write_text("x1,x2,truth\n1,1,off\n1,1,on\n")
    give(tmp_path / "net.sugenet", tmp_path / "data.csv")
    page.wait_for_url(re.compile("^blob:"))
    verdict(page)
    assert page.inner_text("#truth") == "truth: off, so the network is wrong here"
    page.click("#after")
    assert page.inner_text("#truth") == "truth: on"


def test_the_command_writes_the_page(tmp_path, capsys):
    assert main(["page", "-o", str(tmp_path / "sugenet.html")]) == 0
    assert "opens in any browser" in capsys.readouterr().out
    assert (tmp_path / "sugenet.html").read_text(encoding="utf-8") == empty_page()
