"""Whole data sets: one question of every sample, answered by many workers and kept in one file.

`sweep` asks and `read_results` reads. A sample goes from `samples` through `driving`, which hands it to
joblib, to `work` in another process, and its answer into the `store`. What is read back is `results`, also as
a table for other programs: in figures by `tally` and `curve`, checked by `checking`.
"""

from sugenet.sweeps.checking import CheckedResults, check_results
from sugenet.sweeps.curve import AccuracyCurve, curve_of
from sugenet.sweeps.results import Results, read_results
from sugenet.sweeps.samples import Row
from sugenet.sweeps.sweeping import sweep
from sugenet.sweeps.tally import SweepTally

__all__ = [
    "AccuracyCurve",
    "CheckedResults",
    "Results",
    "Row",
    "SweepTally",
    "check_results",
    "curve_of",
    "read_results",
    "sweep",
]
