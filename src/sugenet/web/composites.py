"""Answers about several samples for the page: a sentence, figures as SVG, and the certificate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sugenet.errors import QuestionError
from sugenet.logic import ComposedAnswer
from sugenet.show import drawing, svg
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
    if not isinstance(answer, ComposedAnswer):
        raise QuestionError(f"{str(answer)[:60]!r} is not an answer about several samples.")
    is_open = not getattr(answer, "is_minimum", True) or answer.outcome == "undecided"
    return cleaned(  # type: ignore[no-any-return]
        {
            "claim": str(answer),
            "outcome": answer.outcome,
            "state": "refuted" if answer.outcome == "refuted" else "undecided" if is_open else "proved",
            "figures": [{"title": figure.title, "svg": svg(figure)} for figure in drawing(answer).figures],
            "certificate": answer.certificate,
        }
    )
