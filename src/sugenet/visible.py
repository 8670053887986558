r"""Text that is safe to show: control, reordering and invisible characters are escaped.

Names and values come from files that others wrote. Printed unescaped, an escape sequence in a class name
clears the screen and forges a verdict. A line break forges a second line, and a bidirectional control
reverses text. `visible` is the one function that escapes such characters: ``\x1b``, ``\n``, ``\u202e``.
"""

import re

__all__ = ["see_name", "see_unicode", "visible"]

_ROOM = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""Visible spaces: harmless, though Python does not call them printable."""
_NONE = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
"""Characters that are printable for Python, but invisible."""
_SPACE, _EMPTY = re.compile(f"[{_ROOM}]"), re.compile(f"[{_NONE}]")


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with control, bidirectional, invisible and broken characters escaped, except those to
    `keep`.

    Text that is already escaped stays unchanged.

    Examples
    --------
    >>> visible("a\x1b[2Jb\nc"), visible("a\nb", keep="\n"), visible("\u202egood"), visible("été")
    ('a\\x1b[2Jb\\nc', 'a\nb', '\\u202egood', 'été')
    """
    if text.isprintable() and not _EMPTY.search(text):
        return text
    return "".join(one if one in keep or _is_seen(one) else _spelled(one) for one in text)


def see_name(name: str, what: str, wrong: type[Exception]) -> None:
    """Refuse a name that a file cannot hold, or that begins or ends with a blank.

    CSV files, laws and rules are read without such blanks, so the name could not be used there.

    Examples
    --------
    >>> see_name(" a", "class name", ValueError)
    Traceback (most recent call last):
    ...
    ValueError: the class name ' a' begins or ends with a blank, which files and laws leave out. Remove it.
    """
    see_unicode(name, what, wrong)
    if name != name.strip():
        raise wrong(
            f"the {what} {name[:60]!r} begins or ends with a blank, which files and laws leave out. "
            "Remove it."
        )


def see_unicode(name: str, what: str, wrong: type[Exception]) -> None:
    r"""Refuse a name with half of a surrogate pair, which no file can store and no terminal can show.

    Examples
    --------
    >>> see_unicode("a\ud800", "class name", ValueError)
    Traceback (most recent call last):
    ...
    ValueError: the class name 'a\ud800' holds \ud800, which is not Unicode. Rename it.
    """
    try:
        name.encode()
    except UnicodeEncodeError as error:
        letter = _spelled(name[error.start])
        raise wrong(f"the {what} {name[:60]!r} holds {letter}, which is not Unicode. Rename it.") from None


def _is_seen(one: str) -> bool:
    return not _EMPTY.match(one) if one.isprintable() else _SPACE.match(one) is not None


def _spelled(one: str) -> str:
    return one.encode("unicode_escape").decode()
