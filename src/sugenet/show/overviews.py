"""Figures of a whole network: weights of neurons and classes, fragile features, and radii of samples."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sugenet.glance import Covering, Fragility, Influence
from sugenet.glance.influence import interval_text
from sugenet.nn import Network
from sugenet.nn.images import image_of
from sugenet.reason.phrases import percent_text
from sugenet.show.figures import Bar, Bars, Heat, Swarm, SwarmDots, Weights
from sugenet.show.pictures import weight_rows
from sugenet.show.prepare import ROWS

__all__ = [
    "covering_figure",
    "fragile_figure",
    "in_rows",
    "influence_figure",
    "radius_figure",
    "template_figure",
]


def template_figure(network: Network, weights: Sequence[int], title: str) -> Weights | Bars:
    """Return one weight per feature: as an image if samples are images, else the largest as bars."""
    rows = weight_rows(network, weights)
    if rows is not None:
        return Weights(title, tuple(map(tuple, rows)))
    names = network.encoder.names
    order = sorted(range(len(names)), key=lambda f: (-abs(weights[f]), f))
    top = abs(weights[order[0]]) if order else 0
    bars = tuple(
        Bar(names[f], Fraction(abs(weights[f])), f"{weights[f]:+d}", strong=weights[f] > 0)
        for f in order[:ROWS]
        if weights[f]
    )
    axis = "sum of weights; solid: more of the feature speaks for it, hatched: against"
    return Bars(title, axis, bars, Fraction(max(1, top)), max(0, len(order) - ROWS))


def fragile_figure(value: Fragility) -> Heat | Bars:
    """Return the share of samples that each feature turns alone: on the image, else the largest as bars."""
    network = value.network
    names, title = network.encoder.names, "samples that one feature turns"
    shares = [value.share(f) or Fraction(0) for f in range(len(names))]
    highest = max(shares, default=Fraction(0))
    caption = f"share of samples; the largest is {percent_text(highest)}"
    about = image_of(network)
    if about is not None and about["channels"] == 1:
        return Heat(title, in_rows(shares, about["columns"]), caption, highest or Fraction(1))
    order = sorted(range(len(names)), key=lambda f: (-shares[f], f))
    bars = tuple(Bar(names[f], shares[f], percent_text(shares[f])) for f in order[:ROWS] if shares[f])
    left = sum(share > 0 for share in shares) - len(bars)
    return Bars(title, "share of samples", bars, highest or Fraction(1), left, percent=True)


def in_rows(row: Sequence[Any], columns: int) -> tuple[tuple[Any, ...], ...]:
    """Return a row of pixels as rows of an image."""
    return tuple(tuple(row[k : k + columns]) for k in range(0, len(row), columns))


def radius_figure(value: Fragility) -> Swarm:
    """Return the radius of each sample, one lane per predicted class."""
    lanes = []
    for k, name in enumerate(value.network.classes):
        here = [one for one in value.radii if one.label == k and not one.never]
        counts: dict[int, list[int]] = {}
        for one in here:
            counts.setdefault(one.lower, [0, 0])[0 if one.is_exact else 1] += 1
        if here:
            lanes.append((name, tuple(SwarmDots(v, *counts[v]) for v in sorted(counts))))
    never = sum(one.never for one in value.radii)
    captions = ["filled: exact; hollow: at least this many, more is open"] if value.radii else []
    captions += [f"{never:,} samples never turn"] if never else []
    return Swarm(
        "how many features must change to turn a sample", "features", tuple(lanes), "; ".join(captions)
    )


def influence_figure(value: Influence) -> Bars:
    """Return the proved lower bound of the Shapley value of each group, the largest first."""
    ranked = sorted(value.importance, key=lambda one: (-one.shapley[0], one.groups))
    bars = tuple(Bar(one.groups[0], one.shapley[0], interval_text(one.shapley)) for one in ranked)
    top = max((one.shapley[0] for one in ranked), default=Fraction(0))
    title = "Shapley values: share of samples that each group turns"
    return Bars(title, "share of samples", bars, top or Fraction(1), 0, percent=True)


def covering_figure(value: Covering) -> Bars:
    """Return the share of samples that the selected rules cover together, rule by rule."""
    total, seen, bars = max(1, len(value.samples)), set[int](), []
    for k in value.chosen[:ROWS]:
        one = value.rules[k]
        seen |= set(one.samples)
        share = Fraction(len(seen), total)
        name = f"{one.rule.label}, {len(one.rule)} conditions"
        bars.append(Bar(name, share, percent_text(share), strong=share >= value.aim))
    left = len(value.chosen) - len(bars)
    title, axis = "samples covered, rule by rule", "share of samples, with all rules above"
    return Bars(title, axis, tuple(bars), Fraction(1), left, percent=True)
