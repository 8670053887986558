"""Output for people: sentences, tables, figures, notebooks and printed reports, and the same content as JSON
data.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sugenet.nn.images import grid_of
from sugenet.show.demonstration import demo, example_1
from sugenet.show.neurons import NeuronView, QuantizedView, view_neuron
from sugenet.show.pictures import picture, shades
from sugenet.show.predictions import PredictionView, TraceView, view_predictions, view_trace
from sugenet.show.svg_writer import svg

if TYPE_CHECKING:
    from sugenet.show.drawings import drawing, html, plot
    from sugenet.show.fits import FitView, LearnedView, view_fit, view_learned
    from sugenet.show.overview_report import report_overview
    from sugenet.show.plots import plot_figure
    from sugenet.show.prepare import (
        cactus,
        capacity_figure,
        focal_dots,
        lattice_of,
        margin_histogram,
        match_meters,
        meters_of,
        sample_figure,
        slack_histogram,
        votes_of,
    )
    from sugenet.show.reports import report
    from sugenet.show.sweep_report import report_results

__all__ = [
    "FitView",
    "LearnedView",
    "NeuronView",
    "PredictionView",
    "QuantizedView",
    "TraceView",
    "cactus",
    "capacity_figure",
    "demo",
    "drawing",
    "example_1",
    "focal_dots",
    "grid_of",
    "html",
    "lattice_of",
    "margin_histogram",
    "match_meters",
    "meters_of",
    "picture",
    "plot",
    "plot_figure",
    "report",
    "report_overview",
    "report_results",
    "sample_figure",
    "shades",
    "slack_histogram",
    "svg",
    "view_fit",
    "view_learned",
    "view_neuron",
    "view_predictions",
    "view_trace",
    "votes_of",
]

_LATER = ("prepare", "plots", "fits", "drawings", "reports", "sweep_report", "overview_report")
"""Modules that need the questions: their names are loaded on first use, since a table of predictions needs
none.
"""


def __getattr__(name: str) -> Any:
    """Load names of figures and reports on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'sugenet.show' has no attribute {name!r}")
    files = (import_module(f"sugenet.show.{file}") for file in _LATER)
    attribute = next(getattr(file, name) for file in files if name in file.__all__)
    globals()[name] = attribute
    return attribute
