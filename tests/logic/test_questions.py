"""Questions to wholes against brute force over all images of small networks; every answer is checked, and
goes to JSON and back.
"""

import json
from itertools import chain, combinations, product

import numpy as np
import pytest

import sugenet as sg
from sugenet import logic
from sugenet.errors import CertificateError, QuestionError
from sugenet.logic import Reading, readings_of
from sugenet.logic.composed import Wanted
from tests.fuzzing.wrappers import altered
from tests.logic.wholes import images, net_of, valid_grids

BITS = 3
ALL = images(BITS)


def seen(answer, *networks):
    """An answer whose certificate holds, and that is the same after a way through JSON."""
    data = json.loads(json.dumps(answer.data()))
    sg.check(data["certificate"], list(networks))
    again = logic.answer_of(data, *networks)
    assert type(again) is type(answer)
    assert str(again) == str(answer)
    assert again.data() == data
    return answer


def far(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True))


KNOWN = {}


def digit(net, x):
    """The class of an image by the definition, worked out once."""
    if (id(net), x) not in KNOWN:
        KNOWN[id(net), x] = int(net.predict([x], engine="definition")[0]), net  # so that its id stays its own
    return KNOWN[id(net), x][0]


def wholes(seed):
    """A whole of each kind over two or three images, with its networks and images."""
    rng = np.random.default_rng(seed)
    one, two = net_of(seed, bits=BITS, hidden=3), net_of(seed + 100, bits=BITS, classes="0459")
    xs = [ALL[k] for k in rng.integers(0, len(ALL), 3)]
    nets = [one, two, one]
    readings = [Reading.of(net, x, name) for net, x, name in zip(nets, xs, "abc", strict=True)]
    yield sg.logic.Sum(tuple(readings[:1]), tuple(readings[1:2])), nets[:2], xs[:2]
    yield sg.logic.Sum(tuple(readings[:2]), tuple(readings[2:])), nets, xs
    for text in ("a > b or c = 3", "if a != b then b = c", "a = 1 and b != 0", "a in {1, 2, 3} iff c < 5"):
        yield sg.logic.Statement.of(readings, text), nets, xs


def value_at(whole, nets, xs):
    return whole.value([digit(net, x) for net, x in zip(nets, xs, strict=True)])


@pytest.mark.parametrize("seed", range(5))
def test_can_it_fail_against_all_images(seed):
    for whole, nets, xs in wholes(seed):
        own = value_at(whole, nets, xs)
        assert own == whole.says
        for radius in (0, 1, 2):
            near = [[y for y in ALL if far(x, y) <= radius] for x in xs]
            stays = all(value_at(whole, nets, ys) == own for ys in product(*near))
            answer = seen(logic.verify(whole, sg.Hamming(radius)), *set(nets))
            assert answer.outcome == ("proved" if stays else "refuted")
            if whole.is_sensitive():
                # with one reading that changes alone, the whole is as safe as its parts, no more and no less
                parts = all(
                    digit(n, y) == digit(n, x) for n, x, row in zip(nets, xs, near, strict=True) for y in row
                )
                assert stays == parts
                shared = all(
                    value_at(whole, nets, ys) == own
                    for ys in product(ALL, repeat=len(xs))
                    if sum(map(far, xs, ys)) <= radius
                )
                assert shared == stays  # a shared budget comes to the same
                assert (
                    seen(logic.verify(whole, sg.Hamming(radius), joint=True), *set(nets)).outcome
                    == answer.outcome
                )


