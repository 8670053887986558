"""A sweep that is killed, interrupted or robbed of its workers goes on: nothing is lost, nothing is done
twice, and in the end the file says what it says after an undisturbed run.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress

import pytest

import sugenet as sg
from sugenet.errors import FileError
from tests.sweeps.content import SAMPLES, Driver, answered, ask, content, is_alive, seconds

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and process groups")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "undisturbed.db"
    ask(path, jobs=1).close()
    return content(path)


def test_the_undisturbed_run_is_whole_and_every_certificate_holds(undisturbed):
    about, _, answers = undisturbed
    assert about["samples"] == SAMPLES
    assert sorted(answers) == list(range(SAMPLES))
    network = sg.models.digits()
    for row, _, data in answers.values():
        assert row["settled"]
        assert row["certified"]
        sg.check(data["certificate"], network)


def survive(path, rng, undisturbed):
    """Kill drivers until one gets through."""
    kept, kills = {}, 0
    while True:
        driver = Driver(path, jobs=rng.choice((1, 2)))
        if driver.until(len(kept) + rng.randrange(1, 60)):
            time.sleep(rng.random() * 0.05)
            driver.kill()
            kills += 1
        else:
            code, _, complained = driver.end()
            assert code == 0, complained
        now = seconds(path)
        assert now.items() >= kept.items()  # nothing lost, and nothing done twice
        kept = now
        if len(kept) == SAMPLES and driver.process.returncode == 0:
            break
    assert content(path) == undisturbed
    return kills


def test_a_driver_that_is_killed_goes_on(tmp_path, undisturbed):
    assert survive(tmp_path / "killed.db", random.Random(1), undisturbed) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 250))
def test_a_driver_that_is_killed_anywhere_goes_on(tmp_path, undisturbed, seed):
    survive(tmp_path / "killed.db", random.Random(seed), undisturbed)


def rob(path, rng, undisturbed, most):
    """Kill workers of one driver, which must get through."""
    driver, robbed = Driver(path), 0
    while robbed < most and driver.until(min(SAMPLES - 1, answered(path) + rng.randrange(1, 30))):
        time.sleep(rng.random() * 0.2)
        for worker in driver.workers()[: rng.choice((1, 2))]:
            os.kill(worker, signal.SIGKILL)
            robbed += 1
    code, _, complained = driver.end()
    assert code == 0, complained
    assert content(path) == undisturbed
    return robbed


def test_workers_that_are_killed_are_replaced(tmp_path, undisturbed):
    assert rob(tmp_path / "robbed.db", random.Random(1), undisturbed, 3) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_workers_that_are_killed_anywhere_are_replaced(tmp_path, undisturbed, seed):
    rob(tmp_path / "robbed.db", random.Random(seed), undisturbed, 4)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_it_and_it_goes_on(tmp_path, undisturbed, jobs):
    path = tmp_path / "interrupted.db"
    driver = Driver(path, jobs)
    assert driver.until(3)
    workers = driver.workers()
    assert len(workers) == (2 if jobs == 2 else 0)
    code, _, complained = driver.interrupt()
    assert code == 130, complained
    assert not any(map(is_alive, workers))
    kept = seconds(path)
    assert 0 < len(kept) < SAMPLES
    ask(path, jobs=1).close()
    assert seconds(path).items() >= kept.items()
    assert content(path) == undisturbed


def test_workers_end_with_a_driver_that_is_killed(tmp_path):
    driver = Driver(tmp_path / "orphans.db")
    assert driver.until(3)
    workers = driver.workers()
    assert len(workers) == 2
    driver.process.kill()
    while any(map(is_alive, workers)):  # ends, or the test is stopped for its time
        time.sleep(0.05)
    driver.end()


def test_two_drivers_do_not_write_to_one_file(tmp_path, undisturbed):
    path = tmp_path / "two.db"
    driver = Driver(path)
    assert driver.until(1)
    with pytest.raises(FileError, match="another sweep is writing to"):
        ask(path, jobs=1)
    code, _, complained = driver.end()
    assert code == 0, complained
    assert content(path) == undisturbed
    assert sorted(file.name for file in tmp_path.iterdir()) == ["two.db"]


def test_a_file_can_be_read_while_it_is_written(tmp_path):
    path = tmp_path / "read.db"
    driver = Driver(path)
    assert driver.until(5)
    with sg.read_results(path) as found:
        rows = found.rows()
        assert 5 <= len(rows) <= SAMPLES
        assert len(rows) + len(found.missing()) == SAMPLES
        found.answer(rows[0].sample)
    driver.kill()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 8 megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount") or "false"
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=False).returncode:
        pytest.skip("this user may not mount a disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_is_told_and_what_was_answered_is_kept(small_disk, undisturbed):
    path = small_disk / "full.db"
    stone = small_disk / "stone"
    stone.write_bytes(bytes((8 << 20) - 300_000))
    with pytest.raises(
        FileError, match=r"is full\. All answers before are kept: free some space, and the same"
    ):
        ask(path, jobs=1)
    kept = seconds(path)
    with pytest.raises(FileError, match="is full"):
        ask(path, jobs=1)
    assert len(kept) < SAMPLES
    assert seconds(path).items() >= kept.items()
    stone.unlink()
    ask(path, jobs=1).close()
    assert seconds(path).items() >= kept.items()
    assert content(path) == undisturbed


def test_a_disk_that_is_full_from_the_start_leaves_nothing_broken(small_disk, undisturbed):
    path = small_disk / "full.db"
    stone = small_disk / "stone"
    with stone.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(bytes(4096))
    with pytest.raises(FileError, match=r"full|No space left"):
        ask(path, jobs=1)
    stone.unlink()
    ask(path, jobs=1).close()
    assert content(path) == undisturbed
