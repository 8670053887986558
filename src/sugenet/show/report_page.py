"""The sections of a report as HTML: what the findings say, in words, figures and tables, with the
certificates behind them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from sugenet.bnn.describing import summary
from sugenet.problem.regions import L0, Hamming, Linf
from sugenet.reason.counterfactuals.answers import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.reasons.answers import Reason, Reasons
from sugenet.reason.reasons.chain import Chain
from sugenet.reason.verdicts.answers import Proved, Refuted, Undecided
from sugenet.reason.words import engine_words, show_cost
from sugenet.show.drawings import summary_table, table_html
from sugenet.show.figures import Figure, Heat, Pixels, plural
from sugenet.show.findings import Findings
from sugenet.show.markup import safe, short
from sugenet.show.pictures import grid_of
from sugenet.show.prepare import (
    changes_drawn,
    heat_map,
    kept_drawn,
    match_meters,
    sample_drawn,
    value_words,
    votes_of,
)
from sugenet.show.svg_writer import svg

__all__ = ["Page", "section"]

_LISTED = 12
"""Conditions, neurons and classes that are listed; the rest is counted."""
_FEATURES = 60
_NEURONS = 5
_LEAST = {
    "minimum": "No smaller set does it.",
    "minimal": "None of them can be left out.",
    "sufficient": "A smaller set may do it: the time was up.",
}
"""What the status of a reason says."""
_WHOLE = 60_000
"""Characters of a certificate that is kept in the file; of a longer one only its digest."""


# -- pieces --------------------------------------------------------------------------------------------------


def _status(word: str) -> str:
    mark = {"proved": "✓", "refuted": "✗"}.get(word, "?")
    return (
        f'<span class="status {word if word in ("proved", "refuted") else "undecided"}">{mark} '
        f"{safe(word)}</span>"
    )


def _figure(figure: Figure, caption: str = "") -> str:
    """A figure with a caption, which is HTML already."""
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    shape = "image" if isinstance(figure, Pixels | Heat) else "wide"
    return f'<figure class="{shape}">{svg(figure)}{below}</figure>'


def _figures(figures: Iterable[str], kind: str = "") -> str:
    return f'<div class="figures{f" {kind}" if kind else ""}">{"".join(figures)}</div>'


def section(name: str, title: str, body: str) -> str:
    """One section; the body is HTML already."""
    return f'<section id="{name}">\n<h2>{safe(title)}</h2>\n{body}\n</section>\n'


def _table(head: tuple[str, ...], rows: Iterable[str]) -> str:
    """A table whose rows are HTML already."""
    return (
        f"<table><thead><tr>{''.join(f'<th>{word}</th>' for word in head)}</tr></thead><tbody>"
        f"{''.join(rows)}</tbody></table>"
    )


def _row(*cells: str) -> str:
    """A row of cells that are HTML already."""
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _whole(value: Fraction) -> str:
    return str(int(value)) if value.denominator == 1 else f"{float(value):.6g}"


def _votes(count: Any) -> str:
    return f"{int(count)} vote{'' if int(count) == 1 else 's'}"


def _some(parts: Sequence[str], between: str, most: int = _LISTED) -> str:
    """The first of some words; the rest is counted."""
    return between.join(parts[:most]) + (
        f"{between}and {len(parts) - most} more" if len(parts) > most else ""
    )


def _region_words(kind: str, radius: Fraction) -> str:
    number = int(radius) if radius.denominator == 1 else float(radius)
    return str({"L0": L0, "Hamming": Hamming, "Linf": Linf}[kind](number))


def _canonical(certificate: dict[str, Any]) -> str:
    """A certificate as the one text that its digest is of."""
    return json.dumps(certificate, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _trusted(certificate: dict[str, Any]) -> bool:
    proof = certificate.get("proof")
    return isinstance(proof, dict) and proof.get("kind") == "trust"


class Page:
    """The sections of one report, and the certificates that they name."""

    def __init__(self, findings: Findings, truth: int | None, title: str) -> None:
        self.found, self.truth, self.title = findings, truth, title
        self.network = findings.network
        self.label = self.network.classes[findings.trace.predicted]
        self.noun = "pixel" if grid_of(self.network) is not None else "feature"
        self.cited: dict[str, tuple[str, str]] = {}
        """By the canonical text of each certificate: the claim and its status."""

    def cite(self, certificate: dict[str, Any], claim: str, status: str) -> str:
        """A mark that names a certificate; each is listed once."""
        text = _canonical(certificate)
        self.cited.setdefault(text, (claim, status))
        number = list(self.cited).index(text) + 1
        return f'<a href="#c{number}">C{number}</a>'

    def plain(self, words: str) -> str:
        """Words about features, as words about pixels where they are;
        only for texts without names in them.
        """
        return words.replace("feature", self.noun)

    def many(self, count: Any) -> str:
        return f"{count} {self.noun}{'' if count == 1 else 's'}"

    # -- the answer ------------------------------------------------------------------------------------------

    def head(self, index: int | None, time_limit: float, seed: int) -> str:
        from sugenet import __version__

        which = "one sample" if index is None else f"sample {index}"
        return (
            f"<header>\n"
            f"<h1>{safe(self.title)}: report on one decision</h1>\n"
            f"<p>{safe(which)} · {safe(short(str(self.network), 120))}</p>\n"
            f'<p>fingerprint <span class="mono">{self.network.fingerprint}</span></p>\n'
            f"<p>sugenet {safe(__version__)} · seed {seed} · at most {time_limit:g} s for all questions</p>\n"
            f"</header>\n"
        )

    def verdict(self) -> str:
        found, network = self.found, self.network
        trace = found.trace
        body = [f'<p class="verdict">{safe(self.headline())}</p>']
        if self.truth is not None:
            right = self.truth == trace.predicted
            said = "which is right" if right else f"but the true class is {network.classes[self.truth]}"
            mark = "lead" if right else "lead wrong"
            body.append(
                f'<p class="{mark}">{"" if right else "✗ "}The network answers '
                f"{safe(self.label)}, {safe(said)}.</p>"
            )
        body.append(f'<p class="lead">{self.lead_words()}</p>')
        votes = _figure(votes_of(trace, self.truth, "votes and possibility of the classes"))
        if self.noun == "pixel":
            pictures = _figures([_figure(sample_drawn(network, found.sample)), votes], "pair")
        else:
            pictures = _figures([votes]) + self.values()
        return f'<section id="verdict">\n{"".join(body)}\n{pictures}\n</section>\n'

    def headline(self) -> str:
        """The decision and what is proved about small changes, in one sentence."""
        nearest, best = self.found.nearest, self.found.best
        if best is not None and best.value <= 1:
            return f"{self.label}. A change of 1 {self.noun} can alter it."
        match nearest:
            case Counterfactual() if nearest.is_minimum and nearest.is_certified and nearest.value > 1:
                return f"{self.label}. No change of {self._up_to(nearest.value - 1)} alters it: proved."
            case Counterfactual() | OpenCounterfactual() if nearest.lower > 1 and not _trusted(
                nearest.certificate
            ):
                return (
                    f"{self.label}. No change of {self._up_to(nearest.lower - 1)} alters it: proved. "
                    f"More is undecided."
                )
            case NoCounterfactual() if nearest.is_certified:
                return f"{self.label}. No change whatever alters it: proved."
        return f"{self.label}. Whether a small change alters it is undecided."

    def _up_to(self, value: Fraction) -> str:
        return f"1 {self.noun}" if value == 1 else f"up to {self.many(_whole(value))}"

    def lead_words(self) -> str:
        """By how much the class wins, in votes and in score."""
        trace = self.found.trace
        order = sorted(range(len(trace.scores)), key=lambda k: (-trace.scores[k], k))
        votes, size = int(trace.matches[trace.predicted]), int(self.network.head.sizes[trace.predicted])
        words = f"{votes} of {size} possible votes, score {float(trace.scores[trace.predicted]):.6g}"
        if len(order) > 1:
            second = order[1]
            margin = trace.scores[trace.predicted] - trace.scores[second]
            next_best = self.network.classes[second]
            words += (
                (
                    f"; the next class, {next_best}, has the same score, "
                    f"and the tie goes to the lower class number"
                )
                if not margin
                else (
                    f"; {float(margin):.6g} more than the next class, {next_best}, "
                    f"with {_votes(trace.matches[second])}"
                )
            )
        return safe(words + ".")

    def values(self) -> str:
        """All values of a sample of a table."""
        encoder = self.network.encoder
        rows = [
            f"<li><span>{safe(name)}</span><span>{safe(value_words(coding, value))}</span></li>"
            for name, coding, value in zip(encoder.names, encoder.codings, self.found.sample, strict=True)
        ]
        more = (
            f'<p class="note">... and {len(rows) - _FEATURES:,} more features</p>'
            if len(rows) > _FEATURES
            else ""
        )
        return f'<h3>The sample</h3><ul class="columns">{"".join(rows[:_FEATURES])}</ul>{more}'

    # -- why -------------------------------------------------------------------------------------------------

    def rests(self) -> str:
        found = self.found
        if found.near is None and found.everywhere is None:
            return section("rests", "What it rests on", self._not_asked())
        body = []
        if found.near is not None:
            body.append(self._near(found.near))
        if found.everywhere is not None:
            body.append(self._everywhere(found.everywhere))
        return section("rests", "What it rests on", "\n".join(body))

    def _reason_mark(self, reason: Reason, where: str) -> str:
        trusted = _trusted(reason.certificate)
        status = "undecided" if reason.status == "unknown" or trusted else "proved"
        size = len(reason.features)
        claim = f"{where}, {self.many(size)} suffice{'s' if size == 1 else ''} for {self.label}"
        return f"{_status(status)} {self.cite(reason.certificate, claim, status)}"

    def _near(self, near: Reasons) -> str:
        network, region = self.network, self.plain(str(near.question.region))
        if not near.reasons:
            return f"<p>With {safe(region)}, no reason was found in the time. {_status('undecided')}</p>"
        first = near.reasons[0]
        size, mark = len(first.features), self._reason_mark(first, f"with {region}")
        if not size:
            return (
                f"<p>With {safe(region)}, nothing needs to stay: the class stays whatever changes. {mark}</p>"
            )
        if first.status == "unknown":
            return (
                f"<p>With {safe(region)}, no set of {self.noun}s was proved to suffice in the "
                f"time. {mark}</p>"
            )
        keep = (
            f"this {self.noun} keeps its range" if size == 1 else f"these {self.many(size)} keep their range"
        )
        words = (
            f"With {region}, wherever that is, the class stays {self.label} as long as "
            f"{keep}. {_LEAST[first.status]}"
        )
        figures = [
            _figure(
                kept_drawn(
                    network,
                    near.sample,
                    first.features,
                    f"{self.many(size)} that suffice{'s' if size == 1 else ''}",
                )
            )
        ]
        said = [self._listed(first)]
        if len(near.reasons) > 1:
            figures.append(
                _figure(
                    heat_map(
                        network,
                        near.attribution,
                        f"how often each {self.noun} is in a reason",
                        near.all_reasons,
                    )
                )
            )
            said.append(self._around(near))
        if self.noun == "pixel":
            beside = f'<div class="words">{"".join(said)}</div>'
            return f"<p>{safe(words)} {mark}</p>{_figures([*figures, beside], 'pair')}"
        # the figure lists up to so many
        return f"<p>{safe(words)} {mark}</p>{_figures(figures)}{''.join(said[size <= _LISTED :])}"

    def _around(self, near: Reasons) -> str:
        """What all reasons together say of the features."""
        whole = "and no others" if near.all_reasons else "and there may be more"
        core = sorted(set.intersection(*(set(reason.features) for reason in near.reasons)))
        names = _some([self.network.encoder.names[feature] for feature in core], ", ")
        every = f"In every one of them: {names}." if core else f"No {self.noun} is in every one of them."
        matter = len(near.relevant)
        some = f"{self.many(matter)} matter{'s' if matter == 1 else ''} in some set"
        some += f", {len(near.irrelevant)} in none." if near.all_contrasts or near.all_reasons else "."
        return (
            f'<p class="note">There are {len(near.reasons):,} minimal sets, {whole}. '
            f"{safe(every)} {safe(some)}</p>"
        )

    def _everywhere(self, everywhere: Reasons) -> str:
        if not everywhere.reasons:
            return f"<p>For any input, no reason was found in the time. {_status('undecided')}</p>"
        first = everywhere.reasons[0]
        size, total, mark = (
            len(first.features),
            self.network.encoder.features,
            self._reason_mark(first, "for any input"),
        )
        if first.status == "unknown":
            return f"<p>For any input, whatever the rest may be, no reason was proved in the time. {mark}</p>"
        if not size:
            words = "the class is the same: nothing decides."
        elif size == total and first.status == "sufficient":
            words = f"no set smaller than all {self.noun}s was proved to suffice in the time."
            return f"<p>For any input, {safe(words)} {_status('undecided')}</p>"
        elif size == total:
            words = (
                f"all {total} {self.noun}s are needed: none of them can be left out."
                if total > 1
                else f"the only {self.noun} decides."
            )
        else:
            one, many = (
                "this one of {} suffices: while it keeps its range",
                "these {} of {} suffice: while they keep their range",
            )
            these = one.format(self.many(total)) if size == 1 else many.format(size, self.many(total))
            words = f"{these}, all others may take any value at all. {_LEAST[first.status]}"
        return f"<p>For any input, {safe(words)} {mark}</p>{self._listed(first)}"

    def _listed(self, reason: Reason) -> str:
        """The conditions of a reason; those of a long one folded away."""
        conditions = reason.conditions()
        if not conditions:
            return ""
        text = safe("; ".join(conditions))
        if len(conditions) <= _LISTED:
            return f'<p class="note">{text}.</p>'
        start = (
            f"{safe('; '.join(conditions[:4]))}; and {len(conditions) - 4} more <span "
            f'class="screen">(show all)</span>'
        )
        return f'<details class="note"><summary>{start}</summary>{text}.</details>'

    # -- what would change it --------------------------------------------------------------------------------

    def changes(self) -> str:
        found = self.found
        if found.nearest is None:
            return section("changes", "What would change it", self._not_asked())
        image, best = self.noun == "pixel", found.best
        open_yet = isinstance(found.nearest, Counterfactual) and found.nearest is not best
        rows = [self._change_row("any other class", found.nearest, at_most=best if open_yet else None)]
        rows += [self._change_row(self.network.classes[target], answer) for target, answer in found.targets]
        answers = (
            [answer for _, answer in found.targets]
            if open_yet
            else [found.nearest, *(answer for _, answer in found.targets)]
        )
        first = {
            one.label: one for one in reversed(answers) if isinstance(one, Counterfactual)
        }  # one picture a class
        shown = [
            _figure(
                changes_drawn(
                    self.network,
                    one.sample,
                    one.changed,
                    f"{self.label} becomes {self.network.classes[label]}",
                )
            )
            for label, one in reversed(first.items())
        ]
        table = _table(("to", "change", *["what changes"] * image, "that it is the least"), rows)
        return section(
            "changes",
            "What would change it",
            (_figures(shown, "small" if image else "") if shown else "") + table,
        )

    def _change_row(self, goal: str, answer: Any, at_most: Counterfactual | None = None) -> str:
        """One row; `at_most` is a cheaper change that a narrower question found."""
        match answer:
            case Counterfactual() if at_most is not None:
                cost = (
                    f"at most {self.plain(show_cost(at_most.cost, at_most.value))}; "
                    f"the least needs at least {_whole(answer.lower)}"
                )
                what, status = f"as for {self.network.classes[at_most.label]}", "undecided"
                mark, claim = _status(status), f"to {goal}: the least needs at least {_whole(answer.lower)}"
            case Counterfactual():
                least = answer.is_minimum and answer.is_certified
                cost = self.plain(show_cost(answer.cost, answer.value))
                if not answer.is_minimum:
                    cost += f"; the least needs at least {_whole(answer.lower)}"
                parts = []
                for feature, (old, new) in enumerate(zip(answer.sample, answer.changed, strict=True)):
                    coding = self.network.encoder.codings[feature]
                    if old != new:
                        words = coding.describe(self.network.encoder.names[feature], coding.state(new))
                        parts.append(f"{words} (now {value_words(coding, old)})")
                what = _some(parts, "; ", 6)
                status = "proved" if least else "undecided"
                mark = _status(status)
                claim = f"to {goal}: {cost}"
            case NoCounterfactual():
                cost, what = "none exists", "nothing that may change leads there"
                status = "proved" if answer.is_certified else "undecided"
                mark, claim = _status(status), f"to {goal}: no change leads there"
            case _:
                cost, what = (
                    f"none found; at least {self.plain(show_cost(answer.cost, answer.lower))}",
                    answer.reason,
                )
                status, mark, claim = (
                    "undecided",
                    _status("undecided"),
                    f"to {goal}: at least {show_cost(answer.cost, answer.lower)}",
                )
        middle = [safe(what)] if self.noun == "pixel" else []  # in a table the figure says it
        return _row(safe(goal), safe(cost), *middle, f"{mark} {self.cite(answer.certificate, claim, status)}")

    # -- how robust ------------------------------------------------------------------------------------------

    def robust(self) -> str:
        found = self.found
        claims = [answer for answer in (found.stays, found.shifts_stay) if answer is not None]
        if not claims:
            return section("robust", "How robust it is", self._not_asked())
        rows = []
        for answer in claims:
            status, by = self._decided(answer)
            region = answer.certificate["question"]["region"]
            claim = (
                f"the class stays {self.label}, with "
                f"{self.plain(_region_words(region['kind'], Fraction(region['radius'])))}"
            )
            mark = self.cite(answer.certificate, claim, status)
            rows.append(_row(safe(claim), f"{_status(status)} {mark}", safe(by)))
        for asked, least in ((found.stays, found.best), (found.shifts_stay, found.shifts)):
            rows += (
                [] if isinstance(asked, Refuted) else self._beyond(least)
            )  # what refutes it is in its own row
        table = _table(("claim", "status", "by"), rows)
        return section("robust", "How robust it is", table + self._meters())

    def _decided(self, answer: Proved | Refuted | Undecided) -> tuple[str, str]:
        match answer:
            case Proved():
                return ("proved" if answer.is_certified else "undecided"), engine_words(
                    answer.engine, answer.certificate["proof"]
                )
            case Refuted():
                changes = [f"{name} from {a} to {b}" for name, (a, b) in answer.changes.items()]
                return (
                    "refuted",
                    (
                        f"{engine_words(answer.engine)}: class {' and '.join(answer.labels)} "
                        f"with {_some(changes, '; ', 4)}"
                    ),
                )
        known = answer.facts.get("proved_up_to")
        return "undecided", answer.reason + (f"; holds up to {known}, proved" if known is not None else "")

    def _beyond(self, nearest: Any) -> list[str]:
        """Where robustness ends: the least change that was found refutes any larger region."""
        if not isinstance(nearest, Counterfactual):
            return []
        claim = f"the class stays {self.label}, with {self.plain(_region_words(nearest.cost, nearest.value))}"
        mark = self.cite(
            nearest.certificate, f"a change: {show_cost(nearest.cost, nearest.value)}", "refuted"
        )
        by = f"a changed sample of class {self.network.classes[nearest.label]}"
        return [_row(safe(claim), f"{_status('refuted')} {mark}", safe(by))]

    def _meters(self) -> str:
        """First-layer neurons within the proved region: which of them can turn at all."""
        answer = self.found.stays
        if not isinstance(answer, Proved) or not self.network.layers:
            return ""
        radius = int(answer.certificate["question"]["region"]["radius"])
        if radius >= self.network.encoder.features:
            return ""
        meters = match_meters(self.network, self.found.sample, region=L0(radius), limit=6)
        words = (
            "Match counts of the neurons nearest to their threshold, "
            "and how far they can move in that region."
        )
        return _figures([_figure(meters, words)])

    # -- how it came to it -----------------------------------------------------------------------------------

    def chain(self) -> str:
        chain = self.found.chain
        if chain is None:
            return section("chain", "How the network came to it", self._not_asked())
        words, last, count = safe(self._chain_words(chain)), len(self.network.layers), len(chain.decisive)
        if not chain.links:
            return section("chain", "How the network came to it", f"<p>{words}</p>")
        rows = []
        for literal in chain.decisive[:_NEURONS]:
            link = chain.links[last, abs(literal)]
            state = (
                f"{'on' if link.active else 'off'}: M = {link.matches} {'≥' if link.active else '<'} "
                f"tau = {link.tau}"
            )
            because = self._because(last, link.literals)
            rows.append(_row(str(link.neuron), f'<span class="whole">{safe(state)}</span>', safe(because)))
        left = (
            f"... and {count - _NEURONS} more {plural(count - _NEURONS, 'neuron')}; <code>sugenet why "
            f"--chain</code> shows all."
        )
        more = f'<p class="note">{left}</p>' if count > _NEURONS else ""
        table = _table(("neuron", "match count", "because"), rows)
        return section("chain", "How the network came to it", f"<p>{words}</p>{table}{more}")

    def _chain_words(self, chain: Chain) -> str:
        """What a chain says as a whole."""
        count, size = len(chain.decisive), len(chain.features)
        if not count:
            return f"The class is {self.label}, whatever the input."
        if not chain.links:
            these = f"This {self.noun} suffices" if size == 1 else f"These {self.many(size)} suffice"
            return f"{these} for {self.label}, whatever the others are: {_some(chain.conditions(), '; ')}."
        outputs = self.network.layers[-1].outputs
        who = f"{count} of the {outputs} neurons" if outputs > 1 else "The only neuron"
        first = (
            f"{who} of the last hidden layer suffice{'s' if count == 1 else ''} for {self.label}, "
            f"whatever the others do."
        )
        below = (
            f"{'It' if count == 1 else 'Each'} is on or off because of some of its inputs, "
            f"and so down to {self.many(size)}."
        )
        fixed = f"{'It is' if count == 1 else 'They are'} so for any input."
        return (
            f"{first} {below if size else fixed} Every step was checked by counting, and nothing in a step "
            f"can be left out."
        )

    def _because(self, layer: int, literals: tuple[int, ...]) -> str:
        if layer == 1 and self.network.reads_levels:
            words = [self.network.encoder.names[abs(literal) - 1] for literal in literals[:3]]
        else:
            words = [self.network.words(layer, literal) for literal in literals[:3]]
        return "; ".join(words) + (f"; and {len(literals) - 3} more" if len(literals) > 3 else "")

    # -- the model and its papers ----------------------------------------------------------------------------

    def model(self) -> str:
        drawn = summary(self.network)
        notes = "".join(
            f"<dt>{safe(name)}</dt><dd>{safe(text)}</dd>" for name, text in self.network.notes.items()
        )
        totals = "<br>".join(safe(" ".join(line.split())) for line in str(drawn).splitlines()[-3:])
        words = f'<p class="note">{totals}</p>' + (f"<dl>{notes}</dl>" if notes else "")
        table = (
            f"<div "
            f'class="keep"><p>{safe(short(drawn.title, 400))}</p>{table_html(summary_table(drawn))}</div>'
        )
        return section("model", "The model", f"{table}{words}")

    def certificates(self) -> str:
        if not self.cited:
            return section(
                "certificates", "Certificates", "<p>Nothing was claimed, so there is nothing to check.</p>"
            )
        name = self.title if all(c.isalnum() or c in "._-/" for c in self.title) else "MODEL"
        words = (
            "<p>Each claim above names its certificate. To check one again, by the definition alone: copy "
            "its text to <code>certificate.json</code>, then run <code>sugenet check certificate.json "
            f"{safe(name)}</code>. The digest is the SHA-256 of that text.</p>"
        )
        items = []
        for number, (text, (claim, status)) in enumerate(self.cited.items(), start=1):
            digest = hashlib.sha256(text.encode()).hexdigest()
            line = (
                f"<strong>C{number}</strong> {_status(status)} {safe(short(claim, 120))} <span "
                f'class="muted">· {len(text):,} characters · <span class="mono long">{digest}</span><span '
                f'class="mono short">{digest[:16]}…</span></span>'
            )
            if len(text) > _WHOLE:
                note = '<p class="note">Too long to keep here; the same question gives it again.</p>'
                items.append(f'<div class="certificate" id="c{number}">{line}{note}</div>')
                continue
            kept = f'<pre data-sha256="{digest}">{safe(text)}</pre>'
            items.append(
                f'<details class="certificate" id="c{number}"><summary>{line}</summary>{kept}</details>'
            )
        return section("certificates", "Certificates", words + "\n".join(items))

    def _not_asked(self) -> str:
        return f"<p>{_status('not asked')} The foot of this report says why.</p>"

    def foot(self) -> str:
        skipped = "".join(f"<li>{safe(words)}</li>" for words in self.found.skipped)
        left = f"<p>Not asked, or not answered:</p><ul>{skipped}</ul>" if skipped else ""
        return (
            f"<footer>{left}<p>Made by sugenet. This file holds everything it shows; it loads nothing and "
            f"runs nothing.</p></footer>\n"
        )
