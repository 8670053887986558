"""The command that checks a certificate. It loads only the checker and the readers of the files."""

import os
from argparse import Namespace
from typing import Any

from sugenet.checker.certificate import check, has_laws, is_about_ratings
from sugenet.checker.network import load_network
from sugenet.cli.options import integer_in, is_shipped, network_of, shared
from sugenet.cli.output import Screen, as_typed_hints
from sugenet.cli.parser import Command, Commands, Group, UsageError, option
from sugenet.cli.tables import ratings_of, refuse_table, table_options
from sugenet.errors import CertificateError, CheckLimitError, FileError
from sugenet.reading import read_file

__all__ = ["COMMANDS"]

_READING = 4
"""A fourth of the memory of a check may be used for the certificate itself."""
_LARGEST = 1 << 30
"""Maximum number of bytes of a network file."""


def _check_certificate(options: Namespace, screen: Screen) -> int:
    from sugenet.compiling import notify_compiling
    from sugenet.io.plain.texts import read_json

    memory = options.memory_limit << 20
    certificate = read_json(options.certificate, memory // _READING)
    about: Any
    if is_about_ratings(certificate):
        if options.other is not None:
            raise UsageError("MODEL2 is not used: the certificate is about a table.")
        about, other = ratings_of(options, options.model), None
    else:
        refuse_table(options)
        about, other = (
            None if name is None else _network(name, certificate) for name in (options.model, options.other)
        )
    limits = {"time_limit": options.time_limit, "memory_limit": memory}
    try:
        if options.plain:
            report = check(certificate, about, other, **limits, plain=True)
        else:
            with notify_compiling(screen.progress):
                report = check(certificate, about, other, **limits)
    except CertificateError as error:
        undecided = isinstance(error, CheckLimitError)
        message = as_typed_hints(str(error))
        if options.json:
            screen.say("", {"holds": None if undecided else False, "error": message})
        else:
            screen.complain(message)
        return 3 if undecided else 1
    text = f"the certificate {screen.mark('holds')}: {report}"
    return screen.say(text, {"holds": True, "checked": report.split("; ")})


def _network(name: str, certificate: dict[str, Any]) -> Any:
    """Return the network that an argument names, as the checker reads its file.

    Laws are parsed by the package's own parser, which needs its own network.
    """
    if has_laws(certificate):
        return network_of(name)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.path.join(folder, "data", f"{name}.sugenet") if is_shipped(name) else name
    try:
        return load_network(read_file(path, _LARGEST))
    except (FileError, OSError, UnicodeDecodeError):
        network_of(name)  # its error describes the problem of the file
        raise


COMMANDS: Commands = {
    "check": Command(
        _check_certificate,
        "check a certificate against its model or table",
        [
            "sugenet check certificate.json digits",
            "sugenet check certificate.json flats.csv --label-column grade --order 1..5",
            "sugenet whatif digits --index 7 -o - | sugenet check - digits",
        ],
        [
            *shared(
                "certificate",
                "model",
                "other",
                "time_limit",
                model={"help": ".sugenet file, shipped model, or CSV table of ratings"},
                time_limit={"default": 600, "help": "stop after this time, with exit code 3"},
            ),
            option(
                "--memory-limit",
                type=integer_in(1, 1 << 24),
                default=2048,
                metavar="MB",
                help="stop if more memory is needed, with exit code 3",
            ),
            option(
                "--plain",
                action="store_true",
                help="use plain rules only, which are slower",
            ),
            Group("certificates of sugenet fit: options of its table", table_options(required=False)),
            *shared("json", "quiet"),
        ],
    ),
}
