"""Capacities from rated samples, exactly: all that fit, the conflicts where none does, and best fits."""

from sugenet.fit.capacities.ratings import Ratings

__all__ = ["Ratings"]
