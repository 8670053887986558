"""The judge: a certificate as JSON and a network in, a sentence or `CertificateError` out.

It knows no engine: `sugenet.bnn` is all it needs.
"""

from sugenet.checker.certificate import check

__all__ = ["check"]
