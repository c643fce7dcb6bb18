"""The columns of the tables, in order: the same for every run, each described in its own metadata.

A column that is never null says so. `samples` goes on after its fixed columns with one float64 column a
metric, null where the sample was not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

__all__ = ["CONFUSIONS", "LATENCY", "SAMPLES", "SLICES", "described", "samples_schema"]

_TEXT, _WHOLE, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_TEXTS = pa.list_(pa.field("element", pa.string(), nullable=False))


def _given(name: str, kind: pa.DataType, meaning: str) -> pa.Field[Any]:
    return pa.field(name, kind, nullable=False, metadata={"description": meaning})


def _maybe(name: str, kind: pa.DataType, meaning: str) -> pa.Field[Any]:
    return pa.field(name, kind, nullable=True, metadata={"description": meaning})


SAMPLES: pa.Schema = pa.schema(
    [
        _given("run_id", _TEXT, "The run that the sample belongs to."),
        _given("sample_id", _TEXT, "The case; unique in the run together with `repeat`."),
        _given("repeat", _WHOLE, "Which repeat of the case, from 0."),
        _given("query", _TEXT, "What the user asked; the turns of a dialog one a line."),
        _maybe("intent_l1", _TEXT, "Gold label of the first level; null where the case has none."),
        _maybe("intent_l2", _TEXT, "Gold label of the second level; null where the case has none."),
        _maybe("intent_pred", _TEXT, "The label that the target gave; null where it gave none."),
        _maybe("requires_rag", _FLAG, "Whether a right answer needs documents; null where nobody said so."),
        _maybe("difficulty", _TEXT, "How hard the case is, in the words of its eval set."),
        _maybe("trap_type", _TEXT, "What the case tries to trip the target with."),
        _given("tags", _TEXTS, "The tags of the case, in its order."),
        _given(
            "answer_status", _TEXT, "How the answer channel ended: ok, incomplete, cancelled, rejected, …"
        ),
        _given("evidence_status", _TEXT, "How the evidence channel ended: ok, error or skipped."),
        _maybe("answer_error", _TEXT, "Kind of the answer channel's error; null where there was none."),
        _maybe("evidence_error", _TEXT, "Kind of the evidence channel's error; null where there was none."),
        _given("answer_retries", _WHOLE, "Attempts of the answer channel after the first."),
        _given("evidence_retries", _WHOLE, "Attempts of the evidence channel after the first."),
        _maybe(
            "success_level",
            _TEXT,
            "What became of the task: success, partial or failure; null where unknown.",
        ),
        _maybe("success_least", _TEXT, "The same if all that is unknown of it were bad; null: no task."),
        _maybe("success_most", _TEXT, "The same if all that is unknown of it were good; null: no task."),
    ]
)
"""One row a sample, in the order of the run; the metrics' columns follow."""

SLICES: pa.Schema = pa.schema(
    [
        _given("run_id", _TEXT, "The run that was measured."),
        _given("metric", _TEXT, "Name of the metric; the column of `samples` that it averages."),
        _given(
            "dimension",
            _TEXT,
            "What the slice is a slice of: overall, intent_l1, …; fields crossed have commas: a,b.",
        ),
        _given("slice", _TEXT, "Label of the slice, crossed labels as a,b; empty for overall."),
        _given("n_total", _WHOLE, "Samples with that label."),
        _given("n_counted", _WHOLE, "Those of them that the metric counts."),
        _maybe("mean", _REAL, "Mean score of the counted samples; null where nothing was counted."),
        _maybe(
            "ci_low",
            _REAL,
            "Lower end of the 95 % interval: Wilson for rates, bootstrap for others; null where unknown.",
        ),
        _maybe("ci_high", _REAL, "Upper end of the same interval."),
        _given("lower_is_better", _FLAG, "Whether a smaller mean is the better one."),
        _given("signature", _TEXT, "Metric, version, eval set, parameters: only equal ones may be compared."),
        _given(
            "is_pct", _FLAG, "Whether the mean is shown as a percentage; it is stored in 0–1 all the same."
        ),
        _maybe(
            "worst_case", _REAL, "The mean if each sample not counted had the worst score; null if unknown."
        ),
    ]
)
"""One row a metric and slice; rows stand by metric, then dimension, then label."""

CONFUSIONS: pa.Schema = pa.schema(
    [
        _given("run_id", _TEXT, "The run that was measured."),
        _given("gold", _TEXT, "The right label."),
        _maybe("predicted", _TEXT, "The wrong label given instead; null where none was given."),
        _given("n", _WHOLE, "Samples that went this way."),
        _given("gold_n", _WHOLE, "Counted samples with that right label."),
        _given("share", _REAL, "Share of the right label's errors that went this way."),
        _given("keys", _TEXTS, "The samples, as `sample_id` or `sample_id#repeat`."),
    ]
)
"""One row an error direction, most samples first."""

LATENCY: pa.Schema = pa.schema(
    [
        _given("run_id", _TEXT, "The run that was measured."),
        _given("name", _TEXT, "What was timed; milliseconds where the name ends in _ms."),
        _given("n_total", _WHOLE, "Samples of the run."),
        _given("n_counted", _WHOLE, "Samples that have the figure; those cut off are not among them."),
        _given("n_missing", _WHOLE, "Samples without it."),
        _given(
            "n_censored", _WHOLE, "Samples cut off by a deadline: known only to have taken at least so long."
        ),
        *(
            _maybe(name, _REAL, f"{meaning}; null where too few samples tell.")
            for name, meaning in (
                ("mean", "Mean of the counted"),
                ("min", "Smallest"),
                ("p50", "Median, by nearest rank"),
                ("p90", "90th percentile, by nearest rank"),
                ("p95", "95th percentile, by nearest rank"),
                ("p99", "99th percentile, by nearest rank"),
                ("max", "Largest"),
            )
        ),
        _maybe(
            "censored_at", _REAL, "From this value on a percentile means at least; null if none was cut off."
        ),
    ]
)
"""One row a timed figure; the percentiles are over the counted and the cut-off samples together."""


def samples_schema(metrics: Sequence[str], fields: Sequence[str] = ()) -> pa.Schema:
    """The columns of `samples`, those of further `fields` that are sliced by, and one a metric, in order."""
    labels = [
        _given(name, _TEXTS, f"Labels of the sample by {name}, which was sliced by.") for name in fields
    ]
    columns = [_maybe(name, _REAL, f"Score by {name}; null where not counted.") for name in metrics]
    return pa.schema([*SAMPLES, *labels, *columns])


def described(schema: pa.Schema) -> dict[str, str]:
    """What each column means, by name."""
    return {field.name: (field.metadata or {})[b"description"].decode() for field in schema}
