"""Hooks of MkDocs: notebooks, changelog, contributing and the Python API as pages, and `llms.txt`.

Pages are also read in the repository, where a link may leave `docs/`. The hooks replace such links by
links to pages of the site.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from html import escape, unescape
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
COPIED = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
OUTSIDE = {
    **{f"../{path}": page for page, path in COPIED.items()},
    **{f"../examples/{path.name}": f"examples/{path.stem}.md" for path in NOTEBOOKS},
}
"""Links that leave `docs/`, and the pages of the site that replace them."""

GROUPS = {
    "verbs": (
        "Verbs",
        "verify whatif why count compare check check_rule rulebook overview trace_reasons sweep read_results "
        "explore summary",
    ),
    "questions": (
        "Questions, regions and costs",
        "Robust Always Never Monotone Fair Agree WhatIf Why Count Predict each "
        "L0 L1 L2 Linf Hamming Free Box AnyInput Prices",
    ),
    "answers": (
        "Answers",
        "Proved Refuted Undecided Counterfactual NoCounterfactual OpenCounterfactual Counterfactuals "
        "Reasons Reason Counted CountOpen CountSampled Predicted ComparedNetworks CheckedRule Rulebook "
        "Results Overview",
    ),
    "networks": (
        "Networks and estimators",
        "Network Neuron Domain Law BNNClassifier SugenoClassifier from_sklearn",
    ),
    "files": (
        "Importers and exporters",
        "Integers Bits Reals from_torch read_onnx read_larq read_bnn_pynq from_tsetlin from_tables "
        "read_vnnlib load save verify_against write_onnx write_c",
    ),
}
"""Groups of the names of `import sugenet`, each a page: title and names, in the order of the page."""

MODULES = (
    *(
        "reason",
        "nn",
        "fit",
        "fit.estimators",
        "fit.sugeno.estimators",
        "sweeps",
        "glance",
        "logic",
        "capacity",
        "spiking",
    ),
    *("io", "show", "models", "errors", "checker", "bits"),
)
"""Modules whose public names have a page."""


def on_config(config):
    """Add the pages of the Python API to the navigation."""
    api = ["api.md", *({title: f"api/{name}.md"} for name, title in api_pages().items())]
    first, all_pages = ({"Python API": pages} for pages in ("api.md", api))
    config.nav = json.loads(json.dumps(config.nav).replace(json.dumps(first), json.dumps(all_pages)))
    return config


def on_files(files, config):
    """Add pages that are elsewhere in the repository, and pages made of docstrings."""
    made = {page: (ROOT / path).read_text() for page, path in COPIED.items()}
    made |= {f"examples/{path.stem}.md": notebook_page(path) for path in NOTEBOOKS}
    made |= {f"api/{name}.md": api_page(name) for name in api_pages()}
    made |= {"llms.txt": llms_text(config, made)}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Turn links that leave `docs/`; list the pages of the Python API on its first page."""
    for outside, inside in OUTSIDE.items():
        markdown = markdown.replace(f"]({outside})", f"]({inside})")
    if page.file.src_uri == "contributing.md":
        markdown = markdown.replace("](docs/", "](")
    return f"{markdown}\n{contents()}" if page.file.src_uri == "api.md" else markdown


def on_page_content(html, **_):
    """Let the copy button of a session copy commands, without prompts and outputs."""
    return re.sub(r'<div class="highlight">(?=<pre>(.*?)</pre>)', _block, html, flags=re.DOTALL)


def _block(found):
    typed = re.findall(r'^(?:<.*?><code>)?<span class="gp">[^<]*</span>(.*)$', found[1], re.MULTILINE)
    text = unescape(re.sub(r"<[^>]+>", "", "\n".join(typed)))
    return f'<div class="highlight" data-copy="{escape(text)}">' if typed else found[0]


def on_post_page(output, page, **_):
    """Refuse a page that would load something from another server."""
    if found := re.search(r"<(?:script|link|img|iframe)[^>]* (?:src|href)=\"?https?:[^>]*>", output):
        raise PluginError(f"{page.file.src_uri} loads a file from another server: {found[0]}")
    return output


# -- Python API ----------------------------------------------------------------------------------------------


