"""Workers that are stopped, hang, die or are too many: each question fails for itself,
and the desk goes on.
"""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import sugenet as sg
from sugenet.web import jobs, worker
from sugenet.web.jobs import OPEN_MOST, Desk, TooManyError
from tests.web.serving import HAS_PROC, LONG, folder_of, is_there, wait_until

NETWORK = sg.models.digits()
SAMPLE = sg.models.samples("digits")[0][7].tolist()
SOON = {"kind": "verify", "sample": SAMPLE, "region": {"kind": "L0", "radius": "1"}}
FOREVER = {
    "kind": "why",
    "sample": SAMPLE,
    "region": {"kind": "AnyInput"},
    "minimal": "size",
    "n": 50,
    "time_limit": 600,
}
on_linux = pytest.mark.skipif(not HAS_PROC, reason="looks at processes in /proc")


def pids_of(desk):
    """Process numbers of the workers."""
    return [slot.worker.process.pid for slot in desk._slots if slot.worker is not None]


@pytest.fixture(scope="module")
def desk():
    made = Desk(NETWORK, workers=1, kept=3)
    made.open()
    yield made
    pids = pids_of(made)
    made.close()
    made.close()  # a second time does nothing
    if HAS_PROC:
        assert not any(map(is_there, pids))


def end_of(job):
    wait_until(lambda: job.is_over)
    return json.loads(job.text())


def begun(job):
    wait_until(lambda: job.state == "working" and job.progress not in ("", "the worker is getting ready"))


def test_a_question_goes_through_all_its_states(desk):
    told = []
    job = desk.submit(SOON)
    job.listeners.add(lambda: told.append(job.state))
    data = end_of(job)
    assert (data["state"], data["error"], data["parts"]) == ("done", None, [])
    assert data["answer"]["outcome"] == "proved"
    assert told[-1] == "done"
    assert desk.find(job.id) is job


def test_only_some_answers_are_kept(desk):
    done = [desk.submit(SOON) for _ in range(5)]
    for job in done:
        end_of(job)
    assert [desk.find(job.id) is job for job in done] == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("limits", "kept"), [({"kept_bytes": 10}, [False, True]), ({"kept_seconds": -1.0}, [False, False])]
)
def test_answers_are_kept_by_their_size_and_for_a_while(limits, kept):
    small = Desk(NETWORK, workers=1, **limits)
    small.open()
    try:
        done = [small.submit(SOON) for _ in range(2)]
        for job in done:
            end_of(job)
            assert job.size > 10
        assert [small.find(job.id) is job for job in done] == kept
    finally:
        small.close()


def test_clients_take_turns():
    made = Desk(NETWORK, workers=1)
    jobs_ = [made.submit(SOON, client) for client in "aaabbc"]
    assert [made.place(job) for job in jobs_] == [1, 4, 6, 2, 5, 3]
    taken = []
    for _ in jobs_:
        taken.append(made.next())
        assert made.place(taken[-1]) is None
        made.finish(taken[-1], None)
    assert "".join(job.client for job in taken) == "abcaba"
    assert not made._open
    assert not made._waiting
    assert not any(job.body for job in made._jobs.values())


def test_no_client_has_all_workers_while_others_may_come():
    made = Desk(NETWORK, workers=3)
    first, second, third = (made.submit(SOON, "a") for _ in range(3))
    assert (made.next(), made.next()) == (first, second)
    assert made._turn() is None
    other = made.submit(SOON, "b")
    assert made.next() is other
    made.finish(first, None)
    assert made.next() is third


def test_the_queue_is_limited_for_each_client_and_in_all(monkeypatch):
    made = Desk(NETWORK, workers=1)
    mine = [made.submit(SOON, "a") for _ in range(OPEN_MOST)]
    with pytest.raises(TooManyError, match="you have 64 open questions") as refused:
        made.submit(SOON, "a")
    assert refused.value.own
    made.cancel(mine[5])
    made.submit(SOON, "a")
    monkeypatch.setattr(jobs, "_OPEN_IN_ALL", OPEN_MOST + 1)
    made.submit(SOON, "b")
    with pytest.raises(TooManyError, match="the server's queue is full") as refused:
        made.submit(SOON, "b")
    assert not refused.value.own
    monkeypatch.setattr(jobs, "_OPEN_IN_ALL", 1000)
    monkeypatch.setattr(jobs, "_OPEN_BYTES", sum(len(job.body) for job in made._open) + 10)
    with pytest.raises(TooManyError, match="queue is full"):
        made.submit_check(b"x" * 11, "b")
    made.submit_check(b"x" * 10, "b")


def test_a_question_that_waits_is_cancelled_at_once(desk):
    first, second = desk.submit(FOREVER), desk.submit(SOON)
    begun(first)
    desk.cancel(second)
    assert second.state == "cancelled"
    desk.cancel(first)
    assert end_of(first)["state"] == "cancelled"


