"""Each kind of figure is drawn by both renderers, and what is drawn means what it says."""

import xml.etree.ElementTree as ET
from fractions import Fraction

import numpy as np
import pytest
from matplotlib import pyplot

import sugenet as sg
from sugenet.errors import NetworkError, SugenetError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.show import (
    cactus,
    grid_of,
    margin_histogram,
    match_meters,
    plot_figure,
    prepare,
    slack_histogram,
    svg,
    votes_of,
)
from sugenet.show import plots as plots_file
from sugenet.show.figures import (
    Band,
    BandPoint,
    Bar,
    Bars,
    Board,
    BoardCell,
    Cell,
    Heat,
    Meter,
    Meters,
    Pixels,
    Race,
    Strip,
    StripRow,
    Vote,
    blues,
    grey,
)
from sugenet.show.prepare import changes_figure, heat_map, kept_figure, value_text

NS = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> & "q" \x00 $a$ ]]>'

FIGURES = [
    Meters(
        "meters",
        (Meter("neuron 1", 5, 4, 9), Meter("neuron 2", 3, 4, 9, 1, 3), Meter("neuron 3", 4, 4, 9, 2, 6)),
        2,
        "2 bits flipped",
    ),
    Race(
        "votes",
        (Vote("a", 8, 10, Fraction(3), 1.0, True, False), Vote("b", 4, 10, Fraction(1), 0.1353, False, True)),
        3,
    ),
    Pixels(
        "image", ((0.0, 0.5), (1.0, 0.25)), (Cell(0, 1, "up", "more"), Cell(1, 0, "down", "less")), "caption"
    ),
    Pixels("reason", ((0.0, 0.5), (1.0, 0.25)), (Cell(0, 0, "kept", "stays"),)),
    Heat("shares", ((Fraction(1, 4), None), (Fraction(0), Fraction(1)))),
    Board("grid", tuple((BoardCell("1"), BoardCell("16", "other", "a: 16")) for _ in "ab"), box=1),
    Board("sum", ((BoardCell("+"), BoardCell("3", "kept")), (BoardCell("="), BoardCell("3"))), (1,), 0, "c"),
    Strip(
        "table",
        (
            StripRow("size", "3", "size < 4", "kept"),
            StripRow("side", "left", "side = right", "other"),
            StripRow("x", "1", ""),
        ),
    ),
    Strip("nothing", ()),
    Bars(
        "counts",
        "share",
        (Bar("a", Fraction(3, 4), "3"), Bar("b", Fraction(1, 4), "1", Fraction(1, 8), Fraction(1, 2), True)),
        Fraction(1),
        1,
    ),
    cactus({"ours": [0.1, 1.0, 10.0], "theirs": [5.0]}, 4, "questions"),
    cactus({}, 0, "nothing asked"),
    Band(
        "curve",
        "radius",
        "share",
        (
            BandPoint(0.0, Fraction(9, 10), Fraction(1), "R = 0", "90 % to 100 %"),
            BandPoint(2.5, Fraction(1, 4), Fraction(1, 2), "R = 2.5", "25 % to 50 %"),
        ),
    ),
    Band("one point", "radius", "share", (BandPoint(1.0, Fraction(1, 3), Fraction(1, 3), "R = 1", "33 %"),)),
    Band("no point", "radius", "share", ()),
]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{type(figure).__name__} {figure.title}")
def test_both_renderers_draw_it(figure):
    root = ET.fromstring(svg(figure))
    assert root.attrib["role"] == "img"
    assert root.find(f"{NS}title").text == figure.title
    assert svg(figure) in figure._repr_html_()
    axes = figure.plot()
    axes.figure.canvas.draw()
    assert axes.get_title("left").startswith(figure.title[:20])
    pyplot.close(axes.figure)


def test_given_axes_are_used():
    _, axes = pyplot.subplots()
    assert plot_figure(FIGURES[0], axes) is axes
    pyplot.close(axes.figure)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(SugenetError, match=r'pip install "\.\[plot\]"'):
        plots_file.plot_figure(FIGURES[0])


def marked(figure, attribute):
    return [e for e in ET.fromstring(svg(figure)).iter() if attribute in e.attrib]