@pytest.mark.parametrize("seed", range(3))
def test_what_would_change_it_against_all_images(seed):
    for whole, nets, xs in wholes(seed):
        least = {}
        for ys in product(ALL, repeat=len(xs)):
            value, cost = value_at(whole, nets, ys), sum(map(far, xs, ys))
            least[value] = min(cost, least.get(value, cost))
        own = whole.says
        others = [cost for value, cost in least.items() if value != own]
        for cost in (sg.L0, sg.L1) if seed % 2 else (sg.Hamming,):
            answer = seen(logic.whatif(whole, cost=cost), *set(nets))
            if others:
                assert answer.is_minimum
                assert answer.cost == min(others)
                assert answer.value != own
                assert answer.changes()
            else:
                assert answer.outcome == "none"
        targets = [True, False] if whole.kind == "stated" else [*list(least)[:2], 17]
        for target in targets:
            if target == own:
                with pytest.raises(QuestionError, match="already, as it is read"):
                    logic.whatif(whole, target)
                continue
            answer = seen(logic.whatif(whole, target), *set(nets))
            if target in least:
                assert answer.is_minimum
                assert answer.cost == least[target]
                assert answer.value == target
            else:
                assert answer.outcome == "none"


def subsets(features):
    return chain.from_iterable(combinations(features, k) for k in range(len(features) + 1))


def suffices(whole, nets, xs, fixed, radius):
    own = whole.says
    near = [
        [y for y in ALL if far(x, y) <= radius and all(x[f] == y[f] for f in range(BITS) if (p, f) in fixed)]
        for p, x in enumerate(xs)
    ]
    return all(value_at(whole, nets, ys) == own for ys in product(*near))


@pytest.mark.parametrize("seed", range(3))
def test_why_against_all_images(seed):
    for whole, nets, xs in wholes(seed):
        if len(xs) == 3 and whole.kind == "sum":
            continue
        for radius, minimal in ((1, "subset"), (2, "size")):
            answer = seen(logic.why(whole, sg.Hamming(radius), minimal=minimal), *set(nets))
            places = {reading.name: place for place, reading in enumerate(whole.readings)}
            fixed = {(places[name], f) for name, reason in answer.reasons.items() for f in reason.features}
            assert suffices(whole, nets, xs, fixed, radius)
            if whole.is_sensitive():
                assert answer.status in ("minimal", "minimum")
                assert not any(suffices(whole, nets, xs, fixed - {one}, radius) for one in fixed)
            if answer.status == "minimum":
                every = [(p, f) for p in range(len(xs)) for f in range(BITS)]
                assert len(fixed) == min(
                    len(some) for some in subsets(every) if suffices(whole, nets, xs, set(some), radius)
                )


def test_a_grid_of_images_against_all_grids():
    rng, found = np.random.default_rng(2), set()
    codes = [[1, 1, 1, 1, 1, 1], [-1, -1, -1, -1, 1, 1], [-1, -1, 1, 1, -1, -1], [1, 1, -1, -1, -1, -1]]
    net = sg.Network.of_bits([], sg.nn.Head(codes), classes=list("1234"))
    every = images(6)
    own = [digit(net, x) for x in every]
    assert set(own) == {0, 1, 2, 3}
    grids = valid_grids()
    for round_ in range(8):
        truth = grids[rng.integers(len(grids))]
        cells = [tuple(codes[d - 1]) for d in truth]
        if round_ % 2:
            cells = [every[rng.choice([k for k, o in enumerate(own) if o == d - 1])] for d in truth]
        for _ in range(round_ % 3):
            cells[rng.integers(16)] = every[rng.integers(64)]
        grid = sg.logic.Sudoku.of(net, cells)
        reach = [
            [min(far(x, y) for y, d in zip(every, own, strict=True) if d == k) for k in range(4)]
            for x in cells
        ]
        valid = min(sum(reach[k][d - 1] for k, d in enumerate(g)) for g in grids)
        assert grid.says == (valid == 0)
        answer = seen(logic.whatif(grid), net)
        if grid.says:
            assert answer.cost == min(row[k] for row in reach for k in range(4) if row[k])
        else:
            assert answer.cost == valid
            assert answer.is_minimum
        for radius in (1, 2):
            stays = not any(all(reach[k][d - 1] <= radius for k, d in enumerate(g)) for g in grids)
            if grid.says:
                stays = all(row[k] == 0 or row[k] > radius for row in reach for k in range(4))
            verdict = seen(logic.verify(grid, sg.Hamming(radius)), net)
            assert verdict.outcome == ("proved" if stays else "refuted")
            found.add((grid.says, verdict.outcome))
        reason = seen(logic.why(grid, sg.Hamming(1)), net)
        assert reason.status != "unknown"
        assert (reason.status == "sufficient") == (not grid.says)
        if not grid.says:
            assert len(reason.reasons) == 2  # two cells with the same digit decide
        seen(logic.read(grid), net)
    assert len(found) == 4


