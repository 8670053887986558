"""Sudoku grids: search over levels against all 288 grids of 16 cells; the line between valid and invalid."""

import random
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import QuestionError
from sugenet.logic import GapLine, Reading, read
from sugenet.logic.composed import Wanted
from sugenet.logic.search import _Bounding
from sugenet.logic.sudoku import units
from tests.logic.wholes import given, valid_grids
from tests.problem.clocks import ringing

GRIDS = valid_grids()


def drawn_grid(rng, largest=4, values="1234"):
    return sg.logic.Sudoku(tuple(given(rng, f"c{k}", values, largest) for k in range(16)))


def near_grid(rng, values="1234"):
    """A grid that is nearly a Sudoku."""
    own = GRIDS[rng.integers(len(GRIDS))]
    cells = []
    for k, digit in enumerate(own):
        gaps = {v: int(g) for v, g in zip(values, rng.integers(1, 6, len(values)), strict=True)}
        gaps[str(digit) if rng.random() < 0.9 else values[rng.integers(4)]] = 0
        cells.append(Reading.given(f"c{k}", gaps))
    return sg.logic.Sudoku(tuple(cells))


def test_there_are_288_grids_and_they_are_valid():
    assert len(GRIDS) == 288
    grid = sg.logic.Sudoku(tuple(Reading.given(f"c{k}", dict.fromkeys("1234", 0)) for k in range(16)))
    valid = {grid.value([d - 1 for d in g]) for g in GRIDS}
    assert valid == {True}
    for g in GRIDS[:40]:  # one changed cell always breaks it
        for cell in range(16):
            assert not any(
                grid.value([d - 1 if k != cell else other for k, d in enumerate(g)])
                for other in range(4)
                if other != g[cell] - 1
            )


@pytest.mark.parametrize("make", [drawn_grid, near_grid])
def test_the_most_possible_grid_against_all_of_them(make):
    rng = np.random.default_rng(5)
    for _ in range(25):
        grid = make(rng)
        gaps = grid.gaps
        expected = min(max(gaps[k][d - 1] for k, d in enumerate(g)) for g in GRIDS)
        best = grid.min_gap(Wanted(True))
        assert best[0] == expected == max(gaps[k][v] for k, v in enumerate(best[1]))
        assert grid.value(best[1])
        costs = [[Fraction(int(c), 2) for c in rng.integers(0, 9, 4)] for _ in range(16)]
        cheap = grid.min_cost(Wanted(True), costs)
        assert cheap[0] == min(sum(costs[k][d - 1] for k, d in enumerate(g)) for g in GRIDS)
        assert grid.value(cheap[1])


def test_the_nearest_broken_grid():
    rng = np.random.default_rng(6)
    for _ in range(20):
        # four cells of a grid that is otherwise known: all choices can be gone through
        own = GRIDS[rng.integers(len(GRIDS))]
        free = set(rng.permutation(16)[:4].tolist())
        cells = [
            given(rng, f"c{k}", "12340"[: 4 + rng.integers(2)])
            if k in free
            else Reading.given(f"c{k}", {str(d): 0})
            for k, d in enumerate(own)
        ]
        grid = sg.logic.Sudoku(tuple(cells))
        from tests.logic.wholes import all_choices

        broken = [c for c in all_choices(cells) if not grid.value(c)]
        best = grid.min_gap(Wanted(False))
        assert best[0] == min(max(r.gaps[k] for r, k in zip(cells, c, strict=True)) for c in broken)
        assert not grid.value(best[1])
        costs = [rng.integers(0, 9, len(r.values)).tolist() for r in cells]
        cheap = grid.min_cost(Wanted(False), costs)
        assert cheap[0] == min(sum(row[k] for row, k in zip(costs, c, strict=True)) for c in broken)
        assert not grid.value(cheap[1])
        assert grid.min_gap(Wanted(True, other=True)) == best


def test_units_of_a_large_grid():
    assert len(units(9)) == 27
    assert all(len(set(unit)) == 9 for unit in units(9))
    assert all(sum(cell in unit for unit in units(9)) == 3 for cell in range(81))
    assert units(9)[18] == (0, 1, 2, 9, 10, 11, 18, 19, 20)


