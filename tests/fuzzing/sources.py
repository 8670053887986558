"""Random networks in every kind of file that is neither ONNX nor a live module: what is read, against
PyTorch's own layers.

Each case is written as its program would write it, read without the comparison that importers make
themselves, and asked for scores. A file may be refused; one that is accepted must give the scores of the
reference. Parameters are dyadic, so that float64 is exact but for batch norms; a sample is left out where a
value before a sign is within rounding of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from sugenet.errors import SugenetError
from sugenet.io import Bits, Integers, Reals
from tests.fuzzing import source_arrays, source_keras, source_state_dicts

__all__ = ["Case", "cases", "difference", "outcome"]

_SAMPLES = 40
_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Case:
    """One file: how it is written and read, and what it computes."""

    kind: str
    text: str
    read: Callable[[Path, Any, Any], Any]
    """From a folder to write in, what raw samples are, and what sign(0) shall be."""
    run: Callable[[Any, Any], tuple[Any, list[Any]]] | None
    """Scores of a batch, and all values in front of signs; None for a file that must be refused."""
    shape: tuple[int, ...]
    """Of a sample as the file has it."""
    inputs: Any
    zero: int | None
    seed: int

    def __str__(self) -> str:
        return (
            f"{self.kind}, seed {self.seed}, shape {self.shape}, inputs {self.inputs}, "
            f"zero {self.zero}: {self.text}"
        )


_KINDS = (
    [source_state_dicts.make] * 5
    + [source_keras.make] * 5
    + [
        source_arrays.make_folder,
        source_arrays.make_counts,
        source_arrays.make_blocks,
        source_arrays.make_layout,
    ]
)


def cases(seed: int) -> Iterator[Case]:
    """Networks without end."""
    number = 0
    while True:
        one = seed * 1_000_003 + number
        random = Random(one)
        made = random.choice(_KINDS)(random)
        yield Case(*made, seed=one)
        number += 1


def difference(case: Case) -> str | None:
    """What is wrong with an import: other scores, a crash, or that there is one at all;
    None where nothing is.
    """
    return outcome(case)[1]


def outcome(case: Case) -> tuple[bool, str | None]:
    """Whether the file was accepted, and what is wrong with that."""
    with TemporaryDirectory() as folder:
        try:
            found = case.read(Path(folder), case.inputs, case.zero)
        except SugenetError:
            return False, None
        except Exception as error:
            return False, f"{case}\ncrashed: {type(error).__name__}: {error}"
    if case.run is None:
        return True, f"{case}\nwas accepted, although it says something that is not read"
    raw, numbers = _samples(case)
    scores, before = case.run(torch.from_numpy(numbers.reshape(len(numbers), *case.shape)), case.zero)
    near = np.zeros(len(raw), bool)
    for values in before:
        size = values.reshape(len(raw), -1).abs().numpy()
        near |= ((size > 0) & (size < _NEAR)).any(axis=1)
    network = found.network
    ours = network.head.logits(network.match_counts(raw))
    theirs = scores.reshape(len(raw), -1).numpy()
    if theirs.shape != ours.shape:
        return True, f"{case}\ngives {theirs.shape[1]} scores, but {ours.shape[1]} were read"
    wrong = ~near & (np.abs(ours - theirs) > 1e-7 * max(1.0, float(np.abs(theirs).max()))).any(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        return (
            True,
            (
                f"{case}\n"
                f"{int(wrong.sum())} of {len(raw)} samples differ; {raw[first].tolist()}: {ours[first]}, "
                f"not {theirs[first]}"
            ),
        )
    return True, None


def _samples(case: Case) -> tuple[Any, Any]:
    """Raw samples in the order of the file, and the numbers that enter the network for them."""
    random = np.random.default_rng(case.seed)
    count = int(np.prod(case.shape))
    match case.inputs:
        case Bits(low=low, high=high):
            raw = random.integers(0, 2, (_SAMPLES, count))
            return raw, np.where(raw > 0, float(low), float(low)) + raw * float(
                Fraction(high) - Fraction(low)
            )
        case Integers() as whole:
            raw = random.integers(whole.low, whole.high + 1, (_SAMPLES, count))
            return raw, float(whole.start) + raw * float(whole.step)
    assert case.inputs is None or isinstance(case.inputs, Reals)
    raw = random.integers(-16, 17, (_SAMPLES, count)) / 8
    return raw, raw
