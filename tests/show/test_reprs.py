"""Every answer draws itself: static HTML that is well formed and says the same as its sentence,
and axes with the main figure.
"""

import importlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from html import escape, unescape

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import sugenet as sg
from sugenet.errors import SugenetError
from sugenet.plottable import Plottable
from sugenet.show import drawing, html, svg
from sugenet.show.demonstration import questions
from sugenet.show.figures import Bars, Heat, Meters, Pixels, Race, Strip
from sugenet.sweeps import curve_of
from tests.io.queries import around
from tests.show.conftest import bits

SVG = "{http://www.w3.org/2000/svg}svg"


def parsed(text):
    """The HTML as XML, which it must be too: `<br>` is the one tag that need not be closed."""
    return ET.fromstring(text.replace("<br>", "<br/>"))


def looked_at(answer):
    text = answer._repr_html_()
    root = parsed(text)
    assert root.attrib["class"] == "sugenet"
    assert len(list(root.iter(SVG))) == len(drawing(answer).figures) >= 1
    for word in ("<script", "javascript:", "src=", "href=", " on", "style="):
        tags = [part.split(">")[0] for part in text.split("<")[1:]]
        assert not any(word in f"<{tag}" for tag in tags), word
    axes = answer.plot()
    assert isinstance(axes, Axes)
    axes.figure.canvas.draw()
    pyplot.close(axes.figure)
    return root


def test_answers_about_an_image(digits):
    for answer in digits.values():
        looked_at(answer)


def test_answers_about_a_table(table):
    for answer in table.values():
        looked_at(answer)


def test_answers_about_bits(bit_answers):
    for answer in bit_answers.values():
        looked_at(answer)


def test_sweeps_their_tallies_and_curves():
    network, rows = bits(), [[1, 1, -1, 1], [-1, -1, 1, -1], [1, -1, 1, 1]]
    found = [
        sg.sweep(network, rows, sg.Robust(sg.each, sg.Hamming(radius)), y=[1, 0, 0], jobs=1)
        for radius in (1, 2)
    ]
    costs = sg.sweep(network, rows, sg.WhatIf(sg.each, sg.L2), jobs=1)
    for value in (*found, found[0].tally(), curve_of(found), costs, curve_of([costs])):
        looked_at(value)
    band = drawing(curve_of(found)).figures[0]
    assert [point.x for point in band.points] == [0, 1, 2]
    bars = drawing(found[0]).figures[0].bars
    assert sum(bar.value for bar in bars) == 3
    looked_at(sg.sweep(network, rows, sg.Predict(sg.each), jobs=1).answer(1))


def test_names_that_look_like_markup_stay_names(hostile):
    for answer in hostile.values():
        root = looked_at(answer)
        tags = {element.tag.split("}")[-1] for element in root.iter()}
        assert not tags & {"script", "img", "b"}


def test_fixtures_hold_every_type_of_answer(digits, table, bit_answers):
    types = {type(answer) for found in (digits, table, bit_answers) for answer in found.values()}
    for name in (
        "verdicts",
        "counterfactuals.answers",
        "counts.answers",
        "reasons.answers",
        "rules.checked",
        "rules.book",
        "reasons.chain",
    ):
        module = importlib.import_module(f"sugenet.reason.{name}")
        public = [getattr(module, item) for item in module.__all__]
        drawn = {item for item in public if isinstance(item, type) and issubclass(item, Plottable)}
        assert drawn
        assert drawn <= types
    assert {sg.nn.Trace, sg.Network} <= types


def test_the_sentence_comes_first(digits):
    for name in ("proved", "refuted", "undecided", "counterfactual"):
        first = unescape(digits[name]._repr_html_().split("<p>")[1].split("</p>")[0]).replace("<br>", "\n")
        assert first == str(digits[name])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("proved", Pixels),
        ("refuted", Pixels),
        ("counterfactual", Pixels),
        ("reasons", Pixels),
        ("trace", Race),
        ("chain", Meters),
        ("counted", Bars),
        ("count open", Bars),
        ("summary", Bars),
    ],
)
def test_the_main_figure_of_an_image(digits, name, kind):
    assert isinstance(drawing(digits[name]).figures[0], kind)


def test_figures_of_a_table_list_its_features(table):
    figure = drawing(table["counterfactual"]).figures[0]
    assert isinstance(figure, Strip)
    assert {row.name for row in figure.rows} == set(table["counterfactual"].changes())
    assert {row.name for row in drawing(table["monotone"]).figures[0].rows} == {"worst area"}


