"""Which inputs a certificate is about: limits of features and laws, which it spells out itself.

To be ensured: the question is asked of all inputs within them, and a witness is one of these. What a network
knows of its own accord does not count, only what the certificate says.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sugenet.bnn import Domain, Network
from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = ["asked_within", "can_occur", "obeying"]


def asked_within(
    certificate: dict[str, Any], network: Network, limit: Limit
) -> tuple[dict[str, Any], Network]:
    """A certificate without its domain, and the network with just that."""
    if "domain" not in certificate:
        return certificate, network.anywhere()
    rest = {name: value for name, value in certificate.items() if name != "domain"}
    domain = Domain.of(certificate["domain"], network.encoder, limit.look)
    if not domain or domain.data() != certificate["domain"]:
        raise CertificateError("the domain of the certificate says nothing, or not in the one way to say it.")
    known = network.anywhere().within(domain)
    clauses = sum(len(law.clauses) for law in domain.laws)
    limit.take(16 * clauses * (network.encoder.width + clauses), "the neurons of all laws")
    return rest, known


def can_occur(network: Network, witness: Sequence[Any], sample: Sequence[Any] | None = None) -> None:
    """See that a witness is within the limits, where it differs from a sample, and obeys the laws."""
    changed = None if sample is None else [f for f, a in enumerate(sample) if a != witness[f]]
    outside = network.domain.outside(witness, changed)
    if outside is not None:
        raise CertificateError(
            f"the witness has {witness[outside]} for feature {outside}, outside its limits."
        )
    broken = network.domain.broken(witness)
    if broken is not None:
        raise CertificateError(f"the witness breaks the law {broken!r}.")


def obeying(
    network: Network, cases: list[list[tuple[list[Fraction], Fraction]]]
) -> list[list[tuple[list[Fraction], Fraction]]]:
    """Violations by inputs that obey the laws: over the classes of `network.lawful`, whose last has as many
    matches as clauses are broken.
    """
    if not network.domain.laws:
        return cases
    none = ([Fraction(0)] * network.head.outputs + [Fraction(-1)], Fraction(0))
    return [[*(([*factors, Fraction(0)], least) for factors, least in case), none] for case in cases]