def test_bars_are_as_long_as_the_votes():
    network, (X, y) = sg.models.digits(), sg.models.samples("digits")
    trace = network.trace(X[7])
    figure = votes_of(trace, int(y[7]))
    bars = marked(figure, "data-votes")
    assert [int(bar.attrib["data-votes"]) for bar in bars] == sorted(trace.matches.tolist(), reverse=True)
    lengths = np.array([float(bar.attrib["width"]) for bar in bars])
    votes = np.array([int(bar.attrib["data-votes"]) for bar in bars])
    assert np.allclose(lengths / votes, lengths[0] / votes[0], atol=1e-3)
    degrees = marked(figure, "data-possibility")
    assert np.allclose(
        [float(d.attrib["width"]) / 60 for d in degrees],
        sorted(network.possibility(X[7:8])[0], reverse=True),
        atol=1e-3,
    )
    assert figure.votes[0].predicted
    assert figure.votes[0].truth


def test_the_predicted_and_the_true_class_are_shown_of_many():
    head = Head(np.ones((30, 4), int), bias=range(30))
    figure = votes_of(Network.of_bits([], head).trace([1, 1, 1, 1]), truth=0)
    assert [v.name for v in figure.votes] == [*(str(k) for k in range(29, 17, -1)), "0"]
    assert figure.left_out == 17


def test_meters_stand_on_their_side_of_the_threshold():
    figure = FIGURES[0]
    root = ET.fromstring(svg(figure))
    line = next(e for e in root.iter(f"{NS}line") if e.attrib["stroke-width"] == "1.6")
    tau = float(line.attrib["x1"])
    marks = [e for e in root.iter() if "data-slack" in e.attrib]
    at = [float(e.find(f"{NS}circle").attrib["cx"]) for e in marks]
    assert [x > tau for x in at] == [m.active for m in figure.meters]
    bands = [e for e in root.iter() if "data-band" in e.attrib]
    ends = [(float(b.attrib["x"]), float(b.attrib["x"]) + float(b.attrib["width"])) for b in bands]
    assert ends[0][1] < tau < ends[1][1]  # neuron 2 cannot reach its threshold, neuron 3 crosses it
    assert ends[1][0] < tau
    assert [m.state for m in figure.meters] == ["on", "locked off", "on, may turn"]


@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize("region", [sg.Hamming(1), sg.Free(["x1", "x3"]), sg.AnyInput()], ids=str)
def test_bands_hold_every_match_count_of_the_region(layer, region):
    rng = np.random.default_rng(5)
    first = DenseLayer(rng.choice([-1, 0, 1], (5, 6)), rng.integers(1, 4, 5))
    second = DenseLayer(rng.choice([-1, 1], (4, 5)), rng.integers(1, 5, 4))
    network = Network.of_bits([first, second], Head(rng.choice([-1, 1], (2, 4))))
    every = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    x = every[11]
    near = region.around(network, x.tolist())
    moves = {(m.feature, m.value) for m in near.moves}
    inside = [
        row
        for row in every
        if all(
            a == b or (f, b) in moves for f, (a, b) in enumerate(zip(x.tolist(), row.tolist(), strict=True))
        )
        and (near.budget is None or (row != x).sum() <= near.budget)
    ]
    meters = match_meters(network, x, layer, region=region).meters
    seen = {int(m.name.split()[1]): m for m in meters}
    counts = np.array([network.trace(row).layers[layer - 1].matches for row in inside])
    for number, meter in seen.items():
        assert meter.low <= counts[:, number - 1].min()
        assert counts[:, number - 1].max() <= meter.high
        assert meter.low <= meter.matches <= meter.high
        if layer == 1:  # one layer deep, bits alone: the band is tight
            assert (meter.low, meter.high) == (counts[:, number - 1].min(), counts[:, number - 1].max())


def test_bands_of_a_large_layer_are_refused(monkeypatch):
    network = Network.of_bits([DenseLayer([[1, 1, 1, 1]], [2])], Head([[1], [-1]]))
    monkeypatch.setattr(prepare, "_BAND_WORK", 4)  # as many as there are changes, times neurons
    assert match_meters(network, [1, 1, 1, 1], region=sg.AnyInput()).meters
    monkeypatch.setattr(prepare, "_BAND_WORK", 3)
    with pytest.raises(NetworkError, match="too many changes to work out bands"):
        match_meters(network, [1, 1, 1, 1], region=sg.AnyInput())


