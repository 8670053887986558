"""Checking an answer again, by the definition alone: nothing here is shared with the engines but `sugenet.bnn`.

A witness is replayed. A claim that nothing cheaper exists is checked by walking all cheaper changes once more, in plain NumPy: the
match count of the first layer is a sum over features, so what each single change adds to it is measured once, by the definition, and
added up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network, OneHot
from sugenet.bnn.layers import Bits, Ints
from sugenet.errors import CertificateError

__all__ = ["check"]

_CHUNK = 1 << 18
_TOTALS = 1 << 62
_FORMAT = {"format": "sugenet certificate", "version": 1}


def check(certificate: dict[str, Any], network: Network) -> str:
    """Check a certificate of `whatif` against a network; say what was checked.

    Raises
    ------
    CertificateError
        Where it is for another network, is damaged, or claims what is not so.
    """
    if not isinstance(certificate, dict):
        raise CertificateError(f"a certificate is a JSON object, not {type(certificate).__name__}.")
    try:
        return _Checker(certificate, network).run()
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise CertificateError(f"the certificate is damaged: {type(error).__name__}: {error}") from error


class _Checker:
    def __init__(self, certificate: dict[str, Any], network: Network) -> None:
        if {key: certificate.get(key) for key in _FORMAT} != _FORMAT:
            raise CertificateError("this is no sugenet certificate of version 1.")
        if certificate["network"] != network.fingerprint:
            raise CertificateError(
                f"the certificate is for the network {str(certificate['network'])[:12]}, not for {network.fingerprint[:12]}."
            )
        self.claim, self.network = certificate, network
        self.sample, self.cost = list(certificate["sample"]), str(certificate["cost"])
        self.label, self.target, self.ties = int(certificate["label"]), certificate["target"], certificate["ties"]
        self.movable = [int(place) for place in certificate["movable"]]
        if self.ties not in ("lowest", "against") or self.cost not in ("L0", "L1", "L2", "Linf", "Hamming"):
            raise CertificateError(f"unknown cost {self.cost!r} or tie rule {self.ties!r}.")

    def run(self) -> str:
        """Check label, witness and what was walked."""
        scores = self._scores([self.sample])[0]
        if int(np.argmax(scores)) != self.label:
            raise CertificateError(f"the sample has class {int(np.argmax(scores))}, not {self.label}.")
        said = [f"the sample has class {self.network.classes[self.label]}"]
        if self.claim["witness"] is not None:
            said.append(self._check_witness())
            bound, strict = Fraction(self.claim["lower"]), True
        elif "open" in self.claim:  # nothing was found, and only a lower bound is claimed
            bound, strict = Fraction(self.claim["open"]), True
        elif self.claim["limit"] is not None:
            bound, strict = Fraction(self.claim["limit"]), False
        else:
            bound, strict = self._everything(), False
        said.append(self._check_none(bound, strict))
        return "; ".join(said)

    # -- the witness -----------------------------------------------------------------------------------------------------------

    def _scores(self, rows: list[list[Any]]) -> npt.NDArray[Any]:
        array = np.empty((len(rows), len(rows[0])), dtype=object)
        for number, row in enumerate(rows):
            array[number] = row
        return self.network.head.scores(self.network.match_counts(array, engine="definition"))

    def _violates(self, scores: npt.NDArray[Any]) -> bool:
        best = max(scores)
        tops = [k for k, score in enumerate(scores) if score == best]
        if self.target is None:
            return tops[0] != self.label if self.ties == "lowest" else tops != [self.label]
        return tops[0] == self.target if self.ties == "lowest" else self.target in tops

    def _distance(self, feature: int, after: Any) -> tuple[Fraction, int]:
        """Raw distance and number of bits between a feature of the sample and another value."""
        coding, before = self.network.encoder.codings[feature], self.sample[feature]
        bits = int((coding.bits(coding.state(before)) != coding.bits(coding.state(after))).sum())
        if isinstance(coding, OneHot):
            return Fraction(int(before != after)), bits
        low = [0 if coding.bipolar and value == -1 else value for value in (before, after)]
        return abs(Fraction(low[1]) - Fraction(low[0])), bits

    def _price(self, changes: list[tuple[Fraction, int]]) -> Fraction:
        match self.cost:
            case "L0":
                return Fraction(len(changes))
            case "Hamming":
                return Fraction(sum(bits for _, bits in changes))
            case "L1":
                return sum((distance for distance, _ in changes), Fraction(0))
            case "L2":
                return sum((distance**2 for distance, _ in changes), Fraction(0))
        return max((distance for distance, _ in changes), default=Fraction(0))

    def _check_witness(self) -> str:
        witness = list(self.claim["witness"])
        if len(witness) != len(self.sample):
            raise CertificateError(f"the witness has {len(witness)} values, the sample {len(self.sample)}.")
        changed = [f for f, (a, b) in enumerate(zip(self.sample, witness, strict=True)) if a != b]
        if not set(changed) <= set(self.movable):
            raise CertificateError(f"the witness changes feature {sorted(set(changed) - set(self.movable))[0]}, which must stay.")
        price = self._price([self._distance(feature, witness[feature]) for feature in changed])
        if price != Fraction(self.claim["value"]):
            raise CertificateError(f"the witness costs {price}, not {self.claim['value']}.")
        if not self._violates(self._scores([witness])[0]):
            raise CertificateError("the witness does not change the answer as claimed.")
        return f"the witness changes it at cost {price}"

    # -- nothing cheaper -------------------------------------------------------------------------------------------------------

    def _moves(self) -> list[list[tuple[Any, Fraction]]]:
        """For each movable feature the nearest raw value of every other state, with its price alone."""
        found = []
        for feature in self.movable:
            coding = self.network.encoder.codings[feature]
            here = coding.state(self.sample[feature])
            options = []
            for state in range(coding.states):
                move = coding.move(self.sample[feature], state) if state != here else None
                if move is not None:
                    options.append((move.value, self._price([self._distance(feature, move.value)])))
            found.append(options)
        return found

    def _everything(self) -> Fraction:
        largest = [max((price for _, price in options), default=Fraction(0)) for options in self._moves()]
        return max(largest, default=Fraction(0)) if self.cost == "Linf" else sum(largest, Fraction(0))

    def _check_none(self, bound: Fraction, strict: bool) -> str:
        """Walk every change that costs less than the bound (or at most the bound) and see that none violates."""

        def inside(price: Fraction) -> bool:
            return price < bound if strict else price <= bound

        moves = [[pair for pair in options if inside(pair[1])] for options in self._moves()]
        base, gains = self._gains(moves)
        most = self._most(moves, inside)
        loose = _loose(base, gains, most)
        walked = 0
        seen: set[bytes] = set()
        for counts in _joined(self._sets(moves, base[loose], [gain[:, loose] for gain in gains], most, inside)):
            walked += len(counts)
            rows = {row.tobytes() for row in _distinct(counts >= 0)} - seen
            seen |= rows
            if rows:
                octets = np.array([np.frombuffer(row, np.uint8) for row in rows])
                patterns = np.repeat((base >= 0)[None, :], len(rows), axis=0)
                patterns[:, loose] = np.unpackbits(octets, axis=1, count=len(loose)).astype(bool)
                self._judge(patterns)
        return f"none of the {walked:,} changes {'below' if strict else 'up to'} {bound} does"

    def _most(self, moves: list[list[tuple[Any, Fraction]]], inside: Callable[[Fraction], bool]) -> int:
        """The largest number of features that can change together."""
        used = [options for options in moves if options]
        if self.cost == "Linf":
            return len(used)
        total, count = Fraction(0), 0
        for price in sorted(min(price for _, price in options) for options in used):
            total += price
            count += inside(total)
        return count

    def _gains(self, moves: list[list[tuple[Any, Fraction]]]) -> tuple[Ints, list[Ints]]:
        """M - tau of the first layer at the sample, and what each single change adds, both by the definition."""
        rows = [list(self.sample)]
        for feature, options in zip(self.movable, moves, strict=True):
            for value, _ in options:
                row = list(self.sample)
                row[feature] = value
                rows.append(row)
        array = np.empty((len(rows), len(self.sample)), dtype=object)
        for number, row in enumerate(rows):
            array[number] = row
        counts = self._first(array)
        gains, place = [], 1
        for options in moves:
            gains.append(counts[place : place + len(options)] - counts[0])
            place += len(options)
        return counts[0], gains

    def _first(self, X: npt.NDArray[Any]) -> Ints:
        if not self.network.layers:
            return np.where(self.network.encoder.encode(X), 0, -1).astype(np.int64)
        layer = self.network.layers[0]
        return np.concatenate([layer.match_counts(self.network.inputs(X[k : k + 4096])) - layer.tau for k in range(0, len(X), 4096)])

    def _sets(self, moves: list[list[tuple[Any, Fraction]]], base: Ints, gains: list[Ints], most: int, inside: Any) -> Iterator[Ints]:
        """First-layer margins after every allowed set of changes, in chunks."""
        used = [k for k, options in enumerate(moves) if options]
        if self.cost == "Linf":
            rows = [np.concatenate([np.zeros((1, len(base)), np.int64), gains[k]]) for k in used]
            if np.prod([float(len(row)) for row in rows]) > 2**28:
                raise CertificateError("there are too many cheaper changes to walk through again.")
            for choice in product(*(range(len(row)) for row in rows)):
                if not any(choice):
                    continue  # the sample itself
                yield (base + sum((row[number] for row, number in zip(rows, choice, strict=True)), np.zeros_like(base)))[None]
            return
        unit = lcm(1, *(price.denominator for k in used for _, price in moves[k]))
        limit = bisect_left(range(_TOTALS), True, lo=0, hi=_TOTALS, key=lambda total: not inside(Fraction(total, unit))) - 1
        if limit == _TOTALS - 1:
            raise CertificateError("the costs are too finely divided to walk through again.")
        prices = [np.array([int(price * unit) for _, price in moves[k]], np.int64) for k in used]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in prices])]).astype(int)
        price, gain = np.concatenate([*prices, np.zeros(0, np.int64)]), np.concatenate([*(gains[k] for k in used), base[None, :]])
        for size in range(1, most + 1):
            for front in combinations(range(len(used)), size - 1):
                begin = starts[front[-1] + 1] if front else 0
                for chosen in product(*(range(starts[k], starts[k + 1]) for k in front)):
                    left = limit - int(price[list(chosen)].sum())
                    fits = np.flatnonzero(price[begin:] <= left) + begin
                    if len(fits):
                        yield base + gain[list(chosen)].sum(axis=0) + gain[fits]

    def _judge(self, patterns: Bits) -> None:
        bits = patterns
        for layer in self.network.layers[1:]:
            bits = layer.activity(bits)
        scores = self.network.head.scores(self.network.head.match_counts(bits))
        for row in scores:
            if self._violates(row):
                raise CertificateError("a cheaper change violates the property, against what the certificate claims.")


def _loose(base: Ints, gains: list[Ints], most: int) -> npt.NDArray[np.intp]:
    """Neurons that at most so many changes can turn; the others stay as they are."""
    every = np.concatenate([np.zeros((1, len(base)), np.int64), *gains])
    up, down = most * every.max(axis=0), most * every.min(axis=0)
    return np.flatnonzero(np.where(base >= 0, base + down < 0, base + up >= 0))


def _joined(parts: Iterator[Ints]) -> Iterator[Ints]:
    """Small arrays put together, so that each step has enough to do."""
    waiting: list[Ints] = []
    rows = 0
    for part in parts:
        waiting.append(part)
        rows += len(part)
        if rows >= _CHUNK:
            yield np.concatenate(waiting)
            waiting, rows = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _distinct(active: Bits) -> npt.NDArray[np.uint8]:
    """The different rows, packed."""
    octets = np.packbits(active, axis=1)
    if octets.shape[1] > 8:
        return np.unique(octets, axis=0)
    words = np.zeros((len(octets), 8), np.uint8)
    words[:, : octets.shape[1]] = octets
    return np.unique(words.view(np.uint64)).view(np.uint8).reshape(-1, 8)[:, : octets.shape[1]]
