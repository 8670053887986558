"""The page spells out the characters that the command line spells out."""

import json
import shutil
import subprocess

import pytest

from sugenet.visible import visible
from sugenet.web import bundle

NAMES = [
    "\x1b[2J",
    "\u202egood\u202c",
    "a\u200d\u200bb\u00ad",
    "\u2028\x85\x7f\0\r",
    "\ufe0f\u3164",
    "été 3\u00a0m²",
]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_names_are_shown_as_on_the_command_line(tmp_path):
    source = (bundle.__file__.rpartition("bundle")[0]) + "page/dom.js"
    shutil.copy(source, tmp_path / "dom.mjs")
    shown = f"JSON.stringify({json.dumps(NAMES)}.map(visible))"
    (tmp_path / "run.mjs").write_text(f'import {{ visible }} from "./dom.mjs";\nconsole.log({shown});')
    done = subprocess.run(["node", str(tmp_path / "run.mjs")], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [visible(name).replace("\\r", "\\x0d") for name in NAMES]
