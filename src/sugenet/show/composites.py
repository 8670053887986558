"""Figures of answers about several readings: a grid, a sum or a table of readings, and changed images."""

from collections.abc import Mapping
from math import isqrt
from typing import Any

from sugenet.errors import QuestionError
from sugenet.logic import (
    ComposedAnswer,
    ComposedChange,
    ComposedProved,
    ComposedRead,
    ComposedReason,
    ComposedRefuted,
    ComposedUndecided,
    Reading,
    Sudoku,
    Sum,
)
from sugenet.logic.readings import gap_text
from sugenet.nn.images import grid_of
from sugenet.show.figures import Board, BoardCell, Figure, Strip, StripRow, plural
from sugenet.show.prepare import ROWS, changes_figure, kept_figure, sample_figure

__all__ = ["Marks", "composed_figures", "composed_state", "marks_of", "reading_rows"]

Marks = Mapping[int, tuple[str, str]]
"""The mark of some readings by position, as in `Cell`, and what it says."""

_COLUMNS = 25
"""Columns of a sum in one line."""
_IMAGES = 4
"""Maximum number of images that are drawn beside the composite."""


def composed_state(answer: ComposedAnswer) -> str:
    """Return what an answer comes to: ``"proved"``, ``"refuted"`` or ``"undecided"``."""
    if not isinstance(answer, ComposedAnswer):
        raise QuestionError(f"{str(answer)[:60]!r} is not an answer about several samples.")
    is_open = answer.outcome == "undecided" or not getattr(answer, "is_minimum", True)
    return "refuted" if answer.outcome == "refuted" else "undecided" if is_open else "proved"


def composed_figures(answer: ComposedAnswer) -> tuple[Figure, ...]:
    """Return the composite with the values that the answer is about, and the images that matter."""
    marks, choice, title = marks_of(answer), answer.shown, _title(answer)
    whole, caption = answer.whole, _caption(answer, marks)
    match whole:
        case Sudoku():
            cells = _cells(answer, choice, marks)
            rows = tuple(tuple(cells[k : k + whole.size]) for k in range(0, len(cells), whole.size))
            main: Figure = Board(title, rows, box=isqrt(whole.size), caption=caption)
        case Sum():
            main = _sum(whole, choice, _cells(answer, choice, marks), title, caption)
        case _:
            main = _strip(whole.readings, choice, marks, title, caption)
    return (main, *_images(answer, marks))


def _cells(answer: ComposedAnswer, choice: Any, marks: Marks) -> list[BoardCell]:
    cells = []
    for k, (reading, value) in enumerate(zip(answer.whole.readings, choice, strict=True)):
        kind, words = marks.get(k, ("plain", ""))
        cells.append(BoardCell(reading.values[value], kind, words and f"{reading.name}: {words}"))
    return cells


def _sum(whole: Sum, choice: Any, cells: list[BoardCell], title: str, caption: str) -> Board:
    """Return two numbers and their sum below each other; long ones in several lines."""
    n_left, total = len(whole.left), str(whole.value(choice))
    numbers = [cells[:n_left], cells[n_left:], [BoardCell(digit) for digit in total]]
    width = 1 + max(map(len, numbers))
    lines = [
        [BoardCell(sign), *[BoardCell("")] * (width - 1 - len(row)), *row]
        for sign, row in zip(" +=", numbers, strict=True)
    ]
    rows: list[list[BoardCell]] = []
    heavy: list[int] = []
    for start in range(0, width, _COLUMNS):
        part = [line[start : start + _COLUMNS] for line in lines]
        heavy += [len(rows)] * bool(rows) + [len(rows) + 2]
        rows += [[*line, *[BoardCell("")] * (min(width, _COLUMNS) - len(line))] for line in part]
    return Board(title, tuple(map(tuple, rows)), tuple(heavy), caption=caption)


def _strip(readings: Any, choice: Any, marks: Marks, title: str, caption: str) -> Strip:
    rows = []
    for index, (reading, k) in enumerate(zip(readings, choice, strict=True)):
        gap = reading.gaps[k]
        kind, words = marks.get(index, ("plain", f"behind by {gap_text(gap)}" if gap else "best class"))
        rows.append(StripRow(reading.name, reading.values[k], words, kind))
    rows.sort(key=lambda row: row.kind == "plain")
    return Strip(title, tuple(rows[:ROWS]), max(0, len(rows) - ROWS), caption)


