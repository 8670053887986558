"""Certificates about a composite: what is forged, left out or put together wrongly is refused, in words."""

import copy
import json
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

import sugenet as sg
from sugenet import logic
from sugenet.checker.composed_form import CompositeClaim, CompositeProof
from sugenet.checker.composites import Wish, composite_of
from sugenet.checker.limit import Limit
from sugenet.checker.reading import Sizes, read
from sugenet.errors import CertificateError, CheckLimitError
from sugenet.logic.composed import Wanted
from sugenet.logic.envelopes import composite_in, lemma_of
from sugenet.logic.formulas import Every, Listed, OneOf, Some, formula_of
from sugenet.nn import Domain, Encoder, Head, Network, Span, Steps
from sugenet.problem.clock import Clock
from tests.logic.test_possibility import random_formula
from tests.logic.wholes import cheapest_by_definition, given, images, valid_grids

CODES = [[1, 1, 1, 1, 1, 1], [-1, -1, -1, -1, 1, 1], [-1, -1, 1, 1, -1, -1], [1, 1, -1, -1, -1, -1]]
NET = Network.of_bits([], Head(CODES), classes=list("1234"))
ONE, TWO, THREE = (tuple(row) for row in CODES[:3])
NEAR = (-1, *ONE[1:])
ENUMERATE = {"kind": "enumerate"}


@cache
def certificates():
    """A certificate of every kind, by name."""
    total = sg.logic.Sum.of(NET, [ONE, TWO], [NEAR])
    a, b = logic.readings_of(NET, [ONE, TWO], ["a", "b"])
    either, both = sg.logic.Statement.of([a, b], "a = 1 or b = 2"), sg.logic.Statement.of([a, b], "a = b")
    answers = {
        "read": logic.read(total),
        "read other": logic.read(total, 22),
        "impossible": logic.read(total, 90),
        "proved": logic.verify(total, sg.Hamming(0)),
        "refuted": logic.verify(total, sg.Hamming(2)),
        "undecided": logic.verify(total, sg.Hamming(2), time_limit=0),
        "either": logic.verify(either, sg.Hamming(1)),
        "either refuted": logic.verify(either, sg.Hamming(3)),
        "both refuted": logic.verify(both, sg.Hamming(3)),
        "whatif": logic.whatif(total, 22),
        "any": logic.whatif(total),
        "none": logic.whatif(total, 90),
        "why": logic.why(total, sg.Hamming(2)),
        "why either": logic.why(either, sg.Hamming(2)),
    }
    return {name: json.loads(json.dumps(answer.certificate)) for name, answer in answers.items()}


def forged(name, **changes):
    """A certificate in which values are changed; a path is written with two underscores."""
    found = copy.deepcopy(certificates()[name])
    for path, value in changes.items():
        *way, last = [int(step) if step.isdecimal() else step for step in path.split("__")]
        place = found
        for step in way:
            place = place[step]
        place[last] = value
    return found


def without_part(name, number):
    found = copy.deepcopy(certificates()[name])
    del found["parts"][number]
    return found


def refused(certificate, said, networks=NET):
    with pytest.raises(CertificateError, match=said):
        sg.check(certificate, networks)


def test_they_hold_as_they_are():
    said = {name: sg.check(one, NET) for name, one in certificates().items()}
    assert "3 parts checked" in said["proved"]
    assert "the composite is not decided" in said["undecided"]
    assert "is not enough" in said["any"]
    assert "every such value is excluded" in said["none"]


@pytest.mark.parametrize("name", sorted(certificates()))
def test_no_field_is_left_out_added_or_of_another_kind(name):
    whole = certificates()[name]
    for field in whole:
        broken = {key: value for key, value in whole.items() if key != field}
        refused(broken, "no field|unknown answer|must not have|not a sugenet certificate")
        for wrong in (None, 7, "x", [], {}, [None], True, -1):
            if wrong != whole[field]:
                changed = copy.deepcopy(whole) | {field: wrong}
                may = field in ("margin", "gap", "lower", "cost") or (field == "parts" and wrong == [])
                try:
                    sg.check(changed, NET)
                except CertificateError:
                    continue
                assert may or name == "undecided", (field, wrong)
    refused(whole | {"more": 1}, "has a field 'more' that it must not have")
    for field in whole["question"]:
        question = {key: value for key, value in whole["question"].items() if key != field}
        refused(whole | {"question": question}, "no field|unknown kind")
    refused(forged(name, question__more=1), "has a field 'more' that it must not have")
    refused(forged(name, readings__0__more=1), "has a field 'more' that it must not have")
    for change in ({"version": 2}, {"version": 3.0}, {"format": "sugenet"}):
        refused(forged(name, **change), "not a sugenet certificate of version 3")
    for number in range(len(whole["parts"])):
        part = f"parts__{number}__certificate__"
        refused(forged(name, **{f"{part}version": 3.0}), "version: 3 is needed, not 3.0")
        refused(forged(name, **{f"{part}format": "sugenet"}), "format: sugenet certificate is needed")


