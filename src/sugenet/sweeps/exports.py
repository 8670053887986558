"""Results as a table for other programs: CSV and Parquet, one row for each sample of the data set.

Samples without an answer have a row, too, with the outcome ``missing``. Costs stay text, as exact numbers
such as ``7/2``, since a float would round them; under L2 they are sums of squares.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sugenet.errors import SugenetError, how_to_install
from sugenet.files import write_bytes, write_text
from sugenet.sweeps.rows import Row

__all__ = ["COLUMNS", "csv_text", "export_rows", "write_csv", "write_parquet"]

COLUMNS = (
    *("sample", "outcome", "class", "true_class", "right", "settled", "certified", "engine"),
    *("seconds", "time_limit", "value", "lower", "version"),
)
"""Names of the columns, in their order."""


def export_rows(rows: Iterable[Row], samples: int, classes: Sequence[str]) -> list[tuple[Any, ...]]:
    """All samples of a data set, each with its columns; None where something is not known."""
    known = {row.sample: row for row in rows}
    return [_columns(sample, known.get(sample), classes) for sample in range(samples)]


def _columns(sample: int, row: Row | None, classes: Sequence[str]) -> tuple[Any, ...]:
    if row is None:
        return (sample, "missing", *[None] * (len(COLUMNS) - 2))
    truth = None if row.truth is None else classes[row.truth]
    right = None if row.truth is None else row.truth == row.label
    said = (row.outcome, classes[row.label], truth, right, row.settled, row.certified, row.engine)
    return (sample, *said, row.seconds, row.time_limit, row.value, row.lower, row.version)


def csv_text(rows: Iterable[Row], samples: int, classes: Sequence[str]) -> str:
    r"""The table as CSV (RFC 4180): what is not known is an empty field.

    Examples
    --------
    >>> row = Row(1, 0, 1, "proved", True, True, "bounds", 0.5, None, None, None, "0.1.0")
    >>> print(csv_text([row], 2, ["no", "yes, sir"]).replace("\r", ""), end="")
    sample,outcome,class,true_class,right,settled,certified,engine,seconds,time_limit,value,lower,version
    0,missing,,,,,,,,,,,
    1,proved,no,"yes, sir",false,true,true,bounds,0.5,,,,0.1.0
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in export_rows(rows, samples, classes):
        writer.writerow([_cell(value) for value in row])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value


def write_csv(
    path: str | os.PathLike[str], rows: Iterable[Row], samples: int, classes: Sequence[str]
) -> None:
    """Write the table as CSV, whole or not at all."""
    write_text(path, csv_text(rows, samples, classes))


def write_parquet(
    path: str | os.PathLike[str],
    rows: Iterable[Row],
    samples: int,
    classes: Sequence[str],
    about: Mapping[str, str],
) -> None:
    """Write the table as Parquet, whole or not at all; `about` goes to its metadata.

    Raises
    ------
    SugenetError
        Where pyarrow, the extra ``parquet``, is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise SugenetError(
            f"Parquet needs pyarrow. Install it {how_to_install('parquet')}; or write CSV."
        ) from error
    types = dict.fromkeys(COLUMNS, pa.string())
    types |= dict.fromkeys(("right", "settled", "certified"), pa.bool_())
    types |= dict.fromkeys(("seconds", "time_limit"), pa.float64()) | {"sample": pa.int64()}
    known = ("sample", "outcome")
    schema = pa.schema([pa.field(name, types[name], nullable=name not in known) for name in COLUMNS])
    columns = zip(*export_rows(rows, samples, classes), strict=True) if samples else [[]] * len(COLUMNS)
    arrays = [pa.array(column, types[name]) for name, column in zip(COLUMNS, columns, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=schema.with_metadata(dict(about)))
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    write_bytes(path, stream.getvalue())
