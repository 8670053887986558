"""Drawings of values by type: a sentence, figures and a small table.

They are rendered as HTML for notebooks, or the main figure as a plot.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

from sugenet.capacity import RuleSet, SetFunction
from sugenet.capacity.arguments import number_text, rating_text
from sugenet.errors import NetworkError, SugenetError, TooLargeError
from sugenet.fit import CapacityFit, Conflict, InducedCapacity, LearnedModel, VersionSpace
from sugenet.glance import Atlas, Covering, Fragility, Influence, Overview, Prototypes
from sugenet.logic import ComposedAnswer
from sugenet.nn import Network, Summary, Trace, summary
from sugenet.problem import Query, feature_index, limit_text
from sugenet.reason import (
    Box,
    CheckedRule,
    Counterfactual,
    Fair,
    Monotone,
    NoCounterfactual,
    OpenCounterfactual,
    Predicted,
    Proved,
    Question,
    Reason,
    Reasons,
    Refuted,
    Robust,
    Rulebook,
    Undecided,
)
from sugenet.reason.counts.answers import METHODS, Counted, CountOpen, CountSampled
from sugenet.reason.phrases import percent_text, show_cost
from sugenet.reason.reasons.chain import Chain, key_of
from sugenet.reprs import time_text
from sugenet.show.composites import composed_figures, reading_rows
from sugenet.show.figures import (
    Band,
    BandPoint,
    Bar,
    Bars,
    Board,
    Cactus,
    Figure,
    Focals,
    Heat,
    Histogram,
    Lattice,
    Meters,
    Pixels,
    Race,
    Strip,
    StripRow,
    Swarm,
    Weights,
    plural,
)
from sugenet.show.markup import Html, element, short
from sugenet.show.overviews import (
    covering_figure,
    fragile_figure,
    influence_figure,
    radius_figure,
    template_figure,
)
from sugenet.show.plots import plot_figure
from sugenet.show.prepare import (
    ROWS,
    capacity_figure,
    change_text,
    changes_figure,
    heat_map,
    kept_figure,
    match_meters,
    meter_of,
    meters_of,
    sample_figure,
    votes_of,
)
from sugenet.show.svg_writer import draw
from sugenet.sweeps import AccuracyCurve, Results, SweepTally
from sugenet.sweeps.curve import radius_text

__all__ = ["Cells", "Drawing", "drawing", "html", "plot", "summary_table", "table_html"]

_SHOWN = 10
"""Number of table rows in a notebook."""
_BANDS = 8


@dataclass(frozen=True)
class Cells:
    """Cells of a small table, as text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Drawing:
    """Drawing of a value; the first figure is the main one."""

    sentence: str
    figures: tuple[Figure, ...]
    table: Cells | None = None
    text: str = ""
    """Plain text at the end, with its own lines."""


def html(value: Any) -> str:
    """Return a value as static HTML: a sentence, inline SVG and a small table.

    Everything is escaped, and nothing runs or loads.
    """
    shown = drawing(value)
    sentence = element("p", Html("<br>").join(shown.sentence.splitlines())) if shown.sentence else ""
    pictures = element("div", Html(" ").join(map(draw, shown.figures)))
    table = "" if shown.table is None else table_html(shown.table)
    text = element("pre", shown.text) if shown.text else ""
    return str(Html('<div class="sugenet">{}{}{}{}</div>').format(sentence, pictures, table, text))


