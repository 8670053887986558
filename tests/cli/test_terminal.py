"""Colour, progress and width on a terminal, and none of it elsewhere; interrupts.

Real processes with real pseudo-terminals.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from sugenet.cli.interrupts import FINISHING

pty = pytest.importorskip("pty")
fcntl, struct, termios = (pytest.importorskip(name) for name in ("fcntl", "struct", "termios"))

PROVED = ("verify", "digits", "--index", "7", "--l0", "1")
REFUTED = ("verify", "digits", "--index", "7", "--l0", "2")
UNDECIDED = ("verify", "digits", "--index", "7", "--l0", "1", "--engine", "bounds")
LONG = ("count", "digits", "--index", "7", "--l0", "12")
"""Some 10^17 inputs: no machine gets to the end."""


def environment(**changes):
    """As usual, without what the tests are about."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "COLUMNS", "TERM", "PYTHONWARNINGS")
    }
    return kept | {"TERM": "xterm", "SUGENET_BACKGROUND": "0"} | changes


class Terminal:
    """A process whose standard output and standard error are two terminals of some width."""

    def __init__(self, *words, columns=200, **changes):
        self.ends = []
        given = []
        for _ in range(2):
            ours, theirs = pty.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            self.ends.append(ours)
            given.append(theirs)
        command = [sys.executable, "-m", "sugenet", *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=given[0], stderr=given[1], env=environment(**changes)
        )
        for end in given:
            os.close(end)
        self.seen = [b"", b""]

    def read(self, until=None, patience=60):
        """Read on until the process ends, or standard error shows a text."""
        end = time.monotonic() + patience
        open_ends = list(self.ends)
        while open_ends and (until is None or until not in self.seen[1]):
            assert time.monotonic() < end, f"still waiting; seen: {self.seen}"
            for ready in select.select(open_ends, [], [], 0.2)[0]:
                try:
                    text = os.read(ready, 65536)
                except OSError:  # the other end is closed
                    text = b""
                if text:
                    self.seen[self.ends.index(ready)] += text
                else:
                    open_ends.remove(ready)

    def finish(self):
        self.read()
        code = self.process.wait(timeout=60)
        for end in self.ends:
            os.close(end)
        out, err = (text.decode().replace("\r\n", "\n") for text in self.seen)
        return code, out, err


def on_terminal(*words, **settings):
    return Terminal(*words, **settings).finish()


def piped(*words, **changes):
    command = [sys.executable, "-m", "sugenet", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(**changes))
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "code", "verdict"),
    [
        (PROVED, 0, "\x1b[1;32mproved\x1b[0m by"),
        (REFUTED, 1, "\x1b[1;31mrefuted\x1b[0m by"),
        (UNDECIDED, 3, "\x1b[1;33mundecided\x1b[0m ("),
    ],
)
def test_verdicts_have_colour_on_a_terminal(words, code, verdict):
    found, out, _ = on_terminal(*words)
    assert found == code
    assert verdict in out
    assert out.count("\x1b") == 2


def test_there_is_no_colour_elsewhere():
    code, out, err = piped(*REFUTED)
    assert (code, "\x1b" in out + err) == (1, False)
    coloured = on_terminal(*REFUTED)[1]
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == out.split()


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused(changes):
    assert "\x1b" not in on_terminal(*PROVED, **changes)[1]


def test_json_is_never_coloured_nor_wrapped():
    _, out, _ = on_terminal(*PROVED, "--json", columns=40)
    assert json.loads(out)["outcome"] == "proved"
    assert "\x1b" not in out


@pytest.mark.parametrize("columns", [50, 80])
def test_text_is_wrapped_to_the_width_of_the_terminal(columns):
    _, out, _ = on_terminal("rules", "digits", "--neuron", "8", "--limit", "1", columns=columns)
    assert max(map(len, out.splitlines())) <= columns
    _, plain, _ = piped("rules", "digits", "--neuron", "8", "--limit", "1")
    assert max(map(len, plain.splitlines())) > 100
    assert out.split() == plain.split()


def test_help_is_never_wider_than_80_columns():
    _, out, _ = on_terminal("verify", "--help", columns=200)
    assert 70 < max(map(len, out.splitlines())) <= 80


def interrupted(*words, when=b"\r\x1b[K"):
    """Run on a terminal, and interrupt when standard error shows something."""
    terminal = Terminal(*words)
    terminal.read(until=when)
    time.sleep(0.3)
    terminal.process.send_signal(signal.SIGINT)
    return terminal.finish()


def test_progress_is_one_line_on_a_terminal_and_an_interrupt_gives_what_is_known():
    code, out, err = interrupted(*LONG)
    assert code == 3
    assert "of them counted: interrupted" in out.replace("\n  ", " ")
    progress, told = err.split("finishing; Ctrl-C again to stop now\n")
    assert progress.endswith("\r\x1b[K")
    assert not told or ("\n" not in told and told.endswith("\r\x1b[K"))  # progress is erased
    assert "Traceback" not in err