def test_how_possible():
    refused(forged("read", gap="1"), "has a gap of 0, not 1")
    refused(forged("read", margin="1"), "has a gap of 4, not 1")
    refused(forged("read", margin=None), "a gap of another value needs a choice")
    refused(forged("read", margin=None, other=None, other_proof=None), "possible: there is no proof")
    lie = forged("read", margin=None, other=None)
    refused(lie, "another value is possible: there are digits that do it")
    refused(forged("read", other=[0, 1, 0]), "does not have another value")
    refused(forged("read", choice=[0, 1, 1]), "does not have the value that is claimed")
    refused(forged("read", choice=[0, 1, 9]), "names a class that does not exist")
    refused(forged("read", choice=[0, 1]), "a class for each reading")
    refused(forged("read", question__value=22), "does not have the value that is claimed")
    refused(forged("read", question__value=True), "is an integer")
    refused(forged("read", whole__left=1), "does not have the value|gap")
    refused(forged("read", whole__left=3), "a number on the left and one on the right")
    refused(forged("read", readings__0__sample=list(TWO)), "has a gap of")
    refused(forged("read", readings__0__classes=[1, 2]), "does not have the value|names a class")
    refused(forged("read", readings__0__classes=[2, 1]), "indices that rise")
    refused(forged("read other", gap="6", choice=[1, 1, 1]), "does not have the value|gap of")
    refused(forged("read", parts=[{}]), "no field|nothing that needs them")
    lie = forged("read other")
    lie.pop("gap"), lie.pop("choice")
    refused(lie | {"answer": "impossible"}, "for all that is shown, the value is possible: there are digits")
    refused(certificates()["read"], "which is not given", NET.with_classes([0, 1]))


def test_a_worse_choice_is_not_the_most_possible():
    total = sg.logic.Sum.of(NET, [ONE], [TWO])
    found = json.loads(json.dumps(logic.read(total, 5).certificate))
    gaps = [[float(g) for g in reading.gaps] for reading in total.readings]
    ways = [c for c in product(range(4), repeat=2) if c[0] + c[1] + 2 == 5]
    worst = max(ways, key=lambda c: max(gaps[0][c[0]], gaps[1][c[1]]))
    gap = max(total.readings[0].gaps[worst[0]], total.readings[1].gaps[worst[1]])
    if str(gap) != found["gap"]:
        refused(found | {"choice": list(worst), "gap": str(gap)}, "classes of a smaller gap")


def test_nothing_is_named_that_is_not_read():
    refused(forged("read", readings__0__name="left 2"), "a name of its own")
    refused(forged("read", readings__0__name=7), "name: text is needed, not 7")
    refused(forged("read", networks=[NET.fingerprint] * 2), "a network is named twice, reads nothing")
    refused(forged("read", networks=[NET.fingerprint, "0" * 64]), "reads nothing")
    refused(forged("read", networks=None), "networks: a list is needed")


def test_a_region_is_one_even_where_nothing_needs_it():
    a, b = logic.readings_of(NET, [ONE, TWO], ["a", "b"])
    for ask in (logic.verify, logic.why):
        whole = json.loads(json.dumps(ask(sg.logic.Statement.of([a, b], "true"), sg.Hamming(1)).certificate))
        assert "of 0 parts" in sg.check(whole, NET) or "0 parts checked" in sg.check(whole, NET)
        for wrong in (
            {"kind": "Near"},
            {"kind": "Hamming", "radius": "-1"},
            {"kind": "Hamming"},
            "all",
            None,
        ):
            broken = copy.deepcopy(whole)
            broken["question"]["region"] = wrong
            refused(broken, "region")


def test_readings_among_some_classes_are_said_to_be():
    """Else a sum of images that may each have one class alone would seem to be safe from everything."""
    found = forged("proved", question__region={"kind": "AnyInput"}, parts=[])
    refused(found, "classes that no part excludes change the value")
    for reading, own in zip(found["readings"], (0, 1, 0), strict=True):
        reading["classes"] = [own]
    assert sg.check(found, NET).endswith("; 3 of the readings choose among some classes of their network")


