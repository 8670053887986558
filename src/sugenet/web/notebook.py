"""The explorer in a notebook: the verb, which loads the widget when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sugenet.bnn import Network
from sugenet.errors import SugenetError, how_to_install

if TYPE_CHECKING:
    from sugenet.web.widget import Explorer

__all__ = ["explore"]


def explore(network: Network, sample: Any, *, title: str = "network", height: int = 640) -> Explorer:
    """The page of a network in a cell of a notebook, joined to Python both ways.

    What is clicked in the page changes `sample` and `prediction` of the object that this returns, and
    ``observe`` tells of it; to set `sample` moves the page. Everything is worked out in the browser and in
    the kernel; nothing is fetched. Needs anywidget: the extra ``notebook``.

    Parameters
    ----------
    network
        The network.
    sample
        Where the page begins: a row of raw values, or something with names, as everywhere.
    title
        What the page is called.
    height
        Of the cell, in pixels.

    Examples
    --------
    >>> import sugenet as sg
    >>> X, y = sg.models.samples("digits")
    >>> page = sg.explore(sg.models.digits(), X[7], title="digits")
    >>> page.prediction
    '3'
    >>> page.observe(lambda change: print("now", change.new), "prediction")
    >>> page.sample = X[8]
    now 4
    >>> page
    Explorer of digits: the sample's class is 4. A notebook shows the page; elsewhere, .save("page.html")
    writes it as a file to open in a browser.
    """
    try:
        from sugenet.web.widget import Explorer
    except ImportError as missing:
        raise SugenetError(
            f"explore needs {missing.name}, which is not installed. Install it {how_to_install('notebook')}"
        ) from missing
    return Explorer(network, sample, title=title, height=height)
