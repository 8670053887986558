"""Small trained networks that ship with the package, held-out samples, and the script that trained them."""

from sugenet.data.models import breast_cancer, digits, samples

__all__ = ["breast_cancer", "digits", "samples"]
