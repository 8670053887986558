"""Read Tsetlin machines: clauses over Boolean literals, and their votes."""

from __future__ import annotations