def test_given_readings_stay_as_they_are():
    net = net_of(4, bits=BITS)
    x = next(x for x in ALL if digit(net, x) != 0)
    printed = Reading.given("printed", {"5": 0, "6": 0})
    total = sg.logic.Sum((Reading.of(net, x, "image"),), (printed,))
    answer = seen(logic.whatif(total), net)
    assert list(answer.changes()) == ["image"]
    assert total.margin == 0  # what is given may be either, as far as reading goes
    seen(logic.verify(total, sg.Hamming(1)), net)
    with pytest.raises(QuestionError, match="no reading comes from a network"):
        logic.whatif(sg.logic.Sum((printed,), (Reading.given("b", {"1": 0}),)))


def test_undecided_parts_give_undecided_wholes():
    net, X = sg.models.digits(), sg.models.samples("digits")[0]
    total = sg.logic.Sum.of(net, X[[7]], X[[3]])
    answer = seen(logic.verify(total, sg.L0(2), time_limit=0), net)
    assert answer.outcome == "undecided"
    assert "undecided" in str(answer)
    assert answer.open
    answer = seen(logic.whatif(total, 12, time_limit=0), net)
    assert answer.outcome in ("undecided", "counterfactual")
    assert answer.lower >= 1
    answer = logic.why(total, sg.L0(3), time_limit=0)
    seen(answer, net)
    assert answer.status in ("unknown", "sufficient")


def test_inputs_that_can_occur():
    net = sg.models.digits().within("data")
    X = sg.models.samples("digits")[0]
    total = sg.logic.Sum.of(net, X[[7]], X[[4]])
    for answer in (logic.verify(total, sg.L0(1)), logic.whatif(total), logic.why(total, sg.Hamming(2))):
        seen(answer, net)
        assert "domain" in answer.certificate["readings"][0]
        forged = json.loads(json.dumps(answer.certificate))
        del forged["readings"][0]["domain"]
        with pytest.raises(CertificateError, match="about other inputs that can occur"):
            sg.check(forged, net)


def test_questions_that_make_no_sense_are_refused():
    net, X = sg.models.digits(), sg.models.samples("digits")[0]
    total = sg.logic.Sum.of(net, X[[7]], X[[4]])
    with pytest.raises(QuestionError, match="is none for several images: give Hamming"):
        logic.verify(total, sg.Free(["pixel (0,0)"]))
    with pytest.raises(QuestionError, match="no budget that images could share"):
        logic.verify(total, sg.Linf(1), joint=True)
    with pytest.raises(QuestionError, match="does not add up over several images"):
        logic.whatif(total, cost=sg.Linf)
    with pytest.raises(QuestionError, match="must be an integer"):
        logic.whatif(total, "ten")
    either = sg.logic.Statement.of(readings_of(net, X[[7, 4]], ["a", "b"]), "a = 3 or b = 6")
    with pytest.raises(QuestionError, match=r"ask what would change it \(whatif\), whose cost is that"):
        logic.verify(either, sg.L0(1), joint=True)
    with pytest.raises(QuestionError, match="must be True or False"):
        logic.whatif(either, 3)


