"""Report on a whole data set: outcomes, the curve of certified accuracy, times, and a sortable table of all
samples.

Selected samples have a section with their answer, its figure and its certificate.

The page is one file that loads nothing. One small script sorts the table; the table is complete without it.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from shlex import quote
from typing import Any

from sugenet.errors import QuestionError, SugenetError
from sugenet.reason.phrases import short_number
from sugenet.reason.questions import WhatIf
from sugenet.reason.rechecking import certificates_of
from sugenet.reprs import time_text
from sugenet.show.drawings import drawing, table_html
from sugenet.show.figures import Figure, Meters
from sugenet.show.markup import Html, element, short
from sugenet.show.prepare import sample_figure
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
from sugenet.sweeps import AccuracyCurve, Results, Row, SweepTally, curve_of
from sugenet.sweeps.samples import REFUSED

__all__ = ["SORT", "report_results"]

_SAMPLES = 300
"""Maximum number of samples with their own section."""
_ROWS = 20_000
"""Maximum number of samples in the table."""
_BYTES = 20_000_000
"""Maximum number of characters of all certificates together."""
_WORDS = ("proved", "refuted", "undecided", "limits")
_GLOSSARY = (
    (
        "certified accuracy",
        "The share of all samples whose class is right and proved to stay. At least: what is proved. At "
        "most: all that is not refuted, with what is undecided or missing counted in its favour.",
    ),
    (
        "not certified",
        "A solver said so, and there is nothing that could be checked: it counts as undecided.",
    ),
    ("missing", "A sample of the data set that has no answer yet."),
    ("refused", "A sample that the question makes no sense for, as of the class that it has already."),
)
_OUTCOMES = {
    "found": "A change of the class, which costs no less than the column at least says; or a reason.",
    "none": "Nothing that may change alters the class: proved.",
    "counted": "All inputs in question were counted, exactly.",
    "estimated": "Inputs were drawn at random: a share lies in its interval with the stated confidence.",
    "predicted": "The class that the network gives. Nothing is claimed about other inputs.",
}
"""Meaning of outcomes that are not in the glossary of all reports."""
SORT = Html("""
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const key = (row, k) => {
    const cell = row.cells[k], text = cell.dataset.key ?? cell.textContent.trim();
    return text === "" ? null : isNaN(text) ? text : Number(text);
  };
  const order = (a, b) => a < b ? -1 : a > b ? 1 : 0;
  const compare = (a, b) => order(typeof a, typeof b) || order(a, b);
  heads.forEach((head, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [key(row, k), row]);
      const known = rows.filter(([value]) => value !== null), rest = rows.filter(([value]) => value === null);
      known.sort(([a], [b]) => down ? compare(b, a) : compare(a, b));
      body.append(...known.concat(rest).map(([, row]) => row));
    });
  });
}
""")
"""Script that sorts by the clicked column: numbers before words, unknown values at the end."""


def report_results(
    results: Sequence[Results],
    names: Sequence[str] | None = None,
    *,
    curve: AccuracyCurve | None = None,
    samples: int = _SAMPLES,
    notify: Callable[[str], None] | None = None,
) -> str:
    """Write one HTML file about results: a sweep, or several that differ only in the radius.

    Parameters
    ----------
    results
        The sweeps.
    names
        Their names, also in the commands on the page.
    curve
        The curve (default: computed from the sweeps).
    samples
        Maximum number of samples with a section: undecided or wrong ones come first, then the slowest.
    notify
        Called with a sentence about the progress.

    Examples
    --------
    >>> from sugenet import Hamming, Robust, each, models, sweep
    >>> X, y = models.samples("digits")
    >>> found = sweep(models.digits(), X[:3], Robust(each, Hamming(2)), y=y[:3], jobs=1)
    >>> page = report_results([found])
    >>> "the class stays what it is, with up to 2 bits flipped" in page
    True
    """
    if not results:
        raise QuestionError("a report needs results. Give at least one.")
    called = list(names or (f"results {k}" for k in range(1, len(results) + 1)))
    if len(called) != len(results):
        raise QuestionError(f"there are {len(called)} names for {len(results)} results. Give one for each.")
    if curve is None and (len(results) > 1 or isinstance(results[0].question, WhatIf)):
        curve = curve_of(results)
    page = _SweepPage(list(results), called, curve, samples, notify)
    title = f"{', '.join(called)}: report on a data set"
    parts = [page.head(title), page.outcome(), page.table(), page.sections(), page.words(), page.foot()]
    return str(document(title, Html().join(parts), SORT))


class _SweepPage:
    """Sections of one report."""

    def __init__(
        self,
        results: list[Results],
        names: list[str],
        curve: AccuracyCurve | None,
        most: int,
        notify: Callable[[str], None] | None,
    ) -> None:
        self.results, self.names, self.curve, self.notify = results, names, curve, notify
        self.network, self.samples = results[0].network, results[0].samples
        self.tallies: list[SweepTally] = [result.tally() for result in results]
        self.rows = [{row.sample: row for row in tally.rows} for tally in self.tallies]
        self.shown = self._chosen(most)
        self.linked = frozenset(self.shown)
        self.left = _BYTES

    def _chosen(self, limit: int) -> list[int]:
        """Return the samples with a section, by index."""

        def rank(sample: int) -> tuple[Any, ...]:
            rows = self.of(sample)
            wrong = any(row.truth is not None and row.truth != row.index for row in rows)
            is_open = not all(row.settled for row in rows)
            return (not is_open, not wrong, -sum(row.seconds for row in rows), sample)

        answered = set().union(*self.rows)
        return sorted(sorted(answered, key=rank)[: max(limit, 0)])

    def of(self, sample: int) -> list[Row]:
        """Return the rows of a sample in all files."""
        return [rows[sample] for rows in self.rows if sample in rows]

    # -- as a whole ------------------------------------------------------------------------------------------

    def head(self, title: str) -> Html:
        """Return the heading: the network, and how the results were made."""
        made = {
            f"{name}: {result.made.get('time', '')}, sugenet {result.made.get('sugenet', '')}, "
            f"seed {result.seed}, "
            + ("no time limit" if result.time_limit is None else f"at most {result.time_limit:g} s a sample")
            for name, result in zip(self.names, self.results, strict=True)
        }
        return Html(
            "<header>\n<h1>{title}</h1>\n<p>{samples:,} samples · {network}</p>\n"
            '<p>fingerprint <span class="mono">{fingerprint}</span></p>\n{made}</header>\n'
        ).format(
            title=title,
            samples=self.samples,
            network=short(str(self.network), 120),
            fingerprint=self.network.fingerprint,
            made=Html().join(Html("<p>{}</p>\n").format(line) for line in sorted(made)),
        )

    def outcome(self) -> Html:
        """Return outcomes, certified accuracy and times of each file, and the curve of all."""
        body = [paragraph(self._headline(), kind="verdict")]
        if self.curve is not None:
            shown = drawing(self.curve)
            assert shown.table is not None
            body.append(figures_html(map(figure_html, shown.figures)) + table_html(shown.table))
        for name, tally in zip(self.names, self.tallies, strict=True):
            shown = drawing(tally)
            assert shown.table is not None
            if len(self.results) > 1:
                body.append(element("h3", name))
            body.append(paragraph(Html("<br>").join(shown.sentence.splitlines())))
            body.append(figures_html([*map(figure_html, shown.figures), table_html(shown.table)], "pair"))
        return section("outcome", "What came out", Html("\n").join(body))

    def _headline(self) -> str:
        """Return the most important figure."""
        tally = self.tallies[0]
        if len(self.results) == 1 and tally.certified is not None:
            what = "certified accuracy" if tally.has_truth else "proved"
            return f"{tally.certified} {what}."
        if tally.accuracy is not None:
            return f"{tally.accuracy} accuracy on {self.samples:,} samples."
        return f"{tally.answered:,} of {self.samples:,} samples answered."

    # -- all samples -----------------------------------------------------------------------------------------

    def table(self) -> Html:
        """Return one row per sample, including those without an answer."""
        listed = range(min(self.samples, _ROWS))
        has_truth = any(tally.has_truth for tally in self.tallies)
        has_cost = any(row.cost or row.lower for rows in self.rows for row in rows.values())
        has_several, cost = len(self.results) > 1, "sum of squares" if self.tallies[0].squares else "cost"
        head = ["sample", "class", *["true class"] * has_truth]
        for name in self.names:
            head += [name] if has_several else ["outcome", *([cost, "at least"] if has_cost else []), "time"]
        numbers = () if has_several else (cost, "at least", "time")
        marks = ("number" if word in numbers else None for word in head)
        heads = element(
            "tr",
            *(element("th", word, scope="col", class_=mark) for word, mark in zip(head, marks, strict=True)),
        )
        body = [self._row(sample, has_truth=has_truth, has_cost=has_cost) for sample in listed]
        table = element(
            "table",
            element("thead", heads),
            element("tbody", "", *body),
            class_="sortable",
            id="samples",
            aria_label="All samples",
        )
        left = self.samples - len(listed)
        more = (
            paragraph(
                f"... and {left:,} more samples: sugenet results {quote(self.names[0])} --csv FILE lists all."
            )
            if left
            else ""
        )
        note = paragraph("With scripts allowed, a click on the head of a column sorts by it.", kind="note")
        return section("all", "All samples", note + table + more)

    def _row(self, sample: int, *, has_truth: bool, has_cost: bool) -> Html:
        rows, classes = self.of(sample), self.network.classes
        number: object = element("a", sample, href=f"#s{sample}") if sample in self.linked else sample
        cells = [element("td", number, data_key=sample)]
        if not rows:
            cells += [element("td", "")] * (1 + has_truth)
        else:
            truth, label = rows[0].truth, rows[0].index
            wrong = truth is not None and truth != label
            cells.append(element("td", classes[label], class_="wrong" if wrong else None))
            cells += [element("td", "" if truth is None else classes[truth])] * has_truth
        for known in self.rows:
            row = known.get(sample)
            cells.append(
                element("td", status_html("missing") if row is None else _mark(row), data_key=_word(row))
            )
            if len(self.results) == 1:
                costs = [None, None] if row is None else [row.cost, row.lower]
                cells += [_cost(cost) for cost in costs] if has_cost else []
                cells.append(_number("", "") if row is None else _number(time_text(row.seconds), row.seconds))
        return element("tr", *cells)

    # -- one sample ------------------------------------------------------------------------------------------

    def sections(self) -> Html:
        """Return the answers about the samples with a section."""
        answered = len(set().union(*self.rows))
        note = ""
        if len(self.shown) < answered:
            note = (
                f"{len(self.shown):,} of {answered:,} samples have a place here, first those that are "
                f"undecided, then those that are wrong, then those that took longest. "
                f"sugenet results {quote(self.names[0])} --sample I shows any other."
            )
        body = []
        for index, sample in enumerate(self.shown):
            if self.notify is not None:
                self.notify(f"sample {index + 1} of {len(self.shown)}")
            body.append(self._sample(sample))
        about = Html(
            "<p>To check a certificate again, by the definition alone: copy its text to "
            "<code>certificate.json</code>, then run <code>sugenet check certificate.json MODEL</code>; all "
            "of them, and all that is said beside them: <code>sugenet results {} --check</code>. The digest "
            "is the SHA-256 of that text.</p>\n"
            "<p>This page repeats what the results say, and checks nothing. Not covered by a certificate: "
            "times, engines and versions, and what the check names.</p>"
        ).format(" ".join(map(quote, self.names)))
        return section(
            "answers", "The answers", (paragraph(note) if note else Html()) + about + Html("\n").join(body)
        )

    def _sample(self, sample: int) -> Html:
        first = self.of(sample)[0]
        label, truth = self.network.classes[first.index], first.truth
        title = f"Sample {sample}: {label}"
        if truth is not None:
            right = "which is right" if truth == first.index else f"but it is {self.network.classes[truth]}"
            title += f", {right}"
        body = []
        pictures: set[Figure] = set()
        for name, result, known in zip(self.names, self.results, self.rows, strict=True):
            if sample in known:
                body.append(self._answer(name, result, known[sample], pictures))
        back = Html('<p class="note"><a href="#samples">all samples</a></p>')
        return element("article", element("h3", title), *body, back, id=f"s{sample}")

    def _answer(self, name: str, result: Results, row: Row, pictures: set[Figure]) -> Html:
        """Return one answer; figures that are already on the page are not drawn again."""
        try:
            if row.outcome == REFUSED:
                figure = figure_html(sample_figure(self.network, result.X(row.sample)))
                return paragraph(_mark(row), f" {result.refusal(row.sample)}") + figures_html([figure])
            answer = result.answer(row.sample)
        except SugenetError as error:
            return paragraph(status_html("damaged"), f" {error}")
        shown = drawing(answer)
        took = f"{row.engine or 'answered'}, {time_text(row.seconds)}"
        muted = element("span", took, class_="muted")
        parts = [
            paragraph(_mark(row), " ", Html("<br>").join(shown.sentence.splitlines()), " ", muted),
        ]
        new = [one for one in shown.figures if not isinstance(one, Meters) and one not in pictures]
        pictures.update(new)
        parts += [figures_html(map(figure_html, new))] if new else []
        if shown.table is not None and shown.table.rows and shown.table.head[0] != "outcome":
            parts.append(table_html(shown.table))
        parts += [element("pre", shown.text)] if shown.text else []
        for number, certificate in enumerate(certificates_of(answer), start=1):
            text = canonical_text(certificate)
            kept = min(WHOLE, self.left)
            self.left -= len(text) if len(text) <= kept else 0
            which = "it" if number == 1 else "the first"
            command = f"sugenet results {quote(name)} --sample {row.sample} -o certificate.json"
            too_long = f"Too long to keep here: {command} writes {which}."
            title = f"certificate {number}" if number > 1 else "certificate"
            parts.append(certificate_html(text, title, too_long, most=kept))
        return Html().join(parts)

    # -- words -----------------------------------------------------------------------------------------------

    def words(self) -> Html:
        """Return the glossary."""
        known = [(word, text) for word, text in GLOSSARY if word in _WORDS]
        seen = set().union(*(tally.outcomes for tally in self.tallies))
        outcomes = [(word, text) for word, text in _OUTCOMES.items() if word in seen]
        items = (element("dt", word) + element("dd", text) for word, text in (*outcomes, *_GLOSSARY, *known))
        return section("words", "What the words mean", element("dl", *items))

    def foot(self) -> Html:
        """Return the footer, which describes this file."""
        made = "Made by sugenet. This file holds everything it shows; it loads nothing, and sorts one table."
        return Html("<footer><p>{}</p></footer>\n").format(made)


def _mark(row: Row) -> Html:
    """Return the outcome of a row, marked by its status."""
    if row.outcome == "refuted":
        return status_html("refuted")
    sure = row.settled and (row.certified or row.outcome == "predicted")
    return status_html(_word(row), "proved" if sure else "undecided")


def _word(row: Row | None) -> str:
    if row is None:
        return "missing"
    on_trust = row.outcome in ("proved", "found", "none") and not row.certified
    return f"{row.outcome}, not certified" if on_trust else row.outcome


def _cost(text: str | None) -> Html:
    """Return a cell with a cost in few digits; its title has all digits."""
    if text is None:
        return _number("", "")
    value = Fraction(text)
    short = short_number(value)
    return _number(short, float(value), title=None if short == text else text)


def _number(text: str, key: float | str, **more: object) -> Html:
    """Return a cell with a number, sorted by its key."""
    return element("td", text, class_="number", data_key=str(key), **more)
