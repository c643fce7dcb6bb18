"""Were the right tools called, with the right arguments? Expected calls against those that were made.

Calls are paired one to one, by name first: as many pairs as there can be. Among calls of one name the pairing
with the most equal arguments is taken, whatever the order of the calls. What a record scores depends on a few
counts, and records in which these agree are of one kind.
"""

from __future__ import annotations

from evalkit.metrics.tools.pairing import Pairing, pairing, same
from evalkit.metrics.tools.scores import compute

__all__ = ["Pairing", "compute", "pairing", "same"]