def api_pages():
    """Titles of the pages of the Python API by name: groups of `import sugenet` first, then modules."""
    groups = {name: title for name, (title, _) in GROUPS.items()}
    more = {"more": "More"} if group_names("more") else {}
    return groups | more | {name: f"sugenet.{name}" for name in MODULES}


def module_of(name):
    """The module that a page is about."""
    known = importlib.util.find_spec(f"sugenet.{name}")
    return importlib.import_module(f"sugenet.{name if known else FOLDERS[name]}")


FOLDERS = {"models": "data"}
"""Folders of modules that have another name in `sugenet`."""


def group_names(group):
    """Names of `import sugenet` in a group; `more` has those that no group lists."""
    package = importlib.import_module("sugenet")
    if group in GROUPS:
        return [name for name in GROUPS[group][1].split() if name in package.__all__]
    listed = {name for _, names in GROUPS.values() for name in names.split()}
    names = sorted(package.__all__, key=str.lower)
    return [name for name in names if name not in listed and not module_name(name)]


def module_name(name):
    """Whether a name of `import sugenet` is that of a module."""
    return name in MODULES


def names_of(page):
    """Full names of everything on a page of the Python API."""
    if page in GROUPS or page == "more":
        return [f"sugenet.{name}" for name in group_names(page)]
    module = module_of(page)
    top = set(importlib.import_module("sugenet").__all__)
    return [f"{module.__name__}.{name}" for name in sorted(module.__all__, key=str.lower) if name not in top]


def api_page(page):
    """A page of the Python API, for mkdocstrings."""
    is_group = page in GROUPS or page == "more"
    about = "Names of `import sugenet as sg`." if is_group else _about(module_of(page))
    return "\n\n".join([f"# {api_pages()[page]}", about, *(f"::: {name}" for name in names_of(page)), ""])


def _about(module):
    """The docstring of a module, and those of its names that `sugenet` has, which are on other pages."""
    top = importlib.import_module("sugenet").__all__
    shared = [f"`sg.{name}`" for name in sorted(module.__all__, key=str.lower) if name in top]
    also = f"\n\nOn the pages of `import sugenet`: {', '.join(shared)}." if shared else ""
    return (module.__doc__ or "").strip() + also


def contents():
    """Every page of the Python API with its names, verbs first."""
    lines = ["| page | names |", "|---|---|"]
    for page, title in api_pages().items():
        names = ", ".join(f"[`{name.rpartition('.')[2]}`](api/{page}.md#{name})" for name in names_of(page))
        lines.append(f"| [{title}](api/{page}.md) | {names} |")
    return "\n".join(lines)


# -- other pages ---------------------------------------------------------------------------------------------


def llms_text(config, made):
    """All pages in the order of the navigation, each with its first sentence: https://llmstxt.org."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}"]
    for section, pages in sections(config.nav):
        lines += ["", f"## {section}", ""]
        for title, path in pages:
            file = Path(config.docs_dir) / path
            text = made[path] if path in made else file.read_text()
            lines.append(f"- [{title}]({path.removesuffix('.md')}.html): {first_sentence(text)}")
    return "\n".join(lines) + "\n"


def sections(nav):
    """Each section of the navigation with the titles and paths of its pages, however deep they are."""

    def pages(item, title=None):
        if isinstance(item, str):
            return [(title or "Overview", item)]
        if isinstance(item, list):
            return [page for one in item for page in pages(one, title)]
        return [page for name, inside in item.items() for page in pages(inside, name)]

    return [(name, pages(inside, name)) for item in nav for name, inside in item.items()]


def first_sentence(text):
    """The first sentence below the title of a page, without links."""
    text = re.sub(r"\A.*?^# [^\n]*\n", "", text, count=1, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(
        r"```.*?```|^(?:!\[|\||#|:::|This is `examples/).*?$", "", text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.strip().split("\n\n")[0].split()))
    return re.split(r"(?<=[.!?])\s", text.replace("**", ""))[0]


def notebook_page(path):
    """A notebook with its stored outputs, as Markdown."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_output(output) for output in cell.get("outputs", [])]
    link = f"\n\nThis is `examples/{path.name}`. Open it in Jupyter to run it."
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
