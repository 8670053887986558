"""Text that goes into HTML and SVG: whatever names hold, it stays text."""

from __future__ import annotations

import re
from html import escape

__all__ = ["safe", "short"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def safe(text: object) -> str:
    """Escaped text, without the characters that XML has no place for.

    Examples
    --------
    >>> safe("a < b & 'c'")
    'a &lt; b &amp; &#x27;c&#x27;'
    """
    return escape(_NOT_XML.sub("\ufffd", str(text)))


def short(text: str, most: int) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
