"""Sweeps: ask one question about every sample of a data set, with many workers and one results file.

`sweep` asks and `read_results` reads. `driving` takes samples from `samples` and hands them to joblib. `work`
answers them in another process, and the answers go to the `store`. `results` reads them back, also as a table
for other programs. `tally` and `curve` summarize them, and `checking` checks them.
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
