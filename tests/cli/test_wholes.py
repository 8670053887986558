"""Commands about several images: what is refused, and how they end; the same is said as text and as JSON."""

import json

import pytest

from tests.cli.runner import in_process

SUM = ["sum", "digits", "--left", "7", "--right", "4"]
STATE = ["state", "digits", "--reading", "a=7", "--reading", "b=4", "--claim"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["state", "digits", "--reading", "=7", "--claim", "a = 3"], "--reading =7 is not NAME=I"),
        (
            ["state", "digits", "--reading", "a=7", "--reading", "a=4", "--claim", "a = 3"],
            "two readings are called",
        ),
        ([*STATE, ""], "formula, place 1: it ends"),
        ([*STATE, "a = ９"], "place 5: '９' is not a value of a"),
        ([*STATE, "c = 3"], "place 1: 'c' is not a reading. There are a, b."),
        ([*STATE, "(" * 5000 + "a = 3"], "more than 100 brackets"),
        ([*STATE, "a = 3 or b = 6", "--verify", "--l0", "1", "--joint"], "(whatif), whose cost is that"),
        ([*SUM, "--total", "9" * 4301], "is not an integer"),
        ([*SUM, "--whatif", "--total", "9"], "the sum is 9 already"),
        ([*SUM, "--verify", "--linf", "1", "--joint"], "has none. Leave --joint out"),
        ([*SUM, "--why", "--total", "9"], "--total is not used by"),
        ([*SUM, "--cost", "L1"], "--cost needs --whatif"),
        ([*SUM, "--l0", "1"], "--l0 needs --verify or --why"),
    ],
)
def test_what_means_nothing_is_refused(words, said):
    code, out, err = in_process(words)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--whatif", "--time-limit", "0"], 3),
        (["--whatif", "--total", "99"], 0),
        (["--verify", "--l0", "1"], 0),
        (["--verify", "--l0", "3"], 1),
        (["--verify", "--l0", "3", "--time-limit", "0"], 3),
        (["--why", "--hamming", "1"], 0),
        (["--total", "99"], 0),
    ],
)
def test_text_json_and_certificate_say_the_same(words, code, tmp_path):
    text = in_process([*SUM, *words, "-o", str(tmp_path / "c.json")])
    found = in_process([*SUM, *words, "--json"])
    assert (text[0], found[0]) == (code, code)
    assert text[1].strip() == json.loads(found[1])["claim"]
    assert json.loads((tmp_path / "c.json").read_text()) == json.loads(found[1])["certificate"]
    checked = in_process(["check", str(tmp_path / "c.json"), "digits"])
    assert (checked[0], "the certificate holds" in checked[1]) == (0, True)
