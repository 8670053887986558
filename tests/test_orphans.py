"""Workers end with the process that started them: before they begin, while they wait, while they compute."""

import os
import subprocess
import sys

import pytest
from joblib._parallel_backends import LokyBackend

from sugenet.orphans import start_worker
from sugenet.sweeps.driving import _first_of_all

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes as on POSIX")

PARENT = """
import multiprocessing, os, re, sys, time
from sugenet.orphans import start_worker
how, (r, w) = sys.argv[1], os.pipe()

def work():
    parent = os.getppid()
    if how == "late":
        os.write(w, b"go")
        while os.getppid() == parent:
            time.sleep(0.01)
    start_worker(how == "computing")
    if how == "late":
        print("alive", flush=True)
    os.write(w, b"go")
    if how == "computing":
        re.fullmatch("(a*)*b", "a" * 60)  # nobody else gets the interpreter's lock
    time.sleep(600)

multiprocessing.get_context("fork").Process(target=work).start()
os.read(r, 2)
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["late", "waiting", "computing"])
def test_a_worker_ends_with_its_parent(how):
    if how == "computing" and sys.platform != "linux":
        pytest.skip("only Linux kills a worker in the middle of a computation")
    done = subprocess.run(
        [sys.executable, "-c", PARENT, how], capture_output=True, text=True, check=False, timeout=120
    )  # which waits for whoever can still write
    assert (done.returncode, done.stdout, done.stderr) == (-9, "", "")


def test_a_process_that_nobody_started_so_goes_on():
    said = []
    start_worker(False, said.append, "begun")
    assert said == ["begun"]


def test_who_configured_an_initializer_gets_it_too():
    begin = _first_of_all(LokyBackend(initializer=print, initargs=(1, 2)))
    assert begin == {"initializer": start_worker, "initargs": (True, print, 1, 2)}
    assert _first_of_all(LokyBackend())["initargs"] == (True,)