def test_can_it_fail():
    for number in range(3):
        refused(without_part("proved", number), "classes that no part excludes change the value")
    swapped = forged("proved", parts__0__reading=1)
    refused(swapped, "another sample than that of reading 1")
    refused(
        forged("proved", question__region={"kind": "Hamming", "radius": "1"}),
        "another region than the composite",
    )
    wider = forged("proved", question__region={"kind": "Hamming", "radius": "3"})
    for part in wider["parts"]:
        part["certificate"]["question"]["region"] = {"kind": "Hamming", "radius": "3"}
    refused(wider, "exclude|violation|proof|sets of changes")
    refused(forged("proved", parts__0__certificate__question__target=1), "exclude")
    refused(forged("proved", parts__0__certificate__network="0" * 64), "is for the network")
    refused(forged("proved", parts__0__certificate__question__label=1), "class")
    refused(forged("proved", parts__0__certificate__question__ties="against"), "counts ties in another way")
    refused(forged("proved", parts__0__reading=7), "about a reading that does not exist")
    refused(forged("proved", readings__0__sample=list(THREE)), "another sample than that of reading 0")
    joint = forged("proved", question__joint=True, question__region={"kind": "Linf", "radius": "0"})
    refused(joint, "a budget that images share is one that adds up")
    nested = forged("proved", parts__0__certificate=certificates()["proved"])
    refused(nested, "has a field|has no field|unknown")
    refused(
        forged("proved", parts__0__certificate=certificates()["any"]["parts"][0]["certificate"]),
        "answers 'whatif'",
    )
    refused(forged("refuted", choice=[0, 1, 0]), "do not have the classes that are claimed")
    refused(without_part("refuted", 0), "do not have the classes that are claimed")
    claim = forged("undecided", answer="proved", proof=ENUMERATE)
    refused(claim, "classes that no part excludes|change the value")


def test_a_part_that_is_repeated_or_cancels():
    several = certificates()["both refuted"]
    doubled = copy.deepcopy(several)
    doubled["parts"].append(copy.deepcopy(doubled["parts"][0]))
    refused(doubled, "a reading is changed twice")
    assert len(certificates()["either refuted"]["parts"]) == 2
    refused(forged("either refuted", question__joint=True), "each with a budget of its own")


def test_why():
    for number in range(3):
        refused(without_part("why", number), "do not suffice for the value|may change without the composite")
    refused(
        forged("why", question__region={"kind": "Hamming", "radius": "3"}),
        "another region than the composite",
    )
    doubled = forged("why")
    doubled["parts"].append(doubled["parts"][0])
    refused(doubled, "has two reasons")
    either = certificates()["why either"]
    assert either["answer"] == "sufficient"
    refused(either | {"answer": "minimum"}, "one reading may change without the composite")
    refused(forged("why", parts__0__certificate__answer="unknown"), "must not have|null|proof")


def test_what_if():
    refused(forged("whatif", cost="1"), "the changes cost")
    refused(forged("whatif", lower="9"), "do not show that less than 9|above the cost")
    refused(forged("whatif", question__value=23), "does not have the value|do not show")
    refused(forged("whatif", question__other=True), "has such a value already|does not have")
    refused(forged("whatif", question__value=13), "has such a value already")
    refused(forged("whatif", question__cost={"kind": "L1"}), "counts changes in another way")
    refused(forged("whatif", question__cost={"kind": "Linf"}), "not added up so")
    for number in range(len(certificates()["whatif"]["parts"])):
        some = forged("whatif", **{f"parts__{number}__certificate__question__movable": [0, 1]})
        refused(some, "about some changes only|which the question does not allow")
        near = {f"parts__{number}__certificate__question__region": {"kind": "Linf", "radius": "0"}}
        refused(forged("whatif", **near), "about some changes only|which the question does not allow")
    bare = forged("whatif", parts=[])
    refused(bare, "do not show that less|no part changes reading")
    possible = forged("any", answer="none")
    for field in ("choice", "cost", "lower"):
        possible.pop(field)
    refused(possible, "classes that no part excludes have such a value")