def test_interrupts_do_not_reach_the_next_question(desk):
    for _ in range(3):
        job = desk.submit(FOREVER)
        begun(job)
        desk.cancel(job)
        after = desk.submit(SOON)
        assert end_of(job)["state"] == "cancelled"
        assert end_of(after)["answer"]["outcome"] == "proved"


def test_what_goes_wrong_in_a_worker_is_said(desk):
    job = desk.submit({"kind": "rule", "text": "nonsense"})
    assert end_of(job)["state"] == "failed"
    assert "has no '->'" in job.error


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"\xff", 400), (b"[" * 5000, 400), (b"[]", 422), (b'{"certificate": 1}', 422)],
)
def test_a_body_without_a_certificate_is_found_by_the_worker(desk, body, status):
    """Reading a large one takes seconds, in which the server has others to answer."""
    job = desk.submit_check(body)
    assert end_of(job)["answer"]["status"] == status


@on_linux
def test_a_worker_that_died_while_idle_is_replaced(desk):
    end_of(desk.submit(SOON))
    before = pids_of(desk)
    os.kill(before[0], signal.SIGKILL)
    assert end_of(desk.submit(SOON))["state"] == "done"
    assert pids_of(desk) != before


@on_linux
def test_a_worker_that_does_not_stop_is_killed_and_replaced(desk, monkeypatch):
    monkeypatch.setattr(jobs, "_PATIENCE", 0.5)
    job = desk.submit(FOREVER)
    begun(job)
    before = pids_of(desk)
    os.kill(before[0], signal.SIGSTOP)  # it hangs
    desk.cancel(job)
    data = end_of(job)
    assert (data["state"], data["answer"]) == ("cancelled", None)
    assert not is_there(before[0])
    assert end_of(desk.submit(SOON))["state"] == "done"


@on_linux
def test_a_time_limit_holds_even_where_the_worker_hangs(desk, monkeypatch):
    for name in ("_GRACE", "_AGAIN", "_PATIENCE"):
        monkeypatch.setattr(jobs, name, 0.5)
    end_of(desk.submit(SOON))
    os.kill(pids_of(desk)[0], signal.SIGSTOP)
    job = desk.submit(FOREVER | {"time_limit": 0.1})
    assert end_of(job)["state"] == "failed"
    assert "took longer than its time limit of 0.1 s" in job.error


def test_an_engine_that_forgets_its_time_limit_is_interrupted(desk, monkeypatch):
    """The limit that the server holds is shorter here than the one that the question names."""
    monkeypatch.setattr(jobs, "_GRACE", 1.0)
    end_of(desk.submit(SOON))
    job = desk.submit(FOREVER)
    job.limit = 0.0
    data = end_of(job)
    assert data["state"] == "done"
    assert data["answer"]["outcome"] in ("found", "undecided")


@on_linux
def test_closing_ends_whatever_goes_on():
    closing = Desk(NETWORK, workers=2)
    closing.open()
    working, waiting = [closing.submit(FOREVER, name) for name in "ab"], closing.submit(SOON)
    for job in working:
        wait_until(lambda job=job: job.state == "working")
    pids = pids_of(closing)
    closing.close()
    assert not any(map(is_there, pids))
    assert {job.error for job in (*working, waiting)} == {"the server is being shut down."}
    with pytest.raises(TooManyError, match="being shut down"):
        closing.submit(SOON)


def test_certificates_are_left_out_where_an_answer_would_be_too_large():
    answer = {
        "sentence": "so",
        "certificate": {"proof": "x" * 100},
        "reasons": [{"certificate": {}, "status": "minimal"}],
    }
    assert json.loads(worker._small(answer, 1000)) == answer
    small = json.loads(worker._small(answer, 50))
    assert small["certificate"] is None
    assert small["reasons"] == [{"certificate": None, "status": "minimal"}]
    assert "certificates beyond 16 MB are left out" in small["note"]


def test_parts_together_are_no_larger_than_an_answer(monkeypatch):
    monkeypatch.setattr(worker, "_MOST_BYTES", 250)
    out = io.BytesIO()
    bench = worker._Bench(out, "nowhere")
    bench._now, parts = "7", []
    for _ in range(3):
        bench._part({"certificate": {"proof": "x" * 100}})
    out.seek(0)
    while line := out.readline():
        parts.append(json.loads(out.read(json.loads(line)["size"]))["certificate"])
    assert [part is None for part in parts] == [False, True, True]


