"""Can it fail: `verify`, and its three answers."""

from sugenet.reason.verdicts.answers import Proved, Refuted, Undecided
from sugenet.reason.verdicts.verifying import verify

__all__ = ["Proved", "Refuted", "Undecided", "verify"]
