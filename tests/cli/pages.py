"""What a page of README and docs asks its reader to type, in order, and the outputs that it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TUTORIALS = sorted((ROOT / "docs").glob("tutorial-*.md"))
BLOCK = re.compile(
    r"^```(console|python title=\"(?P<file>[\w.]+)\")\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
COMMAND = re.compile(r"^\$ (?P<line>[^\n]*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A line behind ``$``, what the page shows below it, and where that stands in the page."""

    line: str
    shown: str
    start: int


@dataclass(frozen=True)
class Typed:
    """A file that the page has its reader write."""

    name: str
    text: str


def steps(text: str) -> Iterator[Command | Typed]:
    """Commands of console blocks and files of Python blocks with a title, from top to bottom."""
    for block in BLOCK.finditer(text):
        if block["file"]:
            yield Typed(block["file"], block["text"])
            continue
        for found in COMMAND.finditer(block["text"]):
            line = re.sub(r"\s+# .*", "", found["line"])
            yield Command(line, found["shown"], block.start("text") + found.start("shown"))


def with_outputs(text: str, outputs: dict[Command, str]) -> str:
    """The page with other outputs below these commands."""
    for command, output in sorted(outputs.items(), key=lambda pair: -pair[0].start):
        end = command.start + len(command.shown)
        text = text[: command.start] + output.rstrip() + "\n" * bool(output.strip()) + text[end:]
    return text


def type_in(
    asked: Iterable[Command | Typed], folder: str, environment: dict[str, str]
) -> list[tuple[Command, int, str]]:
    """Type all of it into one real shell, in this folder: each command with its exit code and output."""
    script, commands = [], []
    for step in asked:
        if isinstance(step, Typed):
            script.append(f"printf %s {shlex.quote(step.text)} > {shlex.quote(step.name)}")
        else:
            script.append(f"{step.line}\nprintf '\\n@@ %d\\n' $?")
            commands.append(step)
    done = subprocess.run(
        ["bash"],
        input="\n".join(script),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = re.findall(r"(.*?)\n@@ (\d+)\n", done.stdout, flags=re.DOTALL)
    assert len(found) == len(commands), done.stdout
    return [(command, int(code), out) for command, (out, code) in zip(commands, found, strict=True)]
