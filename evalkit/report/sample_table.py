"""The table of samples: what was asked and what became of it, and one column a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.contracts.record import sample_key
from evalkit.errors import UsageError
from evalkit.metrics.outcome import levels
from evalkit.records import Records
from evalkit.report.fields import refuse_unknown
from evalkit.report.schemas import SAMPLES, samples_schema
from evalkit.report.text import storable
from evalkit.slices import Scores, scores_of

__all__ = ["KEYED", "keys_of", "label_column", "listed", "sample_rows", "samples"]

KEYED = ("sample_id", "repeat")
"""The columns that tell the key of a sample."""

_LABELS = (
    "intent_l1",
    "intent_l2",
    "intent_pred",
    "difficulty",
    "trap_type",
    "answer_status",
    "evidence_status",
)


def samples(
    records: Records, results: Sequence[MetricResult], *, run_id: str, by: Sequence[str] = ()
) -> pa.Table:
    """One row a sample (SAMPLES), with one column a metric; null where the metric does not count it.

    A field in `by` that is no fixed column gets one, with the labels by which the sample stands in slices.
    Raises UsageError where two columns would have one name, UnknownName for a field that no record has.
    """
    refuse_unknown(records, by)
    return sample_rows(records, results, run_id=run_id, by=by)


def sample_rows(
    records: Records, results: Sequence[MetricResult], *, run_id: str, by: Sequence[str]
) -> pa.Table:
    """As `samples`, of some records of a run: a field in `by` may be one that only others have."""
    names = [result.name for result in results]
    fields = [field for field in dict.fromkeys(by) if field not in SAMPLES.names]
    _refuse_clashes([*fields, *names])
    fixed = _fixed(records, run_id) | _outcomes(records, results)
    labels = [label_column(records, field) for field in fields]
    columns = [_score_column(scores_of(records, result)) for result in results]
    ordered = [fixed[name] for name in SAMPLES.names]
    return pa.table([*ordered, *labels, *columns], schema=samples_schema(names, fields))


def _refuse_clashes(names: list[str]) -> None:
    taken = set(SAMPLES.names)
    for name in names:
        if name in taken:
            raise UsageError(
                f"metric {name!r}: found a column of that name, wanted one name a column; rename the metric."
            )
        taken.add(name)


def _fixed(records: Records, run_id: str) -> dict[str, pa.Array[Any]]:
    """The columns of SAMPLES by name."""
    requires = records.numbers("requires_rag")
    retries = {name: records.sizes(f"{name}_attempts") for name in ("answer", "evidence")}
    return {
        "run_id": pa.repeat(pa.scalar(storable(run_id)), len(records)),
        "sample_id": _texts(records.column("sample_id")),
        "repeat": pa.array(records.numbers("repeat").astype(np.int64)),
        "query": _texts(_queries(records)),
        "requires_rag": pa.array(requires == 1, mask=np.isnan(requires)),
        "tags": _lists(records.column("tags")),
        **{name: _label(records, name) for name in _LABELS},
        **{f"{name}_error": _label(records, f"{name}_error.kind") for name in retries},
        **{f"{name}_retries": pa.array(np.maximum(tries - 1, 0)) for name, tries in retries.items()},
    }


def _outcomes(records: Records, results: Sequence[MetricResult]) -> dict[str, pa.Array[Any]]:
    """What became of each sample, and the least and the most that may have."""
    found = levels(records, results)._asdict()
    return {f"success_{name}": pa.array(column, type=pa.string()) for name, column in found.items()}


def _queries(records: Records) -> list[str]:
    """What the user said, the turns of a dialog one a line."""
    queries = list(records.column("query"))
    for row in np.flatnonzero(records.given("messages")).tolist():
        queries[row] = "\n".join(records[row].user_turns)
    return queries


def _texts(values: Sequence[str]) -> pa.Array[Any]:
    column: pa.Array[Any]
    try:
        column = pa.array(values, type=pa.string())
    except UnicodeEncodeError:  # half of a surrogate pair
        column = pa.array([storable(value) for value in values], type=pa.string())
    return column


def _lists(values: Sequence[Sequence[str]]) -> pa.Array[Any]:
    """A column of lists of texts, all of them given."""
    sizes = np.array([len(texts) for texts in values], dtype=np.int64)
    return listed(sizes, _texts([text for texts in values for text in texts]))


def listed(sizes: NDArray[np.int64], texts: pa.Array[Any]) -> pa.Array[Any]:
    """A column of lists of so many texts each (n,), which stand one after the other."""
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    column: pa.Array[Any] = pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), texts)
    return column.cast(SAMPLES.field("tags").type)


def _label(records: Records, field: str) -> pa.Array[Any]:
    """A column of few texts; null where there is none, or an empty one."""
    (codes,) = records.codes(field)
    found, places = np.unique(codes, return_inverse=True)
    texts = records.vocabulary
    labels = [storable(texts[code]) if code >= 0 else None for code in found.tolist()]
    column: pa.Array[Any] = pa.array(labels, type=pa.string()).take(places)
    return column


def label_column(records: Records, field: str) -> pa.Array[Any]:
    """The labels of each sample by a field; a sample without one has an empty list."""
    groups = records.groups(field)
    labels: pa.Array[Any] = pa.array([storable(label) for label in groups.labels], type=pa.string())
    sizes = np.bincount(groups.rows, minlength=len(records))
    return listed(sizes, labels.take(groups.codes))


def _score_column(column: Scores) -> pa.Array[Any]:
    return pa.array(column.values, type=pa.float64(), mask=~column.counted)


def keys_of(samples: pa.Table) -> list[str]:
    """The key of each sample of such a table."""
    return [*map(sample_key, *(samples[name].to_pylist() for name in KEYED))]
