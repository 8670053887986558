"""Report on a whole network: one HTML file that loads nothing, and the figures of each part.

One small script sorts its tables; they are complete without it.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sugenet.glance import Atlas, Fragility, NeuronProfile, Overview, Prototype, Radius
from sugenet.glance.influence import interval_text
from sugenet.nn.images import image_of
from sugenet.reason.phrases import percent_text
from sugenet.reprs import roughly
from sugenet.show.figures import blues, percent, plural
from sugenet.show.markup import Html, element, short
from sugenet.show.overviews import fragile_figure, in_rows, influence_figure, radius_figure
from sugenet.show.pictures import grey_rows, weight_rows
from sugenet.show.prepare import changes_figure
from sugenet.show.report_pieces import (
    WHOLE,
    canonical_text,
    certificate_html,
    document,
    figure_html,
    figures_html,
    paragraph,
    section,
    status_html,
)
from sugenet.show.reports import GLOSSARY
from sugenet.show.svg_writer import thumbnail
from sugenet.show.sweep_report import SORT

__all__ = ["report_overview"]

_NEURONS = 120
"""Maximum number of neurons in the table."""
_FEATURES = 400
"""Maximum number of features in a table."""
_RULES = 12
"""Number of rules that are listed."""
_LISTED = 5
"""Number of weights, pairs and samples that are listed."""
_WORDS = 3
"""Maximum number of classes whose shares are written."""
_BYTES = 2_000_000
"""Maximum number of characters of all certificates together."""
_GLOSSARY = (
    (
        "votes times templates",
        "For each feature, the product of the weights along every path to the class, added up, compared with "
        "the other classes. A picture of the weights: thresholds do not enter it, and it proves nothing.",
    ),
    (
        "margin",
        "The score of a class less the best other score. The largest margin is over all inputs, whether they "
        "look like data or not.",
    ),
    (
        "on",
        "How often a neuron is on in the samples of a class; for several levels and for channels, the mean "
        "output as a share of the largest.",
    ),
    (
        "name",
        "A neuron is on for the classes in which it is on more than half of the time, or off for the others "
        "if these are fewer. Neurons with the same or the opposite classes are one family.",
    ),
    ("decides", "The share of samples whose class changes if this neuron alone is fixed off, or fixed on."),
    (
        "power",
        "The Banzhaf value of the neuron in the vote of the last layer: how often it alone decides between "
        "two classes, if all patterns of neurons are equally likely; the mean over all pairs of classes.",
    ),
    (
        "decides nothing",
        "Fixed off, alone, the neuron changes the class of no input at all: proved. Several such neurons may "
        "matter together.",
    ),
    (
        "turns alone",
        "Some other value of this feature gives the sample another class, while all other features stay. All "
        "values were tried: the shares are exact, about these samples.",
    ),
    (
        "least margin",
        "No input that a rule covers has a smaller margin: proved. It is the necessity of the rule.",
    ),
    (
        "radius",
        "The smallest number of features whose change gives a sample another class, exact by a proof.",
    ),
)


# -- the page ------------------------------------------------------------------------------------------------


def report_overview(seen: Overview, *, title: str = "model") -> str:
    """Write an overview as one HTML file.

    Parameters
    ----------
    seen
        The overview.
    title
        Name of the model, for the heading.

    Examples
    --------
    >>> from sugenet.glance import overview
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> page = report_overview(overview(net, [[1, 1, 1], [-1, -1, -1]]), title="example")
    >>> "2 of 2 samples turn if one feature changes" in page
    True
    """
    page = _Page(seen, str(title))
    parts = [
        page.head(),
        page.summary(),
        page.classes(),
        page.fragile(),
        page.influence(),
        page.rules(),
        page.neurons(),
    ]
    body = Html().join([*parts, page.claims(), page.words(), page.foot()])
    return str(document(f"{title}: the network at a glance", body, SORT))


class _Page:
    """Sections of one report."""

    def __init__(self, seen: Overview, title: str) -> None:
        self.seen, self.network, self.title = seen, seen.network, title
        self.names = self.network.encoder.names
        self.row_of = dict(zip(seen.numbers, seen.X, strict=True))
        self.noun = "pixel" if image_of(self.network) is not None else "feature"

    def head(self) -> Html:
        from sugenet import __version__

        return Html(
            "<header>\n<h1>{title}: the network at a glance</h1>\n<p>{network}</p>\n"
            '<p>fingerprint <span class="mono">{fingerprint}</span></p>\n'
            "<p>{samples} · sugenet {version} · seed {seed}</p>\n</header>\n"
        ).format(
            title=self.title,
            network=short(str(self.network), 160),
            fingerprint=self.network.fingerprint,
            samples=self.seen.scope_text,
            version=__version__,
            seed=self.seen.seed,
        )

    def summary(self) -> Html:
        """Return the most important facts, in sentences."""
        seen, facts = self.seen, []
        frail = seen.fragility
        body = []
        if frail is not None and len(frail.turned):
            n, alone = len(frail.turned), int(frail.turned.any(axis=1).sum())
            body.append(
                paragraph(f"{alone:,} of {n:,} samples turn if one {self.noun} changes.", kind="verdict")
            )
        if seen.kind == "true":
            right = int((self.network.predict(seen.X) == np.array(seen.labels)).sum())
            facts.append(f"{right:,} of {len(seen.labels):,} samples get their true class.")
        needless = [one for one in seen.atlas.neurons if "decides nothing: proved" in one.marks]
        if needless:
            count = len(needless)
            facts.append(
                f"{count:,} of {len(seen.atlas.neurons):,} neurons decide nothing, each alone, for any input."
            )
        if frail is not None and frail.radii:
            exact = sorted(one.lower for one in frail.radii if one.is_exact and not one.never)
            if exact and len(exact) == len(frail.radii):
                middle = exact[(len(exact) - 1) // 2]
                facts.append(
                    f"Half of the samples turn if up to {middle} {plural(middle, self.noun)} "
                    f"{'changes' if middle == 1 else 'change'}; the most robust needs {exact[-1]}."
                )
        body += [paragraph(fact, kind="lead") for fact in facts]
        if self.network.domain:
            body.append(
                paragraph("All claims are about inputs that can occur, as the model says.", kind="note")
            )
        if seen.missing:
            items = element("ul", *(element("li", reason) for reason in seen.missing))
            body.append(paragraph("Not shown:") + items)
        return Html('<section id="summary">\n{}\n</section>\n').format(Html("\n").join(body))

    # -- classes ---------------------------------------------------------------------------------------------

    def classes(self) -> Html:
        image = image_of(self.network) is not None
        head = ["class", "votes times templates", "closest sample", *["strongest input"] * image]
        head.append("largest margin")
        rows = [self._class_row(one, image=image) for one in self.seen.prototypes.classes]
        note = (
            "Blue squares: the class gains if the pixel is dark; small red squares: it loses. "
            if image
            else "The features with the largest weights; a minus sign speaks against the class. "
        )
        note += "The strongest input has the largest margin that was found." if image else ""
        return section("classes", "Classes", paragraph(note, kind="note") + _table(head, rows, "classes"))

    def _class_row(self, one: Prototype, *, image: bool) -> Html:
        template: object = "not shown"
        if one.template is not None:
            rows = weight_rows(self.network, one.template)
            template = (
                self._weights_text(one.template)
                if rows is None
                else thumbnail(rows, f"votes times templates of {one.label}", signed=True)
            )
        closest = Html()
        if one.closest is not None:
            words = f"sample {one.closest}"
            closest = self._small(self.row_of[one.closest], words) + words
        strongest = "" if one.witness is None else self._small(one.witness, f"strongest input of {one.label}")
        if one.best is None:
            margin = f"at most {roughly(one.bound, up=True)}"
        elif one.is_exact:
            margin = roughly(one.best)
        else:
            margin = f"{roughly(one.best)}; at most {roughly(one.bound, up=True)}"
        mark = status_html("proved") if one.claim is not None else ""
        cells = [one.label, template, closest, *[strongest] * image, Html("{} {}").format(margin, mark)]
        return element("tr", *(element("td", cell) for cell in cells))

    def _small(self, values: Any, title: str) -> Html:
        """Return a sample as a small image, if it is one."""
        rows = grey_rows(self.network, values)
        return Html() if rows is None else thumbnail(rows, title) + Html("<br>")

    def _weights_text(self, weights: Sequence[int]) -> Html:
        order = sorted(range(len(weights)), key=lambda f: (-abs(weights[f]), f))
        kept = [f for f in order[:_LISTED] if weights[f]]
        left = sum(weight != 0 for weight in weights) - len(kept)
        return _lines([f"{weights[f]:+d} {self.names[f]}" for f in kept], left)

    # -- neurons ---------------------------------------------------------------------------------------------

    def neurons(self) -> Html:
        atlas = self.seen.atlas
        if not atlas.neurons:
            return section("neurons", "Neurons", paragraph("The network has no hidden neurons."))
        of = {"true": "true classes", "predicted": "predicted classes", "random": "predicted classes"}
        body = [
            paragraph(
                f"How often each neuron is on, by {of[self.seen.kind]}, on {self.seen.samples_text}. "
                "A click on the head of a column sorts by it.",
                kind="note",
            ),
            self._families(atlas),
        ]
        for layer in range(1, len(self.network.layers) + 1):
            here = atlas.of(layer)
            tested = atlas.tested.get(layer, 0)
            if len(self.network.layers) > 1:
                body.append(element("h3", f"Layer {layer}"))
            if tested < atlas.samples:
                body.append(paragraph(f"“decides” is about the first {tested:,} samples.", kind="note"))
            ranked = sorted(here, key=lambda one: (-(one.decides or 0), one.number))
            head = ["neuron", "counts", "tau", "name", "on per class", "decides", "power", "marks"]
            rows = [self._neuron_row(one) for one in ranked[:_NEURONS]]
            body.append(_table(head, rows, f"neurons of layer {layer}", sortable=True))
            if len(ranked) > _NEURONS:
                body.append(paragraph(f"... and {len(ranked) - _NEURONS:,} more neurons that decide less"))
        return section("neurons", "Neurons", Html("\n").join(body))

    def _families(self, atlas: Atlas) -> Html:
        several = [(name, members) for name, members in atlas.families.items() if len(members) > 1]
        if not several:
            return paragraph("Every neuron is on for other classes than all others.", kind="note")
        is_deep = len(self.network.layers) > 1
        items = [
            Html("<li><b>{}</b>: {}</li>").format(name, _numbers(members, layers=is_deep))
            for name, members in several[:12]
        ]
        left = len(several) - 12
        more = paragraph(f"... and {left:,} more families", kind="note") if left > 0 else ""
        head = Html("<summary>{} families of neurons with the same or the opposite classes</summary>")
        listed = element("ul", *items)
        return element("details", head.format(f"{len(several):,}"), listed, more)

    def _neuron_row(self, one: NeuronProfile) -> Html:
        if one.template is not None and (rows := weight_rows(self.network, one.template)) is not None:
            counts: object = thumbnail(rows, f"weights of {one.title}", 64, signed=True)
        elif one.kernel is not None:
            rows = one.kernel.sum(axis=0).tolist()
            counts = thumbnail(rows, f"kernel of {one.title}, summed over channels", 48, signed=True)
        else:
            counts = _lines(one.inputs, one.more)
        shares = [share for share in one.on if share is not None]
        spread = float(max(shares) - min(shares)) if shares else 0.0
        tau = ", ".join(map(str, one.thresholds[:4])) + (", ..." if len(one.thresholds) > 4 else "")
        tau = f"{tau} of {one.size}" if tau else ""
        decides = "" if one.decides is None else percent_text(one.decides)
        return element(
            "tr",
            element("td", one.number, class_="number"),
            element("td", counts),
            element("td", tau, data_key=one.thresholds[0] if one.thresholds else ""),
            element("td", one.name, data_key=one.family, class_="name"),
            element("td", self._on(one.on), data_key=f"{spread:.6f}"),
            element(
                "td",
                decides,
                class_="number",
                data_key="" if one.decides is None else f"{float(one.decides):.9f}",
            ),
            element(
                "td",
                "" if one.power is None else percent_text(one.power[1]),
                class_="number",
                data_key="" if one.power is None else f"{float(one.power[1]):.9f}",
            ),
            element("td", _lines(one.marks, 0)),
        )

    def _on(self, shares: Sequence[Fraction | None]) -> Html:
        """Return small bars, one per class, with the classes below them if there is room."""
        if len(shares) <= _WORDS and not all(len(name) <= 2 for name in self.network.classes):
            pairs = zip(self.network.classes, shares, strict=True)
            return _lines(
                [f"{name} {'-' if share is None else percent(share) + ' %'}" for name, share in pairs], 0
            )
        wide, tall = max(9, min(16, 160 // max(1, len(shares)))), 30
        labels = all(len(name) <= 2 for name in self.network.classes) and len(shares) <= 12
        parts, words = [], []
        for k, (name, share) in enumerate(zip(self.network.classes, shares, strict=True)):
            part = float(share or 0)
            words.append(f"{name}: {'-' if share is None else percent(share) + ' %'}")
            look = {"x": k * wide + 1, "width": wide - 2}
            parts.append(element("rect", y=1, height=tall, fill="#eef1f4", **look))
            parts.append(
                element("rect", y=1 + tall * (1 - part), height=tall * part, fill=blues(0.75), **look)
            )
            if labels:
                middle = k * wide + wide / 2
                text = element("text", name, x=middle, y=tall + 12, font_size=10, text_anchor="middle")
                parts.append(text)
        line = element(
            "line", x1=0, x2=len(shares) * wide, y1=1 + tall / 2, y2=1 + tall / 2, stroke="#57606a"
        )
        width, height = len(shares) * wide, tall + (15 if labels else 2)
        return element(
            "svg",
            element("title", "; ".join(words)),
            *parts,
            line,
            xmlns="http://www.w3.org/2000/svg",
            role="img",
            class_="thumb",
            width=width,
            height=height,
            viewBox=f"0 0 {width} {height}",
            font_family="system-ui, sans-serif",
        )

    # -- rules -----------------------------------------------------------------------------------------------

    def rules(self) -> Html:
        seen, body = self.seen, []
        parts = (
            ("Over the neurons of the last layer", "+1: the neuron is on.", seen.neuron_rules),
            ("Over features", "", seen.feature_rules),
        )
        for title, note, value in parts:
            if value is None:
                continue
            body += [element("h3", title), paragraph(f"{str(value).splitlines()[0]}. {note}")]
            rows = [
                element(
                    "tr",
                    element("td", f"{len(one.samples):,}", class_="number"),
                    element("td", one),
                    element("td", one.least_text, class_="number"),
                )
                for one in (value.rules[k] for k in value.chosen[:_RULES])
            ]
            if rows:
                body.append(_table(["samples", "proved rule", "least margin"], rows, title))
            left = len(value.chosen) - len(rows)
            body.append(paragraph(f"... and {left:,} more rules") if left else Html())
            if value.uncovered:
                listed = _some(value.uncovered)
                body.append(paragraph(f"No rule covers {len(value.uncovered):,} samples: {listed}."))
        return section("rules", "Rules", Html("\n").join(body)) if body else Html()

    # -- fragility -------------------------------------------------------------------------------------------

    def fragile(self) -> Html:
        frail = self.seen.fragility
        if frail is None or not len(frail.turned):
            return Html()
        n = len(frail.turned)
        about = f"{n:,} samples" if n == frail.of else f"{n:,} of {frail.of:,} samples"
        body = [
            paragraph(
                f"Each {self.noun} alone was given every other value, in {about}. "
                "The shares are exact. Classes are the predicted ones.",
                kind="note",
            ),
            figures_html([figure_html(fragile_figure(frail)), figure_html(radius_figure(frail))]),
        ]
        body.append(self._by_class(frail))
        body.append(self._pairs(frail))
        body.append(self._samples("Closest to a change", frail.closest[:_LISTED]))
        body.append(self._samples("Most robust", frail.most_robust[:_LISTED]))
        return section("fragile", "Where it is fragile", Html("\n").join(body))

    def influence(self) -> Html:
        """Return the importance of groups of features, and how pairs of them interact."""
        value = self.seen.influence
        if value is None or not value.samples:
            return Html()
        n = len(value.samples)
        about = f"{n:,} samples" if n == value.of else f"{n:,} of {value.of:,} samples"
        known = (
            "All values are exact." if value.is_exact else "Ranges are proved bounds: some values are open."
        )
        note = paragraph(
            f"A set of groups is worth the share of {about} that a change of its {self.noun}s can turn. "
            f"{known}",
            kind="note",
        )
        ranked = sorted(value.importance, key=lambda one: (-one.shapley[0], one.groups))
        pairs = [one for one in value.interactions if one.shapley[0] > 0 or one.shapley[1] < 0]
        pairs = sorted(pairs, key=lambda one: -abs(one.shapley[0] + one.shapley[1]))[:_LISTED]
        body = [note, figures_html([figure_html(influence_figure(value))])]
        for head, rows in (("group", ranked), ("pair", pairs)):
            cells = [
                element(
                    "tr",
                    element("td", " and ".join(one.groups)),
                    element("td", interval_text(one.shapley), class_="number"),
                    element("td", interval_text(one.banzhaf), class_="number"),
                )
                for one in rows
            ]
            if cells:
                body.append(_table([head, "Shapley", "Banzhaf"], cells, f"importance of each {head}"))
        if pairs:
            words = (
                "Pairs: above 0, both turn samples together that neither turns alone; below 0, one replaces"
            )
            body.append(paragraph(f"{words} the other.", kind="note"))
        return section("importance", "Importance", Html("\n").join(body))

    def _by_class(self, frail: Fragility) -> Html:
        classes = [k for k in range(len(self.network.classes)) if k in set(frail.labels)]
        about = image_of(self.network)
        if about is not None and about["channels"] == 1:
            pictures = []
            for k in classes:
                shares = [frail.share(f, k) or Fraction(0) for f in range(len(self.names))]
                top = max(shares)
                name = self.network.classes[k]
                drawn = thumbnail(
                    in_rows([share / top if top else share for share in shares], about["columns"]),
                    f"pixels that turn {name} alone",
                    blue=True,
                )
                caption = element("figcaption", f"{name}: at most {percent_text(top)}")
                pictures.append(element("figure", drawn, caption))
            note = paragraph("By class; darkest: the largest share of that class.", kind="note")
            return note + figures_html(pictures, "tiny")
        order = sorted(range(len(self.names)), key=lambda f: (-int(frail.turned[:, f].sum()), f))
        head = ["feature", "all", *(self.network.classes[k] for k in classes)]
        rows = []
        for f in order[:_FEATURES]:
            known = [frail.share(f, k) or Fraction(0) for k in (None, *classes)]
            cells = [
                element("td", percent_text(share), class_="number", data_key=f"{float(share):.9f}")
                for share in known
            ]
            rows.append(element("tr", element("td", self.names[f]), *cells))
        left = len(order) - _FEATURES
        more = paragraph(f"... and {left:,} more features") if left > 0 else ""
        table = _table(head, rows, "samples that each feature turns alone", sortable=True)
        return element("details", element("summary", f"All {len(order):,} features, by class"), table, more)

    def _pairs(self, frail: Fragility) -> Html:
        pairs = frail.pairs[: 2 * _LISTED]
        if not pairs:
            return Html()
        names = self.names
        items = [
            element("li", f"{names[f]} and {names[g]}: {count:,} {plural(count, 'sample')}")
            for (f, g), count in pairs
        ]
        left = len(frail.pairs) - len(pairs)
        head = paragraph(
            f"Pairs that turn samples which no {self.noun} turns alone. One pair was found for each sample "
            "with radius 2; others may exist."
        )
        return head + element("ul", *items) + (paragraph(f"... and {left:,} more") if left else Html())

    def _samples(self, title: str, listed: Sequence[Radius]) -> Html:
        if not listed:
            return Html()
        figures = []
        for one in listed:
            before = self.row_of[one.sample]
            label = self.network.classes[one.label]
            words = f"sample {one.sample}, {label}: {one}"
            if one.after is not None:
                becomes = self.network.predict_one(list(one.after))
                words += f"; becomes {becomes}"
                drawn = changes_figure(self.network, before, one.after, words, limit=_LISTED)
                figures.append(figure_html(drawn))
            else:
                rows = grey_rows(self.network, before)
                small = Html() if rows is None else thumbnail(rows, words, 180)
                features = ", ".join(self.names[f] for f in one.features)
                words += f"; {features}" if features else ""
                figures.append(element("figure", small, element("figcaption", words)))
        return element("h3", title) + figures_html(figures, "small" if self.noun == "pixel" else "")

    # -- the end ---------------------------------------------------------------------------------------------

    def claims(self) -> Html:
        claims = self.seen.claims
        if not claims:
            return Html()
        items, left = [], _BYTES
        for claim in claims:
            text = canonical_text(claim.answer.certificate)
            limit = WHOLE if left > 0 else 0
            left -= len(text)
            what = (
                "" if claim.network.fingerprint == self.network.fingerprint else " (a variant of the network)"
            )
            too_long = "Too long to keep here; `overview` gives it again."
            items.append(certificate_html(text, f"{claim.words}{what}", too_long, most=limit))
        intro = paragraph(
            f"{len(claims):,} {plural(len(claims), 'claim')} about all inputs, each with a certificate. "
            "Those about margins are about the network with a shifted score; those about one neuron, about "
            "the network cut after it. Overview.check() checks them all.",
            kind="note",
        )
        listed = element("details", element("summary", "All claims"), *items)
        return section("certificates", "Proofs", intro + listed)

    def words(self) -> Html:
        shared = [pair for pair in GLOSSARY if pair[0] in ("proved", "feature", "votes")]
        items = (element("dt", word) + element("dd", text) for word, text in (*_GLOSSARY, *shared))
        return section("words", "What the words mean", element("dl", *items))

    def foot(self) -> Html:
        made = "Made by sugenet. This file holds everything it shows; it loads nothing."
        limits = "Shares are about the given samples. They do not say what happens with others."
        return Html("<footer><p>{}</p><p>{}</p></footer>\n").format(limits, made)


def _lines(lines: Iterable[str], left: int) -> Html:
    shown = [*lines, *([f"and {left:,} more"] if left > 0 else [])]
    return Html("<br>").join(shown)


def _numbers(members: Sequence[NeuronProfile], *, layers: bool) -> str:
    words = [f"{one.layer}.{one.number}" if layers else str(one.number) for one in members[:30]]
    return ", ".join(words) + (f" and {len(members) - 30:,} more" if len(members) > 30 else "")


def _some(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - 20:,} more" if len(numbers) > 20 else ""
    return ", ".join(map(str, numbers[:20])) + more


def _table(head: Sequence[str], rows: Sequence[Html], label: str, *, sortable: bool = False) -> Html:
    heads = element("thead", element("tr", *(element("th", word, scope="col") for word in head)))
    kind = "sortable" if sortable else None
    table = element("table", heads, element("tbody", "", *rows), class_=kind, aria_label=label)
    return element("div", table, class_="scroll tall" if sortable else "scroll")
