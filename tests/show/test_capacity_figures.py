"""Pictures of capacities say what the capacities say, and nothing in them overlaps."""

import re
from itertools import combinations

import pytest

from sugenet.capacity import (
    CardinalityThreshold,
    Focal,
    Join,
    Meet,
    Ordinal,
    Possibility,
    elimination_rules,
    random_capacity,
    selection_rules,
)
from sugenet.errors import CapacityError
from sugenet.fit import Ratings, fit_capacity, version_space
from sugenet.fit.sugeno import FeatureLevels, LearnedModel, ScoreCard
from sugenet.show import capacity_figure, drawing, focal_dots, html, lattice_of, plot, svg
from sugenet.show.figures import Focals, Lattice

SCALE = Ordinal(["very bad", "bad", "acceptable", "good", "very good"])
LONG = [
    "distance to the office",
    "monthly rent with heating",
    "quiet at night",
    "kitchen",
    "light in the winter months",
]


def by_letters(figure):
    """What the SVG says of each set: its letters, at least and at most."""
    found = re.findall(r'data-set="(\w+)" data-low="([^"]+)" data-high="([^"]+)"', svg(figure))
    return {key: (low, high) for key, low, high in found}


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize("seed", range(3))
def test_a_lattice_shows_every_set_and_its_worth(n, seed):
    one, other = (random_capacity(LONG[:n], SCALE, seed=s) for s in (seed, seed + 100))
    figure = lattice_of(Meet([one, other]), Join([one, other]))
    shown = by_letters(figure)
    assert len(shown) == 2**n
    for size in range(n + 1):
        for places in combinations(range(n), size):
            key = "".join("abcde"[i] for i in places) or "none"
            members = {LONG[i] for i in places}
            values = one(members), other(members)
            assert shown[key] == (str(min(values)), str(max(values)))
    least = Meet([one, other])
    framed = {figure.key(node) for node in figure.sets if node.focal}
    focal = {
        "".join("abcde"[LONG.index(c)] for c in sorted(f.members, key=LONG.index)) for f in least.focal_sets()
    }
    assert framed == focal


def boxes(text):
    """The frames of sets: x, y, width, height."""
    found = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="none"', text
    )
    return [tuple(map(float, box)) for box in found]


@pytest.mark.parametrize("n", range(1, 6))
def test_nothing_overlaps_or_leaves_the_paper(n):
    text = svg(lattice_of(random_capacity(LONG[:n], SCALE, seed=1)))
    frames = boxes(text)
    assert len(frames) == 2**n
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups())
    for x, y, w, h in frames:
        assert x >= 0
        assert x + w <= width
        assert y + h <= height
    for (x, y, w, h), (a, b, c, d) in combinations(frames, 2):
        assert x + w <= a or a + c <= x or y + h <= b or b + d <= y
    for at, size, words in re.findall(
        r'<text x="[\d.]+" y="([\d.]+)" font-size="([\d.]+)"[^>]*>([^<]*)', text
    ):
        assert float(at) <= height
        assert 0.58 * float(size) * len(words) <= width


def test_values_that_are_too_long_are_cut_and_said_in_full():
    names = ["an enormously long name of a level", "b", "a"]
    mu = Focal(["x", "y"], {"x": "b", ("x", "y"): "a"}, Ordinal(names))
    text = svg(lattice_of(mu))
    assert "<title>y: an enormously long name of a level</title>" in text
    assert ">an enormous…<" in text


@pytest.mark.parametrize("seed", range(5))
def test_dots_are_the_rules(seed):
    names = [f"c{i}" for i in range(6)]
    mu = random_capacity(names, SCALE, seed=seed)
    for up, rules in ((True, selection_rules(mu)), (False, elimination_rules(mu))):
        figure = focal_dots(mu, "some", limit=1000, up=up)
        shown = {
            (frozenset(figure.criteria[i] for i in row.members), row.words.split(" ", 2)[2])
            for row in figure.rows
        }
        assert shown == {(frozenset(rule.body), str(rule.level)) for rule in rules}
        assert figure.left_out == 0
        levels = [row.share for row in figure.rows]
        assert levels == sorted(levels, reverse=up)
        drawn = re.findall(r'data-members="([^"]*)" data-words="at \w+ ([^"]*)"', svg(figure))
        assert {(frozenset(members.split()), words) for members, words in drawn} == shown


def test_many_focal_sets_are_counted_and_the_shortest_shown():
    figure = focal_dots(CardinalityThreshold(60, 30), "half of them")
    assert len(figure.rows) == 12
    assert figure.left_out == 118264581564861424 - 12
    assert "the shortest" in figure.caption
    few = focal_dots(Possibility([1, 0.5, 0.25, 1, 1, 0]), "some", limit=2)
    assert (len(few.rows), few.left_out) == (2, 3)
    assert few.criteria == ("1", "4")


def test_a_lattice_is_for_few_criteria():
    with pytest.raises(CapacityError, match="drawn for up to 5"):
        lattice_of(Possibility([1] * 6))
    assert isinstance(capacity_figure(Possibility([1] * 6))[0], Focals)
    assert isinstance(capacity_figure(Possibility([1] * 5))[0], Lattice)


def stays(*ratings):
    return Ratings(
        [["good", "bad", "ok"], ["ok", "good", "ok"], ["bad", "ok", "good"]],
        ratings,
        ["bad", "ok", "good"],
        ["room", "food", "<price>"],
        labels=["one", "two", "three"],
    )


def test_answers_draw_themselves():
    space, conflict = version_space(stays("ok", "ok", "ok")), version_space(stays("ok", "good", "bad"))
    fit = fit_capacity(stays("ok", "good", "bad"), loss="total")
    for answer in (space, conflict, fit, fit_capacity(stays("ok", "ok", "ok"), maxitive=1)):
        text = answer._repr_html_()
        assert "<svg" in text
        assert "<price>" not in text
    shown = by_letters(drawing(space).figures[0])
    assert shown["a"] == (str(space.lower({"room"})), str(space.upper({"room"})))
    assert "two, rated good; three, rated bad" in html(conflict)
    many = Ratings([[0.5] * 7, [0.25] * 6 + [1]], [0.5, 0.25])
    assert [figure.title for figure in drawing(version_space(many)).figures] == [
        "sets of criteria that suffice",
        "sets of criteria that hold it down",
    ]


def test_learned_models_draw_themselves():
    chains = (FeatureLevels("price", (300.0, 200.0), "falling"), FeatureLevels("room", (1.0,), "rising"))
    card = LearnedModel(chains, ("bad", "ok"), (), ScoreCard(((0, 2, 3), (0, 1)), (2,)))
    assert "points that a feature can give" in card._repr_html_()
    assert [bar.text for bar in drawing(card).figures[0].bars] == ["3", "1"]


def test_matplotlib_draws_the_same():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    mu = random_capacity(LONG, SCALE, seed=3)
    axes = plot(mu)
    words = [text.get_text() for text in axes.texts]
    for node in lattice_of(mu).sets:
        assert words.count(lattice_of(mu).key(node)) == 1
    values = [str(mu.at(mask)) for mask in range(32)]
    assert all(words.count(value) == values.count(value) for value in set(values))
    dots = focal_dots(mu, "dots", limit=3)
    axes = dots.plot()
    assert [text.get_text() for text in axes.texts] == [row.words for row in dots.rows]
    held = [len(line.get_xdata()) for line in axes.lines if line.get_linestyle() == "-"]
    assert held == [len(row.members) for row in dots.rows]
    pyplot.close("all")