def test_parts_about_some_changes_only():
    """Certificates that hold, but say less than the composite needs."""
    total = sg.logic.Sum.of(NET, [ONE], [TWO])
    honest = json.loads(json.dumps(logic.whatif(total).certificate))
    assert int(honest["lower"]) == 2  # two bits lead to a tie, which the lowest class wins
    for some in ({"keep": range(1, 6)}, {"region": sg.Free([0])}):
        lie = copy.deepcopy(honest)
        lie["parts"] = [
            {
                "reading": place,
                "certificate": json.loads(json.dumps(sg.whatif(NET, x, sg.L0, **some).certificate)),
            }
            for place, x in enumerate((ONE, TWO))
        ]
        for part in lie["parts"]:
            sg.check(part["certificate"], NET)
        lie |= {"answer": "none"}
        for field in ("choice", "cost", "lower"):
            lie.pop(field)
        refused(lie, "about some changes only")


def test_nothing_is_cheaper_than_what_the_parts_show():
    """Every bound that can be claimed with some of the parts left out is true."""
    whole = certificates()["whatif"]
    truth = int(whole["lower"])
    for kept in product([False, True], repeat=len(whole["parts"])):
        some = copy.deepcopy(whole)
        some["parts"] = [part for part, keep in zip(whole["parts"], kept, strict=True) if keep]
        some["answer"] = "open"
        some.pop("choice"), some.pop("cost")
        for lower in range(8):
            some["lower"] = str(lower)
            try:
                sg.check(some, NET)
            except CertificateError:
                continue
            assert lower <= truth


def test_limits_end_a_check():
    with pytest.raises(CheckLimitError):
        sg.check(certificates()["proved"], NET, time_limit=0)
    with pytest.raises(CertificateError, match="about one network, and 2 are given"):
        sg.check(
            logic.verify(sg.logic.Sum.of(NET, [ONE], [TWO]), sg.Hamming(0)).certificate["parts"][0][
                "certificate"
            ],
            [NET, NET],
        )


# -- composites of the checker against the definition --------------------------------------------------------


def judged(whole):
    said = read(CompositeClaim, json.loads(json.dumps(whole.composite_data())), Sizes(), "the composite")
    return composite_of(said, [reading.values for reading in whole.readings])


def rows_of(costs):
    return [{k: Fraction(c) for k, c in enumerate(row) if c is not None} for row in costs]


def accepts(whole, costs, wish, proof, plain=False):
    """Whether the checker takes a proof, given as JSON, that nothing is as wished."""
    said = read(CompositeProof, proof, Sizes(), "it")
    try:
        judged(whole).refute(said, rows_of(costs), wish, Limit(None, None), plain=plain)
    except CertificateError:
        return False
    return True


def lemma(whole, costs, wish):
    """Clauses for a claim that is true."""
    found = lemma_of(judged(whole).problem(rows_of(costs), wish, Limit(None, None)), Clock())
    return json.loads(json.dumps(found))


def drawn_costs(rng, readings, largest=5):
    rows = [
        [None if rng.random() < 0.15 else int(c) for c in rng.integers(0, largest, len(r.values))]
        for r in readings
    ]
    return [row if set(row) != {None} else [0] * len(row) for row in rows]


def test_a_proof_is_taken_if_and_only_if_the_claim_is_true():
    """Every bound up to the least cost can be shown, and none above it, by clauses for it or for another."""
    rng, clauses = np.random.default_rng(0), 0
    for _ in range(25):
        digits = [given(rng, f"d{k}", "0189"[: rng.integers(1, 5)]) for k in range(3)]
        cut = int(rng.integers(1, 3))
        total = sg.logic.Sum(tuple(digits[:cut]), tuple(digits[cut:]))
        stated = sg.logic.Statement(tuple(digits), random_formula(rng, digits, 3), "")
        costs = drawn_costs(rng, digits)
        for whole, values in ((total, (total.says, 19, -1, 100)), (stated, (True, False))):
            for value, other in product(values, (False, True)):
                least = cheapest_by_definition(whole, Wanted(value, other), costs)
                for below in (0, 1, 2, 3, 5, 8, None):
                    wish, true = Wish(value, other, below), least is None or (None is not below <= least)
                    assert accepts(whole, costs, wish, ENUMERATE) == true
                    if whole is total or not true:
                        continue
                    proof = lemma(whole, costs, wish)
                    clauses += len(proof["clauses"])
                    assert accepts(whole, costs, wish, proof)
                    for bound in (below, 3, 9, None):
                        for turned in (other, not other):
                            claim = Wish(value, turned, bound)
                            worst = cheapest_by_definition(whole, Wanted(value, turned), costs)
                            if accepts(whole, costs, claim, proof):
                                assert worst is None or (bound is not None and worst >= bound)
    assert clauses > 300
    assert not accepts(total, costs, Wish(-1, False), lemma(stated, costs, Wish(True, False, 0)))


