"""How an engine is chosen, loaded, cached and shared between threads;
each process-wide question in a process of its own.
"""

import os
import platform
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sugenet.bits
from sugenet.bits import PackedLayer, numba_engine, pack, prepare
from sugenet.bits.engine import engine_named
from sugenet.bits.threads import search_in_order, share
from sugenet.errors import SugenetError

SOURCE = Path(sugenet.bits.__file__).parents[2]
HERE = Path(__file__).parent

WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None\n"
USE = """
import numpy as np
from sugenet.bits import PackedLayer, pack, prepare
messages = []
print(prepare(notify=messages.append), len(messages), end=" ")
layer = PackedLayer.from_arrays([[1, -1, 1]], [2])
print(layer.match_counts(pack([[1, 1, 1]])).tolist(), layer.activity(pack([[1, 1, 1]])).tolist())
"""


def run(code: str, source: Path = SOURCE, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value
        for key, value in os.environ.items()
        if key != "SUGENET_ENGINE" and not key.startswith("NUMBA_")
    }
    environment |= {"PYTHONPATH": str(source), **variables}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_importing_the_package_does_not_import_numba() -> None:
    done = run("import sys, sugenet.bits; print('numba' in sys.modules, 'llvmlite' in sys.modules)")
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_auto_compiles_when_it_pays_and_the_variable_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUGENET_ENGINE", raising=False)
    assert engine_named("auto") == "auto"
    assert PackedLayer.from_arrays([[1]], [1]).engine == "auto"
    monkeypatch.setenv("SUGENET_ENGINE", "numpy")
    assert PackedLayer.from_arrays([[1]], [1]).engine == "numpy"
    assert PackedLayer.from_arrays([[1]], [1], engine="numba").engine == "numba"
    monkeypatch.setenv("SUGENET_ENGINE", "cuda")
    with pytest.raises(SugenetError, match="environment variable SUGENET_ENGINE is 'cuda'"):
        engine_named("auto")
    with pytest.raises(SugenetError, match='engine is \'fast\', but must be "auto", "numba" or "numpy"'):
        engine_named("fast")


def test_without_numba_auto_warns_and_counts_with_numpy() -> None:
    done = run(WITHOUT_NUMBA + USE)
    assert done.stdout == "numpy 0 [[2]] [[1]]\n", done.stderr
    assert "RuntimeWarning: numba cannot be imported" in done.stderr
    silent = run(WITHOUT_NUMBA + USE, SUGENET_ENGINE="numpy")
    assert silent.stdout == "numpy 0 [[2]] [[1]]\n"
    assert silent.stderr == ""


def test_without_numba_the_engine_numba_is_refused() -> None:
    done = run(WITHOUT_NUMBA + "from sugenet.bits import prepare; prepare('numba')")
    assert (
        'SugenetError: The engine "numba" was asked for by engine, but numba cannot be imported'
        in done.stderr
    )
    assert "pip install numba" in done.stderr


