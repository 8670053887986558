"""What would change the answer: `whatif`."""

from sugenet.reason.counterfactuals.hunting import whatif

__all__ = ["whatif"]
