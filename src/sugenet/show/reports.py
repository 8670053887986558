"""Report on one decision: a self-contained HTML file of a few printed pages, without scripts.

It is meant for people who are responsible for a network's decisions.

Its sections present the findings in words, figures and tables, with their certificates.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sugenet.checker.form import exact
from sugenet.errors import QuestionError
from sugenet.logic import ComposedAnswer
from sugenet.nn import Condition, Network, network_of, summary
from sugenet.nn.images import grid_of
from sugenet.nn.trace import many
from sugenet.reason import Prices, Proved, Reason, Reasons, Refuted, Undecided
from sugenet.reason.counterfactuals.answers import (
    Answer,
    Counterfactual,
    NoCounterfactual,
    OpenCounterfactual,
)
from sugenet.reason.phrases import changes_listed, short_number, show_cost
from sugenet.reason.questions import Robust, class_of, described_within
from sugenet.reason.reasons.chain import Chain, key_of
from sugenet.reprs import roughly
from sugenet.show.composites import composed_figures, composed_state
from sugenet.show.drawings import summary_table, table_html
from sugenet.show.figures import plural
from sugenet.show.findings import Findings, find
from sugenet.show.markup import Html, element, short
from sugenet.show.prepare import (
    change_text,
    changes_figure,
    heat_map,
    kept_figure,
    match_meters,
    sample_figure,
    value_text,
    votes_of,
)
from sugenet.show.report_pieces import (
    canonical_text,
    certificate_html,
    document,
    figure_html,
    figures_html,
    paragraph,
    row_html,
    section,
    status_html,
    text_table,
)

__all__ = ["GLOSSARY", "Page", "report"]

_LISTED = 12
"""Maximum number of conditions, neurons and classes that are listed; further ones are counted."""
_FEATURES = 60
_NEURONS = 5
_LEAST = {
    "minimum": "No smaller set does it.",
    "minimal": "None of them can be left out.",
    "sufficient": "A smaller set may do it: the time was up.",
}
"""Meaning of the status of a reason."""
_TOO_LONG = "Too long to keep here; the same question gives it again."


# -- words ---------------------------------------------------------------------------------------------------


def _some(parts: Sequence[str], between: str, limit: int = _LISTED) -> str:
    """Return the first of some words; the others are counted."""
    return between.join(parts[:limit]) + (
        f"{between}and {len(parts) - limit} more" if len(parts) > limit else ""
    )


def _region_of(answer: Proved | Refuted | Undecided) -> Any:
    """Return the region of a claim of robustness."""
    assert isinstance(answer.question, Robust)
    return answer.question.region


class Page:
    """Sections of one report, and the certificates that they cite."""

    def __init__(self, findings: Findings, truth: int | None, title: str) -> None:
        self.found, self.truth, self.title = findings, truth, title
        self.network = findings.network
        self.label = self.network.classes[findings.trace.index]
        self.noun = "pixel" if grid_of(self.network) is not None else "feature"
        self.cited: dict[str, tuple[str, str]] = {}
        """Claim and status of each certificate, by the text from which its digest is computed."""

    def marked(self, answer: Any, claim: str, status: str) -> Html:
        """Return the status of a claim, and a mark that cites its certificate; each is listed once."""
        if answer.certificate is None:
            return status_html(status)
        text = canonical_text(answer.certificate)
        self.cited.setdefault(text, (claim, status))
        number = list(self.cited).index(text) + 1
        return Html('{0} <a href="#c{1}">C{1}</a>').format(status_html(status), number)

    def plain(self, text: str) -> str:
        """Return text about features as text about pixels if they are; only for texts without names in
        them.
        """
        return text.replace("feature", self.noun)

    def many(self, count: Any) -> str:
        return f"{count} {plural(count, self.noun)}"

    # -- the answer ------------------------------------------------------------------------------------------

    def head(self, index: int | None, time_limit: float, seed: int) -> Html:
        from sugenet import __version__

        which = "one sample" if index is None else f"sample {index}"
        return Html(
            "<header>\n"
            "<h1>{title}: report on one decision</h1>\n"
            "<p>{which} · {network}</p>\n"
            '<p>fingerprint <span class="mono">{fingerprint}</span></p>\n'
            "<p>sugenet {version} · seed {seed} · at most {time_limit:g} s for all questions</p>\n"
            "</header>\n"
        ).format(
            title=self.title,
            which=which,
            network=short(str(self.network), 120),
            fingerprint=self.network.fingerprint,
            version=__version__,
            seed=seed,
            time_limit=time_limit,
        )

    def verdict(self) -> Html:
        findings, network = self.found, self.network
        trace = findings.trace
        body = [paragraph(self.headline(), kind="verdict")]
        if network.domain:
            inputs = described_within(network, "").removeprefix(", for ")
            body.append(paragraph(f"All claims on this page are about {inputs}.", kind="lead"))
        if self.truth is not None:
            right = self.truth == trace.index
            judgement = "which is right" if right else f"but the true class is {network.classes[self.truth]}"
            sentence = f"{'' if right else '✗ '}The network answers {self.label}, {judgement}."
            body.append(paragraph(sentence, kind="lead" if right else "lead wrong"))
        body.append(paragraph(self.lead_text(), kind="lead"))
        votes = figure_html(votes_of(trace, self.truth, "votes and possibility of the classes"))
        if self.noun == "pixel":
            pictures = figures_html([figure_html(sample_figure(network, findings.sample)), votes], "pair")
        else:
            pictures = figures_html([votes]) + self.values()
        return Html('<section id="verdict">\n{}\n{}\n</section>\n').format(Html().join(body), pictures)

    def headline(self) -> str:
        """Return one sentence with the decision, and the proved facts about small changes."""
        nearest, best = self.found.nearest, self.found.best
        occurs = ", for inputs that can occur" if self.network.domain else ""
        if best is not None and best.cost <= 1:
            return f"{self.label}. A change of 1 {self.noun} can alter it."
        match nearest:
            case Counterfactual() if nearest.is_minimum and nearest.is_certified and nearest.cost > 1:
                return (
                    f"{self.label}. No change of {self._up_to(nearest.cost - 1)} alters it{occurs}: proved."
                )
            case Counterfactual() | OpenCounterfactual() if nearest.lower > 1 and (
                isinstance(nearest, OpenCounterfactual) or nearest.is_certified
            ):
                return (
                    f"{self.label}. No change of {self._up_to(nearest.lower - 1)} alters it{occurs}: proved. "
                    f"More is undecided."
                )
            case NoCounterfactual() if nearest.is_certified:
                return f"{self.label}. No change whatever alters it{occurs}: proved."
        return f"{self.label}. Whether a small change alters it is undecided."

    def _up_to(self, value: Fraction) -> str:
        return f"1 {self.noun}" if value == 1 else f"up to {self.many(short_number(value))}"

    def lead_text(self) -> str:
        """Return the margin of the class, in votes and in score."""
        trace = self.found.trace
        order = sorted(range(len(trace.scores)), key=lambda k: (-trace.scores[k], k))
        votes, size = int(trace.matches[trace.index]), int(self.network.head.sizes[trace.index])
        sentence = f"{votes} of {size} possible votes, score {roughly(trace.scores[trace.index])}"
        if len(order) > 1:
            second = order[1]
            margin = trace.scores[trace.index] - trace.scores[second]
            next_best = self.network.classes[second]
            sentence += (
                (
                    f"; the next class, {next_best}, has the same score, "
                    f"and the tie goes to the lower class number"
                )
                if not margin
                else (
                    f"; {roughly(margin)} more than the next class, {next_best}, "
                    f"with {trace.matches[second]} {plural(trace.matches[second], 'vote')}"
                )
            )
        return sentence + "."

    def values(self) -> Html:
        """Return all values of a sample of a table."""
        encoder = self.network.encoder
        rows = [
            Html("<li><span>{}</span><span>{}</span></li>").format(name, value_text(coding, value))
            for name, coding, value in zip(encoder.names, encoder.codings, self.found.sample, strict=True)
        ]
        left = len(rows) - _FEATURES
        more = paragraph(f"... and {left:,} more features", kind="note") if left > 0 else ""
        listed = element("ul", *rows[:_FEATURES], class_="columns")
        return Html("<h3>The sample</h3>{}{}").format(listed, more)

    # -- why -------------------------------------------------------------------------------------------------

    def rests(self) -> Html:
        asked = ((self._near, self.found.near), (self._everywhere, self.found.everywhere))
        body = [told(reasons) for told, reasons in asked if reasons is not None]
        return section("rests", "What it rests on", Html("\n").join(body) if body else self._not_asked())

    def _reason_mark(self, reason: Reason, where: str) -> Html:
        is_open = reason.status == "unknown"
        size = len(reason.features)
        claim = f"{where}, {self.many(size)} suffice{'s' if size == 1 else ''} for {self.label}"
        return self.marked(reason, claim, "undecided" if is_open else "proved")

    def _near(self, near: Reasons) -> Html:
        network, region = self.network, self.plain(near.region)
        if not near.reasons:
            return paragraph(f"With {region}, no reason was found in the time. ", status_html("undecided"))
        first = near.reasons[0]
        size, mark = len(first.features), self._reason_mark(first, f"with {region}")
        if not size:
            return paragraph(
                f"With {region}, nothing needs to stay: the class stays whatever changes. ", mark
            )
        if first.status == "unknown":
            sentence = f"With {region}, no set of {self.noun}s was proved to suffice in the time. "
            return paragraph(sentence, mark)
        keep = (
            f"this {self.noun} keeps its range" if size == 1 else f"these {self.many(size)} keep their range"
        )
        sentence = (
            f"With {region}, wherever that is, the class stays {self.label} as long as "
            f"{keep}. {_LEAST[first.status]} "
        )
        figures = [
            figure_html(
                kept_figure(
                    network,
                    near.sample,
                    first.features,
                    f"{self.many(size)} that suffice{'s' if size == 1 else ''}",
                )
            )
        ]
        notes = [self._listed(first)]
        if len(near.reasons) > 1:
            figures.append(
                figure_html(
                    heat_map(
                        network,
                        near.attribution,
                        f"how often each {self.noun} is in a reason",
                        near.all_reasons,
                    )
                )
            )
            notes.append(self._around(near))
        if self.noun == "pixel":
            beside = element("div", *notes, class_="words")
            return paragraph(sentence, mark) + figures_html([*figures, beside], "pair")
        # the figure lists up to this many
        return Html().join([paragraph(sentence, mark), figures_html(figures), *notes[size <= _LISTED :]])

    def _around(self, near: Reasons) -> Html:
        """Return the facts about features from all reasons together."""
        completeness = "and no others" if near.all_reasons else "and there may be more"
        core = sorted(set.intersection(*(set(reason.features) for reason in near.reasons)))
        names = _some([self.network.encoder.names[feature] for feature in core], ", ")
        every = f"In every one of them: {names}." if core else f"No {self.noun} is in every one of them."
        matter = len(near.relevant)
        some = f"{self.many(matter)} matter{'s' if matter == 1 else ''} in some set"
        some += f", {len(near.irrelevant)} in none." if near.all_contrasts or near.all_reasons else "."
        return paragraph(
            f"There are {len(near.reasons):,} minimal sets, {completeness}. {every} {some}", kind="note"
        )

    def _everywhere(self, everywhere: Reasons) -> Html:
        has_domain = bool(self.network.domain)
        where = f"any input{' that can occur' if has_domain else ''}"
        if not everywhere.reasons:
            return paragraph(f"For {where}, no reason was found in the time. ", status_html("undecided"))
        first = everywhere.reasons[0]
        size, total, mark = (
            len(first.features),
            self.network.encoder.features,
            self._reason_mark(first, f"for {where}"),
        )
        if first.status == "unknown":
            return paragraph(
                f"For {where}, whatever the rest may be, no reason was proved in the time. ", mark
            )
        if not size:
            claim = "the class is the same: nothing decides."
        elif size == total and first.status == "sufficient":
            claim = f"no set smaller than all {self.noun}s was proved to suffice in the time."
            return paragraph(f"For {where}, {claim} ", status_html("undecided"))
        elif size == total:
            claim = (
                f"all {total} {self.noun}s are needed: none of them can be left out."
                if total > 1
                else f"the only {self.noun} decides."
            )
        else:
            these = (
                f"this one of {self.many(total)} suffices: while it keeps its range"
                if size == 1
                else f"these {size} of {self.many(total)} suffice: while they keep their range"
            )
            others = "values that can occur with them" if has_domain else "any value at all"
            claim = f"{these}, all others may take {others}. {_LEAST[first.status]}"
        return paragraph(f"For {where}, {claim} ", mark) + self._listed(first)

    def _listed(self, reason: Reason) -> Html:
        """Return the conditions of a reason; those of a long one are folded."""
        conditions = reason.conditions()
        if not conditions:
            return Html()
        text = "; ".join(conditions)
        if len(conditions) <= _LISTED:
            return paragraph(f"{text}.", kind="note")
        start = Html('{}; and {} more <span class="screen">(show all)</span>').format(
            "; ".join(conditions[:4]), len(conditions) - 4
        )
        return element("details", element("summary", start), f"{text}.", class_="note")

    # -- what would change it --------------------------------------------------------------------------------

    def changes(self) -> Html:
        findings = self.found
        if findings.nearest is None:
            return section("changes", "What would change it", self._not_asked())
        image, best = self.noun == "pixel", findings.best
        open_yet = isinstance(findings.nearest, Counterfactual) and findings.nearest is not best
        rows = [self._change_row("any other class", findings.nearest, at_most=best if open_yet else None)]
        rows += [
            self._change_row(self.network.classes[target], answer) for target, answer in findings.targets
        ]
        answers = [*([] if open_yet else [findings.nearest]), *(answer for _, answer in findings.targets)]
        # one figure per class
        first = {one.label: one for one in reversed(answers) if isinstance(one, Counterfactual)}
        shown = [
            figure_html(
                changes_figure(
                    self.network,
                    one.sample,
                    one.example,
                    f"{self.label} becomes {label}",
                )
            )
            for label, one in reversed(first.items())
        ]
        table = text_table(("to", "change", *["what changes"] * image, "that it is the least"), rows)
        return section(
            "changes",
            "What would change it",
            (figures_html(shown, "small" if image else "") if shown else Html()) + table,
        )

    def _change_row(self, goal: str, answer: Any, at_most: Counterfactual | None = None) -> Html:
        """Return one row; `at_most` is a cheaper change that a narrower question found."""
        match answer:
            case Counterfactual() if at_most is not None:
                cost = (
                    f"at most {self.plain(show_cost(at_most.metric, at_most.cost))}; "
                    f"the least needs at least {short_number(answer.lower, -1)}"
                )
                what, status = f"as for {at_most.label}", "undecided"
                claim = f"to {goal}: the least needs at least {short_number(answer.lower, -1)}"
            case Counterfactual():
                is_proved = answer.is_minimum and answer.is_certified
                cost = self.plain(show_cost(answer.metric, answer.cost))
                if not answer.is_minimum:
                    cost += f"; the least needs at least {short_number(answer.lower, -1)}"
                parts = []
                for feature, (old, new) in enumerate(zip(answer.sample, answer.example, strict=True)):
                    if old != new:
                        was, becomes = change_text(self.network, feature, old, new)
                        parts.append(f"{becomes} (now {was})")
                what = _some(parts, "; ", 6)
                status = "proved" if is_proved else "undecided"
                claim = f"to {goal}: {cost}"
            case NoCounterfactual():
                cost, what = "none exists", "nothing that may change leads there"
                status = "proved" if answer.is_certified else "undecided"
                claim = f"to {goal}: no change leads there"
            case _:
                bound = show_cost(answer.metric, answer.lower, -1)
                cost, what = f"none found; at least {self.plain(bound)}", answer.reason
                status, claim = "undecided", f"to {goal}: at least {bound}"
        middle = [what] if self.noun == "pixel" else []  # in a table the figure shows it
        return row_html(goal, cost, *middle, self.marked(answer, claim, status))

    # -- how robust ------------------------------------------------------------------------------------------

    def robust(self) -> Html:
        findings = self.found
        claims = [answer for answer in (findings.stays, findings.shifts_stay) if answer is not None]
        if not claims:
            return section("robust", "How robust it is", self._not_asked())
        rows = []
        for answer in claims:
            status, by = self._decided(answer)
            claim = f"the class stays {self.label}, with {self.plain(str(_region_of(answer)))}"
            rows.append(row_html(claim, self.marked(answer, claim, status), by))
        for asked, nearest in ((findings.stays, findings.best), (findings.shifts_stay, findings.shifts)):
            if not isinstance(asked, Refuted):  # its counterexample has its own row
                rows += self._beyond(nearest)
        table = text_table(("claim", "status", "by"), rows)
        return section("robust", "How robust it is", table + self._meters())

    def _decided(self, answer: Proved | Refuted | Undecided) -> tuple[str, str]:
        match answer:
            case Proved():
                return "proved" if answer.is_certified else "undecided", answer.settled_by
            case Refuted():
                changes = changes_listed(self.network, answer.changes(), 4)
                labels = " and ".join(answer.labels)
                return "refuted", f"{answer.settled_by}: class {labels} with {changes}"
        known = answer.facts.get("proved_up_to")
        return "undecided", answer.reason + (
            f"; holds up to {short_number(exact(known), -1)}, proved" if known is not None else ""
        )

    def _beyond(self, nearest: Answer | None) -> list[Html]:
        """Return the end of robustness: the cheapest change that was found refutes any larger region."""
        if not isinstance(nearest, Counterfactual):
            return []
        cost, value = nearest.question.cost, nearest.cost
        assert not isinstance(cost, Prices)
        region = cost(Fraction(short_number(value, 1)))
        claim = f"the class stays {self.label}, with {self.plain(str(region))}"
        mark = self.marked(nearest, f"a change: {show_cost(nearest.metric, nearest.cost)}", "refuted")
        by = f"a changed sample of class {nearest.label}"
        return [row_html(claim, mark, by)]

    def _meters(self) -> Html:
        """Return first-layer neurons within the proved region, and which of them can turn."""
        answer = self.found.stays
        if not isinstance(answer, Proved) or not self.network.layers:
            return Html()
        region = _region_of(answer)
        if region.radius >= self.network.encoder.features:
            return Html()
        meters = match_meters(self.network, self.found.sample, region=region, limit=6)
        caption = (
            "Match counts of the neurons nearest to their threshold, "
            "and how far they can move in that region."
        )
        return figures_html([figure_html(meters, caption)])

    # -- how it came to it -----------------------------------------------------------------------------------

    def chain(self) -> Html:
        chain = self.found.chain
        if chain is None:
            return section("chain", "How the network came to it", self._not_asked())
        intro, last, count = (
            paragraph(self._chain_text(chain)),
            len(self.network.layers),
            len(chain.decisive),
        )
        if not chain.links:
            return section("chain", "How the network came to it", intro)
        rows = []
        for literal in chain.decisive[:_NEURONS]:
            link = chain.links[last, key_of(literal)]
            state = link.state.removeprefix("is ").replace(">=", "≥").replace("<=", "≤")
            because = self._because(last, link.literals)
            rows.append(row_html(str(link.neuron), element("span", state, class_="whole"), because))
        left = count - _NEURONS
        more = Html('<p class="note">... and {} more {}; <code>sugenet why --chain</code> shows all.</p>')
        parts = [intro, text_table(("neuron", "match count", "because"), rows)]
        parts += [more.format(left, plural(left, "neuron"))] if left > 0 else []
        return section("chain", "How the network came to it", Html().join(parts))

    def _chain_text(self, chain: Chain) -> str:
        """Return a summary of a chain."""
        count, size = len(chain.decisive), len(chain.features)
        if not count:
            return f"The class is {self.label}, whatever the input."
        if not chain.links:
            these = f"This {self.noun} suffices" if size == 1 else f"These {self.many(size)} suffice"
            return f"{these} for {self.label}, whatever the others are: {_some(chain.conditions(), '; ')}."
        outputs = self.network.layers[-1].outputs
        if any(link.level is not None for link in chain.links.values()):
            these = f"{many(count, 'condition')} on the levels of the last hidden layer"
            return (
                f"{these} suffice{'s' if count == 1 else ''} for {self.label}. Each holds because of some "
                f"conditions on the layer before, and so down to {self.many(size)}. Every step was checked "
                f"by counting, and no condition in a step can be weakened."
            )
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

    def _because(self, layer: int, literals: tuple[int | Condition, ...]) -> str:
        phrases = [
            self.network.encoder.names[literal - 1]
            if isinstance(literal, int) and layer == 1 and self.network.reads_levels
            else self.network.words(layer, literal)
            for literal in literals[:3]
        ]
        return "; ".join(phrases) + (f"; and {len(literals) - 3} more" if len(literals) > 3 else "")

    # -- the model and its papers ----------------------------------------------------------------------------

    def model(self) -> Html:
        overview = summary(self.network)
        notes = [element("dt", name) + element("dd", text) for name, text in self.network.notes.items()]
        totals = Html("<br>").join(" ".join(line.split()) for line in str(overview).splitlines()[-3:])
        table = element(
            "div", paragraph(short(overview.title, 400)), table_html(summary_table(overview)), class_="keep"
        )
        parts = [table, paragraph(totals, kind="note"), *([element("dl", *notes)] if notes else [])]
        return section("model", "The model", Html().join(parts))

    def certificates(self) -> Html:
        if not self.cited:
            intro = paragraph("Nothing was claimed, so there is nothing to check.")
            return section("certificates", "Certificates", intro)
        name = self.title if all(c.isalnum() or c in "._-/" for c in self.title) else "MODEL"
        intro = Html(
            "<p>Each claim above names its certificate. To check one again, by the definition alone: copy "
            "its text to <code>certificate.json</code>, then run <code>sugenet check certificate.json "
            "{}</code>. The digest is the SHA-256 of that text.</p>\n"
            "<p>Not covered by a certificate: all that names none, such as scores, pictures, times and the "
            "engine that settled a question. It is as sugenet computed it.</p>"
        ).format(name)
        items = []
        for number, (text, (claim, standing)) in enumerate(self.cited.items(), start=1):
            title = Html("<strong>C{}</strong> {} {}").format(
                number, status_html(standing), short(claim, 120)
            )
            items.append(certificate_html(text, title, _TOO_LONG, id=f"c{number}"))
        return section("certificates", "Certificates", intro + Html("\n").join(items))

    def several(self, composed: Sequence[ComposedAnswer]) -> Html:
        """Return the answers about several samples; nothing if there are none."""
        body = [
            paragraph(str(answer), " ", self.marked(answer, str(answer), composed_state(answer)))
            + figures_html([figure_html(figure) for figure in composed_figures(answer)])
            for answer in composed
        ]
        return section("several", "Several samples", Html("\n").join(body)) if body else Html()

    def _not_asked(self) -> Html:
        return paragraph(status_html("not asked"), " The foot of this report says why.")

    def foot(self) -> Html:
        skipped = [element("li", reason) for reason in self.found.skipped]
        left = paragraph("Not asked, or not answered:") + element("ul", *skipped) if skipped else ""
        made = "Made by sugenet. This file holds everything it shows; it loads nothing and runs nothing."
        return Html("<footer>{}<p>{}</p></footer>\n").format(left, made)


GLOSSARY = (
    (
        "proved",
        (
            "Every input that the claim is about was covered by a complete argument in exact integers. It "
            "can be checked again from the certificate, by a separate and simpler program, without trusting "
            "the one that found it."
        ),
    ),
    ("refuted", "An input against the claim is given. Anyone can run the network on it."),
    (
        "undecided",
        "Neither was reached in the time. It says nothing about the network; more time may settle it.",
    ),
    (
        "feature",
        (
            "One value that the network reads, such as a pixel or a column of a table. It counts as changed "
            "when it enters another range."
        ),
    ),
    (
        "reason",
        (
            "Features that decide: while they stay in their range, the class stays, whatever all others do "
            "inside the stated region."
        ),
    ),
    (
        "votes",
        (
            "How many of a class's literals match. Scores follow from votes exactly; the class with the best "
            "score is the answer."
        ),
    ),
    (
        "possibility",
        (
            "1 for the best class; for the others, how close their score comes. "
            "It is not a probability of being right."
        ),
    ),
    (
        "limits",
        (
            "All claims are about this network, named by its fingerprint, and this sample. They do not say "
            "that the class is true, nor what happens with inputs outside the stated regions, nor anything "
            "about how samples were measured."
        ),
    ),
)


def report(
    network: Network,
    x: Any,
    *,
    truth: Any = None,
    index: int | None = None,
    title: str = "model",
    time_limit: float = 30.0,
    seed: int = 0,
    threads: int | None = None,
    notify: Callable[[str], None] | None = None,
    composed: Sequence[ComposedAnswer] = (),
) -> str:
    """Write the report of one decision as HTML: class, reasons, counterfactuals, robustness, with
    certificates.

    Parameters
    ----------
    network, x
        The network and one raw sample.
    truth
        The true class, by name or index, if it is known.
    index
        Index of the sample, for the heading of the report.
    title
        Name of the model, also in the command that checks a certificate.
    time_limit
        Seconds for all questions together. Questions that are open then are reported as undecided.
    seed, threads, notify
        As in `verify`. The same seed gives the same text, unless time runs out.
    composed
        Answers of `sugenet.logic` about several samples, for a section of their own (default: none).

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> neuron = DenseLayer([[+1, +1, -1, +1]], [2])
    >>> net = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    >>> page = report(net, [+1, +1, +1, +1], title="example", time_limit=5)
    >>> "on. No change of 1 feature alters it: proved." in page
    True
    """
    network = network_of(network)
    known = None if truth is None else class_of(network, truth)
    if index is not None and (isinstance(index, bool) or index < 0):
        raise QuestionError(f"index={index!r} must be the number of a sample, from 0.")
    findings = find(network, x, time_limit=time_limit, seed=seed, threads=threads, notify=notify)
    page = Page(findings, known, str(title))
    head = page.head(index, time_limit, seed)
    parts = [
        page.verdict(),
        page.rests(),
        page.changes(),
        page.robust(),
        page.chain(),
        page.several(composed),
        page.model(),
        page.certificates(),
        _glossary(),
    ]
    return str(document(f"{title}: report on one decision", Html().join([head, *parts, page.foot()])))


def _glossary() -> Html:
    items = (element("dt", word) + element("dd", text) for word, text in GLOSSARY)
    return section("words", "What the words mean", element("dl", *items))
