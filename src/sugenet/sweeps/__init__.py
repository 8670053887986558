"""Whole data sets: one question of every sample, answered by many workers and kept in one file.

`sweep` asks and `read_results` reads. A sample goes from `samples` through `cutting`, which says what goes
out together, and `driving`, which hands it to joblib, to `work` in another process, and its answer into the
`store`. What is read back is `results`.
"""

from sugenet.sweeps.results import Results, read_results
from sugenet.sweeps.rows import Row
from sugenet.sweeps.sweeping import sweep

__all__ = ["Results", "Row", "read_results", "sweep"]