def test_kernels_are_compiled_once_and_a_damaged_cache_does_no_harm(tmp_path: Path) -> None:
    told, silent = "numba 1 [[2]] [[1]]\n", "numba 0 [[2]] [[1]]\n"
    assert run(USE, NUMBA_CACHE_DIR=str(tmp_path)).stdout == told
    files = [path for path in tmp_path.rglob("*") if path.suffix in (".nbi", ".nbc")]
    assert len(files) == 4  # two kernels
    times = {path: path.stat().st_mtime_ns for path in files}
    assert run(USE, NUMBA_CACHE_DIR=str(tmp_path)).stdout == silent
    assert times == {path: path.stat().st_mtime_ns for path in files}
    for path in files:
        path.write_bytes(b"damaged" if path.suffix == ".nbc" else path.read_bytes())
    done = run(USE, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout == told, done.stderr
    for path in files:
        path.write_bytes(b"")
    done = run(USE, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout == told, done.stderr


@pytest.mark.slow
def test_a_changed_kernel_file_and_an_install_that_cannot_be_written(tmp_path: Path) -> None:
    package = tmp_path / "sugenet"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("errors.py", "visible.py", "compiling.py"):
        shutil.copy(SOURCE / "sugenet" / name, package)
    shutil.copytree(
        SOURCE / "sugenet" / "bits", package / "bits", ignore=shutil.ignore_patterns("__pycache__")
    )
    told, silent = "numba 1 [[2]] [[1]]\n", "numba 0 [[2]] [[1]]\n"
    assert run(USE, tmp_path).stdout == told
    kernels = package / "bits" / "kernels.py"
    kernels.write_text(kernels.read_text() + "\n# a later version\n")
    assert run(USE, tmp_path).stdout == told  # the stale entry is not used
    assert run(USE, tmp_path).stdout == silent
    # No folder at all can be written: a file stands where each of the cache folders would be.
    shutil.rmtree(package / "bits" / "__pycache__")
    (package / "bits" / "__pycache__").write_text("")
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    done = run(
        USE,
        tmp_path,
        PYTHONDONTWRITEBYTECODE="1",
        HOME=str(blocked),
        XDG_CACHE_HOME=str(blocked),
        LOCALAPPDATA=str(blocked),
    )
    assert done.stdout == told, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 processors")
@pytest.mark.parametrize(("processor", "has"), [("x86-64-v3", "+avx2,+fma"), ("generic", "")])
def test_the_contract_on_processors_without_wide_vectors(processor: str, has: str, tmp_path: Path) -> None:
    arguments = [
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-k",
        "numba",
        str(HERE / "test_contract.py"),
        str(HERE / "test_conv.py"),
        str(HERE / "test_levels.py"),
    ]
    code = f"""
import sys, pytest
from numba.core.registry import cpu_target
_, name, features = cpu_target.target_context.codegen().magic_tuple()
assert (name, features) == ({processor!r}, {has!r}), (name, features)
sys.exit(pytest.main({arguments!r}))
"""
    done = run(code, NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES=has, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_prepare_is_silent_the_second_time() -> None:
    prepare("numba", levels=True)
    messages: list[str] = []
    assert prepare("numba", notify=messages.append, levels=True) == "numba"
    assert messages == []


# Threads


@pytest.mark.parametrize("total", [0, 1, 63, 64, 65, 1000])
@pytest.mark.parametrize("grain", [1, 10, 64, 2000])
@pytest.mark.parametrize("threads", [None, 1, 2, 7])
def test_blocks_cover_every_sample_once(total: int, grain: int, threads: int | None) -> None:
    seen, lock, sizes = np.zeros(total, int), threading.Lock(), []

    def task(start: int, stop: int) -> None:
        with lock:
            seen[start:stop] += 1
            sizes.append(stop - start)

    share(task, total, grain, threads)
    assert (seen == 1).all()
    assert all(size >= min(grain, total) for size in sorted(sizes)[1:])


def test_an_error_in_any_thread_reaches_the_caller() -> None:
    caller = threading.get_ident()
    others = threading.Event()

    def fails_elsewhere(start: int, stop: int) -> None:
        if threading.get_ident() != caller:
            others.set()
            raise RuntimeError("in a helper")
        others.wait(10)

    with pytest.raises(RuntimeError, match="in a helper"):
        share(fails_elsewhere, 10, 1, 2)

    def fails_here(start: int, stop: int) -> None:
        if threading.get_ident() == caller:
            raise RuntimeError("in the caller")

    with pytest.raises(RuntimeError, match="in the caller"):
        share(fails_here, 10, 1, 2)


def test_calls_from_many_threads_at_once() -> None:
    rng = np.random.default_rng(0)
    w = rng.choice([-1, 1], (200, 300))
    x = rng.random((3000, 300)) < 0.5
    for engine in ("numba", "numpy"):
        layer = PackedLayer.from_arrays(w, [150] * 200, engine=engine)  # type: ignore[arg-type]
        words = pack(x)
        expected = layer.match_counts(words, threads=1)
        with ThreadPoolExecutor(6) as pool:
            for got in pool.map(
                lambda _, layer=layer, words=words: layer.match_counts(words, threads=3), range(12)
            ):
                assert np.array_equal(got, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_threads_work_in_a_forked_child() -> None:
    code = """
import os, warnings
from sugenet.bits.threads import search_in_order, share
share(lambda a, b: None, 10, 1, 2)
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    done = []
    share(lambda a, b: done.append(b - a), 10, 1, 2)
    os._exit(0 if sum(done) == 10 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(code)
    assert done.stdout == "0\n", done.stderr


def test_the_late_engine_counts_with_numpy_until_compiling_pays() -> None:
    from sugenet.bits.numba_engine import Late

    late = Late("layers", products=1 << 30, first="numpy", make=lambda: "numba")
    loaded = dict(numba_engine._loaded)
    asked = dict(numba_engine._asked)
    numba_engine._loaded.clear()
    numba_engine._asked["layers"] = False
    try:
        assert [late(1), late(4), late(8), late(2), late(2)] == ["numpy", "numpy", "numpy", "numpy", "numba"]
        assert late(0) == "numba"
    finally:
        numba_engine._loaded.update(loaded)
        numba_engine._asked.clear()
        numba_engine._asked.update(asked)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("end", [0, 3, 19, 20])
def test_units_before_the_first_that_ends_a_search_have_results(threads, end):
    def search(number, _is_stopped):
        return number

    results = search_in_order(20, lambda: search, lambda number: number >= end, lambda: False, threads)
    assert set(range(min(end + 1, 20))) <= results.keys()
    assert all(number == result for number, result in results.items())


@pytest.mark.parametrize("threads", [1, 2])
def test_units_that_were_stopped_have_no_result(threads):
    looks = iter([False, False, False])

    def search(number, is_stopped):
        return None if is_stopped() else number

    results = search_in_order(20, lambda: search, lambda _: False, lambda: next(looks, True), threads)
    assert sorted(results) == sorted(results.values())
    assert len(results) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_ends_a_search_in_all_threads(threads):
    def search(number, _is_stopped):
        if number == 1:
            raise KeyboardInterrupt
        return number

    with pytest.raises(KeyboardInterrupt):
        search_in_order(20, lambda: search, lambda _: False, lambda: False, threads)
