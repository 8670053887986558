"""Maximum flow through a graph whose inner edges are unlimited, in integers of any size.

SciPy's flows hold 32 bits, so the limits are processed from their leading bits, a few more each round. A
maximum flow for the leading bits can grow only a little with the next bits. The residual graph gives that
growth.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LargestFlow", "largest_flow"]


@dataclass(frozen=True)
class LargestFlow:
    """A maximum flow: its size, the nodes on the side of the source, and its paths."""

    size: int
    held: npt.NDArray[np.bool_]
    into: list[int]
    """Flow from the source into each node."""
    out: list[int]
    along: dict[tuple[int, int], int]
    """Flow along each edge that is used."""

    def paths(self) -> list[tuple[int, int, int]]:
        """Return paths from source to sink: first node, last node and amount."""
        nexts: dict[int, dict[int, int]] = {}
        for (u, v), much in self.along.items():
            nexts.setdefault(u, {})[v] = much
        out = list(self.out)
        paths = []
        for start, much in enumerate(self.into):
            left = much
            while left:
                way, indices = [start], {start: 0}
                while not out[way[-1]]:
                    node = next(iter(nexts[way[-1]]))
                    if node in indices:  # a cycle, whose flow contributes nothing
                        _take(nexts, [*way[indices[node] :], node], None)
                        way, indices = [start], {start: 0}
                    else:
                        indices[node] = len(way)
                        way.append(node)
                part = _take(nexts, way, min(left, out[way[-1]]))
                out[way[-1]] -= part
                left -= part
                paths.append((start, way[-1], part))
        return paths


def _take(nexts: dict[int, dict[int, int]], way: list[int], limit: int | None) -> int:
    """Subtract from a path as much as all of its edges carry, at most the limit."""
    steps = list(pairwise(way))
    part = min([nexts[u][v] for u, v in steps] + ([] if limit is None else [limit]))
    for u, v in steps:
        nexts[u][v] -= part
        if not nexts[u][v]:
            del nexts[u][v]
    return part


def largest_flow(into: npt.ArrayLike, out: npt.ArrayLike, edges: npt.NDArray[np.int64]) -> LargestFlow:
    """Return the maximum flow from a source, through the nodes, to a sink.

    Parameters
    ----------
    into, out
        Limits of the edges from the source to each node, and from each node to the sink.
    edges
        Pairs of nodes, one unlimited edge each, without duplicates.

    Examples
    --------
    >>> flow = largest_flow([10**30, 5, 0], [0, 7, 10**25], np.array([[0, 1], [1, 2]]))
    >>> flow.size == 10**25 + 7, flow.held.tolist(), [(u, v) for u, v, _ in flow.paths()]
    (True, [True, True, True], [(0, 1), (0, 2), (1, 2)])
    """
    limits = [
        np.asarray(some) if isinstance(some, np.ndarray) else np.array(some, object) for some in (into, out)
    ]
    count = len(limits[0])
    chunk = 29 - (count + 2).bit_length()
    longest = max([0, *(int(some.max()) for some in limits if some.size)]).bit_length()
    shift = -(-longest // chunk) * chunk
    # the total of all edges
    kind: Any = np.int64 if shift + 2 * (count + 2).bit_length() < 62 else object
    graph = _Residual(count, edges, kind)
    wide = [some.astype(kind) for some in limits]
    while shift:
        shift -= chunk
        graph.grow(chunk, wide[0] >> shift, wide[1] >> shift)
    return graph.flow()


class _Residual:
    """A flow that grows, and its residual. The net flow of a pair u < v of nodes is one number."""

    def __init__(self, count: int, edges: npt.NDArray[np.int64], kind: Any) -> None:
        self.count = count
        edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        rising = edges[:, 0] < edges[:, 1]
        keys = np.where(rising, edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0])
        distinct, indices = np.unique(keys, return_inverse=True)
        self.low, self.high = distinct // max(count, 1), distinct % max(count, 1)
        self.up = np.zeros(distinct.size, dtype=bool)
        self.down = np.zeros(distinct.size, dtype=bool)
        self.up[indices[rising]] = True
        self.down[indices[~rising]] = True
        self.net: npt.NDArray[Any] = np.zeros(distinct.size, dtype=kind)
        self.into: npt.NDArray[Any] = np.zeros(count, dtype=kind)
        self.out: npt.NDArray[Any] = np.zeros(count, dtype=kind)
        self.held = np.zeros(count, dtype=bool)

    def grow(self, chunk: int, into: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
        """Grow to a maximum flow for limits that have this many more bits."""
        from scipy.sparse import csr_array  # type: ignore[import-untyped]
        from scipy.sparse.csgraph import (  # type: ignore[import-untyped]
            breadth_first_order,
            maximum_flow,
        )

        count, source, sink = self.count, self.count, self.count + 1
        bound = (count + 2) << chunk
        for flow in (self.net, self.into, self.out):
            flow <<= chunk
        nodes = np.arange(count)
        rows = np.concatenate([np.full(count, source), nodes, self.low, self.high])
        columns = np.concatenate([nodes, np.full(count, sink), self.high, self.low])
        limits = [
            np.minimum(into - self.into, bound),
            np.minimum(out - self.out, bound),
            np.where(self.up, bound, np.minimum(-self.net, bound)),
            np.where(self.down, bound, np.minimum(self.net, bound)),
        ]
        limit = np.concatenate([part.astype(np.int64) for part in limits]).astype(np.int32)
        used = np.flatnonzero(limit)
        graph = csr_array((limit[used], (rows[used], columns[used])), shape=(count + 2, count + 2))
        result = maximum_flow(graph, source, sink)
        flow = result.flow.tocsr()
        self.into += _entries(flow, np.full(count, source), nodes)
        self.out += _entries(flow, nodes, np.full(count, sink))
        self.net += _entries(flow, self.low, self.high)
        left = graph - flow
        left.eliminate_zeros()
        self.held[:] = False
        reached = breadth_first_order(left, source, return_predecessors=False)
        self.held[reached[reached < count]] = True

    def flow(self) -> LargestFlow:
        """Return the flow found."""
        used = np.flatnonzero(self.net)
        flows = zip(self.low[used].tolist(), self.high[used].tolist(), self.net[used].tolist(), strict=True)
        along = {(u, v) if much > 0 else (v, u): abs(much) for u, v, much in flows}
        into, out = self.into.tolist(), self.out.tolist()
        return LargestFlow(sum(into), self.held.copy(), into, out, along)


def _entries(matrix: Any, rows: npt.NDArray[Any], columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
    entries = np.asarray(matrix[rows, columns]).reshape(-1) if rows.size else np.zeros(0, np.int64)
    return entries.astype(np.int64)
