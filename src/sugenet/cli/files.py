"""Commands that make model files: train, convert."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from sugenet.cli.options import give, network_of, typed, whole
from sugenet.cli.output import Screen
from sugenet.cli.parser import Commands, Parser, Run
from sugenet.errors import SugenetError

__all__ = ["COMMANDS"]


def _train(parser: Parser) -> Run:
    parser.add_argument("data", metavar="DATA", help="CSV file with a header")
    give(
        parser,
        "target",
        "output",
        target={"required": True, "help": "CSV column with the class"},
        output=_MODEL_FILE,
    )
    parser.add_argument(
        "--hidden", type=typed(_sizes), default="64,32", metavar="SIZES", help="sizes of the hidden layers"
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="NAME", help="column to leave out; may be repeated"
    )
    parser.add_argument("--epochs", type=whole(), default=60, metavar="N", help="passes over the data")
    parser.add_argument(
        "--sparsity", type=typed(_share), default="0", metavar="SHARE", help="share of weights that are 0"
    )
    parser.add_argument(
        "--levels", type=whole(2, 256), default=2, metavar="N", help="levels that a hidden neuron can give"
    )
    parser.add_argument(
        "--weight-bits",
        type=whole(1, 8),
        default=1,
        metavar="N",
        help="bits of a weight: 1 for -1 and 1, more for whole numbers",
    )
    parser.add_argument("--checkpoint", metavar="FILE", help="write progress here and go on from it")
    give(
        parser,
        "threads",
        "seed",
        "json",
        "quiet",
        threads={"default": 1, "help": "threads; 1 is best for small networks"},
    )
    return _run_training


_MODEL_FILE = {"required": True, "help": "write the model to FILE"}


def _sizes(text: str) -> list[int]:
    try:
        return [int(size) for size in text.split(",") if size.strip()]
    except ValueError:
        raise SugenetError(f"{text} must be whole numbers with commas between them, such as 64,32") from None


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SugenetError(f"{text} is not a number") from None


def _run_training(options: Namespace, screen: Screen) -> int:
    from sugenet.fit import Settings, print_progress, read_table, train
    from sugenet.io import save

    _is_file(options.output)
    settings = Settings(
        epochs=options.epochs,
        seed=options.seed,
        sparsity=options.sparsity,
        levels=options.levels,
        weight_bits=options.weight_bits,
        threads=options.threads,
    )
    table = read_table(options.data, options.target, ignore=options.ignore)
    screen.tell(str(table))
    trained = train(
        table.X,
        table.y,
        options.hidden,
        settings=settings,
        names=table.names,
        classes=table.classes,
        progress=None if options.quiet else print_progress,
        checkpoint=options.checkpoint,
        notes={"data": str(options.data), "trained with": f"seed {options.seed}, {options.epochs} epochs"},
    )
    save(trained.network, options.output)
    data = {
        "output": options.output,
        "network": str(trained.network),
        "accuracy": trained.accuracy,
        "best_epoch": trained.best_epoch,
        "interrupted": trained.interrupted,
        "fingerprint": trained.network.fingerprint,
    }
    return screen.say(f"{trained}\nwritten to {options.output}", data)


def _convert(parser: Parser) -> Run:
    parser.add_argument(
        "source", metavar="SOURCE", help=".onnx, .pt, .pth, .tar, .h5, .npz, a folder of CSV files, or MODEL"
    )
    give(parser, "output", output=_MODEL_FILE | {"help": "write the model to FILE: .sugenet or .onnx"})
    about = "what raw samples are: bits, reals, or integers such as 0..255 or 0..255/255 (divided by 255)"
    parser.add_argument("--inputs", type=typed(_kind), metavar="KIND", help=about)
    about = "what sign(0) shall be where the file says 0 and zero can occur"
    parser.add_argument("--zero", type=whole(None), choices=[1, -1], metavar="SIGN", help=about)
    parser.add_argument("--classes", metavar="NAMES", help="names of the classes, with commas between them")
    about = (
        "the layers of a PyTorch checkpoint, such as 'linear:fc1(weights=sign) batchnorm:bn1 "
        "sign linear:fc2(weights=sign)'"
    )
    parser.add_argument("--architecture", metavar="TEXT", help=about)
    parser.add_argument(
        "--shape",
        type=typed(_sizes),
        metavar="SIZES",
        help="of a sample of such a checkpoint: channels,height,width",
    )
    about = (
        "say how many bits weights and activations have, where such a checkpoint does not (Brevitas): "
        "one number for both, or WEIGHTS,ACTIVATIONS, or WEIGHTS,ACTIVATIONS,INPUTS"
    )
    parser.add_argument("--bits", type=typed(_sizes), metavar="N", help=about)
    give(parser, "json")
    return _run_conversion


_CHECKPOINT = ("architecture", "shape", "bits")
"""Options for PyTorch checkpoints alone."""


def _kind(text: str) -> tuple[str, ...]:
    """What raw samples are: one word, or the ends of a range of integers and what they are divided by."""
    import re

    found = re.fullmatch(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})(?:/(0{0,18}[1-9][0-9]{0,17}))?", text)
    if found:
        return (found[1], found[2], found[3] or "1")
    if text in ("bits", "reals"):
        return (text,)
    raise SugenetError(f"{text} is not bits, reals, or integers such as 0..255 or 0..255/255")


def _inputs(kind: tuple[str, ...] | None) -> Any:
    from fractions import Fraction

    from sugenet.io import BitInputs, Integers, Reals

    match kind:
        case None:
            return None
        case (low, high, divisor):
            return Integers(int(low), int(high), step=Fraction(1, int(divisor)))
    return BitInputs() if kind == ("bits",) else Reals()


def _run_conversion(options: Namespace, screen: Screen) -> int:
    _is_file(options.output)
    if not options.output.lower().endswith((".sugenet", ".onnx")):
        raise SugenetError(f"-o {options.output} must end in .sugenet or .onnx.")
    from sugenet.io import import_file, save, write_onnx

    if options.output.lower().endswith(".onnx"):
        said = [
            name for name in ("inputs", "zero", "classes", *_CHECKPOINT) if getattr(options, name) is not None
        ]
        if said:
            raise SugenetError(
                f"--{said[0]} is for reading networks of others; -o {options.output} writes one of ours."
            )
        network, data, text = network_of(options.source), {}, f"{options.source} as ONNX"
        write_onnx(network, options.output)
    else:
        classes = None if options.classes is None else options.classes.split(",")
        more = {name: getattr(options, name) for name in _CHECKPOINT if getattr(options, name) is not None}
        found = import_file(
            options.source, inputs=_inputs(options.inputs), zero=options.zero, classes=classes, **more
        )
        network, data, text = found.network, found.data(), str(found)
        save(network, options.output)
    return screen.say(
        f"{text}\nwritten to {options.output}",
        {**data, "output": options.output, "fingerprint": network.fingerprint},
    )


def _is_file(output: str) -> None:
    if output == "-":
        raise SugenetError("-o - is for text, but a model is none. Give the path of a file.")


COMMANDS: Commands = {
    "train": (
        _train,
        "train a network on a CSV file; Ctrl-C keeps the best epoch so far",
        ["sugenet train data.csv --target y -o model.sugenet"],
    ),
    "convert": (
        _convert,
        "read a trained network from elsewhere, or write one as ONNX",
        ["sugenet convert net.onnx -o net.sugenet", "sugenet convert digits -o digits.onnx"],
    ),
}
