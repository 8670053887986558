"""The interactive page: one self-contained HTML text, written to a file or served on this machine."""

from typing import TYPE_CHECKING, Any

from sugenet.errors import SugenetError, how_to_install
from sugenet.web.bundle import content_policy, empty_page, page_html
from sugenet.web.notebook import explore
from sugenet.web.page_data import payload

if TYPE_CHECKING:
    from sugenet.web.serving import serve

__all__ = ["content_policy", "empty_page", "explore", "page_html", "payload", "serve"]


def __getattr__(name: str) -> Any:
    """Load the server on first use: a file needs no web library."""
    if name != "serve":
        raise AttributeError(f"module 'sugenet.web' has no attribute {name!r}")
    try:
        from sugenet.web.serving import serve
    except ImportError as missing:
        raise SugenetError(
            f"the explorer needs {missing.name}, which is not installed. Install it {how_to_install('web')}"
        ) from missing
    return serve