def test_what_is_said_twice_is_no_contradiction():
    """Both parts are one neuron, which counts twice."""
    one, two = OneOf(0, frozenset([1])), OneOf(1, frozenset([1]))
    row, both = Listed((0, 1), frozenset([(1, 1)])), Some((Every((one, two)),))
    readings = tuple(sg.logic.Reading.given(name, {"x": 0, "y": 1}) for name in "ab")
    for parts in ((one, one), (row, both)):
        whole, costs = sg.logic.Statement(readings, Every(parts), ""), [[0, 0], [0, 0]]
        for variables in range(20):
            proof = {"kind": "lemma", "variables": variables, "facts": [], "cuts": [], "clauses": [[]]}
            assert not accepts(whole, costs, Wish(True, False), proof)


def test_grids_are_as_cheap_as_the_cheapest_of_all_grids():
    rng, grids = np.random.default_rng(1), valid_grids()
    for _ in range(4):
        cells = tuple(given(rng, f"c{k}", "1234") for k in range(16))
        grid = sg.logic.Sudoku(cells)
        costs = [[c if c is not None else 9 for c in row] for row in drawn_costs(rng, cells)]
        valid = min(sum(costs[k][d - 1] for k, d in enumerate(g)) for g in grids)
        broken = grid.min_cost(Wanted(False), costs)[0]  # seen against all grids in tests/logic
        for value, least in ((True, valid), (False, broken)):
            proof = lemma(grid, costs, Wish(value, False, Fraction(least)))
            assert accepts(grid, costs, Wish(value, False, least), proof)
            assert accepts(grid, costs, Wish(not value, True, least), proof)
            for wrong in (Wish(value, False, least + 1), Wish(value, False), Wish(value, True, least + 50)):
                assert not accepts(grid, costs, wrong, proof)


def hard(seed, cost=False):
    """Thirty readings under clauses of three conditions: too many to be met, or, with a cost, nearly."""
    rng = np.random.default_rng(seed)
    readings = [given(rng, f"r{k}", "0123") for k in range(30)]
    places = [rng.choice(30, 3, replace=False) for _ in range(50 if cost else 75)]
    parts = [Some(tuple(OneOf(int(p), frozenset([int(rng.integers(4))])) for p in row)) for row in places]
    return sg.logic.Statement(tuple(readings), Every(tuple(parts)), "")


def test_a_statement_of_many_clauses_is_checked_by_clauses():
    """Enumeration would take 4^30 choices."""
    found = json.loads(json.dumps(logic.read(hard(0)).certificate))
    assert found["answer"] == "impossible"
    assert found["proof"]["kind"] == "lemma"
    assert "no classes have this value" in sg.check(found, [])
    clauses = found["proof"]["clauses"]
    assert len(clauses) > 20
    refused(found | {"proof": None}, "the value is possible: there is no proof", [])
    for wrong, said in (
        (clauses[:-1], "does not end with the empty clause"),
        (clauses[-1:], "clause 1, the empty one, does not follow"),
        ([[1], *clauses], "does not follow"),
        ([[10**6], *clauses], "is not a literal"),
        ([[0], *clauses], "is not a literal"),
        ([], "does not end with the empty clause"),
    ):
        refused(found | {"proof": found["proof"] | {"clauses": wrong}}, said, [])
    refused(found | {"proof": found["proof"] | {"variables": 7}}, "not a propagation proof over", [])
    refused(found | {"proof": found["proof"] | {"cuts": [[1, 1, 1]]}}, "the cut")
    refused(found | {"proof": found["proof"] | {"facts": [1]}}, "the fact 1")
    weaker = copy.deepcopy(found)
    del weaker["whole"]["formula"]["parts"][::2]  # now some classes do
    refused(weaker, "the value is possible, .*: |for all that is shown, the value is possible: ", [])
    refused(found | {"other_proof": found["proof"]}, "there is a proof, but nothing that needs it", [])


def test_the_least_cost_of_many_clauses_is_checked_by_clauses():
    whole, rng = hard(1, cost=True), np.random.default_rng(2)
    costs = [[0 if k == r.best else int(rng.integers(1, 9)) for k in range(4)] for r in whole.readings]
    least = whole.min_cost(Wanted(True), costs)[0]
    proof = lemma(whole, costs, Wish(True, False, Fraction(least)))
    assert "encoding" in proof  # so it is followed by compiled code, unless plainly
    for plain in (False, True):
        assert accepts(whole, costs, Wish(True, False, Fraction(least)), proof, plain)
        for wrong in (least + 1, least + Fraction(1, 2), None):
            assert not accepts(whole, costs, Wish(True, False, wrong), proof, plain)
    cheaper = [[max(0, c - (k == 1)) for k, c in enumerate(row)] for row in costs]
    if whole.min_cost(Wanted(True), cheaper)[0] < least:
        assert not accepts(whole, cheaper, Wish(True, False, Fraction(least)), proof)


