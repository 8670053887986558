"""Check a certificate with only the standard library: ``python -m sugenet.checker CERTIFICATE NETWORK``."""

import sys
from argparse import ArgumentParser

from sugenet.checker.certificate import check
from sugenet.checker.network import load_network, read_json
from sugenet.errors import CertificateError, CheckLimitError, SugenetError
from sugenet.reading import read_file

__all__ = ["main"]

_LARGEST = 1 << 30
"""Largest number of bytes of a file."""


def main(arguments: list[str] | None = None) -> int:
    """Check one certificate in plain form: 0 if it holds, 1 if not, 2 for bad input, 3 if time ran out."""
    parser = ArgumentParser("python -m sugenet.checker", description=__doc__)
    parser.add_argument("certificate", help="certificate file (JSON)")
    parser.add_argument("network", nargs="+", help=".sugenet file of each network it is about")
    parser.add_argument("--seconds", type=float, help="time limit (default: none)")
    options = parser.parse_args(arguments)
    try:
        certificate = read_json(read_file(options.certificate, _LARGEST).decode())
        networks = [load_network(read_file(path, _LARGEST)) for path in options.network]
        if isinstance(certificate, dict) and "networks" in certificate:
            summary = check(certificate, networks, time_limit=options.seconds, plain=True)
        else:
            summary = check(certificate, *networks, time_limit=options.seconds, plain=True)
    except CertificateError as error:
        print(f"the certificate does not hold: {error}", file=sys.stderr)
        return 3 if isinstance(error, CheckLimitError) else 1
    except (OSError, TypeError, SugenetError, UnicodeDecodeError) as error:
        print(f"sugenet.checker: {error}", file=sys.stderr)
        return 2
    print(f"the certificate holds: {summary}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
