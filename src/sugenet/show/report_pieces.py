"""Parts of reports: sections, figures, tables, statuses of claims, certificates, and the document with its
styles.
"""

import base64
import hashlib
import json
from collections.abc import Iterable
from typing import Any

from sugenet.show.figures import Figure, Heat, Pixels
from sugenet.show.markup import Html, element
from sugenet.show.svg_writer import draw

__all__ = [
    "STYLE",
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
    "text_table",
]

STYLE = Html("""
:root { color-scheme: light; --ink: #1b1f24; --muted: #57606a; --rule: #d0d7de; --soft: #f6f8fa; }
* { box-sizing: border-box; }
html { background: #eceff2; }
body { margin: 2rem auto; max-width: 60rem; padding: 2.5rem 3rem; background: #fff; color: var(--ink);
  font: .94rem/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere; }
header { border-bottom: 2px solid var(--ink); padding-bottom: .8rem; }
header p { margin: 0; color: var(--muted); }
h1 { font-size: 1.15rem; margin: 0 0 .2rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .5rem 0; }
.verdict { font-size: 1.85rem; line-height: 1.25; margin: 1.4rem 0 .4rem; font-weight: 650;
  letter-spacing: -.01em; }
.lead { font-size: 1.05rem; }
.muted, figcaption, .note { color: var(--muted); }
.note { font-size: .9rem; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .86em;
  overflow-wrap: anywhere; }
pre { white-space: pre-wrap; background: var(--soft); border: 1px solid var(--rule); border-radius: 4px;
  padding: .6rem .8rem; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; margin: .6rem 0; }
figure { margin: 0; max-width: 100%; }
.figures.pair { flex-wrap: nowrap; }
.figures.pair figure { flex: 0 0 14.5rem; }
.figures.pair figure.wide { flex: 0 1 auto; min-width: 0; }
.figures.pair .words { flex: 1 1 12rem; min-width: 0; font-size: .92rem; }
.figures .words p:first-child, .figures .words ul { margin-top: 0; }
.figures.small { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr)); }
.figures.small figure { max-width: 14.5rem; }
.figures.tiny figcaption { font-size: .8rem; }
svg.thumb { border-radius: 2px; display: inline-block; vertical-align: top; max-width: none; }
.scroll { overflow-x: auto; }
.scroll table { display: table; }
.scroll td:first-child { overflow-wrap: normal; }
td.name { min-width: 8rem; }
.figures.tiny figure { max-width: 6.5rem; }
figcaption { font-size: .9rem; margin-top: .2rem; }
svg { display: block; max-width: 100%; height: auto; border: 1px solid var(--rule); border-radius: 6px; }
table { border-collapse: collapse; margin: .6rem 0; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .28rem .8rem .28rem 0;
  border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--muted); }
th, td.number { overflow-wrap: normal; }
td:first-child { min-width: 4.5rem; }
.short { display: none; }
.whole { white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th.number { text-align: right; }
.wrong { font-weight: 650; color: #8a3a00; }
.status { white-space: nowrap; font-weight: 650; border: 1.5px solid; border-radius: 4px; padding: 0 .4em; }
.proved { color: #00593f; background: #e3f4ec; }
.refuted { color: #8a3a00; background: #fdebe0; border-style: double; border-width: 3px; }
.undecided { color: #57606a; background: #fff; border-style: dashed; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:hover { text-decoration: underline; }
th button:focus-visible { outline: 2px solid currentcolor; outline-offset: 2px; }
th[aria-sort] { color: var(--ink); }
th[aria-sort=ascending] button::after { content: " ▲"; }
th[aria-sort=descending] button::after { content: " ▼"; }
article { border-top: 1px solid var(--rule); margin-top: 1.2rem; }
article:target h3 { background: #fff8c5; }
ul { margin: .4rem 0; padding-left: 1.2rem; }
.columns { columns: 3 14rem; column-gap: 2rem; font-size: .92rem; list-style: none; padding: 0; }
.columns li { break-inside: avoid; border-bottom: 1px solid var(--rule); display: flex;
  justify-content: space-between; gap: .6rem; }
details { margin: .4rem 0; }
summary { cursor: pointer; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; margin: .5rem 0; }
dt { font-weight: 600; }
dd { margin: 0; }
footer { margin-top: 2rem; border-top: 2px solid var(--ink); padding-top: .6rem; color: var(--muted);
  font-size: .9rem; }
@media screen and (max-width: 44rem) {
  body { margin: 0; padding: 1.2rem; }
  .verdict { font-size: 1.4rem; }
  .figures.pair { flex-wrap: wrap; }
  dl { grid-template-columns: 1fr; }
  dd { margin-bottom: .4rem; }
  table { display: block; overflow-x: auto; font-size: .86rem; }
  th, td { padding-right: .5rem; }
  td:first-child { min-width: 0; }
  .whole { white-space: normal; }
}
@page { size: A4; margin: 14mm 15mm 16mm; }
@media screen { .tall { max-height: 44rem; overflow-y: auto; } }
@media print {
  html { background: none; font-size: 12px; }
  body { margin: 0; padding: 0; max-width: none; line-height: 1.38; }
  .verdict { margin: .8rem 0 .3rem; }
  h2 { margin: 1.1rem 0 .3rem; padding-top: .4rem; break-after: avoid; }
  h3 { break-after: avoid; margin: .6rem 0 .2rem; }
  th, td { padding-top: .14rem; padding-bottom: .14rem; }
  figure, tr, li, dd, .keep { break-inside: avoid; }
  .figures { gap: .6rem; }
  .figures.small { grid-template-columns: repeat(4, 1fr); }
  .figures.pair figure { flex-basis: 4.6cm; }
  .figures.pair figure.wide { flex: 0 1 auto; }
  svg { border-color: #bbb; }
  figure.wide svg { zoom: .82; }
  summary { list-style: none; }
  summary .screen, .long { display: none; }
  .short { display: inline; }
  #words dl { font-size: .9rem; gap: .1rem 1.2rem; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""")


