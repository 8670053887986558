"""Counterfactuals: `whatif`, and its three answers."""

from sugenet.reason.counterfactuals.answers import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.counterfactuals.searching import whatif

__all__ = ["Counterfactual", "NoCounterfactual", "OpenCounterfactual", "whatif"]
