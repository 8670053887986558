"""Whoever does the work, the file says the same; samples that go wrong are named, and hold up nobody."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import FileError, SugenetError, SweepError
from sugenet.io.native.file import network_bytes
from sugenet.sweeps import read_results, work
from sugenet.sweeps.driving import Progress, Queue
from sugenet.sweeps.interrupts import interrupted_once
from sugenet.sweeps.work import Chunk, Task, do, here
from tests.sweeps.content import answered, ask, content
from tests.sweeps.questions import Broken, Deadly, Refusing, Slow
from tests.thinned import examples

FEW = 40
ROBBED = sg.Count(sg.each, sg.Hamming(3))
X, Y = sg.models.samples("digits")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "plain.db"
    ask(path, samples=FEW, jobs=1).close()
    return content(path)


@pytest.mark.parametrize("how", [{"jobs": 2}, {"backend": "threading", "jobs": 2}, {"backend": "loky"}])
def test_every_backend_gives_the_same(tmp_path, plain, how):
    path = tmp_path / "a.db"
    ask(path, samples=FEW, **how).close()
    assert content(path) == plain


def test_what_joblib_is_configured_with_is_used(tmp_path, plain):
    import joblib

    path = tmp_path / "a.db"
    with joblib.parallel_config("threading", n_jobs=2):
        ask(path, samples=FEW).close()
    assert content(path) == plain


def test_from_a_thread(tmp_path, plain):
    path = tmp_path / "a.db"
    thread = threading.Thread(target=lambda: ask(path, samples=FEW, jobs=1, total_time=1000).close())
    thread.start()
    thread.join()
    assert content(path) == plain


def test_a_total_time_is_kept_in_a_thread_too(tmp_path):
    path = tmp_path / "a.db"
    thread = threading.Thread(target=lambda: ask(path, samples=FEW, jobs=1, total_time=0).close())
    thread.start()
    thread.join()
    with read_results(path) as found:
        assert found.rows() == []
    ask(path, samples=FEW, jobs=1, total_time=1e-9).close()  # and one that rings before anything began
    with read_results(path) as found:
        assert found.rows() == []


def test_a_backend_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SweepError, match="the backend nowhere cannot be used: joblib does not know it"):
        ask(tmp_path / "a.db", samples=FEW, backend="nowhere")


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two workers, which talk over TCP."""
    distributed = pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.logging.distributed": "critical"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", protocol="tcp"
        ) as local,
        distributed.Client(local) as client,
    ):
        assert all(address.startswith("tcp://") for address in client.scheduler_info()["workers"])
        yield client


@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_gives_the_same(tmp_path, plain, cluster):
    path = tmp_path / "a.db"
    ask(path, samples=FEW, backend="dask").close()
    assert content(path) == plain


@pytest.mark.filterwarnings("default")
@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_gives_the_same(tmp_path, cluster):
    path = tmp_path / "a.db"
    worker = next(iter(cluster.run(os.getpid).values()))

    def rob():
        while not answered(path):
            time.sleep(0.01)
        os.kill(worker, signal.SIGKILL)

    robber = threading.Thread(target=rob)
    robber.start()
    ask(path, samples=FEW, backend="dask", question=ROBBED).close()
    robber.join()
    ask(other := tmp_path / "b.db", samples=FEW, jobs=1, question=ROBBED).close()
    assert content(path) == content(other)


def script_of(name):
    """The example of docs/cluster.md that uses a package."""
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
    (found,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if name in block)
    return found


def told_by(name, tmp_path):
    """What that example prints."""
    script = tmp_path / "example.py"
    script.write_text(script_of(name))
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


SAID = """\
the class stays what it is, with up to 2 bits flipped
  proved   15  75.00 %
  refuted   5  25.00 %
  samples  20    100 %
accuracy: 90.00 % (18 of 20 answers right)
certified accuracy: 75.00 %
"""


def test_the_example_of_dask_in_the_docs(tmp_path):
    pytest.importorskip("distributed")
    assert told_by("LocalCluster", tmp_path) == SAID


@pytest.mark.slow
def test_the_example_of_ray_in_the_docs(tmp_path):
    pytest.importorskip("ray")
    assert SAID in told_by("register_ray", tmp_path)  # Ray has words of its own, before and behind


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_same(tmp_path, plain):
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    os.environ["RAY_AUTH_MODE"] = "disabled"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, address="local")
    try:
        register_ray()
        path = tmp_path / "a.db"
        ask(path, samples=FEW, backend="ray").close()
        assert content(path) == plain
    finally:
        ray.shutdown()


# -- samples that go wrong -----------------------------------------------------------------------------------