def test_a_grid_of_81_cells_with_a_cell_misread():
    base = [[(3 * (r % 3) + r // 3 + c) % 9 + 1 for c in range(9)] for r in range(9)]
    cells = [
        {str(d): 0 if d == own else 20 + (d * own) % 7 for d in range(1, 10)} for row in base for own in row
    ]
    cells[40] = {str(d): 3 if d == base[4][4] else 0 if d == base[4][4] % 9 + 1 else 30 for d in range(1, 10)}
    grid = sg.logic.Sudoku(tuple(Reading.given(f"c{k}", gaps) for k, gaps in enumerate(cells)))
    gap, choice = grid.min_gap(Wanted(True))
    assert gap == 3
    assert grid.digits(choice) == ["".join(map(str, row)) for row in base]
    assert grid.conflict() is not None
    assert grid.conflict(choice) is None
    answer = read(grid)
    assert "gap of 3" in sg.check(answer.certificate, [])
    assert answer.gap == 3
    assert grid.min_cost(Wanted(True), grid.gaps)[0] == 3


def test_cells_without_digits_are_no_sudoku():
    cells = [Reading.given(f"c{k}", {"7": 0}) for k in range(16)]
    grid = sg.logic.Sudoku(tuple(cells))
    assert grid.min_gap(Wanted(True)) is None
    assert read(grid).gap is None
    assert "no digits make it one" in str(grid)
    assert sg.logic.Sudoku((Reading.given("only", {"1": 0, "2": 5}),)).says is True


def test_what_is_no_grid_is_refused():
    with pytest.raises(QuestionError, match="a grid of 15 cells is not a Sudoku"):
        sg.logic.Sudoku(tuple(Reading.given(f"c{k}", {"1": 0}) for k in range(15)))
    net, X = sg.models.digits(), sg.models.samples("digits")[0]
    with pytest.raises(QuestionError, match="a grid of 36 cells"):
        sg.logic.Sudoku.of(net, X[:36])
    with pytest.raises(QuestionError, match="has no class '1'"):
        sg.logic.Sudoku.of(net.with_classes("9"), X[:16])
    with pytest.raises(QuestionError, match="a grid of 0 cells"):
        sg.logic.Sudoku(())
    grid = sg.logic.Sudoku.of(net, X[:16])
    assert grid.cells[0].values == ("1", "2", "3", "4")  # among the digits of the grid


def test_the_line_is_the_best_there_is():
    rng = np.random.default_rng(7)
    for _ in range(50):
        gaps = [None if rng.random() < 0.1 else int(g) for g in rng.integers(0, 8, 12)]
        truths = (rng.random(12) < 0.5).tolist()
        line = GapLine.fit(gaps, truths)
        right = sum(line.says(g) == t for g, t in zip(gaps, truths, strict=True))
        tried = [GapLine(None), *(GapLine(Fraction(k, 2)) for k in range(-1, 20))]
        assert right == max(sum(one.says(g) == t for g, t in zip(gaps, truths, strict=True)) for one in tried)
    with pytest.raises(QuestionError, match="needs some wholes"):
        GapLine.fit([], [])


def copied_rows():
    """A grid all of whose rows are 1 2 3 4, far from any Sudoku."""
    return sg.logic.Sudoku(
        [
            Reading.given(f"cell {k}", {str(digit): int(digit != k % 4 + 1) for digit in range(1, 5)})
            for k in range(16)
        ]
    )


@pytest.mark.parametrize("bits", [1, 8, 62, 64, 1000])
@pytest.mark.parametrize("is_bounded", [False, True])
def test_the_cheapest_grid_for_costs_of_any_size(bits, is_bounded):
    draw, grid = random.Random(bits), copied_rows()
    costs = [[0 if gap == 0 else 1 + draw.getrandbits(bits) for gap in cell.gaps] for cell in grid.cells]
    least = min(sum(costs[k][digit - 1] for k, digit in enumerate(one)) for one in GRIDS)
    if is_bounded:
        with _Bounding(grid._choices, costs, None) as bounding:
            assert bounding.run(10**9)
            assert (bounding.least, grid.value(bounding.values)) == (least, True)
    else:
        found = grid.min_cost(Wanted(True), costs)
        assert found[0] == least == sum(costs[k][value] for k, value in enumerate(found[1]))


def test_branch_and_bound_is_stopped_and_goes_on():
    grid = copied_rows()
    costs = [[0 if gap == 0 else 10**300 + 7 * k for gap in cell.gaps] for k, cell in enumerate(grid.cells)]
    with _Bounding(grid._choices, costs, None) as whole:
        assert whole.run(10**9)
    with _Bounding(grid._choices, costs, None) as bounding:
        turns = 1
        while not bounding.run(5_000):
            turns += 1
        assert turns > 1
        assert bounding.least == whole.least
    for looks in range(6):
        with pytest.raises(TimeoutError):
            grid.min_cost(Wanted(True), costs, ringing(looks).up)


def test_what_cannot_be_has_no_cheapest_grid():
    grid = copied_rows()
    none = [[0 if digit == 0 else None for digit in range(4)] for _ in grid.cells]
    assert grid.min_cost(Wanted(True), none) is None
    with _Bounding(grid._choices, none, None) as bounding:
        assert bounding.run(10**9)
        assert bounding.values is None
