"""Can it fail: `verify`."""

from sugenet.reason.verdicts.verifying import verify

__all__ = ["verify"]
