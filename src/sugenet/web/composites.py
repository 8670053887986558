"""Answers about several samples for the page: a sentence, figures as SVG, and the certificate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sugenet.logic import ComposedAnswer
from sugenet.show import drawing, svg
from sugenet.show.composites import composed_state
from sugenet.web.asking import cleaned

__all__ = ["composed_data"]


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
            "figures": [{"title": figure.title, "svg": svg(figure)} for figure in drawing(answer).figures],
            "certificate": answer.certificate,
        }
    )
