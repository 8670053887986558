"""Which inputs a certificate is about: limits of features and laws, which it spells out itself.

To be ensured: the question is asked of all inputs within them, and a witness is one of these. What a network
knows of its own accord does not count, only what the certificate says.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sugenet.bnn import Domain, Network
from sugenet.bnn.laws import Law
from sugenet.checker.form import InputDomain, Limit
from sugenet.checker.limit import Limit as Resources
from sugenet.errors import CertificateError

__all__ = ["obeying", "within_domain"]


def within_domain(
    domain: InputDomain | None, network: Network, resources: Resources
) -> tuple[Network, Mapping[int, Limit]]:
    """The network with the laws of a certificate alone; and its limits by feature."""
    known = network.anywhere()
    if domain is None:
        return known, {}
    laws = []
    for text in domain.laws:
        resources.look()
        laws.append(Law(text, known.encoder))
        if laws[-1].text != text:
            raise CertificateError("a law begins or ends with blanks.")
    if len(set(domain.laws)) < len(domain.laws):
        raise CertificateError("a law occurs twice.")
    clauses = sum(len(law.clauses) for law in laws)
    resources.take(16 * clauses * (network.encoder.width + clauses), "the neurons of all laws")
    return known.within(Domain({}, laws)) if laws else known, dict(domain.limits)


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
