"""Pieces that reports are put together from: sections, figures, tables, how a claim stands, certificates, and
the document around them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from typing import Any

from sugenet.show.figures import Figure, Heat, Pixels
from sugenet.show.markup import Html, element
from sugenet.show.report_style import STYLE
from sugenet.show.svg_writer import draw

__all__ = [
    "WHOLE",
    "canonical_text",
    "certificate_html",
    "document",
    "figure_html",
    "figures_html",
    "paragraph",
    "row_html",
    "section",
    "status_html",
    "words_table",
]

WHOLE = 60_000
"""Characters of a certificate that is kept in the file; of a longer one only its digest."""
_MARKS = {"proved": "✓", "refuted": "✗"}


def status_html(word: str, kind: str | None = None) -> Html:
    """How a claim stands; what is neither proved nor refuted looks undecided, unless a kind is said."""
    kind = kind or (word if word in _MARKS else "undecided")
    return Html('<span class="status {}">{} {}</span>').format(kind, _MARKS.get(kind, "?"), word)


def paragraph(*inside: object, kind: str | None = None) -> Html:
    """A paragraph."""
    return element("p", *inside, class_=kind)


def figure_html(figure: Figure, caption: str = "") -> Html:
    """A figure with a caption."""
    below = element("figcaption", caption) if caption else ""
    shape = "image" if isinstance(figure, Pixels | Heat) else "wide"
    return element("figure", draw(figure), below, class_=shape)


def figures_html(figures: Iterable[Html], kind: str = "") -> Html:
    """Figures beside each other."""
    return element("div", *figures, class_=f"figures {kind}".rstrip())


def section(name: str, title: str, body: Html) -> Html:
    """One section."""
    return Html('<section id="{}">\n<h2>{}</h2>\n{}\n</section>\n').format(name, title, body)


def words_table(head: tuple[str, ...], rows: Iterable[Html]) -> Html:
    """A table of words."""
    heads = element("thead", element("tr", *(element("th", word) for word in head)))
    return element("table", heads, element("tbody", "", *rows))


def row_html(*cells: str) -> Html:
    """A row of such a table."""
    return element("tr", *(element("td", cell) for cell in cells))


def canonical_text(certificate: Any) -> str:
    """The one text of a certificate that its digest is of."""
    return json.dumps(certificate, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def certificate_html(text: str, title: object, too_long: str, *, most: int = WHOLE, **marks: object) -> Html:
    """A certificate, folded away under its title and digest; of one that is too long, words instead."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    line = Html(
        "{} "
        '<span class="muted">· {:,} characters · <span class="mono long">{}</span>'
        '<span class="mono short">{}…</span></span>'
    ).format(title, len(text), digest, digest[:16])
    if len(text) > most:
        return element("div", line, paragraph(too_long, kind="note"), class_="certificate", **marks)
    kept = element("pre", text, data_sha256=digest)
    return element("details", element("summary", line), kept, class_="certificate", **marks)


def document(title: str, body: Html, script: Html | None = None) -> Html:
    """A file of its own, which loads nothing, and runs nothing but the script that it has."""
    policy = f"default-src 'none'; style-src '{_digest(STYLE)}'"
    policy += f"; script-src '{_digest(script)}'" if script else ""
    return Html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}{script}</body>\n</html>\n"
    ).format(
        policy=f"{policy}; base-uri 'none'; form-action 'none'",
        title=title,
        style=STYLE,
        body=body,
        script=element("script", script) + "\n" if script else "",
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
