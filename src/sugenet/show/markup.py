"""HTML and SVG by type: text that is not `Html` is escaped automatically when it is inserted."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from sugenet.visible import visible

__all__ = ["Html", "decimal", "element", "short"]


class Html(Markup):
    """Text that is already HTML: a template, or the result of its `format`, `join` or `+`.

    As in `markupsafe`, inserted values that are not HTML are escaped. Characters that XML does not allow, or
    that would reorder text invisibly, are spelled out.

    Examples
    --------
    >>> Html("<b>{}</b> and {}").format("a < b & 'c'", Html("<i>d</i>"))
    Html('<b>a &lt; b &amp; &#39;c&#39;</b> and <i>d</i>')
    """

    __slots__ = ()

    @classmethod
    def escape(cls, s: Any, /) -> Html:
        """Return a value as HTML: escaped unless it is HTML."""
        return s if isinstance(s, Html) else super().escape(visible(str(s), keep="\t\n"))


def element(name: str, *inside: object, **attributes: object) -> Html:
    """Return an element with its content; a single tag if it is empty.

    An underscore in the name of an attribute becomes a hyphen; a trailing one is dropped (`class_`). Numbers
    have up to two decimals, and an attribute that is None is left out.

    Examples
    --------
    >>> element("text", "x < y", x=1.50, font_weight="bold", class_=None)
    Html('<text x="1.5" font-weight="bold">x &lt; y</text>')
    >>> element("g", element("path", d="M0 0"))
    Html('<g><path d="M0 0"/></g>')
    """
    attribute_text = Html().join(
        Html(' {}="{}"').format(
            key.rstrip("_").replace("_", "-"), decimal(value) if isinstance(value, float) else value
        )
        for key, value in attributes.items()
        if value is not None
    )
    if not inside:
        return Html("<{}{}/>").format(name, attribute_text)
    return Html("<{0}{1}>{2}</{0}>").format(name, attribute_text, Html().join(map(Html.escape, inside)))


def decimal(value: float) -> str:
    """Return a number with at most two decimals, as short as possible."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def short(text: str, limit: int) -> str:
    """Return the beginning of a text that is too long."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