def test_several_reasons_give_a_heat_map(digits):
    heat = drawing(digits["reasons"]).figures[1]
    assert isinstance(heat, Heat)
    shares = [share for row in heat.shares for share in row]
    attribution = digits["reasons"].attribution
    names = digits["reasons"].network.encoder.names
    assert {name: share for name, share in zip(names, shares, strict=True) if share} == {
        n: s for n, s in attribution.items() if s
    }


def test_counts_are_written_and_drawn_to_scale(digits):
    answer = digits["counted"]
    figure = drawing(answer).figures[0]
    assert [bar.value for bar in figure.bars] == sorted(
        (answer.share(k) for k in range(10) if answer.counts[k]), reverse=True
    )
    assert [int(bar.text.replace(",", "")) for bar in figure.bars] == sorted(
        (c for c in answer.counts if c), reverse=True
    )


def test_an_open_count_shows_where_the_truth_may_lie(digits):
    answer = digits["count open"]
    for bar in drawing(answer).figures[0].bars:
        k = answer.network.classes.index(bar.name)
        assert (bar.low * answer.total, bar.high * answer.total) == (answer.lower[k], answer.upper[k])


def test_a_chain_shows_the_neurons_that_decide(digits):
    chain = digits["chain"]
    meters = drawing(chain).figures[0]
    assert len(meters.meters) + meters.left_out == len(chain.decisive)
    for meter, literal in zip(meters.meters, chain.decisive, strict=False):
        assert meter.active == (literal > 0)


def test_a_broken_drawing_falls_back_to_text(monkeypatch, digits):
    def broken(_):
        raise RuntimeError("no pencil")

    monkeypatch.setattr(importlib.import_module("sugenet.show.drawings"), "html", broken)
    assert digits["proved"]._repr_html_() == f"<pre>{escape(str(digits['proved']))}</pre>"


def test_what_cannot_be_drawn_is_refused_kindly():
    with pytest.raises(SugenetError, match="there is no drawing of int"):
        html(3)
    with pytest.raises(TypeError, match="int is not a figure"):
        svg(3)


def test_a_query_with_real_inputs_is_drawn():
    from sugenet.nn import RealLayer
    from sugenet.problem.query import Query
    from sugenet.reason.envelope import envelope
    from sugenet.reason.verdicts import Refuted
    from sugenet.show.drawings import drawing as draw

    layer = RealLayer([[1, 1]], [3.5])
    network = sg.Network(sg.nn.Encoder.of_reals(2, 0, 9), [layer], sg.nn.Head([[1], [-1]]))
    question = Query(2, 2, [])
    certificate = envelope(network, question, answer="refuted", witness=[0.5, 3], proof=None)
    found = Refuted(network, question, "no violation", (0.5, 3), ("0",), "patches", 0.0, certificate)
    assert [row.value for row in draw(found).figures[0].rows] == ["0.5", "3"]


def test_titles_say_no_more_than_is_known(digits):
    reason = digits["reason"]
    count = len(reason.features)
    assert drawing(reason).figures[0].title == f"{count} features that suffice: {reason.status}"
    figure = drawing(replace(reason, status="unknown")).figures[0]
    assert (figure.title, figure.caption) == (
        f"{count} features, not proved to suffice",
        "framed: may be needed; nothing was proved in the time",
    )
    for fixed, words in ((reason.features[:1], "1 feature that suffices"), ((), "no feature is needed")):
        fewer = replace(reason, question=replace(reason.question, fixed=fixed))
        assert drawing(fewer).figures[0].title == f"{words}: {reason.status}"
    assert drawing(digits["refuted"]).figures[0].title.startswith("3 becomes ")


@pytest.mark.parametrize("name", ["why", "count", "verify", "whatif"])
def test_the_demo_goes_on_when_a_question_is_interrupted(monkeypatch, digits, name):
    open_answers = {
        "why": replace(digits["reasons"], reasons=()),
        "count": digits["count open"],
        "verify": digits["undecided"],
        "whatif": digits["open counterfactual"],
    }
    monkeypatch.setattr(sg.reason, name, lambda *_, **__: open_answers[name])
    said = list(questions(digits["network"], sg.models.samples("digits")[0][7].tolist()))
    assert len(said) == 5
    assert sum(str(open_answers[name]).splitlines()[0] in text for text in said) == 1
    assert f"{4 - (name in ('why', 'count'))} of 4" in said[-1]