# -- damage at random ----------------------------------------------------------------------------------------

ALL = images(6)


def leaves(data, way=()):
    rows = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in rows:
        yield (*way, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*way, key))


def damaged(rng, whole):
    """A copy with one place changed a little."""
    found = copy.deepcopy(whole)
    ways = list(leaves(found))
    *way, last = ways[rng.integers(len(ways))]
    place = found
    for step in way:
        place = place[step]
    value = place[last]
    match value:
        case bool():
            place[last] = not value
        case int():
            place[last] = value + int(rng.choice([-2, -1, 1, 2]))
        case str() if value.isdecimal():
            place[last] = str(int(value) + int(rng.choice([-1, 1])))
        case list() if value:
            del value[rng.integers(len(value))]
        case None:
            place[last] = int(rng.integers(3))
        case _:
            place[last] = str(rng.choice(["Hamming", "proved", "open", "sufficient", "refuted"]))
    return found


def reached(reading):
    """For each class of a reading the least number of bits to flip, by going through all images."""
    labels = reading.network.predict(ALL).tolist()
    far = [sum((a > 0) != (b > 0) for a, b in zip(reading.sample, image, strict=True)) for image in ALL]
    pairs = list(zip(far, labels, strict=True))
    return [min((d for d, k in pairs if k == own), default=None) for own in range(len(reading.values))]


def joined(choice, rows, join):
    mine = [row[k] for row, k in zip(rows, choice, strict=True)]
    return None if None in mine else join(mine)


def is_true(found):
    """Whether a certificate over `NET` says something true, by the definition."""
    question, about = found["question"], found["whole"]
    whole = composite_in(found | {"whole": {"kind": "sum", "left": about.get("left", 1)}}, [NET], None)
    if about["kind"] == "stated":
        whole = sg.logic.Statement(whole.readings, formula_of(about["formula"]), "")
    choices = list(product(*(range(len(r.values)) for r in whole.readings)))
    if question["kind"] == "possible":
        gaps, value = [r.gaps for r in whole.readings], question["value"]
        least = [
            min((joined(c, gaps, max) for c in choices if (whole.value(c) == value) != other), default=None)
            for other in (False, True)
        ]
        said = [found.get("gap"), found["margin"]]
        return least == [None if one is None else Fraction(one) for one in said]
    reach = [reached(reading) for reading in whole.readings]
    if question["kind"] == "robust":
        most, join = int(question["region"]["radius"]), sum if question["joint"] else max
        costs = [joined(c, reach, join) for c in choices if whole.value(c) != whole.says]
        changed = any(cost is not None and cost <= most for cost in costs)
        return {"proved": not changed, "refuted": changed, "undecided": True}[found["answer"]]
    wanted = Wanted(question["value"], question["other"])
    costs = [joined(c, reach, sum) for c in choices if wanted.met(whole.value(c))]
    least = min((cost for cost in costs if cost is not None), default=None)
    if found["answer"] == "none" or least is None:
        return (found["answer"] == "none") == (least is None)
    return int(found["lower"]) <= least <= int(found.get("cost", least))


@pytest.mark.parametrize("name", sorted(set(certificates()) - {"why", "why either"}))
def test_damaged_ones_are_refused_or_true(name):
    rng, whole, refusals = np.random.default_rng(3), certificates()[name], 0
    assert is_true(whole)
    for _ in range(40):
        found = damaged(rng, whole)
        try:
            sg.check(found, NET)
        except CertificateError:
            refusals += 1
            continue
        assert is_true(found), found
    assert refusals > 10


EDGES = [
    -(2**63),
    -(2**31),
    -1,
    0,
    1,
    2**31,
    2**53,
    2**63 - 1,
    2**63,
    10**30,
    -0.0,
    1.0,
    0.5,
    True,
    False,
    "x",
]


