"""Counterfactuals: `whatif`, its three answers, and those about several samples."""

from sugenet.reason.counterfactuals.answers import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.counterfactuals.searching import whatif
from sugenet.reason.counterfactuals.several import Counterfactuals

__all__ = ["Counterfactual", "Counterfactuals", "NoCounterfactual", "OpenCounterfactual", "whatif"]