def rows_of(*samples):
    return tuple(tuple(X[sample].tolist()) for sample in samples)


def test_a_sample_that_ends_its_worker_is_named_and_the_others_are_answered(tmp_path):
    path = tmp_path / "a.db"
    question = Deadly(sg.each, sg.Hamming(1), deadly=rows_of(5))
    with pytest.raises(
        SweepError, match=r"1 sample has no answer\. sample 5: its worker ended \d times: .*memory"
    ):
        ask(path, samples=FEW, question=question, jobs=2)
    with sg.read_results(path) as found:
        assert found.missing() == [5]


@pytest.mark.parametrize("error", [RuntimeError, AssertionError, OSError, RecursionError, FileError])
def test_a_mistake_that_shows_with_a_sample_is_named_and_kept_as_nothing_else(tmp_path, error):
    path = tmp_path / "a.db"
    question = Broken(sg.each, sg.Hamming(1), deadly=rows_of(5), error=error)
    words = "a mistake" if error is FileError else f"{error.__name__}: a mistake"
    with pytest.raises(SweepError, match=rf"1 sample has no answer\. sample 5: {words}\. All other"):
        ask(path, samples=FEW, question=question, jobs=1, time_limit=60)
    with sg.read_results(path) as found:
        assert found.missing() == [5]


def test_samples_that_are_refused_are_kept_as_such_and_the_others_are_answered(tmp_path):
    question = Refusing(sg.each, sg.Hamming(1), deadly=rows_of(3, 7, 20, 21))
    with ask(tmp_path / "a.db", samples=FEW, question=question, jobs=1) as found:
        assert found.missing() == []
        refused = [row.sample for row in found.rows() if row.outcome == "refused"]
        assert refused == [3, 7, 20, 21]
        with pytest.raises(SugenetError, match="sample 7 was not asked about: not this one"):
            found.answer(7)
        assert found.X(7) == tuple(X[7].tolist())
        assert len(list(found.answers())) == FEW - 4


def test_how_to_reach_the_class_that_a_sample_has_is_not_asked():
    with ask(samples=FEW, question=sg.WhatIf(sg.each, target=3), jobs=1) as found:
        for row in found.rows():
            assert (row.outcome == "refused") == (row.index == 3)


def test_a_question_that_is_refused_for_all_is_refused_at_once(tmp_path):
    question = Refusing(sg.each, sg.Hamming(1), deadly=rows_of(*range(FEW)))
    with pytest.raises(SugenetError, match="not this one"):
        ask(tmp_path / "a.db", samples=FEW, question=question, jobs=1)
    with pytest.raises(SugenetError, match="nobody"):
        ask(tmp_path / "a.db", samples=FEW, engine="nobody", jobs=1)
    assert not (tmp_path / "a.db").exists()


@pytest.mark.slow
def test_a_slow_sample_holds_up_nobody(tmp_path):
    path = tmp_path / "a.db"
    order = []
    question = Slow(sg.each, sg.Hamming(1), deadly=rows_of(11), seconds=4)
    found = ask(path, samples=FEW, question=question, jobs=2, notify=order.append)
    assert found.missing() == []
    found.close()
    before = max(int(words.split()[0]) for words in order if not words.startswith(f"{FEW} of"))
    assert before > FEW - 6  # while it was asked, all others but those of its chunk had their answers


def test_the_total_time_ends_it_and_it_goes_on(tmp_path):
    path = tmp_path / "a.db"
    question = Slow(sg.each, sg.Hamming(1), deadly=rows_of(*range(1, FEW)))
    found = ask(path, samples=FEW, question=question, jobs=1, total_time=4)
    assert 0 < len(found.missing()) < FEW
    found.close()
    found = ask(path, samples=FEW, question=question, jobs=2, total_time=0.1)
    assert 0 < len(found.missing()) < FEW
    found.close()
    more = ask(path, samples=FEW, question=sg.Robust(sg.each, sg.Hamming(1)), jobs=1)
    assert more.missing() == []
    more.close()


def test_the_total_time_ends_it_where_interrupts_are_ignored(tmp_path):
    """As in the background of a script; an interrupt that is not the time's stays ignored."""
    question = Slow(sg.each, sg.Hamming(1), deadly=rows_of(1), seconds=60)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ask(tmp_path / "a.db", samples=2, question=question, jobs=1, total_time=2) as found:
            assert 1 in found.missing()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_that_is_held_down_is_one():
    before = signal.getsignal(signal.SIGINT)
    with interrupted_once():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


# -- in a worker ---------------------------------------------------------------------------------------------


