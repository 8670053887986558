"""Hostile files: each is refused by a sentence, with little memory, by the command that a user types."""

from itertools import islice

import pytest

from tests.fuzzing.hostile import Runner, attacks, good_attacks, good_files, mutations, run_alone

pytest.importorskip("h5py", reason="h5py is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")

MOST = 600  # megabytes
WORST = {
    "check .cert.json: a link to /dev/zero",
    "convert /0-0-weights.bin: a pipe",
    "convert /0-0-weights.bin: a link to /dev/zero",
    "convert .pt: 1,200 names for one tensor",
    "convert .pt: bytearray(4e9)",
}
"""What took gigabytes or never ended, once."""


def wrong(attack, found):
    """What is wrong with an outcome; nothing where all is well."""
    if found.crashed or found.megabytes > MOST:
        return f"{attack.name}: exit code {found.code}, {found.megabytes:.0f} MB, {found.said[-300:]!r}"
    return None


def test_the_worst_files_are_refused_by_real_commands():
    chosen = list(islice((attack for attack in attacks() if attack.name in WORST), len(WORST)))
    assert {attack.name for attack in chosen} == WORST
    for attack in chosen:
        found = run_alone(attack)
        assert wrong(attack, found) is None
        assert found.code == 2, (attack.name, found)


def test_good_files_are_read_and_hostile_ones_refused_by_a_sentence():
    with Runner() as runner:
        read = {kind: runner.run(attack).code for kind, attack in good_attacks().items()}
        assert [kind for kind, code in read.items() if code not in (0, 1)] == []  # a query may be refuted
        found = [(attack, runner.run(attack)) for attack in islice(attacks(), 2, None, 36)]
        found += [(attack, runner.run(attack)) for attack in islice(mutations(0), len(good_files()))]
    assert [text for pair in found if (text := wrong(*pair))] == []
    assert sum(outcome.code == 2 for _, outcome in found) > 0.8 * len(found)


@pytest.mark.slow
def test_all_hostile_files_are_refused_by_a_sentence():
    with Runner() as runner:
        assert [text for attack in attacks() if (text := wrong(attack, runner.run(attack)))] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 2))
def test_many_changed_files_are_refused_or_read(seed):
    with Runner() as runner:
        changed = islice(mutations(seed), 2000)
        assert [text for attack in changed if (text := wrong(attack, runner.run(attack)))] == []
