"""Check an answer again, by the definition alone.

To be ensured: the certificate is about this network, contains no data that is never read (`form`), and every
claim is passed to the file that checks such claims. Any failure on the way is a refusal.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from sugenet.checker.domain import within_domain
from sugenet.checker.form import (
    Certificate,
    Counted,
    Counterfactual,
    NoCounterfactual,
    OpenCounterfactual,
    Proved,
    Reason,
    Refuted,
    Robust,
    Share,
    Shares,
    Undecided,
    UnknownReason,
    WhatIf,
    read_certificate,
)
from sugenet.checker.limit import MEMORY, SECONDS, Limit
from sugenet.checker.meaning import sample_in
from sugenet.checker.network import NetworkForm
from sugenet.checker.setting import Asked, inputs_asked, sample_of, setting_of
from sugenet.errors import CertificateError, CheckLimitError, TooLargeError

__all__ = ["check", "has_laws", "is_about_ratings"]

_NOTHING = "nothing is claimed, so there is nothing to check"


def check(
    certificate: dict[str, Any] | None,
    network: Any,
    other: Any = None,
    *,
    time_limit: float | None = SECONDS,
    memory_limit: int | None = MEMORY,
    plain: bool = False,
) -> str:
    """Check a certificate against its network or ratings; return what was checked.

    A certificate is about one network, about two, or about the ratings that it was learned from.

    Parameters
    ----------
    certificate
        JSON data, possibly from an untrusted source. None, for an answer without a certificate, is refused.
    network, other
        The networks that it is about; all of them for a composite that several networks read. If the
        certificate is about ratings, pass `Ratings` instead of the network.
    time_limit
        Seconds after which to give up; None for no limit.
    memory_limit
        Bytes that may be used in addition to the networks and the certificate; None for no limit.
    plain
        Check with the plain form of every rule, which is short to read and handles small cases only
        (default: False).

    Raises
    ------
    CertificateError
        If it is for another network, is damaged, or makes a false claim.
    CheckLimitError
        If time or memory ran out first. It is then unknown whether the certificate holds.
        This is also a `CertificateError`.
    """
    if certificate is None or (isinstance(certificate, dict) and certificate.get("certificate", "") is None):
        raise CertificateError("the answer is not certified: the engine that gave it gives no proof.")
    if not isinstance(certificate, dict):
        raise CertificateError(f"a certificate is a JSON object, not {type(certificate).__name__}.")
    version = certificate.get("version")
    if certificate.get("format") != "sugenet certificate" or type(version) is not int or version != 3:
        raise CertificateError("this is not a sugenet certificate of version 3.")
    limit = Limit(time_limit, memory_limit)
    try:
        if is_about_ratings(certificate) and not isinstance(network, list | tuple):
            from sugenet.checker.learned import check_learned

            return check_learned(certificate, _samples(network, other), limit)
        several = isinstance(network, list | tuple)
        networks = [_form(one, plain) for one in (network if several else [network])]
        return _check_any(certificate, networks, None if other is None else _form(other, plain), limit, plain)
    except CertificateError:
        raise
    except RecursionError:
        raise CertificateError("the certificate is nested too deeply.") from None
    except (TooLargeError, MemoryError) as error:
        raise CheckLimitError(
            f"not checked within the limit: {str(error) or 'there is not enough memory.'}"
        ) from error
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError) as error:
        raise CertificateError(
            f"the certificate is damaged: {type(error).__name__}: {str(error)[:200]}"
        ) from error


def is_about_ratings(certificate: object) -> bool:
    """Return whether a certificate is about ratings and not about a network. Its claims are not read."""
    return isinstance(certificate, dict) and "network" not in certificate and "ratings" in certificate


def has_laws(certificate: object) -> bool:
    """Return whether a certificate contains laws in words. The laws themselves are not read."""
    domain = certificate.get("domain") if isinstance(certificate, dict) else None
    return isinstance(domain, dict) and bool(domain.get("laws"))


def _form(network: Any, plain: bool) -> NetworkForm:
    """Return a network as the checker sees it; unless rules are plain, they can read it as arrays."""
    if not isinstance(network, NetworkForm):
        from sugenet.checker.accelerate.origin import form_of

        return form_of(network, plain=plain)
    if plain:
        return network
    from sugenet.checker.accelerate.arrays import backed

    return backed(network)


def _samples(ratings: object, other: Any) -> Any:
    from sugenet.checker.learned_form import RatedSamples

    samples = ratings if isinstance(ratings, RatedSamples) else getattr(ratings, "samples", None)
    if not isinstance(samples, RatedSamples):
        if hasattr(ratings, "fingerprint"):
            raise CertificateError("the certificate is about ratings, not about a network.")
        raise CertificateError(
            f"a certificate is about a network or ratings, not about a {type(ratings).__name__}."
        )
    if other is not None:
        raise CertificateError("a certificate about ratings is about no other network.")
    return samples


def _check_any(
    certificate: dict[str, Any],
    networks: list[NetworkForm],
    other: NetworkForm | None,
    limit: Limit,
    plain: bool,
) -> str:
    """Check a certificate about one network or two, or about a composite of several readings."""
    if "networks" in certificate:
        from sugenet.checker.composed import check_composed

        return check_composed(
            certificate,
            networks if other is None else [*networks, other],
            limit,
            lambda part, one: _check(part, one, None, limit, plain),
            plain=plain,
        )
    if len(networks) != 1:
        raise CertificateError(f"the certificate is about one network, and {len(networks)} are given.")
    if is_about_ratings(certificate):
        raise CertificateError("the certificate is about ratings, not about a network.")
    return _check(read_certificate(certificate, networks[0]), networks[0], other, limit, plain)


def _check(
    certificate: Certificate, network: NetworkForm, other: NetworkForm | None, limit: Limit, plain: bool
) -> str:
    lawful, limits = within_domain(certificate.domain, network, limit)
    asked = Asked(certificate.question, network, lawful, limits, other)
    sample = getattr(certificate.question, "sample", None)
    if sample is not None:
        sample_in(network, sample, lawful.clauses)  # checked even if nothing is claimed
    if isinstance(certificate.question, Robust | Reason | WhatIf):
        sample_of(asked)  # checks its class
    match certificate:
        case Counted():
            return _count(certificate, asked, limit, plain=plain)
        case Counterfactual() | OpenCounterfactual() | NoCounterfactual():
            from sugenet.checker.counterfactual import check_counterfactual

            return check_counterfactual(certificate, asked, limit, plain=plain)
        case Refuted():
            from sugenet.checker.witness import check_witness

            return check_witness(asked, certificate.witness)
        case Undecided():
            return _check_undecided(certificate, asked, limit, plain=plain)
        case UnknownReason():
            return _NOTHING
    if isinstance(certificate.proof, Shares):
        assert not isinstance(certificate, Proved)
        from sugenet.checker.share import check_shares

        return check_shares(certificate, certificate.proof, asked, limit, partial(_count, plain=plain))
    from sugenet.checker.proof import check_proof

    proved = check_proof(asked, certificate.proof, limit, plain=plain)
    if isinstance(certificate, Proved):
        return proved
    from sugenet.checker.reason import check_reason

    return check_reason(certificate, asked, proved, limit)


def _count(certificate: Counted | Share, asked: Asked, limit: Limit, *, plain: bool) -> str:
    """Count the inputs of a question again."""
    if plain:
        from sugenet.checker.counting import plain_count
        from sugenet.checker.problem import problem_of

        return plain_count(certificate, problem_of(setting_of(asked, limit), limit, is_exact=True))
    from sugenet.checker.accelerate.count import recount  # load compiled code only if needed

    return recount(certificate, asked, limit)


def _check_undecided(certificate: Undecided, asked: Asked, limit: Limit, *, plain: bool) -> str:
    """Check an undecided answer, which may still claim a part."""
    question, proof, reached = certificate.question, certificate.proof, certificate.proved_up_to
    if reached is None or proof is None:
        if proof is not None or reached is not None:
            raise CertificateError("there is a proof, but nothing that it proves, or the other way round.")
        return _NOTHING
    inputs = inputs_asked(asked) if isinstance(question, Robust) else None
    if inputs is None or inputs.budget is None or not 0 <= reached <= inputs.budget:
        raise CertificateError("a part of a region is claimed that is not one.")
    from sugenet.checker.proof import check_proof

    summary = check_proof(asked, proof, limit, replace(inputs, budget=Fraction(reached)), plain=plain)
    what = "a sum of squares of " if inputs.measure == "L2" else ""
    return f"up to {what}{reached}: {summary}; the rest is not decided"