def job(question=None, **changes):
    network = sg.models.digits()
    asked = question or sg.Robust(sg.each, sg.Hamming(1))
    return Task(network.fingerprint, asked, {"engine": "auto"}, None, 0, here(), **changes)


def chunk(*samples, dear=None):
    return Chunk(tuple((sample, X[sample].tolist(), int(Y[sample]), None) for sample in samples), dear)


def test_a_network_travels_once():
    work._networks.clear()
    assert do(job(), chunk(1, 2)).unknown == (1, 2)
    assert len(do(job(), chunk(1, 2), network_bytes(sg.models.digits())).entries) == 2
    assert len(do(job(), chunk(3)).entries) == 1


def test_another_version_is_refused():
    with pytest.raises(SugenetError, match=r"a worker runs sugenet .*, but the sweep was started by 9\.9"):
        do(job(version="9.9"), chunk(1))


def test_dear_samples_are_given_back_unless_alone():
    raw = network_bytes(sg.models.digits())
    linf = sg.Robust(sg.each, sg.Linf(2))
    sizes = do(job(linf), chunk(*range(8), dear=1000.0), raw).sizes
    assert len(set(sizes.values())) > 3
    dear = sorted(sizes.values())[4]
    done = do(job(linf), chunk(*range(8), dear=dear))
    assert {entry.row.sample for entry in done.entries} == {i for i, size in sizes.items() if size < dear}
    assert dict(done.back) == {i: size for i, size in sizes.items() if size >= dear}
    alone = do(job(linf), chunk(done.back[0][0], dear=dear))
    assert len(alone.entries) == 1


# -- what goes out together ----------------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(
    st.integers(0, 80),
    st.integers(1, 9),
    st.none() | st.floats(0.1, 10),
    st.randoms(use_true_random=False),
)
def test_every_sample_goes_out_until_it_is_answered(count, workers, limit, rng):
    queue = Queue(range(count), workers, limit)
    answered = Counter()
    size = {i: rng.choice((None, rng.uniform(0, 30))) for i in range(count)}
    out = []
    while len(queue) or out:
        taken, dear = queue.take()
        if taken:
            out.append((taken, dear))
        if out and (not taken or rng.random() < 0.5):
            samples, _ = out.pop(rng.randrange(len(out)))
            assert set(samples) <= queue.waiting
            what = rng.random()
            if what < 0.1:
                queue.again(samples)
                continue
            done = samples[: rng.randrange(1, len(samples) + 1)]
            for sample in done:
                answered[sample] += 1
                queue.answered(sample, rng.choice((0.001, 0.3, 5.0)), size[sample], learn=rng.random() < 0.9)
            for sample in samples[len(done) :]:
                if rng.random() < 0.5:
                    queue.give_back(sample, size[sample])
                else:
                    queue.set_apart(sample)
        likely, worst = queue.remaining()
        assert likely >= 0
        assert worst is None or worst >= likely
    assert answered == Counter(range(count))
    assert not queue.waiting
    assert queue.take()[0] == []


def test_cheap_samples_go_out_in_chunks_and_dear_ones_alone():
    queue = Queue(range(1000), 2, None)
    first, dear = queue.take()
    assert dear is None
    for sample in first:
        queue.answered(sample, 0.01, None)
    assert len(queue.take()[0]) > 20
    slow = Queue(range(1000), 2, None)
    for sample in slow.take()[0]:
        slow.answered(sample, 3.0, 12.3)
    taken, dear = slow.take()
    assert len(taken) == 1
    assert dear == 12


def test_what_comes_back_late_goes_out_in_chunks_again():
    queue = Queue(range(1000), 1, None)
    for sample in queue.take()[0]:
        queue.answered(sample, 0.002, None)
    taken = queue.take()[0]
    assert len(taken) > 100
    for sample in taken[100:]:
        queue.give_back(sample, None)
    for sample in taken[:100]:
        queue.answered(sample, 0.01, None)
    sizes = []
    while len(queue):
        sizes.append(len(queue.take()[0]))
    assert max(sizes) > 20
    assert len(sizes) < 100


def test_the_remaining_time_counts_dear_samples():
    queue = Queue(range(10), 1, 60.0)
    taken = []
    while len(queue):
        taken += queue.take()[0]
    for sample in taken[:8]:
        queue.answered(sample, 1.0, 10.0)
    queue.give_back(taken[8], 13.0)
    queue.give_back(taken[9], 30.0)
    assert queue.remaining() == (8.0 + 60.0, 120.0)
    progress = Progress(10, Counter(proved=6, refuted=2), None)
    progress.queue = queue
    assert str(progress) == "8 of 10, 75.00 % proved, 25.00 % refuted, 68 s to 2 min left"
