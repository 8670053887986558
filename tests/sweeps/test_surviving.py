"""A sweep that is killed, interrupted or robbed of its workers goes on: nothing is lost, nothing is done
twice, and in the end the file says what it says after an undisturbed run.
"""

import os
import shutil
import subprocess
import time
from contextlib import suppress

import pytest

import sugenet as sg
from sugenet.errors import FileError
from tests.fuzzing.kills import all_gone, kills
from tests.sweeps.content import SAMPLES, Driver, ask, content, is_alive, seconds

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


def check_kills(n, seed):
    found = kills(n, seed)
    assert found["kills"] == n
    assert (found["lost"], found["repeated"], found["orphans"]) == (0, 0, 0), found


def test_drivers_and_workers_that_are_killed_lose_and_leave_nothing():
    check_kills(3, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100])
def test_a_hundred_kills_lose_and_leave_nothing(seed):
    check_kills(100, seed)


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


@pytest.mark.parametrize("count", [0, 3])
def test_all_processes_end_with_a_driver_that_is_killed(tmp_path, count):
    """Also those that only start, before any answer is there."""
    driver = Driver(tmp_path / "orphans.db")
    while len(driver.workers()) < 2:
        time.sleep(0.01)
    assert driver.until(count)
    driver.process.kill()
    orphans, took = all_gone(driver)
    assert orphans == [], took
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