def test_a_rule_keeps_its_verdict_if_its_count_is_interrupted():
    rule = "mean radius >= 14 and mean texture >= 20 -> malignant"
    code, out, err = interrupted("rules", "breast_cancer", "--check", rule, when=b"counted ")
    assert code == 1
    assert "refuted" in out
    assert "it covers 0.444 of all inputs, and is right for " in out.replace("\n  ", " ").replace("\n", " ")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "words",
    [
        LONG,
        ("why", "digits", "--index", "7", "--hamming", "8"),
        ("whatif", "digits", "--index", "7", "--cost", "L1", "-n", "all"),
        ("rules", "digits", "--time-limit", "100"),
        ("sweep", "digits", "--ask", "verify", "--linf", "3"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_finishes_and_again_stops_at_once(words, presses, tmp_path):
    terminal = Terminal(*words, *(["-o", str(tmp_path / "r.db")] if words[0] == "sweep" else []))
    terminal.read(until=b"\r\x1b[K")
    for _ in range(presses):
        terminal.process.send_signal(signal.SIGINT)
        time.sleep(0.4)
    code, out, err = terminal.finish()
    assert code in (0, 3, 130)
    assert FINISHING in err
    assert "Traceback" not in out + err
    assert not [file for file in os.listdir(tmp_path) if not file.startswith("r.db")]


def test_an_answer_that_takes_too_long_to_finish_is_given_up():
    code = (
        "import sys, time\n"
        "from sugenet.cli.interrupts import finish_on_interrupt\n"
        "from sugenet.cli.output import Screen\n"
        "with finish_on_interrupt(Screen()):\n"
        "    while True:\n"
        "        try:\n"
        "            print('ready', flush=True)\n"
        "            time.sleep(60)\n"
        "        except KeyboardInterrupt:\n"
        "            pass\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", code], text=True, env=environment(), **pipes)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, f"{FINISHING}\nsugenet: interrupted\n")


def test_there_is_no_progress_elsewhere_nor_when_quiet():
    code, out, err = piped(*LONG, "--time-limit", "0.5")
    assert (code, err.replace("", "")) == (3, "")
    assert "at least" in out or "0 of them counted" in out
    assert on_terminal(*LONG, "--time-limit", "0.5", "--quiet")[2] == ""


def test_an_interrupt_before_there_is_an_answer_ends_with_130():
    command = [sys.executable, "-m", "sugenet", "predict", "digits", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env=environment(), **pipes)
    time.sleep(2)  # by now it waits for samples
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", f"{FINISHING}\nsugenet: interrupted\n")


def test_an_interrupt_while_modules_are_loaded_ends_with_130():
    stop = (
        "class Stop:\n"
        " def find_spec(self, name, *_):\n"
        "  if name == 'sugenet.cli.commands': raise KeyboardInterrupt\n"
    )
    code = (
        f"import sys\n"
        f"{stop}sys.meta_path.insert(0, Stop())\n"
        f"from sugenet.cli import main\n"
        f"sys.exit(main(['--help']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "sugenet: interrupted\n")


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize(
    ("words", "code"),
    [(PROVED, 0), (REFUTED, 1), (UNDECIDED, 3), (("predict", "digits"), 0), (("--help",), 0)],
)
def test_the_exit_code_stays_when_nobody_reads(words, code, buffered):
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "sugenet", *words]
    with os.fdopen(theirs, "wb") as closed:
        done = subprocess.run(
            command,
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
            env=environment(PYTHONUNBUFFERED=buffered),
        )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize(
    "words", [PROVED, ("--help",), ("why", "--help"), ("--version",), ("completion", "bash")]
)
def test_a_full_disk_is_told(words, buffered):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "sugenet", *words]
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=environment(PYTHONUNBUFFERED=buffered),
        )
    assert (done.returncode, done.stderr) == (2, b"sugenet: No space left on device.\n")


@pytest.mark.parametrize("words", [REFUTED, ("why", "--help"), ("completion", "bash")])
def test_a_closed_output_is_told(words):
    command = [sys.executable, "-m", "sugenet", *words]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, check=False, env=environment()
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"sugenet: standard output is closed. Redirect it")


LIMITED = """
import os, signal, threading, time
from sugenet.cli.interrupts import finish_on_interrupt
from sugenet.cli.output import Screen
from sugenet.sweeps.interrupts import within

with finish_on_interrupt(Screen()):
    print(within(0.2, lambda: time.sleep(30)))
    time.sleep(2.5)  # longer than a person's interrupt leaves
    print("still here")
    if PRESSED:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            time.sleep(30)
        except KeyboardInterrupt:
            print("pressed")
"""


@pytest.mark.parametrize("pressed", [False, True])
def test_a_time_limit_inside_a_command_is_not_taken_for_ctrl_c(pressed):
    script = LIMITED.replace("PRESSED", str(pressed))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment()
    )
    assert done.returncode == 0
    assert done.stdout.split("\n")[:-1] == ["False", "still here", *["pressed"] * pressed]
    assert ("finishing" in done.stderr) == pressed
