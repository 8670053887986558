"""Compiled walk over all sets of moves of one size: the signature of each, and which signatures are new (DESIGN section 4).

The margins of 64 fragile neurons are the 16-bit lanes of one vector; adding a move and comparing with zero gives 64 bits of signature.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return,import-untyped,call-arg"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import event
from numba.extending import intrinsic

__all__ = ["LANES", "prepare", "scan"]

LANES = 64


@intrinsic
def _signature(_typing, margins, moves, offset):  # noqa: ARG001 numba reads the names
    """Bits of 64 lanes: margin + move >= 0."""
    signature = types.uint64(types.uintp, types.uintp, types.intp)

    def emit(_context, b, _signature, arguments):
        vector = ir.VectorType(ir.IntType(16), LANES)
        m = b.load(b.inttoptr(arguments[0], vector.as_pointer()))
        where = b.add(arguments[1], arguments[2])
        f = b.load(b.inttoptr(where, vector.as_pointer()))
        m.align = f.align = 2
        bits = b.icmp_signed(">=", b.add(m, f), ir.Constant(vector, [0] * LANES))
        return b.bitcast(bits, ir.IntType(64))

    return signature, emit


@njit(nogil=True, cache=True)
def scan(size, last_start, prefix, stop, deltas, margins, feature, weight, floor, budget, table, filled, state, new, sets):
    """Walk sets of `size` moves with different features and weights summing to more than `floor` and at most `budget`.

    `prefix` holds the first size - 1 moves of the set to begin with and is moved along; its first stays below `stop`. `table` is a hash
    table of known signatures, `filled` marks its used places, `state` counts entries, sets walked and new signatures. Stops early, to go
    on later from `prefix` and the returned last move, when the table or the list of new signatures is full. Returns -1 when done.
    """
    count, lanes = deltas.shape
    words = lanes // LANES
    depth = size - 1
    acc = np.zeros((size, lanes), np.int16)
    acc[0] = margins
    sums = np.zeros(size, np.int64)
    capacity = table.shape[0]
    mask = capacity - 1
    key = np.zeros(words, np.uint64)
    base = nb.uintp(deltas.ctypes.data)
    row_bytes = lanes * 2
    for d in range(depth):
        for lane in range(lanes):
            acc[d + 1, lane] = acc[d, lane] + deltas[prefix[d], lane]
        sums[d + 1] = sums[d] + weight[prefix[d]]
    while True:
        here = nb.uintp(acc[depth].ctypes.data)
        spent = sums[depth]
        first = last_start
        taken = -1
        if depth > 0:
            taken = feature[prefix[depth - 1]]
            first = max(first, prefix[depth - 1] + 1)
        end = count if depth > 0 else stop
        if spent <= budget:
            for k in range(first, end):
                total = spent + weight[k]
                if feature[k] == taken or total > budget or total <= floor:
                    continue
                h = nb.uint64(1469598103934665603)
                for w in range(words):
                    key[w] = _signature(nb.uintp(here + w * 128), base, nb.intp(k * row_bytes + w * 128))
                    h = (h ^ key[w]) * nb.uint64(0x9E3779B97F4A7C15)
                    h ^= h >> nb.uint64(29)
                place = nb.intp(h & nb.uint64(mask))
                known = False
                while filled[place]:
                    known = True
                    for w in range(words):
                        if table[place, w] != key[w]:
                            known = False
                            break
                    if known:
                        break
                    place = (place + 1) & mask
                if not known:
                    if state[2] == new.shape[0] or 2 * state[0] >= capacity:
                        return k
                    filled[place] = 1
                    table[place] = key
                    new[state[2]] = key
                    for d in range(depth):
                        sets[state[2], d] = prefix[d]
                    sets[state[2], depth] = k
                    state[0] += 1
                    state[2] += 1
                state[1] += 1
        last_start = 0
        if depth == 0:
            return -1
        d = depth - 1
        while d >= 0:  # the next prefix in order
            prefix[d] += 1
            if d > 0:
                while prefix[d] < count and feature[prefix[d]] == feature[prefix[d - 1]]:
                    prefix[d] += 1
            limit = stop if d == 0 else count
            if prefix[d] < limit:
                if sums[d] + weight[prefix[d]] > budget:
                    continue
                ok = True
                for e in range(d, depth):
                    if e > d:
                        prefix[e] = prefix[e - 1] + 1
                        while prefix[e] < count and feature[prefix[e]] == feature[prefix[e - 1]]:
                            prefix[e] += 1
                        if prefix[e] >= count:
                            ok = False
                            break
                    for lane in range(lanes):
                        acc[e + 1, lane] = acc[e, lane] + deltas[prefix[e], lane]
                    sums[e + 1] = sums[e] + weight[prefix[e]]
                if ok:
                    break
                continue
            d -= 1
        if d < 0:
            return -1


class _Telling(event.Listener):
    """Tells once that something is being compiled."""

    def __init__(self, notify: Callable[[str], None] | None) -> None:
        self.tell = notify

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if self.tell is not None:
            self.tell("compiling the walk over changes, once for this machine (some seconds)")
            self.tell = None

    def on_end(self, event: Any) -> None:
        pass


def prepare(notify: Callable[[str], None] | None) -> None:
    """Load or compile the walk by calling it on nothing."""
    row, word, lanes = np.zeros(1, np.int64), np.zeros((1, 1), np.uint64), np.zeros((1, LANES), np.int16)
    with event.install_listener("numba:compile", _Telling(notify)):
        scan(1, 0, row[:0], 0, lanes, lanes[0], row, row, 0, 0, word, np.zeros(1, np.uint8), np.zeros(3, np.int64), word, row[:, None])
