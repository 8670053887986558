"""Questions to a network and their exact answers."""

from sugenet.reason.answers import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.certificate import check
from sugenet.reason.regions import L0, L1, L2, Anything, Free, Hamming, Linf, Region
from sugenet.reason.whatif import whatif

__all__ = [
    "L0",
    "L1",
    "L2",
    "Anything",
    "Counterfactual",
    "Free",
    "Hamming",
    "Linf",
    "NoCounterfactual",
    "OpenCounterfactual",
    "Region",
    "check",
    "whatif",
]