def marks_of(answer: ComposedAnswer) -> Marks:
    """Return the readings that an answer marks: changed ones, those that must stay, or undecided ones."""
    whole, choice = answer.whole, answer.shown
    if isinstance(answer, ComposedReason):
        return {
            k: ("kept", _count(answer, reading))
            for k, reading in enumerate(whole.readings)
            if reading.name in answer.reasons and answer.reasons[reading.name].features
        }
    if isinstance(answer, ComposedUndecided):
        opened = set(answer.open)
        return {k: ("other", "undecided") for k, r in enumerate(whole.readings) if r.name in opened}
    if isinstance(answer, ComposedProved):
        return dict.fromkeys(answer.kept, ("kept", "its class stays"))
    return {
        k: ("other", f"{reading.values[now]}, read as {reading.values[was]}")
        for k, (reading, now, was) in enumerate(zip(whole.readings, choice, whole.read, strict=True))
        if now != was
    }


def _count(answer: ComposedReason, reading: Reading) -> str:
    count = len(answer.reasons[reading.name].features)
    return f"{count} {plural(count, 'feature')} suffice{'s' if count == 1 else ''}"


def _title(answer: ComposedAnswer) -> str:
    whole = answer.whole
    match answer:
        case ComposedRead():
            known = answer.gap is not None
            behind = f"behind by {gap_text(answer.gap)}" if answer.gap else "most possible"
            return f"{whole.words(answer.value)}: {behind if known else 'impossible'}"
        case ComposedRefuted() | ComposedChange():
            return whole.words(answer.value)
        case ComposedProved():
            return f"{whole.words(whole.says)}: it stays"
        case ComposedReason():
            return f"why {whole.words(whole.says)}"
    return f"as read: {whole.words(whole.says)}"


def _caption(answer: ComposedAnswer, marks: Marks) -> str:
    if isinstance(answer, ComposedRead) and answer.gap is None:
        return "the classes that are read"
    if not marks:
        return "every reading has its best class" if isinstance(answer, ComposedRead) else ""
    if isinstance(answer, ComposedProved):
        return "marked: class proved to stay, which is enough"
    if isinstance(answer, ComposedReason):
        return "marked: features of these must stay; all others may change"
    if isinstance(answer, ComposedUndecided):
        return "marked: undecided"
    return "marked: not the best class" if isinstance(answer, ComposedRead) else "marked: changed"


def _images(answer: ComposedAnswer, marks: Marks) -> list[Figure]:
    """Return images of the marked readings, with what changes or must stay in them."""
    figures: list[Figure] = []
    changes = answer.changes() if isinstance(answer, ComposedRefuted | ComposedChange) else {}
    for index in list(marks)[:_IMAGES]:
        reading = answer.whole.readings[index]
        network, name = reading.network, reading.name
        if network is None:
            continue
        sample = network.encoder.values(reading.sample)
        if isinstance(answer, ComposedReason):
            figures.append(kept_figure(network, sample, answer.reasons[name].features, name))
        elif name in changes:
            changed = [
                changes[name].get(feature, (old, old))[1]
                for feature, old in zip(network.encoder.names, sample, strict=True)
            ]
            was, now = (reading.values[k[index]] for k in (answer.whole.read, answer.shown))
            figures.append(changes_figure(network, sample, changed, f"{name}: {was} becomes {now}"))
        elif grid_of(network) is not None and not isinstance(answer, ComposedProved):
            figures.append(sample_figure(network, sample, f"{name}: {marks[index][1]}"))
    return figures


def reading_rows(answer: ComposedAnswer) -> list[tuple[str, ...]]:
    """Return a row per reading, marked ones first: its name, the value, the class that is read, and how far
    the value is behind.
    """
    marks, whole = marks_of(answer), answer.whole
    choice = answer.shown
    order = sorted(range(len(choice)), key=lambda k: (k not in marks, k))
    return [
        (
            whole.readings[k].name,
            whole.readings[k].values[choice[k]],
            whole.readings[k].values[whole.read[k]],
            gap_text(whole.readings[k].gaps[choice[k]]),
        )
        for k in order
    ]
