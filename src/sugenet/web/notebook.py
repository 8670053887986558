"""The explorer in a notebook: `explore`, which loads the widget when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sugenet.errors import SugenetError, how_to_install
from sugenet.nn import Network, network_of

if TYPE_CHECKING:
    from sugenet.web.widget import Explorer

__all__ = ["explore"]


def explore(network: Network, sample: Any, *, title: str = "network", height: int = 640) -> Explorer:
    """Show the page of a network in a cell of a notebook, connected to Python both ways.

    Everything is computed in the browser and in the kernel; nothing is fetched.

    Parameters
    ----------
    network : Network
        The network.
    sample : array, list or mapping
        The sample that the page starts with.
    title : str, default: "network"
        Title of the page.
    height : int, default: 640
        Height of the cell, in pixels.

    Returns
    -------
    Explorer
        Clicks in the page change its `sample` and `prediction`, and setting `sample` moves the page.

    Raises
    ------
    SugenetError
        If anywidget, the extra ``notebook``, is not installed.

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

    See Also
    --------
    sugenet.show.report : a report as one HTML file.
    """
    try:
        from sugenet.web.widget import Explorer
    except ImportError as missing:
        raise SugenetError(
            f"explore needs {missing.name}, which is not installed. Install it {how_to_install('notebook')}"
        ) from missing
    return Explorer(network_of(network), sample, title=title, height=height)
