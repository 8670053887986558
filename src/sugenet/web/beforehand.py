"""Answers found beforehand: what people ask first about a sample, for a page that has no server."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import monotonic
from typing import Any

from sugenet.bnn import Network
from sugenet.problem.neighbourhood import row_of
from sugenet.web.asking import ask
from sugenet.web.fields import MOST_SECONDS
from sugenet.web.page_data import raw_values

__all__ = ["precompute"]

_TARGETS = 12
"""Classes to each of which a counterfactual is found; of more, the first."""
_REACH = 6
"""Radii that are verified one by one."""


def precompute(
    network: Network,
    x: Any,
    *,
    time_limit: float | None = 20.0,
    threads: int | None = None,
    seed: int = 0,
    notify: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Answer what people ask first about a sample: a list of questions with their answers.

    Parameters
    ----------
    network, x
        The network and one raw sample.
    time_limit
        Seconds for all of them; what is not begun by then is left out. None:
        as long as one question may take.
    threads, seed, notify
        As in `verify`.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head
    >>> neuron = DenseLayer([[+1, +1, -1, +1]], [2])
    >>> net = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    >>> [pair["answer"]["outcome"] for pair in precompute(net, [1, -1, 1, -1])][:3]
    ['minimum', 'refuted', 'minimum']
    """
    values = network.encoder.values(x)
    if network.domain.broken(values) is not None:  # the page says so, and asks nothing
        return []
    sample = raw_values(network, values, 0)
    label = network.classes[int(network.predict(row_of(values))[0])]
    total = MOST_SECONDS if time_limit is None else time_limit
    end: float = monotonic() + total
    pairs: list[dict[str, Any]] = []

    def add(share: float, **question: Any) -> dict[str, Any] | None:
        nonlocal end
        left = end - monotonic()
        if left <= 0:
            return None
        if notify is not None:
            notify(f"question {len(pairs) + 1}: {question['kind']}")
        limits = {"time_limit": min(left, MOST_SECONDS, max(share * total, 0.5)), "seed": seed}
        answer = ask(network, question | limits, notify=notify, threads=threads)
        if answer.get("reason") == "interrupted":  # as little as possible comes after Ctrl-C
            end = 0.0
        pairs.append({"question": question, "answer": answer})
        return answer

    def nearest(target: str | None) -> dict[str, Any] | None:
        return add(0.15, kind="whatif", sample=sample, cost="L0", target=target, immutable=[], n=1)

    first = nearest(None)
    safe = _safe_radius(first)
    for radius in range(1, (1 if safe is None else min(safe + 1, _REACH)) + 1):
        add(0.1, kind="verify", sample=sample, region={"kind": "L0", "radius": str(radius)}, target=None)
    for name in [name for name in network.classes if name != label][:_TARGETS]:
        nearest(name)
    if first is not None and first["outcome"] == "minimum":  # in a smaller region nothing matters
        region = {"kind": "L0", "radius": first["value"]}
        add(0.2, kind="why", sample=sample, region=region, minimal="size", n=5)
        add(0.1, kind="count", sample=sample, region=region)
    add(0.2, kind="why", sample=sample, region={"kind": "Anything"}, minimal="subset", n=1)
    return pairs


def _safe_radius(answer: dict[str, Any] | None) -> int | None:
    """Up to how many changed features no counterfactual is, by the proof of an answer;
    None where nothing is known.
    """
    if answer is None or "lower" not in answer:
        return None
    return max(0, -(-Fraction(answer["lower"]) // 1) - 1)