def test_no_line_is_cut_by_an_interrupt():
    class Slow(io.BytesIO):
        def write(self, data):
            bench._interrupted(signal.SIGINT, None)
            return super().write(data)

    out = Slow()
    bench = worker._Bench(out, "nowhere")
    bench._now = bench._unwanted = "7"
    with pytest.raises(KeyboardInterrupt):
        bench._progress("half way")
    assert json.loads(out.getvalue()) == {
        "said": "progress",
        "id": "7",
        "words": "half way",
        "size": 0,
    }
    bench._now = None
    bench._interrupted(signal.SIGINT, None)  # nothing is being answered, so nothing happens


LOST = """
import io, sys, time
from sugenet.web import worker

class Cleared:
    def __del__(self):
        bench._take({"do": "stop", "id": "7"})  # Python drops what is raised here
        time.sleep(0.2)

bench = worker._Bench(io.BytesIO(), "nowhere")
bench.watch()
bench._now = "7"
try:
    Cleared()
    time.sleep(60)
except KeyboardInterrupt:
    print("stopped")
"""


def test_an_interrupt_that_python_drops_is_given_again():
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("stopped\n", "")


def test_progress_is_told_at_most_ten_times_a_second():
    out = io.BytesIO()
    bench = worker._Bench(out, "nowhere")
    bench._told = time.monotonic() + LONG
    bench._progress("too soon")
    assert out.getvalue() == b""


@on_linux
def test_a_worker_that_does_not_read_holds_nobody_up():
    """A line that is longer than a pipe takes would wait for it."""
    stuck = Desk(NETWORK, workers=1)
    stuck.open()
    end_of(stuck.submit(SOON))
    pid = pids_of(stuck)[0]
    os.kill(pid, signal.SIGSTOP)
    job = stuck.submit_check(b"x" * 1_000_000)
    wait_until(lambda: job.begun is not None)
    closing = threading.Thread(target=stuck.close, daemon=True)
    closing.start()
    closing.join(10)
    assert not is_there(pid)
    assert job.error == "the server is being shut down."


@on_linux
def test_the_memory_of_a_worker_is_limited(desk):
    end_of(desk.submit(SOON))
    process = Path(f"/proc/{pids_of(desk)[0]}")
    limit = next(
        line for line in (process / "limits").read_text().splitlines() if line.startswith("Max address space")
    )
    assert int(limit.split()[3]) >= 4 << 30
    assert (process / "oom_score_adj").read_text() == "1000\n"


def test_a_question_for_which_memory_is_short_says_so(monkeypatch):
    def greedy(*_given, **_named):
        raise MemoryError

    monkeypatch.setattr(worker, "ask", greedy)
    asked = {"do": "ask", "threads": None, "body": json.dumps(SOON).encode()}
    said = worker._Bench(io.BytesIO(), "nowhere")._answer(NETWORK, asked)
    assert said == {
        "said": "failed",
        "error": "there is not enough memory for this question. Ask about a smaller region.",
    }


@on_linux
def test_where_no_worker_can_be_started_the_next_question_tries_again(desk, monkeypatch):
    end_of(desk.submit(SOON))
    with monkeypatch.context() as patched:
        patched.setattr(
            jobs, "_Worker", lambda *_: (_ for _ in ()).throw(RuntimeError("can't start new thread"))
        )
        os.kill(pids_of(desk)[0], signal.SIGKILL)
        job = desk.submit(SOON)
        end_of(job)
        assert (job.state, job.error) == ("failed", "no worker could be started: can't start new thread.")
    assert end_of(desk.submit(SOON))["state"] == "done"


@on_linux
def test_a_closed_desk_leaves_no_file():
    made = Desk(NETWORK, workers=1)
    made.open()
    folder = folder_of(pids_of(made)[0])
    assert folder.is_dir()
    made.close()
    assert not folder.exists()


@pytest.mark.parametrize("model", [True, False])
def test_a_worker_that_cannot_answer_any_more_leaves_clearing_up_to_the_end(tmp_path, model):
    """Whether nobody reads its answers, or another worker has removed the network already: were it to end
    before its input does, nobody might remove what is left of the folder.
    """
    folder = tmp_path / "copy"
    folder.mkdir()
    if model:
        sg.save(NETWORK, folder / worker.MODEL)
    code = "import sys; from sugenet.web.worker import work; work(sys.argv[1])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    process.stdout.close()
    process.stdin.write(b'{"do": "warm", "sample": null}\n')
    process.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)
    process.stdin.close()
    assert process.wait(LONG) == 0
    assert not folder.exists()


def test_a_question_that_is_cancelled_as_it_fails_has_no_error():
    made = Desk(NETWORK, workers=1)
    job = made.submit(SOON)
    assert made.next() is job
    made.cancel(job)
    made.finish(job, "the worker process ended")
    assert (job.state, job.progress, job.error) == ("cancelled", "cancelled", None)


def test_many_threads_may_ask_at_once(desk):
    found = []

    def ask():
        job = desk.submit(SOON)
        found.append(end_of(job)["state"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert found == ["done"] * 8