def test_shares_darken_and_are_written():
    figure = Heat("ffa", ((Fraction(1, 4), Fraction(3, 4)), (None, Fraction(1))))
    fills = {e.attrib["data-share"]: e.find(f"{NS}rect").attrib["fill"] for e in marked(figure, "data-share")}
    assert fills == {share: blues(Fraction(share)) for share in ("1/4", "3/4", "1")}
    assert blues(0) > blues(Fraction(1, 2)) > blues(1)
    texts = [e.text for e in ET.fromstring(svg(figure)).iter(f"{NS}text")]
    assert {"25", "75", "100"} <= set(texts)


def test_pixels_are_darker_where_values_are_larger():
    assert (grey(0), grey(1)) == ("#ffffff", "#000000")
    network, (X, _) = sg.models.digits(), sg.models.samples("digits")
    answer = sg.whatif(network, X[7])
    figure = changes_figure(network, answer.sample, answer.changed, "change")
    flat = np.array(figure.shades).ravel() * 16
    assert flat.tolist() == [float(v) for v in answer.changed]
    marks = {network.encoder.names[c.row * 8 + c.column]: c.kind for c in figure.cells}
    assert marks == {
        name: "up" if after > before else "down" for name, (before, after) in answer.changes().items()
    }


def test_many_frames_are_one_path():
    cells = tuple(Cell(*divmod(k, 16), "kept", f"pixel {k}") for k in range(0, 256, 2))
    figure = Pixels("many", ((0.5,) * 16,) * 16, cells)
    (path,) = marked(figure, "data-mark")
    assert path.attrib["d"].count("M") == 128


def test_a_reason_frames_its_features():
    network, (X, _) = sg.models.digits(), sg.models.samples("digits")
    figure = kept_figure(network, X[7], [3, 17], "why")
    assert [(c.row, c.column, c.kind) for c in figure.cells] == [(0, 3, "kept"), (2, 1, "kept")]
    assert "stays whatever changes" in kept_figure(network, X[7], [], "why").caption


def test_attribution_of_a_table_comes_largest_first():
    network = sg.models.breast_cancer()
    names = network.encoder.names
    shares = dict(zip(names, (Fraction(k % 7, 6) for k in range(30)), strict=True))
    figure = heat_map(network, shares, "ffa", True)
    values = [bar.value for bar in figure.bars]
    assert values == sorted(values, reverse=True)
    assert len(values) + figure.left_out == sum(1 for share in shares.values() if share)


def test_values_never_round_across_a_cut():
    cut = sg.nn.threshold(17.17)
    assert value_text(cut, 17.169999999999998) == "17.169999999999998"
    assert value_text(cut, 3.14159265) == "3.14159"
    assert value_text(sg.nn.OneHot(("a", "b")), "a") == "a"


def test_histograms_count_everything():
    network, (X, _) = sg.models.digits(), sg.models.samples("digits")
    margins = margin_histogram(network, X)
    assert sum(margins.counts) == len(X)
    slack = slack_histogram(network, X, 1)
    assert sum(slack.counts) == len(X) * 64
    active = sum(count for edge, count in zip(slack.edges, slack.counts, strict=False) if edge >= slack.mark)
    assert active == network.hidden(X)[0].sum()
    for figure in (margins, slack):
        bars = marked(figure, "data-count")
        heights = [
            float(bar.attrib["height"]) / int(bar.attrib["data-count"])
            for bar in bars
            if int(bar.attrib["data-count"]) > 20
        ]
        assert np.allclose(heights, heights[0], rtol=0.02)
        axes = plot_figure(figure)
        axes.figure.canvas.draw()
        pyplot.close(axes.figure)


def test_a_cactus_rises_with_the_number_settled():
    figure = cactus({"ours": [10.0, 0.1, 1.0]}, 4, "questions")
    line = next(ET.fromstring(svg(figure)).iter(f"{NS}polyline"))
    points = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)  # up is slower
    rises = np.diff([y for _, y in points])
    assert np.isclose(rises[0], rises[1])  # ten times slower each: a logarithmic scale


def test_a_band_lies_between_its_ends():
    points = (
        BandPoint(0.0, Fraction(9, 10), Fraction(1), "R = 0", ""),
        BandPoint(8.0, Fraction(1, 2), Fraction(3, 4), "R = 8", ""),
    )
    root = ET.fromstring(svg(Band("curve", "radius", "share", points)))
    (band,) = (element for element in root.iter(f"{NS}polygon") if element.get("stroke") == "none")
    corners = [tuple(map(float, pair.split(","))) for pair in band.attrib["points"].split()]
    top, bottom = corners[:2], corners[:1:-1]
    assert [x for x, _ in top] == [x for x, _ in bottom] == sorted(x for x, _ in top)
    tall = (bottom[1][1] - top[1][1]) / 0.25  # down is less
    assert np.isclose(bottom[0][1] - top[0][1], 0.1 * tall)
    assert np.isclose(bottom[1][1] - bottom[0][1], 0.4 * tall)
    assert [group.get("data-low") for group in root.iter(f"{NS}g")] == ["9/10", "1/2"]


