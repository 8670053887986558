"""Options of ``sugenet convert`` for spiking networks: the convention, each part of which is asked for by
name where it is missing.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sugenet.cli.options import number, refuse_idle, typed, whole
from sugenet.cli.parser import Group, UsageError, option

if TYPE_CHECKING:
    from sugenet.io import Imported

__all__ = ["SPIKING", "SPIKING_NAMES", "is_spiking", "read_spiking"]

_WORDS = {
    "reset": ["zero", "subtract", "none", "once"],
    "when": ["at-once", "before-the-leak", "after-the-input", "at-once-as-in-snnTorch"],
    "fires": ["above", "reaching"],
    "code": ["latency", "spikes"],
    "decision": ["first-spike", "spike-count", "last-potential", "summed-potential"],
    "tied": ["lowest", "highest"],
}
_ABOUT = {
    "reset": "what a spike does to the potential: zero, subtract (the threshold), none, once (no other)",
    "when": "when: at-once, before-the-leak or after-the-input of the next step, at-once-as-in-snnTorch",
    "fires": "a neuron spikes above its threshold, or reaching it",
    "code": "what a sample is: latency, the time of each input's only spike, or spikes, step by step",
    "decision": "what makes the class: first-spike, spike-count, last-potential or summed-potential",
    "tied": "which of equal classes wins: lowest or highest",
}
_FIRES = {"above": ">", "reaching": ">="}

SPIKING = Group(
    "spiking networks (.nir, snnTorch, .npz)",
    [
        option("--steps", type=whole(1, 64), metavar="N", help="steps in the window"),
        *(
            option(f"--{name}", choices=words, metavar=name.upper(), help=_ABOUT[name])
            for name, words in _WORDS.items()
        ),
        option(
            "--step",
            type=typed(number),
            metavar="X",
            help="length of a step, where the file has continuous time (NIR)",
        ),
        option(
            "--floats",
            choices=["exact", "decimal"],
            metavar="HOW",
            help="floats as the numbers that they are (exact), or as the decimals that name them (decimal)",
        ),
        option(
            "--grid",
            type=typed(number),
            metavar="X",
            help="round weights to multiples of X, such as 1/64: the model is the rounded network",
        ),
        option(
            "--leak",
            type=typed(number),
            metavar="X",
            help="the leak as it is meant, such as 9/10; that of the file up to rounding",
        ),
        option(
            "--layers",
            metavar="NAMES",
            help="modules of an snnTorch state dict in their order, with commas between them",
        ),
    ],
)
"""Options that are for spiking networks."""
SPIKING_NAMES = tuple(one.flags[0].lstrip("-") for one in SPIKING.options)


def is_spiking(options: Namespace) -> bool:
    """Whether a spiking network is to be read."""
    name = options.source.lower().removesuffix(".gz")
    return name.endswith(".nir") or any(name in options.given for name in SPIKING_NAMES)


def read_spiking(options: Namespace, names: Any, classes: Any, others: tuple[str, ...]) -> Imported:
    """Read it, with the convention that the options say."""
    refuse_idle(options, others, "is not for spiking networks.")
    needed = ["steps", *(name for name in _WORDS if name != "when")]
    if options.reset in ("zero", "subtract"):
        needed.append("when")
    if options.source.lower().removesuffix(".gz").endswith(".nir"):
        needed.append("step")
    missing = [name for name in needed if getattr(options, name) is None]
    if missing:
        said = "; ".join(f"--{name}: {_ABOUT.get(name, _OTHER.get(name))}" for name in missing)
        raise UsageError(
            f"{options.source} does not say how its neurons run, and this is never guessed. Give {said}."
        )
    from sugenet.spiking import Convention, import_spiking

    def spelled(name: str) -> Any:
        return None if getattr(options, name) is None else getattr(options, name).replace("-", " ")

    convention = Convention(
        steps=options.steps,
        reset=options.reset,
        when=spelled("when"),
        fires=_FIRES[options.fires],  # type: ignore[arg-type]
        code=options.code,
        decision=spelled("decision"),
        ties=options.tied,
        step=options.step,
    )
    return import_spiking(
        options.source,
        convention,
        layers=None if options.layers is None else [part.strip() for part in options.layers.split(",")],
        floats=options.floats or "exact",
        grid=options.grid,
        leak=options.leak,
        names=names,
        classes=classes,
        image=options.image,
        prove=not options.no_proof,
    )


_OTHER = {"steps": "how many steps the window has", "step": "how long a step is"}
