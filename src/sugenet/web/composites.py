"""Answers about several samples, and an overview of the network, for the page: text, and figures as SVG."""

from collections.abc import Iterable
from typing import Any

from sugenet.glance import Overview
from sugenet.logic import ComposedAnswer
from sugenet.show import drawing, svg
from sugenet.show.composites import composed_state
from sugenet.web.asking import cleaned

__all__ = ["composed_data", "overview_data"]


def composed_data(answers: Iterable[ComposedAnswer]) -> list[dict[str, Any]]:
    """Return answers about composites as JSON data for the page.

    Examples
    --------
    >>> from sugenet import logic
    >>> digits = [logic.Reading.given(name, {"3": 0, "5": 2}) for name in "ab"]
    >>> shown = composed_data([logic.read(logic.Sum(digits[:1], digits[1:]))])
    >>> shown[0]["claim"], shown[0]["state"], len(shown[0]["figures"])
    ('the sum is 6: most possible, ahead by 2 points: 3 + 3 = 6', 'proved', 1)
    """
    return [_data(answer) for answer in answers]


def _data(answer: ComposedAnswer) -> dict[str, Any]:
    return cleaned(  # type: ignore[no-any-return]
        {
            "claim": str(answer),
            "outcome": answer.outcome,
            "state": composed_state(answer),
            "figures": _figures(answer),
            "certificate": answer.certificate,
        }
    )


def _figures(value: Any) -> list[dict[str, str]]:
    return [{"title": figure.title, "svg": svg(figure)} for figure in drawing(value).figures]


def overview_data(seen: Overview) -> list[dict[str, Any]]:
    """Return an overview as JSON data for the page: its parts with title, text and figures.

    Examples
    --------
    >>> from sugenet.glance import overview
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    >>> [part["title"] for part in overview_data(overview(net, [[1, 1, 1], [-1, -1, -1]]))]
    ['Classes', 'Where it is fragile', 'Importance', 'Rules over neurons', 'Rules over features', 'Neurons']
    """
    parts = (
        ("Classes", seen.prototypes),
        ("Where it is fragile", seen.fragility),
        ("Importance", seen.influence),
        ("Rules over neurons", seen.neuron_rules),
        ("Rules over features", seen.feature_rules),
        ("Neurons", seen.atlas),
    )
    made = [
        {"title": title, "text": str(part), "figures": _figures(part)}
        for title, part in parts
        if part is not None
    ]
    made[0]["text"] = f"seen on {seen.scope_text}\n{made[0]['text']}"
    if seen.missing:
        made.append({"title": "Not shown", "text": "\n".join(seen.missing), "figures": []})
    return made
