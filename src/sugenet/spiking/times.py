"""Samples in time: what the features of an unrolled network are, and how far spikes may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sugenet.bnn import Domain, Encoder, Network, Span, integer
from sugenet.errors import QuestionError
from sugenet.spiking.convention import Convention

__all__ = ["encoder_of", "keeping_spikes"]

_TIME = "time of "


def encoder_of(convention: Convention, names: Sequence[str]) -> Encoder:
    """The features: for the latency code the time of each input's spike, T for none; for given spikes one
    0 or 1 for each step and input, step by step.

    Examples
    --------
    >>> parts = dict(reset="none", when=None, fires=">", decision="first spike", ties="lowest", step=None)
    >>> encoder_of(Convention(steps=2, code="latency", **parts), ["left", "right"]).names
    ('time of left', 'time of right')
    >>> encoder_of(Convention(steps=2, code="spikes", **parts), ["left", "right"]).names[1:3]
    ('right spikes at 0', 'left spikes at 1')
    """
    steps = convention.steps
    if convention.code == "latency":
        return Encoder([integer(0, steps)] * len(names), [f"{_TIME}{name}" for name in names])
    features = [f"{name} spikes at {t}" for t in range(steps) for name in names]
    return Encoder([integer(0, 1)] * len(features), features, (steps, len(names)))


def keeping_spikes(network: Network, sample: Any, by: int | None = None) -> Network:
    """The same network, for questions about inputs that spike iff they do in a sample of the latency code: no
    spike appears, none vanishes, and each moves by at most `by` steps.

    It says which inputs can occur; regions say how much may change in all. `L1(2)` is then two steps of
    shift in all, `L0(3)` three spikes moved, `Linf(1)` every spike by up to one step.

    Parameters
    ----------
    network
        An unrolled network of the latency code.
    sample
        The times.
    by
        How far each spike may move; None: anywhere in the window.
    """
    encoder = network.encoder
    if not all(name.startswith(_TIME) for name in encoder.names):
        raise QuestionError("the features of this network are no times of spikes: it has no latency code.")
    if by is not None and (isinstance(by, bool) or not isinstance(by, int) or by < 0):
        raise QuestionError(f"by={by!r}, but a shift is a whole number of steps, 0 or more.")
    limits = {}
    for feature, (coding, value) in enumerate(zip(encoder.codings, encoder.values(sample), strict=True)):
        coding.state(value)  # refuses what is no time
        none = coding.states - 1
        near = none if by is None else by
        limits[feature] = (
            Span(none, none)
            if value == none
            else Span(max(0, int(value) - near), min(none - 1, int(value) + near))
        )
    network.packed()  # once for the questions about all samples, as what `within` gives keeps it
    _ = network.fingerprint
    return network.within(Domain(limits))