WHOLE = 60_000
"""Maximum number of characters of a certificate in the file; a longer one is replaced by its digest."""
_MARKS = {"proved": "✓", "refuted": "✗"}


def status_html(word: str, kind: str | None = None) -> Html:
    """Return the status of a claim; without `kind`, anything neither proved nor refuted is undecided."""
    kind = kind or (word if word in _MARKS else "undecided")
    return Html('<span class="status {}">{} {}</span>').format(kind, _MARKS.get(kind, "?"), word)


def paragraph(*inside: object, kind: str | None = None) -> Html:
    """Return a paragraph."""
    return element("p", *inside, class_=kind)


def figure_html(figure: Figure, caption: str = "") -> Html:
    """Return a figure with a caption."""
    below = element("figcaption", caption) if caption else ""
    shape = "image" if isinstance(figure, Pixels | Heat) else "wide"
    return element("figure", draw(figure), below, class_=shape)


def figures_html(figures: Iterable[Html], kind: str = "") -> Html:
    """Return figures side by side."""
    return element("div", *figures, class_=f"figures {kind}".rstrip())


def section(name: str, title: str, body: Html) -> Html:
    """Return a section."""
    return Html('<section id="{}">\n<h2>{}</h2>\n{}\n</section>\n').format(name, title, body)


def text_table(head: tuple[str, ...], rows: Iterable[Html]) -> Html:
    """Return a table of text."""
    heads = element("thead", element("tr", *(element("th", word) for word in head)))
    return element("table", heads, element("tbody", "", *rows))


def row_html(*cells: str) -> Html:
    """Return a row of such a table."""
    return element("tr", *(element("td", cell) for cell in cells))


def canonical_text(certificate: Any) -> str:
    """Return the text of a certificate from which its digest is computed."""
    return json.dumps(certificate, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def certificate_html(text: str, title: object, too_long: str, *, most: int = WHOLE, **marks: object) -> Html:
    """Return a certificate, folded under its title and digest; a note if it is too long."""
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
    """Return a standalone file that loads nothing, and runs only its own script."""
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
