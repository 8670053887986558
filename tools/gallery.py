"""Draw the gallery of docs/plots.md: ``python -m tools.gallery``. A test says if a picture is stale."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import sugenet as sg
from sugenet.glance.fragility import fragility_of
from sugenet.problem import Clock
from sugenet.show import drawing, margin_histogram, match_meters, svg
from sugenet.show.figures import Cell, Pixels
from sugenet.show.overviews import fragile_figure, radius_figure
from sugenet.spiking import Convention, SpikingLayer, SpikingNeuron
from sugenet.sweeps import curve_of

FOLDER = Path(__file__).parents[1] / "docs" / "img"
_LEVELS = ["bad", "poor", "ok", "good", "very good"]


def pictures() -> dict[str, Callable[[], Any]]:
    """How each picture is made, by the name of its file: `drawing` takes any answer apart into figures."""
    net, tumour = sg.models.digits(), sg.models.breast_cancer()
    X, y = sg.models.samples("digits")
    B, _ = sg.models.samples("breast_cancer")

    def first(answer: Any) -> Any:
        return drawing(answer).figures[0]

    def curve() -> Any:
        found = [sg.sweep(net, X[:20], sg.Robust(sg.each, sg.Hamming(r)), y=y[:20], jobs=1) for r in (1, 2)]
        return first(curve_of(found))

    @cache
    def frail() -> Any:
        return fragility_of(net, X[:60], range(60), 60, Clock())

    def flats() -> Any:
        table = sg.fit.read_ratings(FOLDER.parents[1] / "examples" / "flats.csv", "grade", name="flat")
        return sg.fit.version_space(table.ratings(["bad", "ok", "good", "very good"]).without([6]))

    def many() -> Any:
        criteria = ["price", "safety", "comfort", "range", "luggage", "noise", "looks"]
        rng = Random(5)
        X = [[rng.choice(_LEVELS) for _ in criteria] for _ in range(12)]
        return sg.fit.version_space(
            sg.fit.Ratings(X, [sorted(x, key=_LEVELS.index)[3] for x in X], _LEVELS, criteria)
        )

    def later_spikes() -> Any:
        how = Convention(
            steps=3, reset="zero", when="at once", fires=">=", code="spikes",
            decision="spike count", ties="lowest", step=None,
        )  # fmt: skip
        neuron = SpikingNeuron(SpikingLayer([[1]], leak=1, threshold=2), 1, how)
        few, more = (1, 0, 1), (1, 1, 1)
        rows = (few, neuron.spikes(few), (0, 0, 0), more, neuron.spikes(more))
        gone = max(t for t in range(3) if rows[1][t] > rows[4][t])
        cells = (Cell(3, 1, "up", "one more spike comes in"), Cell(4, gone, "down", f"no spike at {gone}"))
        return Pixels(
            "Spikes of one neuron over three steps, twice",
            rows,
            cells,
            "Rows 1 and 2: what comes in, what goes out. Rows 4 and 5: the same with one spike more, and the "
            "last spike is gone.",
        )

    return {
        "flats": lambda: first(flats()),
        "focal": lambda: first(many()),
        "reason": lambda: first(sg.why(net, X[7], sg.L0(2), n="all")),
        "meters": lambda: match_meters(net, X[7], region=sg.L0(1), limit=8),
        "votes": lambda: first(net.trace(X[7])),
        "nearest": lambda: first(sg.whatif(net, X[7])),
        "tumour": lambda: first(sg.whatif(tumour, B[3])),
        "counts": lambda: first(sg.count(net, X[18], sg.Hamming(3))),
        "margins": lambda: margin_histogram(net, X),
        "fragile": lambda: fragile_figure(frail()),
        "radii": lambda: radius_figure(frail()),
        "curve": curve,
        "spikes": later_spikes,
    }


def drawn(name: str) -> str:
    """The picture of this name as it is now."""
    return svg(pictures()[name]()) + "\n"


if __name__ == "__main__":
    for name in pictures():
        (FOLDER / f"{name}.svg").write_text(drawn(name))