def table_html(table: Cells) -> Html:
    """Return a table as HTML; numeric columns are marked."""
    columns = [[row[column] for row in table.rows] for column in range(len(table.head))]
    marks = ["number" if any(cells) and all(map(_is_number, cells)) else None for cells in columns]
    head = (
        element("th", word, scope="col", class_=mark) for word, mark in zip(table.head, marks, strict=True)
    )
    rows = (
        element("tr", *(element("td", cell, class_=mark) for cell, mark in zip(row, marks, strict=True)))
        for row in table.rows
    )
    return element("table", element("thead", element("tr", *head)), element("tbody", "", *rows))


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, with its unit; an empty cell counts as one."""
    return all(c in "0123456789.,-" for c in cell.removesuffix(" %"))


def plot(value: Any, ax: Any = None) -> Any:
    """Draw the main figure of a value with matplotlib; return the axes."""
    return plot_figure(drawing(value).figures[0], ax)


@singledispatch
def drawing(value: Any) -> Drawing:
    """Return the drawing of a value, by type."""
    raise SugenetError(
        f"there is no drawing of {type(value).__name__}. Give an answer, a trace, a chain, "
        f"a summary, a network or a capacity."
    )


def _more(rows: Sequence[tuple[str, ...]], width: int) -> tuple[tuple[str, ...], ...]:
    if len(rows) <= _SHOWN:
        return tuple(rows)
    return (*rows[:_SHOWN], (f"... and {len(rows) - _SHOWN:,} more", *[""] * (width - 1)))


@drawing.register(
    Meters
    | Race
    | Pixels
    | Heat
    | Board
    | Weights
    | Strip
    | Bars
    | Histogram
    | Cactus
    | Band
    | Lattice
    | Focals
    | Swarm
)
def _(figure: Figure) -> Drawing:
    return Drawing("", (figure,))


# -- can it fail ---------------------------------------------------------------------------------------------


def _bands(network: Network, question: Robust) -> tuple[Meters, ...]:
    if isinstance(question.region, Box) or not network.layers:
        return ()
    try:
        return (match_meters(network, question.sample, region=question.region, limit=_BANDS),)
    except (NetworkError, TooLargeError):  # too large: the figure is left out, the sentence is complete
        return ()


def _limit_text(name: str, limit: Any) -> str:
    if not isinstance(limit, tuple):
        values = limit if isinstance(limit, frozenset) else (limit,)
        return f"{name} = {' or '.join(sorted(map(number_text, values)))}"
    return f"{name} is anything" if limit == (None, None) else limit_text(name, limit)


def _limits(network: Network, question: Question) -> Strip:
    """Return the limits and the features of a question without a sample."""
    names = network.encoder.names
    rows, rest = [], "all other features are free"
    match question:
        case Monotone():
            phrase, mark = ("raised", "up") if question.rising else ("lowered", "down")
            rows = [StripRow(names[feature_index(network, question.feature)], "", phrase, mark)]
        case Fair():
            rows = [
                StripRow(names[f], "", "takes any two values", "other") for f in question.features(network)
            ]
        case Query():
            rest = "all inputs of the query's boxes"
    if not isinstance(question, Query | Robust):
        limits = question.box.placed(network).items()
        rows += [StripRow(names[f], "", _limit_text(names[f], limit), "kept") for f, limit in limits]
    return Strip("what it is about", tuple(rows[:ROWS]), max(0, len(rows) - ROWS), rest)


def _outcome(answer: Proved | Refuted | Undecided) -> Cells:
    shown = "the input above, replayed" if isinstance(answer, Refuted) else answer.proof_kind or "none"
    row = (answer.outcome, answer.settled_by or "nothing so far", shown)
    return Cells(("outcome", "by", "certificate"), (row,))


@drawing.register
def _(answer: Proved | Undecided) -> Drawing:
    network, question = answer.network, answer.question
    figures: tuple[Figure, ...]
    if isinstance(question, Robust):
        figures = sample_figure(network, question.sample), *_bands(network, question)
    else:
        figures = (_limits(network, question),)
    return Drawing(str(answer), figures, _outcome(answer))


@drawing.register
def _(answer: Refuted) -> Drawing:
    network, question = answer.network, answer.question
    table = _outcome(answer)
    labels = " and ".join(answer.labels)
    if isinstance(question, Robust):
        sample = question.values(network)
        label = network.trace(sample).label
        changed = changes_figure(network, sample, answer.example, f"{label} becomes {labels}")
        return Drawing(str(answer), (changed, *_before(network, sample)), table)
    if answer.is_pair:
        one, other = answer.example
        return Drawing(
            str(answer),
            (changes_figure(network, one, other, f"{answer.labels[0]} becomes {answer.labels[1]}"),),
            table,
        )
    return Drawing(str(answer), (_input(network, answer.example, f"class {labels}"),), table)


def _before(network: Network, sample: Any) -> tuple[Figure, ...]:
    """Return the sample next to its change, if it is an image; a table already shows both."""
    first = sample_figure(network, sample, "before")
    return (first,) if isinstance(first, Pixels) else ()


def _input(network: Network, row: Sequence[Any], title: str) -> Figure:
    """Return an input; as bare numbers if they lie between the integers that the network reads."""
    try:
        return sample_figure(network, row, title)
    except SugenetError:
        rows = [
            StripRow(name, number_text(value), "")
            for name, value in zip(network.encoder.names, row, strict=True)
        ]
        return Strip(title, tuple(rows[:ROWS]), max(0, len(rows) - ROWS))


# -- what would change it ------------------------------------------------------------------------------------


@drawing.register
def _(answer: Counterfactual) -> Drawing:
    network = answer.network
    before, after = network.classes[answer.prop.label], answer.label
    main = changes_figure(network, answer.sample, answer.example, f"{before} becomes {after}")
    others = tuple(
        changes_figure(
            network,
            one.sample,
            one.example,
            f"or {one.label}, with {show_cost(one.metric, one.cost)}",
        )
        for one in answer.others[:3]
    )
    rows = [
        (network.encoder.names[feature], *change_text(network, feature, old, new))
        for feature, (old, new) in enumerate(zip(answer.sample, answer.example, strict=True))
        if old != new
    ]
    return Drawing(
        str(answer),
        (main, *_before(network, answer.sample), *others),
        Cells(("feature", "now", "would be"), _more(rows, 3)),
    )


@drawing.register(NoCounterfactual)
@drawing.register(OpenCounterfactual)
def _(answer: NoCounterfactual | OpenCounterfactual) -> Drawing:
    network, sample = answer.network, answer.sample
    movable = set(answer.question.movable(network))
    figures: tuple[Figure, ...] = (sample_figure(network, sample),)
    if len(movable) < len(sample):
        fixed = [feature for feature in range(len(sample)) if feature not in movable]
        figures = (kept_figure(network, sample, fixed, "features that had to stay"),)
    return Drawing(str(answer), figures)


# -- why -----------------------------------------------------------------------------------------------------


@drawing.register
def _(answer: Reason) -> Drawing:
    count = len(answer.features)
    if not count:
        title = f"no feature is needed: {answer.status}"
    elif answer.status == "unknown":
        title = f"{count} {plural(count, 'feature')}, not proved to suffice"
    else:
        title = f"{count} {plural(count, 'feature')} that suffice{'s' if count == 1 else ''}: {answer.status}"
    return Drawing(str(answer), (_reason_figure(answer, title),), _conditions([answer]))


def _reason_figure(reason: Reason, title: str) -> Pixels | Strip:
    """Return the sample with the features of a reason; an unproved one is marked as such."""
    figure = kept_figure(reason.network, reason.sample, reason.features, title)
    if reason.status != "unknown":
        return figure
    return replace(figure, caption="framed: may be needed; nothing was proved in the time")


@drawing.register
def _(answer: Reasons) -> Drawing:
    network = answer.network
    label = network.classes[answer.question.label_goal(network).label]
    where = answer.region
    if not answer.reasons:
        return Drawing(str(answer), (sample_figure(network, answer.sample),))
    first = answer.reasons[0]
    sentence = str(answer).splitlines()[0]
    figures: list[Figure] = [_reason_figure(first, f"why {label}: {where}")]
    if len(answer.reasons) > 1:
        kept = "all minimal reasons" if answer.all_reasons else "reasons found so far"
        sentence += (
            f"\n"
            f"{len(answer.reasons):,} {kept}; no reason has fewer than {answer.lower} "
            f"{plural(answer.lower, 'feature')} (proved)"
        )
        figures.append(
            heat_map(network, answer.attribution, "how often each feature is in a reason", answer.all_reasons)
        )
    return Drawing(sentence, tuple(figures), _conditions(answer.reasons))


def _conditions(reasons: Sequence[Reason]) -> Cells:
    rows = [(str(len(reason.features)), reason.status, short(str(reason), 400)) for reason in reasons]
    return Cells(("features", "status", "reason"), _more(rows, 3))


@drawing.register
def _(answer: Chain) -> Drawing:
    network, last = answer.network, len(answer.network.layers)
    label, figures = answer.label, []
    links = [answer.links[last, key_of(literal)] for literal in answer.decisive] if answer.links else []
    if links:
        seen = network.trace(list(answer.sample)).layers[last - 1]
        neurons = list(dict.fromkeys(link.neuron for link in links))
        meters, left = tuple(meter_of(seen, j - 1) for j in neurons[:ROWS]), max(0, len(neurons) - ROWS)
        figures.append(Meters(f"neurons of layer {last} that decide {label}", meters, left))
    below = len(answer.features)
    bottom = kept_figure(
        network,
        answer.sample,
        answer.features,
        f"{below} {plural(below, 'feature')} at the bottom of the chain",
    )
    count = len(answer.decisive)
    what = f"{plural(count, 'neuron')} of the last layer" if links else plural(count, "input")
    if links and links[0].wanted is not None:
        what = f"{plural(count, 'condition')} on the last layer"
    sentence = (
        f"{label}, because {count} {what} suffice{'s' if count == 1 else ''}"
        if count
        else f"{label}, whatever the input"
    )
    return Drawing(sentence, (*figures, bottom), text=answer.text(limit=4))


# -- how many ------------------------------------------------------------------------------------------------


def _share(part: int, total: int) -> Fraction:
    return Fraction(part, total) if total else Fraction(0)


def _class_bars(title: str, axis: str, bars: list[tuple[int, Bar]]) -> Bars:
    ordered = [bar for _, bar in sorted(bars, key=lambda pair: (-pair[1].value, pair[0]))]
    return Bars(title, axis, tuple(ordered[:ROWS]), Fraction(1), max(0, len(ordered) - ROWS), percent=True)


@drawing.register
def _(answer: Counted) -> Drawing:
    names, total = answer.network.classes, answer.total
    bars = [
        (k, Bar(names[k], _share(count, total), f"{count:,}", strong=k == answer.index))
        for k, count in enumerate(answer.counts)
        if count
    ]
    axis = f"share of {total:,} inputs, counted exactly by {METHODS[answer.method]}"
    return Drawing(
        str(answer).splitlines()[0], (_class_bars(f"inputs of each class: {answer.region}", axis, bars),)
    )


@drawing.register
def _(answer: CountOpen) -> Drawing:
    names, total = answer.network.classes, answer.total
    bars = [
        (k, Bar(names[k], _share(low, total), f"at least {low:,}", _share(low, total), _share(high, total)))
        for k, (low, high) in enumerate(zip(answer.lower, answer.upper, strict=True))
    ]
    qualifier = "at most " if answer.network.domain.laws else ""
    axis = f"share of {qualifier}{total:,} inputs; the line ends where the true share may end"
    return Drawing(
        str(answer).splitlines()[0], (_class_bars(f"inputs of each class: {answer.region}", axis, bars),)
    )


@drawing.register
def _(answer: CountSampled) -> Drawing:
    names, samples = answer.network.classes, answer.samples
    bars = [
        (k, Bar(names[k], _share(hits, samples), f"{low:.2%} to {high:.2%}", Fraction(low), Fraction(high)))
        for k, (hits, (low, high)) in enumerate(zip(answer.hits, answer.intervals, strict=True))
        if hits
    ]
    axis = (
        f"estimated share, from {samples:,} inputs drawn at random; "
        f"the line is the interval at {answer.confidence:g}"
    )
    return Drawing(
        str(answer).splitlines()[0], (_class_bars(f"estimate, not a count: {answer.region}", axis, bars),)
    )


# -- rules ---------------------------------------------------------------------------------------------------


@drawing.register
def _(answer: CheckedRule) -> Drawing:
    figures, verdict = answer.figures, drawing(answer.verdict)
    if not figures.total:  # it is not known how many inputs obey the laws
        return Drawing(str(answer), verdict.figures, verdict.table)
    low, high = figures.precision_bounds if figures.covered else (Fraction(0), Fraction(0))
    label = answer.rule.label
    ends = (None, None) if figures.is_exact else (low, high)
    bars = (
        Bar("covered", figures.coverage, f"{float(figures.coverage):.3g} of all inputs"),
        Bar(
            f"{label} there",
            low,
            f"{'' if figures.is_exact else 'at least '}{float(low):.4g} of those",
            ends[0],
            ends[1],
            strong=True,
        ),
    )
    reach = Bars(
        "how far the rule reaches, how often it is right", "share of inputs", bars, Fraction(1), percent=True
    )
    return Drawing(str(answer), (*verdict.figures, reach), verdict.table)


@drawing.register
def _(answer: Rulebook) -> Drawing:
    names, shares = answer.network.classes, {label: answer.covered(label) for label in answer.classes}
    bars = [
        (k, Bar(names[k], share.value, f"{'' if share.exact else 'at least '}{float(share.value):.3g}"))
        for k, share in shares.items()
    ]
    title = "share of all inputs that a rule speaks of"
    rows = [
        (f"{float(rule.coverage):.3g}", short(str(rule), 400), "prime" if rule.prime else "may be widened")
        for rule in answer.rules
    ]
    table = Cells(("coverage", "rule", "proved, and"), _more(rows, 3))
    return Drawing(
        answer.text().splitlines()[0],
        (_class_bars(title, "each combination of feature states counts once", bars),),
        table,
    )


# -- several readings ----------------------------------------------------------------------------------------


@drawing.register
def _(answer: ComposedAnswer) -> Drawing:
    rows = _more(reading_rows(answer), 4)
    return Drawing(
        str(answer), composed_figures(answer), Cells(("reading", "value", "read as", "behind by"), rows)
    )


# -- capacities ----------------------------------------------------------------------------------------------


@drawing.register
def _(value: SetFunction) -> Drawing:
    return Drawing("", capacity_figure(value))


@drawing.register
def _(answer: VersionSpace | CapacityFit) -> Drawing:
    upper = None if answer.envelopes is None else answer.upper
    rules = None if upper is None else _rule_cells(answer.rules)
    return Drawing(str(answer), capacity_figure(answer.lower, upper), rules)


def _rule_cells(rules: RuleSet) -> Cells:
    return Cells(("rules of all of them",), _more([(short(str(rule), 400),) for rule in rules.rules], 1))


@drawing.register
def _(answer: Conflict) -> Drawing:
    ratings, samples = answer.ratings, answer.ratings.samples
    one, *rest = answer.pairs[0] if answer.pairs else answer.alone[:1]
    title = f"{ratings.label(one)}, rated {rating_text(ratings.value(samples.ratings[one]))}"
    if rest:
        title += f"; {ratings.label(rest[0])}, rated {rating_text(ratings.value(samples.ratings[rest[0]]))}"
    rows = []
    for index, name in enumerate(ratings.criteria):
        values = [rating_text(ratings.value(samples.rows[k][index])) for k in (one, *rest)]
        kind = "kept" if samples.rows[one][index] >= samples.ratings[one] else "plain"
        rows.append(StripRow(str(name), values[0], values[-1] if rest else "", kind))
    caption = f"marked: where {ratings.label(one)} reaches its rating" + (
        f"; right: {ratings.label(rest[0])}" if rest else ""
    )
    strip = Strip(title, tuple(rows[:ROWS]), max(0, len(rows) - ROWS), caption)
    first, last = str(answer).splitlines()[0], str(answer).splitlines()[-1]
    sentences = answer.sentences(_SHOWN)
    left = len(answer.alone) + len(answer.pairs) - len(sentences)
    cells = [*sentences, *([f"... and {left:,} more"] if left else [])]
    return Drawing(f"{first}\n{last}", (strip,), Cells(("conflicts",), tuple((cell,) for cell in cells)))


@drawing.register
def _(answer: InducedCapacity) -> Drawing:
    return Drawing(str(answer), capacity_figure(answer.capacity))


@drawing.register
def _(model: LearnedModel) -> Drawing:
    rules = Cells(("rules",), _more([(short(str(rule), 400),) for rule in model.rules], 1))
    if model.card is None:
        shown_terms = model.capacities if model.above is None else ()  # else: many minima
        return Drawing(str(model), tuple(f for mu in shown_terms for f in capacity_figure(mu)), rules)
    max_points = [points[-1] for points in model.card.points]
    bars = tuple(
        Bar(chain.name, Fraction(count), f"{count:,}")
        for chain, count in zip(model.chains, max_points, strict=True)
    )
    top = Fraction(max([*max_points, 1]))
    shown = Bars("points that a feature can give", "points", bars[:ROWS], top, max(0, len(bars) - ROWS))
    return Drawing(str(model), (shown,), rules)


# -- networks ------------------------------------------------------------------------------------------------


@drawing.register
def _(value: Trace) -> Drawing:
    rows = []
    for number, seen in enumerate(value.layers, start=1):
        near = int((abs(2 * seen.slack + 1) <= 5).sum())
        rows.append((str(number), f"{int(seen.active.sum()):,}", f"{len(seen.active):,}", f"{near:,}"))
    levels = any(seen.levels is not None for seen in value.layers)
    active, turn = ("above level 0", "a step") if levels else ("active", "turning")
    head = ("layer", active, "neurons", f"within 3 matches of {turn}")
    table = Cells(head, tuple(rows)) if rows else None
    figures: list[Figure] = [votes_of(value)]
    figures += [meters_of(value, number, _BANDS) for number in range(1, 1 + min(2, len(value.layers)))]
    votes, size = value.matches[value.index], value.network.head.sizes[value.index]
    return Drawing(f"class {value.label}, with {votes} of {size} votes", tuple(figures), table)


def summary_table(value: Summary) -> Cells:
    """Return a table with one row per layer."""
    wide = any(row.wide for row in value.layers)
    head = (
        "layer",
        "input bits",
        "outputs",
        "1-bit weights",
        *(("wide weights",) if wide else ()),
        "zero weights",
        "32-bit numbers",
        "kB",
        "constant",
        "flipped",
        "ties",
    )
    rows = []
    for row in value.layers:
        counts = ("-" if count is None else f"{count:,}" for count in (row.constant, row.flipped, row.ties))
        weights = (row.one_bit, *((row.wide,) if wide else ()), row.zeros)
        numbers = (f"{n:,}" for n in (row.input_bits, row.outputs, *weights, row.thresholds))
        rows.append((row.name, *numbers, f"{row.bytes / 1000:.2f}", *counts))
    return Cells(head, tuple(rows))


@drawing.register
def _(value: Summary) -> Drawing:
    bars = tuple(Bar(row.name, Fraction(row.bytes), f"{row.bytes / 1000:.2f} kB") for row in value.layers)
    top = max([bar.value for bar in bars] + [Fraction(1)])
    shown = Bars("memory of each layer, packed", "bytes", bars[:ROWS], top, max(0, len(bars) - ROWS))
    return Drawing(value.title, (shown,), summary_table(value))


@drawing.register
def _(value: Network) -> Drawing:
    return drawing(summary(value))


@drawing.register
def _(answer: Predicted) -> Drawing:
    network = answer.network
    return Drawing(
        str(answer), (sample_figure(network, answer.sample), votes_of(network.trace(answer.sample)))
    )


# -- whole networks ------------------------------------------------------------------------------------------


@drawing.register
def _(value: Prototypes) -> Drawing:
    shown = [one for one in value.classes if one.template is not None]
    figures = tuple(
        template_figure(value.network, one.template or (), f"votes times templates of {one.label}")
        for one in shown
    )
    return Drawing(str(value), figures)


@drawing.register
def _(value: Atlas) -> Drawing:
    ranked = sorted(value.neurons, key=lambda one: (-(one.decides or 0), one.layer, one.number))
    figures = tuple(
        template_figure(value.network, one.template, f"{one.title}: {one.name}")
        for one in ranked[:ROWS]
        if one.template is not None
    )
    rows = [
        (one.title, one.name, "" if one.decides is None else percent_text(one.decides), "; ".join(one.marks))
        for one in ranked
    ]
    table = Cells(("neuron", "name", "decides", "marks"), _more(rows, 4))
    return Drawing(str(value).splitlines()[0], figures, table)


@drawing.register
def _(value: Fragility) -> Drawing:
    return Drawing(str(value), (fragile_figure(value), radius_figure(value)))


@drawing.register
def _(value: Influence) -> Drawing:
    return Drawing(str(value), (influence_figure(value),) if value.samples else ())


@drawing.register
def _(value: Covering) -> Drawing:
    rows = [
        (f"{len(one.samples):,}", str(one), one.least_text) for one in (value.rules[k] for k in value.chosen)
    ]
    table = Cells(("samples", "proved rule", "least margin"), _more(rows, 3))
    return Drawing(str(value).splitlines()[0], (covering_figure(value),), table)


@drawing.register
def _(value: Overview) -> Drawing:
    frail = () if value.fragility is None else drawing(value.fragility).figures
    parts = (*frail, *drawing(value.prototypes).figures)
    return Drawing(f"{value.network}, seen on {value.scope_text}", parts, drawing(value.atlas).table)


# -- whole data sets -----------------------------------------------------------------------------------------


@drawing.register
def _(value: SweepTally) -> Drawing:
    rows = [
        (word, f"{count:,}", percent_text(_share(count, value.samples)))
        for word, count in value.outcomes.items()
    ]
    bars = tuple(
        Bar(one.words, Fraction(one.answers), f"{one.answers:,}", strong=True) for one in value.times
    )
    max_answers = max([one.answers for one in value.times] + [2])
    title = "how long the answers took"
    if value.largest is not None:
        title += f": {time_text(value.seconds)} in all, {time_text(value.largest)} at most"
    shown = Bars(title, "answers", bars, Fraction(max_answers + max_answers % 2))
    lines = [value.asked, *value.accuracy_lines()]
    return Drawing(
        "\n".join(filter(None, lines)), (shown,), Cells(("outcome", "samples", "share"), tuple(rows))
    )


@drawing.register
def _(value: AccuracyCurve) -> Drawing:
    ends = [(Fraction(0), value.accuracy)] if value.accuracy is not None else []
    if any(point.radius == 0 for point in value.points):
        ends = []
    ends += [(point.radius, point.accuracy) for point in value.points]
    points = tuple(
        BandPoint(float(radius), at.lower, at.upper, f"R = {radius_text(radius)}", str(at))
        for radius, at in ends
    )
    band = Band(f"{value.what} of {value.samples:,} samples", f"R: {value.asked}", value.what, points)
    return Drawing(str(value).splitlines()[0], (band,), Cells(*value.table))


@drawing.register
def _(value: Results) -> Drawing:
    return drawing(value.tally())
