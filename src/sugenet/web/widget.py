"""The explorer in a notebook cell: clicks set values in Python, and values set in Python are shown in the
cell.
"""

import os
from importlib.resources import files
from typing import Any

import numpy as np
import traitlets
from anywidget import AnyWidget

from sugenet.capacity.arguments import read_number
from sugenet.errors import EncodingError
from sugenet.files import write_text
from sugenet.nn import Coding, Network, OneHot
from sugenet.web.bundle import page_html
from sugenet.web.page_data import page_value, payload, raw_values

__all__ = ["Explorer"]


class _Checked(traitlets.TraitType[Any, Any]):
    """Value that is validated by the widget's method `_NAME_of`; a refused value changes nothing."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Return the validated value."""
        return getattr(obj, f"_{(self.name or '').lstrip('_')}_of")(value)


class Explorer(AnyWidget):
    """Page of one network in a cell, created by `sugenet.explore`.

    Values that JSON or JavaScript would round are sent as text, so the returned values are exact. A feature
    that the page did not change keeps its original value.
    """

    _esm = (files("sugenet.web") / "widget.js").read_text(encoding="utf-8")
    sample = _Checked()
    """The shown sample, as a tuple of raw values. Set it to a row, a dict or a series to update the page."""
    prediction = traitlets.Unicode(read_only=True)
    """The name of its class."""
    height = traitlets.Int(640).tag(sync=True)
    """Height of the cell, in pixels."""
    _title = traitlets.Unicode().tag(sync=True)
    _page = traitlets.Unicode().tag(sync=True)
    _shown = _Checked().tag(sync=True)
    """State shared by both sides: the sample set last, its number, and the current values."""

    def __init__(self, network: Network, sample: Any, *, title: str, height: int) -> None:
        self.network = network
        self._turn, self._start = 1, self._sample_of(sample)
        self._now = self._start
        start = payload(network, _rows(self._start), title=title)
        super().__init__(
            height=height,
            _title=title,
            _page=page_html(start, server=False, outside=True),
            _shown=self._between(),
        )
        self.sample = self._start

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, with the current sample, as one HTML file that opens in any browser."""
        write_text(
            path, page_html(payload(self.network, _rows(self.sample), title=self._title), server=False)
        )

    def __repr__(self) -> str:
        return (
            f"Explorer of {self._title}: the sample's class is {self.prediction}. "
            f'A notebook shows the page; elsewhere, .save("page.html") writes it as a file '
            f"to open in a browser."
        )

    def _sample_of(self, value: Any) -> tuple[Any, ...]:
        values = tuple(self.network.encoder.values(value))
        self.network.encoder.levels(_rows(values))  # its error describes the problem
        raw_values(self.network, values, 0)
        return values

    def _shown_of(self, value: Any) -> dict[str, Any]:
        """Validate the state from a front end, or from this side.

        A state of a sample that was replaced in the meantime is too late: the front end is updated again.
        """
        try:
            if value["turn"] == self._turn:
                self._now = self._sample_of(self._exact(value["values"]))
            else:
                self.send_state("_shown")
        except Exception:
            self.send_state("_shown")
            raise
        return self._between()

    def _exact(self, shown: Any) -> list[Any]:
        codings = self.network.encoder.codings
        if not isinstance(shown, list) or len(shown) != len(codings):
            raise EncodingError(
                f"the page shows {shown!r:.80}, which is not a list of {len(codings)} values."
            )
        return [
            old if value == page_value(coding, old) else _read(coding, value)
            for coding, old, value in zip(codings, self._now, shown, strict=True)
        ]

    def _between(self) -> dict[str, Any]:
        return {
            "turn": self._turn,
            "start": raw_values(self.network, self._start, 0),
            "values": raw_values(self.network, self._now, 0),
        }

    @traitlets.observe("_shown")
    def _moved(self, _: Any) -> None:
        self.sample = self._now

    @traitlets.observe("sample")
    def _follow(self, _: Any) -> None:
        label = int(self.network.predict(_rows(self.sample))[0])
        self.set_trait("prediction", self.network.classes[label])
        if self.sample != self._now:  # set in Python
            self._turn += 1
            self._start = self._now = self.sample
            self._shown = self._between()


def _rows(values: tuple[Any, ...]) -> Any:
    """Return one sample as an array without changing a value."""
    rows = np.empty((1, len(values)), dtype=object)
    rows[0] = values
    return rows


def _read(coding: Coding, value: Any) -> Any:
    """Return a value from the page as the encoder has it: a category, an integer, a float, an exact
    fraction.
    """
    if isinstance(coding, OneHot):
        return coding.categories[coding.state(value)]
    number = read_number(value, "the value on the page", EncodingError)
    number = float(value) if not isinstance(value, str) else number  # JavaScript writes 2**60 in fewer digits
    return int(number) if coding.whole and number == number // 1 else number
