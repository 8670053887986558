"""Counting inputs of each class: `count`, and its three answers."""

from sugenet.reason.counts.answers import Counted, CountOpen, CountSampled
from sugenet.reason.counts.counting import count

__all__ = ["CountOpen", "CountSampled", "Counted", "count"]
