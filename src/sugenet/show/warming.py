"""Compilation of all kernels in advance, for installations that are shared with others."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sugenet.bits import prepare
from sugenet.bits.compile_policy import ENGINE
from sugenet.compiling import compiling_seconds, listen, notify_compiling
from sugenet.nn import DenseLayer, Head, Network

__all__ = ["Warmed", "warm_up"]


@dataclass(frozen=True)
class Warmed:
    """Result of compiling."""

    kernels: int
    seconds: float
    folder: str
    """Folder of the cache."""

    def __str__(self) -> str:
        if not self.kernels:
            return f"nothing had to be compiled: all is in {self.folder}"
        return f"compiled {self.kernels} kernels in {self.seconds:.0f} s, kept in {self.folder}"

    def data(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {"kernels": self.kernels, "seconds": round(self.seconds, 3), "folder": self.folder}


def warm_up(models: Iterable[tuple[Network, Any]], notify: Callable[[str], None] = lambda _: None) -> Warmed:
    """Ask small questions of every kind about some networks, one sample each, with compiled kernels only.

    The certificates are checked, too. `notify` is called with a sentence about the progress.
    """
    from sugenet.engines.walk.kernels import walk_sets

    listen()
    before, compiled = compiling_seconds(), [0]

    def one_more(_: str) -> None:
        compiled[0] += 1

    with _compiled_alone(), notify_compiling(one_more, "sugenet."):
        notify("inference ...")
        prepare("numba", levels=True)
        for network, x in [*models, _wide()]:
            for question, ask in _questions(network, x):
                notify(f"{question} ...")
                ask()
    if walk_sets.stats.cache_path is None:
        return Warmed(compiled[0], compiling_seconds() - before, "memory only")
    here = Path(walk_sets.stats.cache_path)
    folder = Path(__file__).parent.parent if here.name == "__pycache__" else here.parent
    return Warmed(compiled[0], compiling_seconds() - before, str(folder))


@contextmanager
def _compiled_alone() -> Iterator[None]:
    before = os.environ.get(ENGINE)
    os.environ[ENGINE] = "numba"
    try:
        yield
    finally:
        if before is None:
            del os.environ[ENGINE]
        else:
            os.environ[ENGINE] = before


def _wide() -> tuple[Network, Any]:
    """Return a network whose sums do not fit into bytes, and a sample of it."""
    rng = np.random.default_rng(0)
    first = DenseLayer(rng.choice([-1, 1], (70, 300)), np.full(70, 150))
    return Network.of_bits([first], Head(rng.choice([-1, 1], (2, 70)))), rng.choice([-1, 1], 300)


def _questions(network: Network, x: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    from sugenet.reason import Free, Hamming, Robust, check, verify, whatif, why

    few = Free(range(4))
    asked: list[tuple[str, Hamming | Free]] = [
        ("flips", Hamming(2)),
        ("exhaust", few),
        ("branch", few),
        ("branch", Hamming(3)),
        ("cdcl", few),
        ("pysat", few),
    ]
    for engine, region in asked:
        yield engine, partial(_decide, network, Robust(x, region), engine)
    yield "search", lambda: verify(network, Robust(x, Hamming(3)), engine="search")
    yield "whatif", lambda: whatif(network, x, time_limit=1.0)
    yield "why", lambda: [check(reason.certificate, network) for reason in why(network, x, few).reasons]
    for method, within in (("walk", few), ("sums", few), ("walk", Hamming(2))):
        yield f"count by {method}", partial(_count, network, x, within, method)


def _decide(network: Network, question: Any, engine: str) -> None:
    from sugenet.reason import check, verify

    certificate = verify(network, question, engine=engine).certificate
    if certificate is not None:
        check(certificate, network)


def _count(network: Network, x: Any, region: Any, method: str) -> None:
    from sugenet.reason import check, count

    answer: Any = count(network, x, region, method=method)
    check(answer.certificate, network)
