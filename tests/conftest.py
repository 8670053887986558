import gc
import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from tests.thinned import KEPT, left_out

collect_ignore = ["fuzzing/lce_maker.py"]  # runs in an environment of its own

settings.register_profile("default", deadline=None, max_examples=25)
settings.register_profile("all", deadline=None, max_examples=100)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("default")

os.environ.setdefault("SUGENET_ENGINE", "numba")  # compiled kernels are what most tests are about
os.environ.setdefault("OMP_NUM_THREADS", "1")  # each core has a worker already
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # programs that tests start would compile all modules again
sys.dont_write_bytecode = False

if (
    signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):  # started in the background: programs that tests start must hear Ctrl-C all the same
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that `make test` leaves out as slow."""
    folder = Path(__file__).parent
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.path.is_relative_to(folder) and not any(item.iter_markers("slow")):
            name = re.sub(r"\[.*", "", item.nodeid, flags=re.DOTALL).rpartition("::")[2]
            cases.setdefault(f"{item.path.relative_to(folder).as_posix()}::{name}", []).append(item)
    for name, kept in KEPT.items():
        several = cases.get(name, [])
        for number in left_out(len(several), kept):
            several[number].add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Take what was collected out of garbage collection: a million objects that stay to the end."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