@pytest.mark.parametrize("name", sorted(set(certificates()) - {"why", "why either"}))
def test_numbers_at_their_edges_are_refused_or_true(name):
    whole, refusals = certificates()[name], 0
    for way in leaves(whole):
        place = whole
        for step in way:
            place = place[step]
        if "proof" in way or not (type(place) in (int, bool) or (type(place) is str and place.isdecimal())):
            continue
        for value in EDGES:
            as_text = isinstance(place, str) and type(value) is int
            found = forged(name, **{"__".join(map(str, way)): str(value) if as_text else value})
            try:
                sg.check(found, NET)
            except CertificateError:
                refusals += 1
                continue
            assert is_true(found), (way, value)
    assert refusals > 100


def test_a_part_is_about_the_inputs_of_its_reading():
    """A domain that excludes every counterexample must be that of the reading, and is said with it."""
    free = logic.verify(
        sg.logic.Statement.of([*logic.readings_of(NET, [ONE], ["a"])], "a = 1"), sg.Hamming(3)
    )
    assert free.certificate["answer"] == "refuted"
    kept = NET.within(Domain({f: Span(values=(1,)) for f in range(6)}))
    (a,) = logic.readings_of(kept, [ONE], ["a"])
    proved = json.loads(
        json.dumps(logic.verify(sg.logic.Statement.of([a], "a = 1"), sg.Hamming(3)).certificate)
    )
    assert proved["answer"] == "proved"
    assert sg.check(proved, NET)
    lie = copy.deepcopy(proved)
    domain = lie["readings"][0].pop("domain")
    refused(lie, "other inputs that can occur|no part excludes")
    other = copy.deepcopy(proved)
    other["readings"][0]["domain"] = {"limits": domain["limits"][:-1], "laws": []}
    if other["parts"]:
        refused(other, "other inputs that can occur")
    wrong = copy.deepcopy(proved)
    wrong["readings"][0]["domain"]["limits"][0][0] = 6
    refused(wrong, "a feature from 0 to 5 is needed")


def test_readings_that_are_given():
    door, window = (logic.Reading.given(name, {"open": 3, "shut": 0}) for name in ("door", "window"))
    found = json.loads(
        json.dumps(logic.read(sg.logic.Statement.of([door, window], "door = open")).certificate)
    )
    assert sg.check(found, []).endswith("2 of the readings are as the certificate gives them")
    for gaps, said in (
        (["3"], "a gap for each value"),
        (["3", "1"], "0 for the best"),
        (["-1", "0"], "0 for the best"),
    ):
        wrong = copy.deepcopy(found)
        wrong["readings"][0]["gaps"] = gaps
        refused(wrong, said, [])
    wrong = copy.deepcopy(found)
    wrong["readings"][0]["values"] = ["open", "open"]
    refused(wrong, "a value twice", [])
    del wrong["readings"][0]["kind"]
    refused(wrong, "must not have", [])


def test_bits_of_silent_cuts_cost_nothing():
    """So another class need not cost a bit."""
    quiet = Network(
        Encoder([Steps((0.5,), 0, 1, True, silent=(0,))] * 2), [], Head([[1, 1], [-1, -1]]), ["1", "2"]
    )
    (a,) = logic.readings_of(quiet, [[1, 1]], ["a"])
    about = json.loads(
        json.dumps(logic.verify(sg.logic.Statement.of([a], "a = 1"), sg.Hamming(0)).certificate)
    )
    question = {"kind": "whatif", "cost": {"kind": "Hamming"}, "value": False, "other": False}
    claim = about | {"question": question, "answer": "open", "lower": "1", "parts": []} | {"proof": ENUMERATE}
    claim.pop("choice", None)
    refused(claim, "do not show that less than 1 is not enough", quiet)
    assert "less than 0 is not enough" in sg.check(claim | {"lower": "0", "proof": None}, quiet)
    refused(claim | {"lower": "-1"}, "the lower bound -1 is negative", quiet)
    found = logic.whatif(sg.logic.Statement.of([a], "a = 1"), cost=sg.Hamming)
    assert found.cost == found.lower == 0
    assert "the changes cost 0" in sg.check(json.loads(json.dumps(found.certificate)), quiet)


# -- reasons put together in every way -----------------------------------------------------------------------

FEW = images(4)
SMALL = Network.of_bits([], Head([[1, 1, 1, 1], [-1, -1, 1, 1], [-1, 1, -1, -1]]), classes=list("123"))
LABELS = dict(zip(FEW, SMALL.predict(FEW, engine="definition").tolist(), strict=True))
SEEN = [(1, 1, 1, 1), (-1, -1, 1, 1)]