def test_the_text_of_a_statement_is_that_of_its_formula():
    """No certificate has it, so whoever reads an answer looks."""
    net = net_of(5, bits=BITS)
    a, b = readings_of(net, ALL[:2], ["a", "b"])
    differ, rows = (
        sg.logic.Statement.of([a, b], "a != b"),
        sg.logic.Statement.of_rows([a, b], ["a", "b"], [["0", "1"], ["2", "3"]]),
    )
    lower = sg.logic.Statement.of_predicate([a, b], ["b", "a"], lambda b, a: b < a)
    odd = sg.logic.Statement.of([a, b], "a > 3 or b = 1").also(rows).also(lower.also(differ))
    for whole, lies in (
        (differ, ("a = b", "b != a or true", "", "differ(a, b)x", "a, b differ")),
        (rows, ("a, b are one of 3 rows", "a = b", "a, b are none of 2 rows")),
        (lower, ("the predicate(a, b)", "a < b", "a < b (b, a)")),
        (
            odd,
            (odd.text.replace("a > 3", "a > 4"), odd.text.replace("!=", "="), odd.text.replace("and", "or")),
        ),
    ):
        data = seen(logic.read(whole), net).data()
        assert data["stated"] == whole.text
        for lie in lies:
            wrong = json.loads(json.dumps(data)) | {"stated": lie}
            wrong["claim"] = data["claim"].replace(whole.text, lie)
            with pytest.raises(CertificateError, match="does not say what its formula says"):
                logic.answer_of(wrong, net)


class Stop:
    """Hears what is told, and interrupts the work once, where it hears some words."""

    def __init__(self, words):
        self.words, self.after = words, None

    def __call__(self, said):
        if self.after is not None:
            self.after.append(said)
        elif self.words in said:
            self.after = []
            raise KeyboardInterrupt


def test_an_interrupted_part_is_the_last_that_is_worked_on():
    net, X = sg.models.digits(), sg.models.samples("digits")[0]
    total = sg.logic.Sum.of(net, X[[7, 3]], X[[4]])
    stop = Stop("changes up to 1 changes the answer")  # something was found, that may not be the cheapest
    answer = seen(logic.whatif(total, 41, notify=stop), net)
    assert answer.lower >= 1
    assert stop.after == []
    stop = Stop("42 features suffice")
    answer = seen(logic.why(total, notify=stop), net)
    assert answer.status == "sufficient"
    assert len(answer.reasons["left 1"].features) == 42
    assert stop.after == ["interrupted", "left 2: why?", "right 1: why?"]
    stop = Stop("bounds: bounds leave")
    answer = seen(logic.verify(total, sg.L0(1), notify=stop), net)
    assert answer.outcome == "undecided"
    assert stop.after == []


def test_time_ends_the_search_for_the_cheapest_choice_too():
    """Of images that are far from any Sudoku, what even bounds of 1 add up to takes minutes."""
    net, X = sg.models.digits(), sg.models.samples("digits")[0]
    grid = sg.logic.Sudoku.of(net, X[:81])
    with pytest.raises(TimeoutError):
        grid.min_cost(Wanted(True), [[g + 1 for g in row] for row in grid.gaps], lambda: True)
    answer = seen(logic.whatif(grid, time_limit=0), net)
    assert answer.outcome == "undecided"
    assert answer.lower >= 1


@pytest.mark.parametrize("seed", range(2))
def test_each_field_of_an_answer_is_compared_with_its_certificate(seed):
    """All but `seconds`, which no certificate covers: it is a remark."""
    for whole, nets, _ in wholes(seed):
        found = [logic.read(whole), logic.verify(whole, sg.Hamming(1)), logic.why(whole, sg.Hamming(1))]
        found.append(logic.whatif(whole))
        for answer in found:
            data = json.loads(json.dumps(answer.data()))
            for path, wrong in altered(data, skip=lambda path: "certificate" in path[:-1]):
                try:
                    again = logic.answer_of(wrong, *nets)
                    sg.check(wrong["certificate"], list(dict.fromkeys(nets)))
                except CertificateError:
                    continue
                assert path == ("seconds",) or str(again) == str(answer), (path, str(again))
                assert path[0] in ("seconds", "certificate"), path
