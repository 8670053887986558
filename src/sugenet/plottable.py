"""Values that draw themselves in a notebook: the mixin that gives answers `plot` and `_repr_html_`."""

from importlib import import_module
from typing import Any

from markupsafe import Markup

from sugenet.reprs import Sentences

__all__ = ["Plottable"]


class Plottable(Sentences):
    """A value that can be drawn.

    Answers are in packages below `show`, and must not import it. But a notebook asks the value itself for its
    picture, so the value needs the methods. Both methods import `sugenet.show` by name when they are called.
    `show` chooses the drawing by type, so this module depends on no drawing.
    """

    __slots__ = ()

    def plot(self, ax: Any = None) -> Any:
        """Draw the main figure with matplotlib, on new axes by default; return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default: None
            Axes to draw on. None: new axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return import_module("sugenet.show.drawings").plot(self, ax)

    def _repr_html_(self) -> str:
        """Return a sentence, inline SVG and a small table; plain text if that fails, since a notebook must
        not stop here.
        """
        try:
            return str(import_module("sugenet.show.drawings").html(self))
        except Exception:
            return str(Markup("<pre>{}</pre>").format(str(self)))
