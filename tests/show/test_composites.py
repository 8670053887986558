"""Drawings of answers about several readings: what is marked is what the answer says."""

import numpy as np
import pytest

from sugenet import L0, logic, models
from sugenet.logic import Reading, Statement, Sudoku, Sum
from sugenet.show import drawing, html, plot
from sugenet.show.figures import Board, Pixels, Strip

NET, (X, Y) = models.digits(), models.samples("digits")


def sum_of(left, right):
    return Sum.of(NET, X[left], X[right])


def marked(board):
    return [(r, c, cell.text) for r, row in enumerate(board.rows) for c, cell in enumerate(row) if cell.words]


def given(name, digit, other=None):
    gaps = {str(k): 0 if k == digit else 2 if k == other else 9 for k in range(1, 5)}
    return Reading.given(name, gaps)


def test_a_sum_is_written_in_rows_and_changed_digits_are_marked():
    answer = logic.whatif(sum_of([7, 3], [4]), 41)
    board, image = drawing(answer).figures
    assert ["".join(cell.text for cell in row) for row in board.rows] == [" 34", "+7", "=41"]
    assert marked(board) == [(1, 2, "7")]
    assert board.rows[1][2].words == "right 1: 7, read as 6"
    assert isinstance(image, Pixels)
    assert len(image.cells) == answer.cost == 2
    assert "right 1" in html(answer)


def test_the_marks_of_each_answer():
    total = sum_of([7, 3], [4])
    read, proved = logic.read(total, 50), logic.verify(total, L0(1))
    assert marked(drawing(read).figures[0]) == [(0, 1, "4")]
    assert marked(drawing(logic.read(total)).figures[0]) == []
    assert drawing(logic.read(total, 7000)).figures[0].title == "the sum is 7000: impossible"
    assert len(marked(drawing(proved).figures[0])) == len(proved.certificate["parts"]) == 3
    reason = logic.why(total, L0(2))
    figures = drawing(reason).figures
    assert len(marked(figures[0])) == len(figures) - 1 == sum(map(bool, _features(reason)))
    open_one = logic.verify(total, L0(4), time_limit=0)
    assert len(marked(drawing(open_one).figures[0])) == len(open_one.open)


def _features(reason):
    return [one.features for one in reason.reasons.values()]


def test_long_sums_are_broken_into_lines():
    total = sum_of(list(range(40)), list(range(40, 80)))
    board = drawing(logic.read(total)).figures[0]
    assert {len(row) for row in board.rows} == {25}
    lines = ["".join(cell.text for row in board.rows[k::3] for cell in row) for k in range(3)]
    assert [int(line.strip("+=")) for line in lines] == [*total.addends(total.read), total.says]


def test_a_grid_has_boxes_and_marks_what_is_not_read():
    rows = ["1234", "3412", "2143", "4321"]
    cells = [
        given(f"cell {r}{c}", int(d) if (r, c) != (0, 0) else 2, 1)
        for r, row in enumerate(rows)
        for c, d in enumerate(row)
    ]
    answer = logic.read(Sudoku(tuple(cells)))
    board = drawing(answer).figures[0]
    assert isinstance(board, Board)
    assert board.box == 2
    assert marked(board) == [(0, 0, "1")]
    assert drawing(answer).table.rows[0] == ("cell 00", "1", "2", "2 points")
    pytest.importorskip("matplotlib")
    assert plot(answer).get_title(loc="left") == board.title


def test_a_statement_lists_its_readings_marked_ones_first():
    answer = logic.read(Statement.of([given("a", 1), given("b", 2, 1)], "a = b"))
    strip = drawing(answer).figures[0]
    assert isinstance(strip, Strip)
    assert [(row.name, row.value, row.kind) for row in strip.rows] == [
        ("b", "1", "other"),
        ("a", "1", "plain"),
    ]
    assert np.array(drawing(answer).table.rows).tolist() == [
        ["b", "1", "2", "2 points"],
        ["a", "1", "1", "0 points"],
    ]
