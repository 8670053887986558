"""Commands for VNN-COMP: decide one instance and write a result file, and print the three scripts that call
it.
"""

import os
import sys
from argparse import Namespace
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import Any

from sugenet.cli.asking import announced
from sugenet.cli.options import WORK, shared
from sugenet.cli.output import Screen
from sugenet.cli.parser import Command, Commands, UsageError, option
from sugenet.errors import QuestionError, SugenetError
from sugenet.visible import visible

__all__ = ["COMMANDS"]

_LIMIT = 300.0
_SPARE = 0.05
"""Share of the time that is reserved for startup and writing."""


def _run_instance(options: Namespace, screen: Screen) -> int:
    begun = monotonic()
    if options.output == "-":
        raise SugenetError("-o needs a file. Give a path.")
    if options.prepare and options.output is not None:
        raise UsageError("give --prepare or -o, not both: --prepare decides nothing.")
    try:
        return _decided(options, screen, begun)
    except SugenetError:
        if options.output is not None and not options.prepare:
            from sugenet.files import write_text

            write_text(options.output, "error\n")
        raise


def _decided(options: Namespace, screen: Screen, begun: float) -> int:
    from sugenet.files import write_text
    from sugenet.io.competition import outcome_word, outputs_at, read_instance, write_counterexample
    from sugenet.reason import verify

    network, query = announced(
        screen, lambda: read_instance(options.onnx, options.vnnlib, prove=options.prepare)
    )
    if options.prepare:
        return screen.say(f"{network}: readable", {"network": str(network), "readable": True})
    left = max((1 - _SPARE) * options.time_limit - (monotonic() - begun), 0.1)
    answer = announced(
        screen,
        lambda: verify(
            network,
            query,
            time_limit=left,
            threads=options.threads,
            seed=options.seed,
            notify=screen.progress,
        ),
    )
    word = outcome_word(answer)
    if options.output is not None:
        try:
            write_counterexample(answer, options.output, outputs=lambda x: outputs_at(options.onnx, x))
        except QuestionError as error:  # sat, but not in floats
            screen.tell(str(error))
            word = "unknown"
            write_text(options.output, f"{word}\n")
    screen.say(f"{word}\n{answer.said(screen.mark)}", {"result": word, **answer.data()})
    return {"proved": 0, "refuted": 1, "undecided": 3}[answer.outcome]


# -- scripts -------------------------------------------------------------------------------------------------


_HEAD = """#!/bin/bash
# {about}
set -u
if [ "${{1:-}}" != "v1" ]; then
    echo "the first argument must be v1, the version of this interface, not '${{1:-}}'" >&2
    exit 1
fi
SUGENET="${{SUGENET:-{command}}}"
"""
_SCRIPTS = {
    "install_tool.sh": (
        "VNN-COMP: install_tool.sh v1",
        """$SUGENET --version || {
    echo "sugenet does not run: install it with pip, or set SUGENET to the command that runs it" >&2
    exit 1
}
$SUGENET warm-up || true
""",
    ),
    "prepare_instance.sh": (
        "VNN-COMP: prepare_instance.sh v1 CATEGORY ONNX VNNLIB",
        """if [ "$#" -lt 4 ]; then
    echo "usage: prepare_instance.sh v1 CATEGORY ONNX VNNLIB" >&2
    exit 1
fi
# an exit code other than 0 says that the instance shall be left out
$SUGENET instance "$3" "$4" --prepare
""",
    ),
    "run_instance.sh": (
        "VNN-COMP: run_instance.sh v1 CATEGORY ONNX VNNLIB RESULT TIMEOUT",
        """if [ "$#" -lt 6 ]; then
    echo "usage: run_instance.sh v1 CATEGORY ONNX VNNLIB RESULT TIMEOUT" >&2
    exit 1
fi
rm -f "$5"
$SUGENET instance "$3" "$4" -o "$5" --time-limit "$6" --quiet
[ -s "$5" ] || echo "error" > "$5"
exit 0
""",
    ),
}


def _write_scripts(options: Namespace, screen: Screen) -> int:
    from sugenet.files import write_text

    folder = Path(options.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SugenetError(f"{folder} cannot be created: {error.strerror or error}.") from None
    command = options.tool or f"{quote(sys.executable)} -m sugenet"
    if any(sign in command for sign in '"`$}\n\\'):
        raise SugenetError(f"--tool {command[:60]} contains characters that a shell interprets.")
    written: list[Any] = []
    for name, (about, body) in _SCRIPTS.items():
        path = folder / name
        write_text(path, _HEAD.format(about=about, command=command) + body)
        os.chmod(path, 0o755)
        written.append(str(path))
    return screen.say("\n".join(f"written: {visible(path)}" for path in written), {"written": written})


COMMANDS: Commands = {
    "instance": Command(
        _run_instance,
        "decide one VNN-COMP instance: ONNX file and VNNLIB query",
        ["sugenet instance net.onnx query.vnnlib -o result.txt --time-limit 100"],
        [
            option("onnx", metavar="ONNX", help="network: .onnx or .onnx.gz"),
            option("vnnlib", metavar="VNNLIB", help="query: .vnnlib or .vnnlib.gz, version 1 or 2"),
            *shared(
                "output",
                output={"help": "write sat, unsat, timeout, unknown or error to FILE"},
            ),
            option("--prepare", action="store_true", help="only check that both files can be read"),
            *shared(*WORK, time_limit={"default": _LIMIT}),
        ],
    ),
    "vnncomp": Command(
        _write_scripts,
        "write the three scripts that VNN-COMP calls",
        ["sugenet vnncomp scripts"],
        [
            option(
                "folder",
                metavar="FOLDER",
                help="folder for the scripts (created if missing)",
            ),
            option(
                "--tool",
                metavar="COMMAND",
                help="command that runs sugenet (default: this Python)",
            ),
            *shared("json"),
        ],
    ),
}
