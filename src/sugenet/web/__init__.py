"""The page people click: one self-contained HTML text, written to a file or answered by a
server on this machine.
"""

from typing import TYPE_CHECKING, Any

from sugenet.web.bundle import content_policy, page_html
from sugenet.web.page_data import payload

if TYPE_CHECKING:
    from sugenet.web.server import serve

__all__ = ["content_policy", "page_html", "payload", "serve"]


def __getattr__(name: str) -> Any:
    """The server is loaded when first asked for: a file needs no web library."""
    if name != "serve":
        raise AttributeError(f"module 'sugenet.web' has no attribute {name!r}")
    from sugenet.web.server import serve

    return serve
