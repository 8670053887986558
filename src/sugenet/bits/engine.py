"""Choice of the engine that counts the matches, and the methods that both engines have.

The name comes from the argument ``engine=``. ``"auto"`` reads the environment variable ``SUGENET_ENGINE``.
If it is not set, compiled kernels are used as soon as they are on this machine or compiling pays, and NumPy
until then. If numba cannot be imported, ``"auto"`` falls back to ``"numpy"`` with a warning; if
``NUMBA_DISABLE_JIT`` is set, without one. An engine requested by name is used or refused, never replaced.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from sugenet.bits.compile_policy import ENGINE, is_disabled, see_compiler
from sugenet.bits.words import Words
from sugenet.compiling import notify_compiling, space_missing
from sugenet.errors import SugenetError

__all__ = ["Counts", "EngineName", "Program", "engine_named", "prepare", "program_of"]

EngineName = Literal["auto", "numba", "numpy"]
Counts = npt.NDArray[np.int32]
Kind = Literal["layers", "maps", "levels"]
"""Dense layers over bits; convolutions and pooling over bits; layers over levels."""


class Program(Protocol):
    """A chain of layers ready to run, with the methods of its kind; inputs have been checked before."""

    def match_counts(self, words: Words, threads: int | None) -> Counts:
        """Return the match counts of the last layer, from the activity of the layers before it."""

    def activity(self, inputs: npt.NDArray[Any], threads: int | None) -> Words:
        """Return the packed activity of the last layer, from packed words, or from flat levels if the first
        layer of maps reads levels.
        """

    def levels(self, inputs: npt.NDArray[Any], threads: int | None) -> npt.NDArray[Any]:
        """Return the levels of the last layer, flat."""

    def sums(self, inputs: npt.NDArray[Any], threads: int | None) -> npt.NDArray[Any]:
        """Return the sums of the last layer, which has no steps."""


def engine_named(name: str = "auto") -> EngineName:
    """Return the name of the engine for `name`: ``"auto"`` stays only if numba is installed."""
    source = "engine"
    if name == "auto" and os.environ.get(ENGINE):
        name, source = os.environ[ENGINE], f"the environment variable {ENGINE}"
    if name not in ("auto", "numba", "numpy"):
        raise SugenetError(f'{source} is {name!r}, but must be "auto", "numba" or "numpy".')
    if name == "auto" and (missing := space_missing()):
        warnings.warn(f"{missing}. Until then the slower NumPy engine is used.", RuntimeWarning, stacklevel=3)
        name = "numpy"
    if name == "auto" and is_disabled():
        name = "numpy"
    if name != "numpy":
        see_compiler()
        try:
            import sugenet.bits.numba_engine  # noqa: F401

            return "numba" if name == "numba" else "auto"
        except ImportError as error:
            if name == "numba":
                raise SugenetError(
                    f'The engine "numba" was asked for by {source}, but numba cannot be imported ({error}). '
                    f'Install it with: pip install numba. Or use engine="numpy", which needs no compiler.'
                ) from error
            warnings.warn(
                f"numba cannot be imported ({error}), so the slower NumPy engine is used. "
                f"Install numba for speed, or set {ENGINE}=numpy to choose this engine without a warning.",
                RuntimeWarning,
                stacklevel=3,
            )
    return "numpy"


def program_of(kind: Kind, layers: Sequence[Any], engine: EngineName) -> Program:
    """Prepare a chain of layers to run."""
    from sugenet.bits import numpy_engine

    name, chain = engine_named(engine), tuple(layers)
    if name == "numpy":
        return numpy_engine.PROGRAMS[kind](chain)  # type: ignore[no-any-return]
    from sugenet.bits import numba_engine, numba_maps

    compiled = numba_maps.PROGRAMS[kind]
    if name == "numba" or numba_engine.is_ready(kind):
        return compiled(chain)  # type: ignore[no-any-return]
    products = sum(layer.products for layer in chain)
    return numba_engine.Late(kind, products, numpy_engine.PROGRAMS[kind](chain), lambda: compiled(chain))


def prepare(
    engine: EngineName = "auto", notify: Callable[[str], None] | None = None, *, levels: bool = False
) -> EngineName:
    """Load the kernels now, and announce it before they have to be compiled.

    Kernels are compiled once per machine and then read from a cache on disk, in a few hundredths of a second.
    An interactive program calls this at its start, so that a waiting user knows why.

    Parameters
    ----------
    engine : {"auto", "numba", "numpy"}
        The engine to prepare.
    notify : callable, optional
        Called with one sentence before a wait of seconds; not called if nothing has to be compiled.
    levels : bool
        Whether layers over levels will run, too: they have a separate kernel.

    Returns
    -------
    str
        The name of the engine that "auto" means from now on.

    Examples
    --------
    >>> prepare("numpy", notify=print)
    'numpy'
    """
    if engine_named(engine) == "numpy":
        return "numpy"
    from sugenet.bits.numba_engine import kernel_named

    with notify_compiling(notify):
        for name in ("layers", "maps", *(["levels"] if levels else [])):
            kernel_named(name)
    return "numba"