def suffices(whole, region, fixed):
    """Whether features, as pairs of a place and a number, suffice for the value: by all images."""
    most = int(region.get("radius", 4))
    classes = [
        {
            LABELS[y]
            for y in FEW
            if sum(a != b for a, b in zip(x, y, strict=True)) <= most
            and all(x[f] == y[f] for p, f in fixed if p == place)
        }
        for place, x in enumerate(SEEN)
    ]
    return all(whole.value(choice) == whole.says for choice in product(*classes))


def is_true_reason(whole, found):
    fixed = {
        (part["reading"], f)
        for part in found["parts"]
        if part["certificate"]["answer"] != "unknown"
        for f in part["certificate"]["question"]["fixed"]
    }
    region, features = found["question"]["region"], [(p, f) for p in range(2) for f in range(4)]
    if found["answer"] == "unknown":
        return True
    if not suffices(whole, region, fixed):
        return False
    if found["answer"] == "minimal":
        return not any(suffices(whole, region, fixed - {one}) for one in fixed)
    fewer = combinations(features, len(fixed) - 1) if found["answer"] == "minimum" and fixed else ()
    return not any(suffices(whole, region, set(some)) for some in fewer)


def possible_parts():
    """Reasons that hold, of all kinds; some say less than the composite needs, or something else."""
    alike = (1, 1, 1, -1)
    assert LABELS[alike] == LABELS[SEEN[0]]
    rows, regions = [(0, SEEN[0]), (1, SEEN[1]), (0, alike)], (sg.Hamming(1), sg.Hamming(2), sg.AnyInput())
    for (place, x), region in product(rows, regions):
        for more in ({"minimal": "subset"}, {"minimal": "size"}, {"time_limit": 0}, {"ties": "against"}):
            reason = sg.why(SMALL, x, region, **more).reasons[0]
            yield {"reading": place, "certificate": json.loads(json.dumps(reason.certificate))}
        nothing = {"answer": "unknown", "proof": None, "witness": None}
        open_one = {k: v for k, v in reason.certificate.items() if k != "contrasts"} | nothing
        open_one["question"] = open_one["question"] | {"ties": "lowest"}
        yield {"reading": place, "certificate": json.loads(json.dumps(open_one))}


def test_reasons_put_together_at_random_are_refused_or_true():
    rng, pool, kept = np.random.default_rng(5), list(possible_parts()), set()
    for part in pool:
        sg.check(part["certificate"], SMALL)
    a, b = logic.readings_of(SMALL, SEEN, ["a", "b"])
    wholes = [sg.logic.Sum((a,), (b,))]
    wholes += [
        sg.logic.Statement.of([a, b], text) for text in ("a = 1 or b = 2", "a = 1 and b = 2", "a < b", "true")
    ]
    regions = [sg.Hamming(1), sg.Hamming(2), sg.AnyInput()]
    bare = [json.loads(json.dumps(logic.why(wholes[-1], region).certificate)) for region in regions]
    for _ in range(1500):
        whole, about = wholes[rng.integers(len(wholes))], bare[rng.integers(3)]
        region = about["question"]["region"]
        drawn = [pool[k] for k in rng.integers(0, len(pool), rng.integers(0, 4))]
        if rng.random() < 0.7:  # one that fits for some of the readings
            fits = [part for part in pool if part["certificate"]["question"]["region"] == region]
            some = [[part for part in fits if part["reading"] == place] for place in range(2)]
            drawn = [mine[rng.integers(len(mine))] for mine in some if rng.random() < 0.8]
        parts = copy.deepcopy(drawn)
        for part in parts:
            asked = part["certificate"]["question"]
            if rng.random() < 0.1:  # as if it were about the region of the whole
                asked["region"] = region
            if rng.random() < 0.1:
                asked["fixed"] = asked["fixed"][1:]
            if rng.random() < 0.1:
                part["reading"] = 1 - part["reading"]
            if rng.random() < 0.1:
                part["certificate"]["answer"] = str(rng.choice(["sufficient", "minimal", "minimum"]))
        status = str(rng.choice(["minimum", "minimal", "sufficient", "unknown"]))
        found = about | {"whole": whole.composite_data(), "answer": status, "parts": parts}
        try:
            sg.check(found, SMALL)
        except CertificateError:
            continue
        assert is_true_reason(whole, found), found
        kept.add((whole.kind, status, len(parts)))
    assert {("sum", "minimum", 2), ("sum", "minimal", 2), ("sum", "sufficient", 2)} <= kept
    assert {("stated", "minimum", 2), ("stated", "sufficient", 1), ("stated", "sufficient", 0)} <= kept
