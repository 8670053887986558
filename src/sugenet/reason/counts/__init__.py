"""How often: `count`."""

from sugenet.reason.counts.counting import count

__all__ = ["count"]
