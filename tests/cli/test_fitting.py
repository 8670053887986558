"""What `sugenet fit` says is so: typed back in, replayed, and by going through all capacities."""

import csv
import gzip
import io
import json
import re
from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest

from sugenet.capacity import Ordinal, RuleSet
from tests.cli.rated import FLATS, MIXED, RATED, RENT
from tests.cli.runner import in_process

LEVELS = ["bad", "ok", "good", "very good"]
FLAT = ["--label-column", "grade", "--name", "flat", "--order", "bad<ok<good<very good"]
RENTS = ["--label-column", "grade", "--order", "bad<ok<good", "--order", "room=small<fair<large"]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    for name, text in RATED.items():
        (tmp_path / f"{name}.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*words):
    """The JSON data of a command that succeeds, and the text of the same."""
    code, out, err = in_process(["fit", *words, "--json"])
    assert (code, err) == (0, "")
    code, text, err = in_process(["fit", *words])
    assert (code, err) == (0, "")
    return json.loads(out), text


def written(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def all_capacities(n, top):
    """Every capacity on levels 0 to top, as a mapping from sets."""
    sets = [frozenset(c) for size in range(1, n) for c in combinations(range(n), size)]
    for worths in product(range(top + 1), repeat=len(sets)):
        mu = dict(zip(sets, worths, strict=True)) | {frozenset(): 0, frozenset(range(n)): top}
        if all(mu[a] <= mu[b] for a in mu for b in mu if a < b):
            yield mu


def integral(mu, x):
    return max(min([worth, *(x[i] for i in members)]) for members, worth in mu.items())


@pytest.mark.parametrize("seed", range(8))
def test_intervals_conflicts_and_drops_are_those_of_all_capacities(desk, seed):
    rng, names = Random(seed), ["low", "mid", "top"]
    rows = [[rng.randrange(3) for _ in range(3)] for _ in range(4)]
    ratings = [sorted(row)[1] if rng.random() < 0.7 else rng.randrange(3) for row in rows]
    written(
        desk / "t.csv",
        [*"abc", "y"],
        [[names[v] for v in (*x, a)] for x, a in zip(rows, ratings, strict=True)],
    )
    cases = list(product(range(3), repeat=3))
    written(desk / "c.csv", "abc", [[names[v] for v in x] for x in cases])
    data, text = said(
        "t.csv", "--label-column", "y", "--order", "low<mid<top", "--predict", "c.csv", "--limit", "99"
    )
    every = list(all_capacities(3, 2))

    def worst(mu, kept):
        return max(abs(integral(mu, rows[k]) - ratings[k]) for k in kept)

    least = min(worst(mu, range(4)) for mu in every)
    assert data["fits"] == (least == 0)
    best = [mu for mu in every if worst(mu, range(4)) == least]
    for case, x in zip(data["cases"], cases, strict=True):
        values = [integral(mu, x) for mu in best]
        assert (case["low"], case["high"]) == (names[min(values)], names[max(values)])
    if least:
        assert data["error"] == str(least)
        assert f"errs by less than {least} level" in text
        assert {2 + k for k in range(4)} >= set(data["dropped"])
        for many in range(5):
            possible = [
                kept
                for kept in combinations(range(4), 4 - many)
                if not kept or any(not worst(mu, kept) for mu in every)
            ]
            if possible:
                break
        assert len(data["dropped"]) == many
        assert tuple(k for k in range(4) if k + 2 not in data["dropped"]) in possible
        for one, other in data["conflicts"]["pairs"]:
            assert not any(not worst(mu, (one - 2, other - 2)) for mu in every)
    else:
        assert "dropped" not in data
        assert "No capacity fits" not in text


def test_rules_typed_back_in_give_the_intervals(desk):
    written(desk / "all.csv", ["light", "quiet", "way to work", "kitchen"], product(LEVELS, repeat=4))
    data, text = said("flats.csv", *FLAT, "--predict", "all.csv", "--limit", "1000")
    lines = text.splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith("rules of"))
    printed = [line.strip() for line in lines[begin + 1 : lines.index("", begin)]]
    assert printed == data["rules"]
    scale = Ordinal(LEVELS)
    header = 'criteria: light, quiet, "way to work", kitchen\nscale: bad < ok < good < "very good"\n'
    rules = RuleSet.from_text(header + "\n".join(printed))
    assert rules.scale == scale
    for case, x in zip(data["cases"], product(LEVELS, repeat=4), strict=True):
        low, high = rules.bounds(dict(zip(["light", "quiet", "way to work", "kitchen"], x, strict=True)))
        assert (case["low"], case["high"]) == (low, high)
        what = case["low"] if low == high else f"{low} to {high}"
        assert f"line {case['line']}: every capacity that fits says {what}." in lines


def test_without_the_rows_to_drop_the_file_fits(desk):
    data, text = said("mixed.csv", *FLAT)
    assert not data["fits"]
    assert len(data["dropped"]) == 2
    assert "Fewest samples to drop so that one fits the rest: 2, for instance line 3 (Mill Lane)" in text
    for sentence in data["conflicts"]["words"]:
        assert f"- {sentence[0].upper()}{sentence[1:]}" in text.splitlines()
    lines = MIXED.splitlines(keepends=True)
    kept = [line for number, line in enumerate(lines, start=1) if number not in data["dropped"]]
    (desk / "kept.csv").write_text("".join(kept))
    assert said("kept.csv", *FLAT)[0]["fits"]
    for one in data["dropped"]:
        (desk / "kept.csv").write_text("".join(line for k, line in enumerate(lines, start=1) if k != one))
        assert not said("kept.csv", *FLAT)[0]["fits"]


def test_the_error_is_attained_on_the_table_itself(desk):
    data, _ = said("mixed.csv", *FLAT, "--loss", "largest", "--predict", "mixed.csv")
    grades = [row["grade"] for row in csv.DictReader(io.StringIO(MIXED))]
    off = [
        max(abs(LEVELS.index(case[end]) - LEVELS.index(grade)) for end in ("low", "high"))
        for case, grade in zip(data["cases"], grades, strict=True)
    ]
    assert max(off) == int(data["error"]) == 1
    assert [case["name"] for case in data["cases"]][-1] == "Cellar"


def test_weights_count_in_the_total(desk):
    rows = [
        ["w", "x", "y", "r"],
        ["1/3", "0.2", "0.6", "0.5"],
        ["2", "0.2", "0.6", "0.3"],
        ["1", "1", "0", "0.9"],
    ]
    written(desk / "w.csv", rows[0], rows[1:])
    heavy, text = said(
        "w.csv", "--label-column", "r", "--weights", "w", "--loss", "total", "--predict", "w.csv"
    )
    cost = sum(
        Fraction(row[0]) * abs(Fraction(case["low"]) - Fraction(row[3]))
        for row, case in zip(rows[1:], heavy["cases"], strict=True)
    )
    assert Fraction(heavy["error"]) == cost == Fraction(1, 15)
    assert "less cost in total than 1/15" in text
    light, _ = said("w.csv", "--label-column", "r", "--ignore", "w", "--loss", "total")
    assert light["error"] == "0.2"


def test_maxitive_fits_say_all_in_their_rules(desk):
    data, _ = said("mixed.csv", *FLAT, "--maxitive", "2", "--predict", "new.csv")
    assert max(rule.count(" and ") for rule in data["rules"]) <= 1
    assert all(case["low"] == case["high"] for case in data["cases"])
    dual, _ = said("mixed.csv", *FLAT, "--minitive", "2", "--predict", "new.csv")
    assert all("S <=" in rule for rule in dual["rules"])


@pytest.mark.parametrize(
    "how", [[], ["--loss", "largest"], ["--loss", "total"], ["--maxitive", "2"]], ids=str
)
def test_a_certificate_holds_for_its_table_and_for_no_other(desk, how):
    assert in_process(["fit", "mixed.csv", *FLAT, *how, "-o", "c.json"])[0] == 0
    assert json.loads((desk / "c.json").read_text()) == said("mixed.csv", *FLAT, *how)[0]["certificate"]
    code, out, _ = in_process(["check", "c.json", "mixed.csv", *FLAT])
    assert (code, out[:22]) == (0, "the certificate holds:")
    (desk / "other.csv").write_text(MIXED.replace("Attic,good", "Attic,ok"))
    (desk / "turned.csv").write_text("\n".join([MIXED.splitlines()[0], *MIXED.splitlines()[:0:-1]]) + "\n")
    (desk / "named.csv").write_text(MIXED.replace("kitchen", "balcony"))
    for name in ("other", "turned", "named"):
        assert in_process(["check", "c.json", f"{name}.csv", *FLAT])[0] == 1
    order = ["--label-column", "grade", "--name", "flat", "--order", "ok<bad<good<very good"]
    assert in_process(["check", "c.json", "mixed.csv", *order])[0] == 1
    (desk / "renamed.csv").write_text(MIXED.replace("Attic", "Loft"))  # what rows are called claims nothing
    assert in_process(["check", "c.json", "renamed.csv", *FLAT])[0] == 0


def test_a_damaged_certificate_does_not_hold(desk):
    in_process(["fit", "mixed.csv", *FLAT, "--loss", "largest", "-o", "c.json"])
    certificate = json.loads((desk / "c.json").read_text())
    (desk / "c.json").write_text(json.dumps(certificate | {"error": "0"}))
    assert in_process(["check", "c.json", "mixed.csv", *FLAT])[0] == 1


def test_learned_rules_typed_back_in_give_the_levels(desk):
    pytest.importorskip("sklearn")
    from sugenet.fit.sugeno import FeatureLevels, parse_level_rule

    for terms in ("1", "2", "card", "all"):
        data, text = said("rent.csv", *RENTS, "--terms", terms, "--predict", "rent.csv", "--limit", "999")
        chains = [
            FeatureLevels("rent", (1.0,), data["directions"]["rent"]),
            FeatureLevels("room", ("fair", "large"), "rising", ("small", "fair", "large")),
        ]
        assert data["directions"] == {"rent": "falling", "room": "rising"}
        assert all(f"  {rule}" in text.splitlines() for rule in data["rules"])
        rules = [parse_level_rule(rule, chains, data["levels"]) for rule in data["rules"]]
        right = 0
        for row, case in zip(csv.DictReader(io.StringIO(RENT)), data["cases"], strict=True):
            x = {"rent": float(row["rent"]), "room": row["room"]}
            held = [data["levels"].index(rule.level) for rule in rules if rule.holds(x)]
            assert data["levels"][max(held, default=0)] == case["value"]
            right += case["value"] == row["grade"]
            assert ("low" in case) == (terms != "card")
        assert right == data["right"]
        assert f"of the 8 rows that it learned from, {right} get their level" in text


def test_learned_directions_can_be_given(desk):
    pytest.importorskip("sklearn")
    data, _ = said(
        "rent.csv", *RENTS, "--terms", "1", "--direction", "rent=rising", "--direction", "room=falling"
    )
    assert data["directions"] == {"rent": "rising", "room": "falling"}
    assert all(">=" in rule or "room" in rule or "always" in rule for rule in data["rules"])


def test_a_picture_shows_what_sets_are_worth(desk):
    code, _, err = in_process(["fit", "flats.csv", *FLAT, "--svg", "p.svg", "-o", "c.json"])
    assert (code, err) == (0, "certificate written to c.json\nwritten to p.svg\n")
    drawn = dict(re.findall(r'data-set="(\w+)" data-low="([^"]+)"', (desk / "p.svg").read_text()))
    assert len(drawn) == 16
    assert (drawn["none"], drawn["bc"], drawn["b"], drawn["abcd"]) == ("bad", "good", "bad", "very good")


def test_other_files_are_read_alike(desk):
    with gzip.open(desk / "flats.csv.gz", "wt") as file:
        file.write(FLATS)
    (desk / "flats.tsv").write_text(FLATS.replace(",", "\t"))
    plain = said("flats.csv", *FLAT)[0]
    assert said("flats.csv.gz", *FLAT)[0]["certificate"] == plain["certificate"]
    assert said("flats.tsv", *FLAT, "--delimiter", "tab")[0]["certificate"] == plain["certificate"]
    numbers = FLATS
    for number, level in reversed(list(enumerate(LEVELS))):
        numbers = re.sub(rf"\b{level}\b(?! t)", str(number), numbers)
    (desk / "numbers.csv").write_text(numbers)
    as_numbers = said("numbers.csv", "--label-column", "grade", "--name", "flat", "--order", "0..3")[0]
    assert len(as_numbers["rules"]) == len(plain["rules"])
    assert as_numbers["scale"]["levels"] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere.csv", *FLAT], "nowhere.csv cannot be read: there is no such file"),
        (["flats.csv", *FLAT, "--predict", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["flats.csv", *FLAT, "--order", "bad<ok"], "there are two orders for one column"),
        (["flats.csv", "--label-column", "grade", "--order", "bad<ok<bad"], "must be different levels"),
        (["flats.csv", "--label-column", "grade", "--order", "bad"], "must be different levels"),
        (["flats.csv", *FLAT[:4], "--order", "light=bad<ok"], "which needs --terms"),
        (
            ["flats.csv", *FLAT[:4], "--order", "bad<ok<good"],
            "line 4, column 'light': 'very good' is not one of",
        ),
        (["flats.csv", *FLAT, "--loss", "least"], "least is not one of largest, total"),
        (["flats.csv", *FLAT, "--maxitive", "9"], "--maxitive 9 must be an integer from 1 to 4"),
        (["flats.csv", *FLAT, "--maxitive", "1", "--minitive", "1"], "not both"),
        (["flats.csv", *FLAT, "--maxitive", "1", "--loss", "total"], "--maxitive needs --loss largest"),
        (["flats.csv", *FLAT, "--time-limit", "3"], "--time-limit needs --loss total"),
        (["flats.csv", *FLAT, "--direction", "light=rising"], "--direction needs --terms"),
        (["flats.csv", *FLAT, "--terms", "0"], "integer from 1 to 1000, card or all"),
        (["flats.csv", *FLAT, "--terms", "2", "--loss", "total"], "--loss is for exact fits"),
        (["flats.csv", *FLAT, "--terms", "1", "--direction", "light"], "COLUMN=rising"),
        (["flats.csv", *FLAT, "--terms", "1", "--direction", "view=rising"], "no such column"),
        (["flats.csv", *FLAT, "--terms", "2", "--svg", "p.svg"], "--svg draws one capacity"),
        (["flats.csv", *FLAT, "--weights", "grade", "--loss", "total"], "'grade' is named for two things"),
        (["flats.csv", *FLAT, "--weights", "light", "--loss", "total"], "'good' is not a weight"),
        (["flats.csv", *FLAT, "-o", "flats.csv"], "holds the table and would be overwritten"),
        (["flats.csv", *FLAT, "--predict", "scores.csv"], "no column 'light'"),
        (["flats.csv", *FLAT, "--ignore", "attic"], "no column 'attic'"),
        (["scores.csv", "--label-column", "room", "--order", "0..1"], "'0.7' is not one of 0 < 1"),
        (["gap.csv", "--label-column", "y"], "line 3, column 'x': the value is missing"),
        (["short.csv", "--label-column", "y"], "line 2: 1 cells"),
        (["large.csv", "--label-column", "y"], "line 2, column 'x': '3' is not from 0 to 1"),
        (["spare.csv", "--label-column", "y", "--predict", "large.csv"], "'3' is not from 0 to 1"),
        (["spare.csv", "--label-column", "y", "--predict", "more.csv"], "the column 'z' is not a criterion"),
        (["only.csv", "--label-column", "y"], "no column that is a criterion"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value),
)
def test_wrong_inputs_are_named(desk, words, told):
    files = {
        "gap": "x,y\n1,0\n,1\n",
        "short": "x,y\n1\n",
        "large": "x,y\n3,1\n",
        "spare": "x,y\n1,1\n",
        "more": "x,z\n1,1\n",
        "only": "y\n1\n",
    }
    for name, text in files.items():
        (desk / f"{name}.csv").write_text(text)
    code, out, err = in_process(["fit", *words])
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
    assert (desk / "flats.csv").read_text() == FLATS


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["c.json", "mixed.csv"], "--label-column NAME"),
        (["c.json", "mixed.csv", "digits", *FLAT], "MODEL2"),
        (["text.json", "digits", "--label-column", "grade"], "--label-column is for tables of ratings"),
        (["c.json", "digits", *FLAT], "digits"),
    ],
    ids=str,
)
def test_check_needs_the_table(desk, words, told):
    in_process(["fit", "mixed.csv", *FLAT, "-o", "c.json"])
    (desk / "text.json").write_text('{"network": "x"}')
    code, _, err = in_process(["check", *words])
    assert code == 2
    assert told in err


def test_a_time_that_is_too_short_is_undecided(desk):
    rng = Random(1)
    rows = [[rng.randrange(10) / 10 for _ in range(5)] for _ in range(60)]
    written(desk / "hard.csv", [*"abcd", "y"], rows)
    words = ["fit", "hard.csv", "--label-column", "y", "--loss", "total", "--time-limit", "0"]
    code, out, _ = in_process(words)
    assert code == 3
    assert "whether one lies between was not decided in time" in out
    code, out, _ = in_process([*words, "--json"])
    data = json.loads(out)
    assert (code, data["best"]) == (3, False)
    assert Fraction(data["least"]) < Fraction(data["error"])
    settled = json.loads(in_process([*words[:-2], "--json"])[1])
    assert settled["best"]
    assert Fraction(data["least"]) <= Fraction(settled["error"]) <= Fraction(data["error"])
