"""Kernels are kept where nobody else can write, and nothing that others left there is run.

What numba keeps are pickles: the tests plant one that would make a file.
"""

import os
import pickle
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import sugenet
from sugenet.compiling import compile_in_background, is_private

if not hasattr(os, "getuid"):
    pytest.skip("permissions of folders are of another kind here", allow_module_level=True)

OURS = frozenset({os.getuid(), 0})
SOURCE = Path(sugenet.__file__).parent
KERNEL = """
import sys, warnings
sys.path.insert(0, {folder!r})
warnings.simplefilter("always")
from kernel import twice
twice(2)
print(twice.stats.cache_path)
"""
MODULE = """
from sugenet.compiling import njit
@njit(cache=True)
def twice(x):
    return 2 * x
"""


class Evil:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (Path(self.mark),)


@pytest.fixture
def install(tmp_path):
    """A folder of ours with a module of ours, and a home."""
    folder, home = tmp_path / "install", tmp_path / "home"
    folder.mkdir()
    home.mkdir(0o700)
    (folder / "kernel.py").write_text(MODULE)
    return folder


def ran(folder, code=KERNEL, **changes):
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "SUGENET"))
    }
    home = {
        "HOME": str(folder.parent / "home"),
        "PYTHONPATH": str(SOURCE.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [*without_power(), sys.executable, "-c", code.format(folder=str(folder))],
        capture_output=True,
        text=True,
        check=False,
        env=kept | home | changes,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def without_power():
    """What makes the superuser obey permissions."""
    if os.getuid() != 0:
        return []
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if shutil.which("setpriv") is None or subprocess.run([*drop, "true"], check=False).returncode:
        pytest.skip("the superuser cannot give up its power here")
    return drop


def planted(folder):
    """Put a pickle of somebody else in the place of what numba kept; the file that it makes."""
    mark = folder.parent / "owned"
    found = list(folder.rglob("*.nbi"))
    assert found
    for path in found:
        path.write_bytes(pickle.dumps(Evil(mark)))
    return mark


def test_beside_the_source_is_the_everyday_place(install):
    beside = install / "__pycache__"
    assert ran(install) == (str(beside), "")
    times = {path: path.stat().st_mtime_ns for path in beside.iterdir()}
    assert ran(install) == (str(beside), "")
    assert times == {path: path.stat().st_mtime_ns for path in beside.iterdir()}


def test_a_pickle_of_others_beside_the_source_is_not_run(install):
    ran(install)
    mark = planted(install)
    ran(install)
    assert mark.exists()  # in a folder of our own it is run: that is what numba does
    mark.unlink()
    (install / "__pycache__").chmod(0o777)
    private = install.parent / "home" / ".cache" / "sugenet" / "numba"
    kept, err = ran(install)
    assert Path(kept).parent == private
    assert (err, mark.exists()) == ("", False)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (private, private.parent)] == [0o700, 0o700]


def test_a_named_folder_that_others_can_write_is_not_used_and_this_is_said(install, tmp_path):
    named = tmp_path / "named"
    assert Path(ran(install, NUMBA_CACHE_DIR=str(named))[0]).parent == named
    mark = planted(named)
    named.chmod(0o1777)
    kept, err = ran(install, NUMBA_CACHE_DIR=str(named))
    assert (kept, mark.exists()) == (str(install / "__pycache__"), False)
    assert err.count("RuntimeWarning: NUMBA_CACHE_DIR=") == 1
    assert "is not used for sugenet" in err


def test_a_private_folder_that_others_can_write_is_not_used(install):
    (install / "__pycache__").mkdir(0o777)
    (install / "__pycache__").chmod(0o777)
    cache = install.parent / "shared"
    cache.mkdir()
    cache.chmod(0o777)
    kept, err = ran(install, XDG_CACHE_HOME=str(cache))
    assert kept == "None"
    assert err.count("RuntimeWarning: compiled kernels are not kept") == 1


@pytest.mark.parametrize(
    ("mode", "private"), [(0o700, True), (0o755, True), (0o777, False), (0o757, False), (0o1777, False)]
)
def test_modes_of_the_folder_and_of_what_is_above(tmp_path, mode, private):
    folder = tmp_path / "above" / "folder"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert is_private(str(folder), OURS) is private
    folder.chmod(0o700)
    folder.parent.chmod(mode)
    is_private.cache_clear()
    assert is_private(str(folder), OURS) is (private or mode == 0o1777)  # there others cannot rename it


def test_files_that_others_can_change_and_links(tmp_path):
    folder, link = tmp_path / "folder", tmp_path / "open" / "link"
    folder.mkdir()
    link.parent.mkdir()
    link.symlink_to(folder)
    (folder / "other.txt").write_text("")
    (folder / "other.txt").chmod(0o666)
    assert is_private(str(folder), OURS)
    assert is_private(str(link), OURS)
    is_private.cache_clear()
    link.parent.chmod(0o777)
    assert not is_private(str(link), OURS)
    (folder / "kernel.nbi").write_text("")
    (folder / "kernel.nbi").chmod(0o666)
    is_private.cache_clear()
    assert not is_private(str(folder), OURS)
    folder.chmod(0o700)  # now nobody else comes so far
    is_private.cache_clear()
    assert is_private(str(folder), OURS)


@pytest.mark.skipif(os.getuid() != 0, reason="only the superuser gives files away")
def test_what_belongs_to_somebody_else_is_not_trusted(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    kept = folder / "kernel.nbi"
    kept.write_text("")
    os.chown(kept, 12345, 12345)
    assert not is_private(str(folder), OURS)
    kept.unlink()
    os.chown(folder, 12345, 12345)
    is_private.cache_clear()
    assert not is_private(str(folder), OURS)
    is_private.cache_clear()
    assert is_private(str(folder), OURS | {12345})  # such as who owns the source


def test_kernels_are_made_in_one_place():
    makers = ("from numba import njit", "nb.njit", "numba.njit", "numba.jit", "nb.jit(")
    found = [
        path.relative_to(SOURCE)
        for path in SOURCE.rglob("*.py")
        if path.name != "compiling.py" and any(word in path.read_text() for word in makers)
    ]
    assert found == []


VERIFY = """
import sys
from sugenet.cli import main
sys.exit(main(["verify", "digits", "--index", "7", "--l0", "1"]))
"""
ASK = """
import sys, warnings
sys.path.insert(0, {folder!r})
warnings.simplefilter("always")
import sugenet as sg
from sugenet import data
assert sg.__file__.startswith({folder!r})
network, (X, _) = data.digits(), data.samples("digits")
print(network.predict(X[:3]).tolist(), sg.verify(network, sg.Robust(X[7], sg.L0(1))).outcome)
"""


def test_an_install_that_cannot_be_written_answers_and_says_so_once(install):
    shutil.copytree(SOURCE, install / "sugenet", ignore=shutil.ignore_patterns("__pycache__"))
    home = install.parent / "home"
    paths = [install, *install.rglob("*"), home]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        out, err = ran(install, ASK, PYTHONPATH=str(install))
        assert out == "[9, 9, 2] proved"
        assert err.count("compiled kernels are not kept") == 1
        out, err = ran(install, VERIFY, PYTHONPATH=str(install))
        assert out.startswith("the class stays 3, with up to 1 feature changed: proved by")
        assert err.startswith("note: compiled kernels are not kept: there is no folder that you can write")
        assert err.count("note: ") == 1
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are of Linux")
@pytest.mark.parametrize("megabytes", [100, 440])
def test_a_limit_of_address_space_is_said(megabytes):
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20,) * 2)"
    done = subprocess.run(
        [sys.executable, "-c", f"{limit}\n{VERIFY}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sugenet: the limit of address space is {megabytes} MB (ulimit -v), but ")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are of Linux")
def test_with_a_limit_of_address_space_numpy_predicts():
    code = """
import resource
import numpy
resource.setrlimit(resource.RLIMIT_AS, (440 << 20,) * 2)
import sugenet as sg
from sugenet import data
network, (X, _) = data.digits(), data.samples("digits")
print(network.predict(X[:3]).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"SUGENET_ENGINE": "auto"},
    )
    assert done.stdout == "[9, 9, 2]\n", done.stderr
    assert done.stderr.count("the slower NumPy engine is used") == 1


TUPLES = """
from typing import NamedTuple
from sugenet.compiling import njit
class {name}(NamedTuple):
    x: int
@njit(cache=True)
def inner(pair):
    return 2 * pair.x
def twice(x):
    return inner({name}(x))
twice.stats = inner.stats
"""


def test_a_cache_of_types_that_are_gone_is_made_anew(install):
    for name in ("Old", "New"):
        (install / "kernel.py").write_text(TUPLES.format(name=name))
        ran(install)


# -- in the background ---------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="the priority of processes is set on POSIX only")
def test_kernels_are_compiled_in_the_background_once(tmp_path, monkeypatch):
    started, start = [], subprocess.Popen

    def popen(command, **how):
        started.append(command)
        return start([sys.executable, "-c", ""], **how)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setenv("SUGENET_BACKGROUND", "0")
    assert not compile_in_background()
    monkeypatch.delenv("SUGENET_BACKGROUND")
    assert compile_in_background()
    assert not compile_in_background()
    assert [command[1:] for command in started] == [["-P", "-m", "sugenet", "warm-up", "--quiet"]]


def test_an_interrupt_waits_for_the_compiler(tmp_path):
    code = (
        "import signal\n"
        "from sugenet import compiling\n"
        "from sugenet.compiling import njit\n"
        "def stop(*_):\n"
        "    waits.append(compiling.interrupt_after_compiling())\n"
        "waits, add = [], njit()(lambda a: a + 1)\n"
        "signal.signal(signal.SIGINT, stop)\n"
        "with compiling.notify_compiling(lambda _: signal.raise_signal(signal.SIGINT)):\n"
        "    try:\n"
        "        add(1)\n"
        "    except KeyboardInterrupt:\n"
        "        print(waits, add(2))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("[True] 3\n", "")
