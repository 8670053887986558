"""No answer is about an impossible input: random tables of columns of all types, a small network each, and
every value that an answer shows is one of its column, inside the training range unless ``within="any"``, and
typed back in by name gives the stated class.

What a value of a column can be is said here, by the cells of the table alone.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from math import isfinite
from typing import Any

import numpy as np
import pytest

import sugenet as sg
from sugenet.fit import Settings, train
from sugenet.reason import Always, Fair, Monotone, Robust
from sugenet.reason.rules.checked import check_rule

pytest.importorskip("torch")
pandas = pytest.importorskip("pandas")

ROWS = 60


@dataclass(frozen=True)
class Column:
    """A feature as answers name it, the cells of its raw columns, and which values are possible and seen."""

    name: str
    raw: dict[str, Any]
    possible: Callable[[Any], bool]
    seen: Callable[[Any], bool]
    spelled: str = ".*"
    middle: Any = None
    """A number of the column, if its values are numbers."""


def between(values):
    """Whether a value is within the smallest and the largest of some; one of them if they are few."""
    few = set(values.tolist())
    return lambda value: min(few) <= value <= max(few) and (len(few) > 8 or value in few)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def is_whole(value):
    return is_number(value) and value == int(value)


def bools(rng, name):
    cells = rng.random(ROWS) < 0.4
    return Column(name, {name: cells}, lambda value: type(value) is bool, set(cells.tolist()).__contains__)


def whole(rng, name):
    cells = rng.integers(*sorted(rng.choice(np.arange(-50, 200), 2, replace=False)), ROWS)
    return Column(name, {name: cells}, is_whole, between(cells), "-?[0-9]+", cells[0])


def few_whole(rng, name):
    cells = rng.choice([0, 1, 2, 5], ROWS)
    return Column(name, {name: cells}, is_whole, between(cells), "-?[0-9]+", cells[0])


def whole_floats(rng, name):
    cells = rng.integers(20, 90, ROWS).astype(float)
    return Column(name, {name: cells}, is_whole, between(cells), "-?[0-9]+", cells[0])


def numbers(rng, name):
    cells = (rng.normal(size=ROWS) * 10.0 ** rng.integers(-2, 4)).round(int(rng.integers(3, 12)))
    return Column(name, {name: cells}, is_number, between(cells), middle=cells[0])


def categories(rng, name):
    cells = rng.choice(["red", "light blue", "green", "N"], ROWS)
    kept = set(cells.tolist()).__contains__
    return Column(name, {name: cells}, kept, kept)


def coded(rng, name):
    """Categories that are spelled like numbers."""
    cells = rng.choice(["01", "2", "x"], ROWS)
    kept = set(cells.tolist()).__contains__
    return Column(name, {name: cells}, kept, kept)


def ordered(rng, name):
    levels = ["low", "mid", "high"]
    cells = rng.choice(levels, ROWS)
    kept = set(cells.tolist()).__contains__
    return Column(name, {name: pandas.Categorical(cells, levels, ordered=True)}, kept, kept)


def dates(rng, name):
    days = rng.integers(-4000, 20000, ROWS)
    feature = f"{name} (days since 1970-01-01)"
    cells = np.datetime64("1970-01-01") + days
    return Column(feature, {name: cells}, is_whole, between(days), "-?[0-9]+", days[0])


def one_hot(rng, name):
    cells = rng.choice(["a", "b", "c"], ROWS)
    kept = set(cells.tolist()).__contains__
    return Column(name, {f"{name}_{one}": (cells == one).astype(int) for one in "abc"}, kept, kept)


def with_gaps(cells):
    """Every seventh cell is a gap, each spelled in another way."""
    gaps = [None, float("nan"), "", "NA", "?"]
    mixed = cells.astype(object)
    mixed[::7] = [gaps[k % 5] for k in range(len(mixed[::7]))] if isinstance(mixed[1], str) else None
    return mixed


def present(cells):
    return np.array([cell for k, cell in enumerate(cells) if k % 7])


def imputed(kind):
    """The same column with gaps, which are replaced by a value of it."""

    def made(rng, name):
        column = kind(rng, name)
        (cells,) = column.raw.values()
        days = (cells - np.datetime64("1970-01-01")).astype(int) if cells.dtype.kind == "M" else cells
        kept = present(days)
        seen = set(kept.tolist()).__contains__ if column.middle is None else between(kept)
        middle = None if column.middle is None else kept[0]
        raw = pandas.Series(with_gaps(cells))
        raw = raw.astype("datetime64[s]" if cells.dtype.kind == "M" else object).infer_objects()
        return replace(column, raw={name: raw}, seen=seen, middle=middle)

    return made


def gap_or_bool(rng, name):
    cells = rng.random(ROWS) < 0.4
    kept = {*present(cells).tolist(), None}.__contains__
    return Column(name, {name: with_gaps(cells)}, kept, kept)


def gap_or_category(rng, name):
    cells = rng.choice(["red", "light blue", "green"], ROWS)
    kept = {*present(cells).tolist(), None}.__contains__
    return Column(name, {name: with_gaps(cells)}, kept, kept)


def gap_or_year(rng, name):
    cells = np.datetime64("1970-01-01") + rng.integers(-1000, 1000, ROWS)
    kept = {*(int(str(cell)[:4]) for cell in present(cells)), None}.__contains__
    raw = pandas.Series(with_gaps(cells)).astype("datetime64[s]")
    return Column(f"{name} (year)", {name: raw}, kept, kept)


def gap_or_range(rng, name):
    cells = rng.normal(size=ROWS).round(3)

    def in_range(label):
        ends = re.fullmatch("(?:below (.+)|(.+) up to (.+)|(.+) or more)", label).groups()
        low, high = float(ends[1] or ends[3] or "-inf"), float(ends[0] or ends[2] or "inf")
        return any(low <= cell < high for cell in present(cells))

    possible = lambda value: value is None or in_range(value)  # noqa: E731
    return Column(name, {name: with_gaps(cells).astype(float)}, possible, possible)


PLAIN = (bools, whole, few_whole, whole_floats, numbers, categories, coded, ordered, dates, one_hot)
IMPUTED = (bools, whole, few_whole, numbers, categories, dates)
KINDS: dict[str, dict[str, Any]] = {
    "refuse": {kind.__name__: kind for kind in PLAIN},
    "impute": {kind.__name__: imputed(kind) for kind in IMPUTED},
    "category": {kind.__name__: kind for kind in (gap_or_bool, gap_or_category, gap_or_year, gap_or_range)},
}


class Table:
    """A random table, the network trained from it, and the same network as another program loads it."""

    def __init__(self, seed, folder, missing):
        rng, known = np.random.default_rng(seed), KINDS[missing]
        first = list(known)[seed % len(known)]  # each kind in turn
        others = [*known.items(), *KINDS["refuse"].items()]
        chosen = [(first, known[first]), *(others[k] for k in rng.integers(len(others), size=3))]
        self.columns = [kind(rng, f"{name}{place}") for place, (name, kind) in enumerate(chosen)]
        self.frame = pandas.DataFrame(
            {name: cells for one in self.columns for name, cells in one.raw.items()}
        )
        self.rng = rng
        settings = Settings(epochs=6, batch=16, seed=seed)
        weights = rng.normal(size=len(self.columns))
        y = sum(
            weight * pandas.factorize(self.frame.iloc[:, place], sort=True)[0]
            for place, weight in enumerate(weights)
        )
        labels = np.where(y > np.median(y), "yes", "no")
        self.network = train(
            self.frame, labels, (6,), settings=settings, test_share=0, missing=missing
        ).network
        sg.save(self.network, folder / "table.sugenet")
        self.loaded = sg.load(folder / "table.sugenet")
        self.names = [one.name for one in self.columns]
        assert list(self.loaded.encoder.names) == self.names
        self.shown = 0

    def sample(self, row):
        """A row of the table by the names of its columns."""
        return self.frame.iloc[row].to_dict()

    def changed(self, sample, values):
        """The sample with other values of some features, by name, and all others as text."""
        texts = {name: "" if value != value else str(value) for name, value in sample.items()}
        for one in self.columns:
            if one.name in values:
                for name in one.raw:
                    del texts[name]
                texts[one.name] = values[one.name]
        return texts

    # -- what every shown value must be ----------------------------------------------------------------------

    def see(self, values, label, sample=None, *, within=None):
        """Values by feature are possible, seen unless any are asked for, and give the class."""
        for one in self.columns:
            if one.name in values:
                value = values[one.name]
                assert one.possible(value), (one.name, value)
                assert within == "any" or one.seen(value), (one.name, value)
                self.shown += 1
        whole_sample = values if sample is None else self.changed(sample, values)
        assert self.loaded.predict_one(whole_sample) == label

    def see_text(self, texts, label, sample=None):
        """Values as they are printed are spelled as their columns are, and give the class."""
        for one in self.columns:
            if one.name in texts:
                assert re.fullmatch(one.spelled, texts[one.name]), (one.name, texts[one.name])
        whole_sample = texts if sample is None else self.changed(sample, texts)
        assert self.loaded.predict_one(whole_sample) == label

    def printed_changes(self, sentence, changes):
        """Of each change in a sentence its new value, as printed."""
        texts = {}
        for name, (before, _) in changes.items():
            start = f"{name} from {sg.capacity.arguments.number_text(before)} to "
            found = re.search(
                re.escape(start) + r"(.*?)(?= \((?:at least|below)|; |, where | \(with|\n|$)", sentence
            )
            assert found is not None, (sentence, start)
            texts[name] = found[1]
        return texts

    def printed_values(self, sentence):
        """Values that a sentence gives as ``name = value``."""
        found = {
            name: re.findall(rf"\b{re.escape(name)} = (.*?)(?=; |\n|$)", sentence) for name in self.names
        }
        return {name: texts[-1] for name, texts in found.items() if texts}

    def checked(self, answer):
        """The certificate holds for the network that was loaded, also in plain form."""
        assert sg.check(answer, self.loaded)
        assert sg.check(answer, self.loaded, plain=True)

    # -- questions -------------------------------------------------------------------------------------------

    def ask_about_one(self, row, within):
        sample = self.sample(row)
        label = self.network.predict_one(sample)
        assert self.loaded.predict_one(self.changed(sample, {})) == label
        for cost in ("L0", "L1", "Linf"):
            answer = sg.whatif(self.network, sample, cost, within=within, n=2)
            self.checked(answer)
            for one in [answer, *getattr(answer, "others", ())] if answer.outcome == "found" else ():
                changes = one.changes()
                self.see(
                    {name: after for name, (_, after) in changes.items()}, one.label, sample, within=within
                )
                exact = zip(self.names, one.changed, strict=True)
                self.see({name: v for name, v in exact if name in changes}, one.label, sample, within=within)
                sentence = next(
                    line for line in str(answer).split("\n") if line.startswith(one.said().split("\n")[0])
                )
                self.see_text(self.printed_changes(sentence, changes), one.label, sample)
        for region in (sg.L0(2), sg.L1(30), sg.Linf(5), sg.AnyInput()):
            verdict = sg.verify(self.network, Robust(sample, region), within=within)
            self.checked(verdict)
            if verdict.is_refuted:
                changes = verdict.changes()
                self.see(
                    {name: after for name, (_, after) in changes.items()},
                    verdict.label,
                    sample,
                    within=within,
                )
                if not verdict.is_long:
                    self.see_text(self.printed_changes(str(verdict), changes), verdict.label, sample)
        answer = sg.why(self.network, sample, sg.AnyInput(), within=within, n=3)
        self.checked(answer)
        for reason in answer.reasons:
            rule = check_rule(self.network, f"{' and '.join(reason.conditions())} -> {label}", within=within)
            assert not reason.conditions() or rule.verdict.is_proved
        for contrast in islice(answer.contrasts, 5):
            values = {self.names[f]: value for f, value in contrast.values.items()}
            self.see(values, "no" if label == "yes" else "yes", sample, within=within)

    def ask_about_all(self, within):
        ordered = {one.name: one.middle for one in self.columns if one.middle is not None}
        questions = [Always("yes"), Always("no"), *(Fair([name]) for name in self.names)]
        questions += [Monotone(name, "yes") for name in ordered]
        for question in questions:
            verdict = sg.verify(self.network, question, within=within)
            self.checked(verdict)
            if verdict.is_refuted:
                self.see_witness(verdict, within)
        for name, middle in ordered.items():
            rule = check_rule(self.network, f"{name} >= {middle} -> yes", within=within)
            if rule.verdict.is_refuted:
                self.see_witness(rule.verdict, within)

    def see_witness(self, verdict, within):
        for rows in (verdict.witness, verdict.example):
            for row, label in zip(rows if verdict.is_pair else [rows], verdict.labels, strict=True):
                self.see(dict(zip(self.names, row, strict=True)), label, within=within)
        texts = self.printed_values(str(verdict).partition(". Class ")[2])
        if not verdict.is_pair:
            self.see_text(texts, verdict.label)
            return
        changes = verdict.changes()
        after = self.printed_changes(str(verdict), changes)
        before = {name: sg.capacity.arguments.number_text(old) for name, (old, _) in changes.items()}
        self.see_text(texts | before, verdict.labels[0])
        self.see_text(texts | after, verdict.labels[1])


@pytest.mark.parametrize("within", [None, "any"])
@pytest.mark.parametrize("missing", list(KINDS))
@pytest.mark.parametrize("seed", range(10))
def test_shown_values_can_occur_and_give_the_stated_class(seed, missing, within, tmp_path):
    table = Table(seed, tmp_path, missing)
    for row in [0, *table.rng.choice(ROWS, 2, replace=False).tolist()]:  # the first row has the gaps
        table.ask_about_one(row, within)
    table.ask_about_all(within)
    assert table.shown
