"""What MkDocs adds to the pages of `docs/`: the notebooks as pages, the changes, and the public names.

Pages are written for a code-hosting page, where a link may leave `docs/`; here such links are turned
to what the site has in their place.
"""

from __future__ import annotations

import importlib
import json
import re
from html import escape
from inspect import ismodule
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
OUTSIDE = {
    "../CHANGELOG.md": "changelog.md",
    **{f"../examples/{path.name}": f"examples/{path.stem}.md" for path in NOTEBOOKS},
}
"""Links that leave `docs/`, and the pages of the site that stand for them."""


ROOMS = ("capacity", "errors", "fit", "io", "logic", "models", "show", "spiking")
"""Rooms whose public names have a page of their own."""


def on_files(files, config):
    """Add the pages that have another place in the repository, and those made of docstrings."""
    made = {"changelog.md": (ROOT / "CHANGELOG.md").read_text()}
    made |= {f"examples/{path.stem}.md": notebook_page(path) for path in NOTEBOOKS}
    made |= {f"api/{room}.md": room_page(room) for room in ROOMS}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Turn links that leave `docs/`; give the page of names its names."""
    for outside, inside in OUTSIDE.items():
        markdown = markdown.replace(f"]({outside})", f"]({inside})")
    return f"{markdown}\n{reference()}" if page.file.src_uri == "api.md" else markdown


def on_post_page(output, page, **_):
    """Refuse a page that would load something from elsewhere."""
    if found := re.search(r"<(?:script|link|img|iframe)[^>]* (?:src|href)=\"?https?:[^>]*>", output):
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {found[0]}")
    return output


def reference():
    """Every public name of `sugenet`, below the room that it comes from, for mkdocstrings."""
    package = importlib.import_module("sugenet")
    left = sorted(package.__all__, key=str.lower)
    text = []
    for face, title in TITLES.items():
        room = importlib.import_module(f"sugenet.{face}")
        names = [name for name in left if name in room.__all__]
        left = [name for name in left if name not in names]
        text += [f"## {title}", *(f"::: sugenet.{name}" for name in names)]
    if others := [name for name in left if not ismodule(getattr(package, name))]:
        text += ["## More", *(f"::: sugenet.{name}" for name in others)]
    modules = [name for name in left if name not in others]
    text += ["## Modules", *(f"- [sugenet.{name}](api/{name}.md)" for name in modules)]
    return "\n\n".join(text)


TITLES = {
    "reason": "Questions and answers",
    "nn": "Networks",
    "logic": "Several readings",
    "io": "Files",
    "sweeps": "Whole data sets",
}


def room_page(name):
    """Every public name of a room, for mkdocstrings."""
    room = getattr(importlib.import_module("sugenet"), name)
    names = "\n\n".join(f"::: {room.__name__}.{inside}" for inside in sorted(room.__all__, key=str.lower))
    return f"# sugenet.{name}\n\n{room.__doc__.strip()}\n\n{names}\n"


def notebook_page(path):
    """A notebook with the outputs that it was kept with, as Markdown."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_output(output) for output in cell.get("outputs", [])]
    link = f"\n\nThis is `examples/{path.name}`: open it in Jupyter to go on from here."
    return re.sub(r"\A(# [^\n]*)", rf"\1{link}", "\n\n".join(parts))


def _output(output):
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    if "text/html" in data:
        html = re.sub(r"\n\s*\n", "\n", data["text/html"])
        return f'<div class="answer" style="overflow-x: auto">\n{html}\n</div>'
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
    text = data.get("text/plain", "".join(output.get("text", [])))
    return f'<pre style="white-space: pre-wrap">{escape(text)}</pre>'
