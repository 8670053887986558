"""Bundling of the page: modules joined into one script, everything inlined, and a policy that allows nothing
else.

The sources are ES modules that can be read file by file. Here each becomes a function that returns its
exports, in the order of their dependencies. So the page opens from disk, where browsers refuse to load
modules. Comment lines are dropped; everything else in a module is unchanged.
"""

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from posixpath import dirname, join, normpath
from typing import Any

from sugenet.errors import SugenetError
from sugenet.show.markup import Html

__all__ = ["bundled", "content_policy", "empty_page", "page_html", "source"]

_IMPORT = re.compile(r'^import \{ ([\w$, ]+?),? \} from "(\.[\w./-]+\.js)";$')
_EXPORT = re.compile(r"^export ((?:async )?function\*?|const|class) ([\w$]+)")
_ENDS_AN_ELEMENT = re.compile("<(?=!--|/?script|/?style)", re.IGNORECASE)


@cache
def source(name: str) -> str:
    """Return a file of the page, such as ``engine/model.js``, also from an installed wheel."""
    return (files("sugenet.web") / "page" / name).read_text(encoding="utf-8")


@cache
def bundled(entry: str, known: str | None = None) -> str:
    """Return a module and all its imports as one classic script, without the modules that another entry's
    script has.

    Examples
    --------
    >>> text = bundled("engine/worker.js")
    >>> any(line.startswith(("import ", "export ")) for line in text.splitlines()), text.splitlines()[0]
    (False, '"use strict";')
    """
    done = [] if known is None else _needed(known)
    parts: list[str] = []

    def add(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise SugenetError(
                f"the page's modules import each other in a circle: {' -> '.join((*path, name))}."
            )
        if name in done:
            return
        body, imports, exports = _split(name)
        for other, _ in imports:
            add(other, (*path, name))
        done.append(name)
        taken = "".join(f"const {{ {', '.join(names)} }} = {_scope(other)};\n" for other, names in imports)
        parts.append(
            f"// {name}\n"
            f"const {_scope(name)} = (() => {{\n"
            f"{taken}{body}\n"
            f"return {{ {', '.join(exports)} }};\n"
            f"}})();\n"
        )

    add(entry, ())
    return '"use strict";\n' + "\n".join(parts)


def _needed(entry: str) -> list[str]:
    """Return a module and all its imports, by name."""
    names = [entry]
    for name in names:
        names += [other for other, _ in _split(name)[1] if other not in names]
    return names


def _split(name: str) -> tuple[str, list[tuple[str, list[str]]], list[str]]:
    """Split a module into its text without import and export, its imports by source, and its exported
    names.
    """
    imports, exports, lines = [], [], []
    for line in source(name).splitlines():
        if match := _IMPORT.match(line):
            imports.append(
                (normpath(join(dirname(name), match[2])), [word.strip() for word in match[1].split(",")])
            )
        elif match := _EXPORT.match(line):
            exports.append(match[2])
            lines.append(line.removeprefix("export "))
        elif line.lstrip().startswith("//"):
            continue
        elif line.startswith(("import ", "import{", "export ", "export{")):
            raise SugenetError(
                f'page/{name}: write `import {{ a, b }} from "./x.js";` on one line, `export` before a '
                f"declaration: {line}"
            )
        elif line.replace("\\`", "").count("`") % 2:
            raise SugenetError(f"page/{name}: text in backquotes ends on the line where it begins: {line}")
        else:
            lines.append(line)
    return "\n".join(lines), imports, exports


def _scope(name: str) -> str:
    return "_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _verbatim(text: str) -> Html:
    """Return the text of a script or style element, unescaped: nothing in it may end the element."""
    if match := _ENDS_AN_ELEMENT.search(text):
        raise SugenetError(
            f"the page would end early at {text[match.start() :][:40]!r}. Write it in two parts."
        )
    return Html(text)


def content_policy(*, server: bool, outside: bool = False) -> str:
    """Return the Content-Security-Policy of the page.

    It allows its own script and style by their hashes, workers from its own text, and nothing else.

    Examples
    --------
    >>> content_policy(server=False).split(";")[0], "unsafe" in content_policy(server=True)
    ("default-src 'none'", False)
    """
    rules = [
        "default-src 'none'",
        f"script-src {_hash(_engine())} {_hash(_app())}",
        f"style-src {_hash(source('style.css'))}",
        f"worker-src {'data:' if outside else 'blob:'}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join([*rules, "connect-src 'self'"] if server else rules)


def _engine() -> str:
    """Return the engine, which the page runs itself for quick tasks and in its workers."""
    return bundled("engine/worker.js")


def _app() -> str:
    return bundled("app.js", known="engine/worker.js")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def page_html(payload: dict[str, Any], *, server: bool, outside: bool = False) -> str:
    """Return the whole page as one HTML text that loads nothing.

    Parameters
    ----------
    payload
        The result of `sugenet.web.payload`.
    server
        Whether a server answers questions.
    outside
        Whether it is inside a frame that it communicates with, such as a cell of a notebook. Its workers then
        use `data:`, since VS Code notebooks do not allow `blob:`.
    """
    data = json.dumps(
        {**payload, "server": server} | ({"outside": True} if outside else {}),
        allow_nan=False,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    data = data.replace("<", "\\u003c")  # no name of a class or feature ends the script element
    return str(
        Html(source("index.html")).format(
            policy=content_policy(server=server, outside=outside),
            title=payload["title"],
            style=_verbatim(source("style.css")),
            payload=_verbatim(data),
            engine=_verbatim(_engine()),
            script=_verbatim(_app()),
        )
    )


def empty_page() -> str:
    """Return the page without a network: it opens `.sugenet` files, CSV files and images in the browser."""
    from sugenet import __version__

    about = {
        "format": "sugenet page",
        "version": 1,
        "empty": True,
        "title": "sugenet",
        "sugenet": __version__,
    }
    return page_html(about, server=False)