def test_hostile_words_stay_words():
    for figure in (
        Strip(HOSTILE, (StripRow(HOSTILE, HOSTILE, HOSTILE),), caption=HOSTILE),
        Race(HOSTILE, (Vote(HOSTILE, 1, 1, Fraction(1), 1.0),)),
        Bars(HOSTILE, HOSTILE, (Bar(HOSTILE, Fraction(1), HOSTILE),), Fraction(1)),
        Pixels(HOSTILE, ((0.0,),), (Cell(0, 0, "kept", HOSTILE),), HOSTILE),
        cactus({HOSTILE: [1.0]}, 1, HOSTILE),
        Band(HOSTILE, HOSTILE, HOSTILE, (BandPoint(1.0, Fraction(0), Fraction(1), HOSTILE, HOSTILE),)),
    ):
        root = ET.fromstring(svg(figure))
        assert not list(root.iter("script"))
        assert root.find(f"{NS}title").text == HOSTILE.replace("\x00", "\\x00")
        axes = plot_figure(figure)
        axes.figure.canvas.draw()
        pyplot.close(axes.figure)


@pytest.mark.parametrize(
    ("codings", "grid"),
    [
        ([sg.nn.integer(0, 16)] * 64, (8, 8)),
        ([sg.nn.integer(0, 16)] * 63, None),
        ([sg.nn.integer(0, 16)] * 9, None),
        ([sg.nn.threshold(3.0)] * 16, None),
        ([sg.nn.integer(0, 16)] * 15 + [sg.nn.integer(0, 15)], None),
        ([sg.nn.bit()] * 16, (4, 4)),
        ([sg.nn.OneHot(("a", "b"))] * 16, None),
    ],
)
def test_which_samples_are_images(codings, grid):
    width = sum(coding.width for coding in codings)
    head = Head(np.ones((2, width), int))
    assert grid_of(Network(sg.nn.Encoder(codings), [], head)) == grid
    named = [f"answer {k}" for k in range(len(codings))]
    assert (
        grid_of(Network(sg.nn.Encoder(codings, named), [], head)) is None
    )  # a table of questions is no image


def test_a_share_that_is_not_0_or_100_percent_is_not_written_so():
    shares = (Fraction(1, 300), Fraction(299, 300), Fraction(1), Fraction(1, 2))
    heat = Heat("shares", (shares, (None,) * 4))
    drawn = [text.text for text in ET.fromstring(svg(heat)).iter(f"{NS}text")]
    assert drawn[1:5] == ["<1", ">99", "100", "50"]
    axes = plot_figure(heat)
    assert [text.get_text() for text in axes.texts] == drawn[1:5]
    assert axes.get_xlabel().startswith("numbers in percent")
    pyplot.close(axes.figure)


@pytest.mark.parametrize(("left", "words"), [(1, "1 more neuron"), (2, "2 more neurons")])
def test_what_is_left_out_is_counted_in_good_grammar(left, words):
    meters = Meters("meters", (Meter("neuron 1", 5, 4, 9),), left)
    assert f"... and {words}<" in svg(meters)
    axes = plot_figure(meters)
    assert axes.get_xlabel().replace("\n", " ").endswith(f"and {words}")
    pyplot.close(axes.figure)


def test_captions_of_plots_stay_on_the_paper():
    network, (X, _) = sg.models.breast_cancer(), sg.models.samples("breast_cancer")
    axes = plot_figure(kept_figure(network, X[3], (), "nothing"))
    axes.figure.canvas.draw()
    box = axes.xaxis.label.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= axes.figure.bbox.width
    pyplot.close(axes.figure)


def test_a_figure_at_a_prompt_says_its_title():
    network, X = sg.models.digits(), sg.models.samples("digits")[0]
    figure = match_meters(network, X[7], region=sg.L0(1))
    assert str(figure) == figure.title
    assert repr(figure) == f"<Meters: {figure.title}>"