# -- plain reprs ---------------------------------------------------------------------------------------------


def values_in(value, seen):
    """Every value of ours that can be reached through fields, lists and mappings, once."""
    if id(value) in seen or isinstance(value, str | bytes | int | float | np.ndarray | np.generic):
        return
    seen[id(value)] = value
    if type(value).__module__.startswith("sugenet"):
        yield value
    if is_dataclass(value):
        inside = [getattr(value, field.name, None) for field in fields(value)]
    elif isinstance(value, Mapping):
        inside = [*value.values()]
    else:
        inside = list(value)[:20] if isinstance(value, list | tuple | frozenset) else []
    for one in inside:
        yield from values_in(one, seen)


def fits(value):
    text = repr(value)
    return len(text) <= 1000 and text.count("\n") < 10


def large_network():
    rng = np.random.default_rng(0)
    weights = [rng.choice([-1, 1], size) for size in ((1024, 784), (64, 1024), (10, 64))]
    layers = [sg.nn.DenseLayer(rows, [5] * len(rows)) for rows in weights[:2]]
    return sg.Network.of_bits(layers, sg.nn.Head(weights[2]))


def capacities():
    from sugenet import capacity

    many = range(1, 785)
    yield capacity.CardinalityThreshold(many, 5)
    yield capacity.WeightedThreshold([1] * 784, theta=5)
    yield capacity.Symmetric(many, [k / 784 for k in range(785)])
    yield capacity.Possibility({k: k / 784 for k in many})
    yield capacity.Join(
        [capacity.CardinalityThreshold(many, 5), capacity.Necessity({k: k / 784 for k in many})]
    )
    yield capacity.Focal(many, {(k, k + 1): 1 for k in range(1, 784)})
    yield capacity.Dense(12, [bin(mask).count("1") / 12 for mask in range(1 << 12)])


def test_reprs_of_all_that_answers_hold_fit_ten_lines(digits, table, bit_answers):
    large = large_network()
    x = np.ones(784, int)
    more = [
        large,
        sg.Robust(x, sg.L0(1)),
        sg.WhatIf(x, sg.Prices({f"x{k}": k for k in range(1, 785)}), keep=range(784)),
        sg.Always(0, {f"x{k}": (0, 1) for k in range(1, 785)}),
        sg.Free(range(784)),
        sg.nn.Encoder.of_integers(784),
        *capacities(),
        sg.verify(large, sg.Robust(x, sg.L0(1)), time_limit=0),
    ]
    seen = {}
    found = [one for value in (digits, table, bit_answers, more) for one in values_in(value, seen)]
    kinds = {type(one) for one in found}
    assert {
        sg.Network,
        sg.nn.Encoder,
        sg.nn.Head,
        sg.nn.DenseLayer,
        sg.Robust,
        sg.nn.Steps,
        sg.nn.Trace,
    } <= kinds
    assert [(type(one), len(repr(one))) for one in found if not fits(one)] == []


def test_an_answer_at_a_prompt_says_what_it_prints(digits, table):
    for answer in (*digits.values(), *table.values()):
        if isinstance(answer, Plottable):
            start, text = f"<{type(answer).__name__}: ", str(answer)
            shown = repr(answer)
            assert shown.startswith(start)
            assert shown == f"{start}{text}>" or (
                shown.endswith("...>") and text.startswith(shown[len(start) : -7])
            )
    query = around([0.5] * 784, eps=1, label=1, outputs=10)
    assert repr(query) == "<Query: query over 784 inputs and 10 outputs: 1 box, 9 ways to violate it>"
    assert repr(digits["network"]) == f"<Network: {digits['network']}>"
    assert repr(digits["proved"].certificate).startswith("<certificate: robust, proved, proof: ")


def test_what_is_cut_is_counted():
    coding = sg.nn.Steps((0.5,))
    assert repr(coding) == "Steps(cuts=(0.5,), low=-inf, high=inf, whole=False, bipolar=False)"
    said = f"Encoder(codings=({coding!r},), names=('a',), shape=None, seen=None, columns=None)"
    assert repr(sg.nn.Encoder([coding], ["a"])) == said
    assert re.search(r"names=\('x1', 'x2', .*, \.\.\. \d+ more\)", repr(sg.nn.Encoder.of_bits(784)))
    assert "weights=<array of 1024 x 784, int" in repr(large_network().layers[0])
    assert repr(sg.Free([10**5000])) == "Free(features=(<16610 bits>,))"
