"""Tables have fixed columns, and every mean can be had again from the samples."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import binomtest

from evalkit.contracts import EvalRecord, MetricResult
from evalkit.engines.local import local
from evalkit.errors import UnknownName, UsageError
from evalkit.records import Records
from evalkit.report import schemas, tables
from evalkit.report.parquet import write
from evalkit.slices import slice_mean
from evalkit.stats import bootstrap, mean_interval


def frame(table: pa.Table) -> pd.DataFrame:
    """The table as anybody reads it: from its Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        write([table], path := Path(folder) / "table.parquet", schema=table.schema)
        return pd.read_parquet(path)


def metric(records: list[EvalRecord], name: str = "m", **kw: bool) -> MetricResult:
    """A metric whose score is the field `score` of each record; null is not counted."""
    return MetricResult(
        name, *slice_mean(records, lambda record: (record.model_extra or {}).get("score")), **kw
    )


def slices(records: list[EvalRecord], *results: MetricResult, by: tuple[str, ...] = ()) -> pd.DataFrame:
    return frame(tables.slices(Records.of(records), results, run_id="r", eval_set_sha256="ab" * 32, by=by))


@pytest.mark.parametrize(
    "dimension", ["intent_l1", "intent_l2", "difficulty", "tags", "requires_rag", "overall"]
)
def test_every_slice_is_had_again_from_the_samples(rich_run: list[EvalRecord], dimension: str) -> None:
    """Grouping the samples by a label and averaging a column gives the row of `slices`, for every metric."""
    records = Records.of(rich_run)
    results = local(records)
    by = ("difficulty", "tags", "requires_rag")
    samples = frame(tables.samples(records, results, run_id="r"))
    found = frame(tables.slices(records, results, run_id="r", eval_set_sha256=None, by=by))
    names = [result.name for result in results]
    assert found[found.dimension == dimension].metric.unique().tolist() == names
    for name in names:
        wanted = found[(found.metric == name) & (found.dimension == dimension)].set_index("slice")
        rows = samples.assign(overall="").explode(dimension, ignore_index=True)
        again = rows.groupby(rows[dimension].dropna().map(str))[name].agg(["size", "count", "mean"])
        assert again["size"].to_dict() == wanted.n_total.to_dict()
        assert again["count"].to_dict() == wanted.n_counted.to_dict()
        assert again["mean"].to_dict() == pytest.approx(wanted["mean"].to_dict(), rel=1e-12, nan_ok=True)


def test_the_rich_run_has_every_trouble(rich_run: list[EvalRecord]) -> None:
    """The test above means something: there are nulls, repeats, failed channels and counted scores."""
    found = frame(tables.samples(Records.of(rich_run), local(rich_run), run_id="r"))
    assert found.repeat.max() == 1
    assert {"rejected", "ok"} <= set(found.answer_status)
    assert set(found.evidence_status) == {"ok", "error"}
    for name in ("intent_top1", "recall@5", "completion", "ttft_ms", "fallback_when_required"):
        assert 0 < found[name].count() < len(found), name


def test_means_are_those_of_the_results(rich_run: list[EvalRecord]) -> None:
    """The slices hold bit for bit what the metrics say themselves."""
    results = local(rich_run)
    found = slices(rich_run, *results)
    for result in results:
        rows = found[(found.metric == result.name) & (found.dimension == "intent_l2")].set_index("slice")
        means = {label: None if math.isnan(mean) else mean for label, mean in rows["mean"].items()}
        assert means == dict(result.by_intent_l2)


def test_samples_have_fixed_columns_then_one_a_metric(rich_run: list[EvalRecord]) -> None:
    results = local(rich_run)
    table = tables.samples(Records.of(rich_run), results, run_id="r")
    assert table.schema.names == [*schemas.SAMPLES.names, *(result.name for result in results)]
    assert table.schema == schemas.samples_schema([result.name for result in results])
    assert all(table.schema.field(result.name).type == pa.float64() for result in results)


COLUMNS = {
    "samples": """
        run_id sample_id repeat query intent_l1 intent_l2 intent_pred requires_rag difficulty trap_type tags
        answer_status evidence_status answer_error evidence_error answer_retries evidence_retries
        success_level success_least success_most""",
    "slices": """
        run_id metric dimension slice n_total n_counted mean ci_low ci_high lower_is_better signature
        is_pct worst_case""",
    "confusions": "run_id gold predicted n gold_n share keys",
    "latency": """
        run_id name n_total n_counted n_missing n_censored mean min p50 p90 p95 p99 max censored_at""",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_fixed_and_described(name: str) -> None:
    """A change here breaks the tables of older runs: it is meant to be noticed."""
    schema = getattr(schemas, name.upper())
    assert schema.names == COLUMNS[name].split()
    assert all(text for text in schemas.described(schema).values())


@pytest.mark.parametrize(
    "records",
    [[], [EvalRecord(sample_id="1")], [EvalRecord(sample_id="1", intent_l2="S1", tags=["a"])]],
    ids=["no record", "nothing known", "one label"],
)
def test_schemas_do_not_depend_on_the_records(records: list[EvalRecord], make_digest) -> None:
    found = make_digest(records).tables
    assert found.slices.schema == schemas.SLICES
    assert found.confusions.schema == schemas.CONFUSIONS
    assert found.latency.schema == schemas.LATENCY
    assert found.samples.schema.names[: len(schemas.SAMPLES)] == schemas.SAMPLES.names


def test_what_is_not_counted_is_null_not_zero() -> None:
    records = [EvalRecord(sample_id="1", intent_l2="S1", score=None), EvalRecord(sample_id="2", score=0.0)]
    result = metric(records)
    column = tables.samples(Records.of(records), [result], run_id="r")["m"].to_pylist()
    assert column == [None, 0.0]
    row = tables.slices(Records.of(records), [result], run_id="r", eval_set_sha256=None).to_pylist()[1]
    assert (row["slice"], row["n_total"], row["n_counted"]) == ("S1", 1, 0)
    assert row["mean"] is row["ci_low"] is row["ci_high"] is row["worst_case"] is None


@pytest.mark.parametrize(("right", "n"), [(17, 20), (0, 20), (20, 20), (1, 3)])
def test_rates_have_wilson_intervals(right: int, n: int) -> None:
    """The interval is that of scipy's binomtest(...).proportion_ci(method="wilson")."""
    records = [EvalRecord(sample_id=str(row), score=float(row < right)) for row in range(n)]
    row = slices(records, metric(records, is_rate=True)).iloc[0]
    wanted = binomtest(right, n).proportion_ci(method="wilson")
    assert (row.ci_low, row.ci_high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_what_is_not_a_rate_has_the_interval_of_the_bootstrap() -> None:
    records = [EvalRecord(sample_id=str(row), score=row / 4) for row in range(4)]
    row = slices(records, metric(records)).iloc[0]
    wanted = bootstrap([0, 0.25, 0.5, 0.75])
    assert (row.ci_low, row.ci_high) == (wanted.low, wanted.high)


def test_what_is_sliced_by_is_a_column_too() -> None:
    """Else its slices could not be had again from the samples."""
    records = [EvalRecord(sample_id=str(row), score=1.0, channel=f"c{row % 2}") for row in range(4)]
    table = tables.samples(Records.of(records), [metric(records)], run_id="r", by=("channel", "difficulty"))
    assert table["channel"].to_pylist() == [["c0"], ["c1"], ["c0"], ["c1"]]
    assert table.schema == schemas.samples_schema(["m"], ["channel"])


def test_no_interval_has_zero_width() -> None:
    """Scores that are all the same say nothing of their spread: Wilson over their sum bounds them."""
    records = [EvalRecord(sample_id=str(row), score=1.0) for row in range(3)]
    row = slices(records, metric(records)).iloc[0]
    assert (row.ci_low, row.ci_high) == pytest.approx((0.4385, 1.0), abs=1e-4)


@pytest.mark.parametrize(
    ("flags", "bound"),
    [({}, 0.45), ({"lower_is_better": True, "is_rate": True}, 0.95), ({"lower_is_better": True}, None)],
    ids=["a good thing: the rest is 0", "a bad thing: the rest is 1", "no worst score known"],
)
def test_worst_case_takes_what_was_not_counted_at_its_worst(
    flags: dict[str, bool], bound: float | None
) -> None:
    """Five of ten not counted, a mean of 0.9 over the rest: 0.45 at worst."""
    values = [1.0, 1.0, 1.0, 1.0, 0.5, *[None] * 5]
    records = [EvalRecord(sample_id=str(row), score=value) for row, value in enumerate(values)]
    row = tables.slices(Records.of(records), [metric(records, **flags)], run_id="r", eval_set_sha256=None)
    assert row["mean"][0].as_py() == pytest.approx(0.9)
    assert row["worst_case"][0].as_py() == (pytest.approx(bound) if bound is not None else None)


def test_a_sample_with_two_tags_is_in_two_slices() -> None:
    records = [
        EvalRecord(sample_id="1", tags=["a", "b"], score=1.0),
        EvalRecord(sample_id="2", tags=["b"], score=0.0),
    ]
    found = slices(records, metric(records), by=("tags",))
    assert found[found.dimension == "tags"].set_index("slice")["mean"].to_dict() == {"a": 1.0, "b": 0.5}


def test_slicing_by_a_field_that_nobody_has_is_refused() -> None:
    records = [EvalRecord(sample_id="1", score=1.0)]
    with pytest.raises(UnknownName, match=r"'dificulty'.*Did you mean 'difficulty'"):
        slices(records, metric(records), by=("dificulty",))


def test_slicing_by_a_field_of_ones_own_works() -> None:
    records = [EvalRecord(sample_id="1", score=1.0, shop="北京"), EvalRecord(sample_id="2", score=0.0)]
    found = slices(records, metric(records), by=("shop",))
    assert found[found.dimension == "shop"].slice.tolist() == ["北京"]


def test_crossed_fields_give_each_pair_of_labels_that_occurs() -> None:
    """A sample with two tags is in two pairs, one without a label of either field in none."""
    fields = [
        ("S1", ["a", "b"], 1.0),
        ("S1", ["b"], 0.0),
        ("S2", ["b"], 1.0),
        (None, ["a"], 1.0),
        ("S2", [], 0.0),
    ]
    records = [
        EvalRecord(sample_id=str(row), intent_l2=label, tags=tags, score=score)
        for row, (label, tags, score) in enumerate(fields)
    ]
    found = slices(records, metric(records), by=("intent_l2,tags",))
    rows = found[found.dimension == "intent_l2,tags"].set_index("slice")
    assert rows["mean"].to_dict() == {"S1,a": 1.0, "S1,b": 0.5, "S2,b": 1.0}
    assert rows.n_total.to_dict() == {"S1,a": 1, "S1,b": 2, "S2,b": 1}
    table = tables.samples(Records.of(records), [metric(records)], run_id="r", by=("intent_l2,tags",))
    assert table["intent_l2,tags"].to_pylist() == [["S1,a", "S1,b"], ["S1,b"], ["S2,b"], [], []]


def test_labels_with_commas_do_not_meet_when_crossed() -> None:
    pairs = [("a,b", "c"), ("a", "b,c"), ("a\\", "b"), ("a", "b")]
    records = [EvalRecord(sample_id=f"{l1}{l2}", intent_l1=l1, intent_l2=l2, score=1.0) for l1, l2 in pairs]
    found = slices(records, metric(records), by=("intent_l1,intent_l2",))
    labels = found[found.dimension == "intent_l1,intent_l2"].slice.tolist()
    assert labels == sorted([r"a\,b,c", r"a,b\,c", r"a\\,b", "a,b"])


def test_three_fields_are_crossed_like_the_labels_of_each_sample() -> None:
    records = [
        EvalRecord(
            sample_id=str(row),
            intent_l1="xy"[row % 2],
            intent_l2="uvw"[row % 3],
            difficulty="eh"[row % 5 > 2],
        )
        for row in range(60)
    ]
    groups = Records.of(records).groups("intent_l1,intent_l2,difficulty")
    told = {row: groups.labels[code] for row, code in zip(groups.rows, groups.codes, strict=True)}
    assert told == {row: f"{r.intent_l1},{r.intent_l2},{r.difficulty}" for row, r in enumerate(records)}
    assert list(groups.labels) == sorted(set(told.values()))


def test_a_part_of_a_crossing_that_nobody_has_is_refused() -> None:
    records = [EvalRecord(sample_id="1", score=1.0)]
    with pytest.raises(UnknownName, match=r"'dificulty'.*Did you mean 'difficulty'"):
        slices(records, metric(records), by=("intent_l1,dificulty",))


def test_the_target_of_a_run_is_a_label_of_all_its_records() -> None:
    """What the manifest tells; a field of that name in the records comes first."""
    rows = [EvalRecord(sample_id=str(row), intent_l1="xy"[row % 2], score=1.0) for row in range(4)]
    records = Records.of(rows)
    records.of_run = {"target": "demo"}
    assert records.groups("intent_l1,target").labels == ("x,demo", "y,demo")
    own = Records.of([EvalRecord(sample_id="1", target="mine"), EvalRecord(sample_id="2")])
    own.of_run = {"target": "demo"}
    assert own.groups("target").labels == ("mine",)
    assert Records.of(rows).groups("target").labels == ()


@pytest.mark.parametrize("n", [1, 2, 30, 1_000, 1_001, 3_000])
@pytest.mark.parametrize("kind", ["rate", "share", "time", "same"])
@pytest.mark.parametrize("repeats", [1, 2])
def test_intervals_of_many_slices_are_those_of_each(n: int, kind: str, repeats: int) -> None:
    """In closed form or drawn: `mean_interval` over the slice's scores, cases and repeats."""
    dice = np.random.default_rng(n)
    draws = {
        "rate": dice.integers(0, 2, n) * 1.0,
        "share": dice.integers(0, 4, n) / 3,
        "time": dice.normal(900, 50, n),
    }
    values = draws.get(kind, np.full(n, 1 / 3))
    records = [
        EvalRecord(sample_id=str(row // repeats), repeat=row % repeats, score=value)
        for row, value in enumerate(values)
    ]
    row = slices(records, metric(records, is_rate=kind == "rate")).iloc[0]
    clusters = np.arange(n) // repeats
    wanted = mean_interval(values, is_rate=kind == "rate", clusters=clusters)
    bounds = [math.nan if bound is None else bound for bound in wanted]
    assert [row.ci_low, row.ci_high] == pytest.approx(bounds, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("names", [["m", "m"], ["query"]], ids=["two of one name", "a fixed column"])
def test_columns_of_one_name_are_refused(names: list[str]) -> None:
    records = [EvalRecord(sample_id="1", score=1.0)]
    with pytest.raises(UsageError, match="rename the metric"):
        tables.samples(Records.of(records), [metric(records, name) for name in names], run_id="r")


def test_a_result_that_keeps_its_scores_in_a_dict_is_the_same() -> None:
    """A metric from elsewhere need not keep its scores in columns, nor in the order of the records."""
    records = [EvalRecord(sample_id=str(row), score=value) for row, value in enumerate([1.0, None, 0.5])]
    ours = metric(records)
    theirs = MetricResult("m", ours.overall, {}, {}, {"2": 0.5, "0": 1.0})
    assert slices(records, theirs).equals(slices(records, ours))


@pytest.mark.parametrize(
    ("sha256", "params", "wanted"),
    [
        ("0123456789abcdef", "", "m|v1|set:0123456789ab"),
        (None, "", "m|v1|set:?"),
        ("0123456789abcdef", 'a="x",k=5', 'm|v1|set:0123456789ab|a="x",k=5'),
    ],
    ids=["set known", "set unknown", "parameters"],
)
def test_signature(sha256: str | None, params: str, wanted: str) -> None:
    result = replace(metric([EvalRecord(sample_id="1", score=1.0)]), params=params)
    assert tables.signature(result, eval_set_sha256=sha256) == wanted


def test_half_a_surrogate_pair_is_spelled_out() -> None:
    r"""JSON can hold "\ud800" alone, UTF-8 cannot: the table shows it and nothing is lost in silence."""
    records = [EvalRecord(sample_id="1", query="a\ud83d", tags=["\udc00"], intent_l2="S\ud800", score=1.0)]
    row = frame(tables.samples(Records.of(records), [metric(records)], run_id="r\udcff")).iloc[0]
    assert (row.run_id, row.intent_l2, row["query"]) == ("r\\udcff", "S\\ud800", "a\\ud83d")
    assert list(row.tags) == ["\\udc00"]


def test_turns_of_a_dialog_are_one_a_line() -> None:
    records = [EvalRecord(sample_id="1", messages=["预约维修", "明天上午"])]
    assert tables.samples(Records.of(records), [], run_id="r")["query"].to_pylist() == ["预约维修\n明天上午"]


def test_what_became_of_each_task_is_a_column() -> None:
    """Mission, second plan, 4.2: the level stands with the sample; unknown is null, with what it can still be."""
    slots = [{"name": name, "value": f"{name}13800138000"} for name in "abcde"]
    task = {"intent_l2": "S", "response": "好", "required_slots": slots}
    records = [
        EvalRecord(sample_id="1", intent_pred="S", filled_slots=dict.fromkeys("abcd", "x"), **task),
        EvalRecord(sample_id="2", intent_pred="S", filled_slots=dict.fromkeys("abc", "x"), **task),
        EvalRecord(sample_id="3", intent_pred="T", filled_slots=dict.fromkeys("abcd", "x"), **task),
        EvalRecord(sample_id="4", evidence_status="error", filled_slots=dict.fromkeys("abcd", "x"), **task),
        EvalRecord(sample_id="5", intent_l2="S", intent_pred="S"),
    ]
    found = tables.samples(Records.of(records), local(records), run_id="r")
    assert found["success_level"].to_pylist() == ["success", "partial", "failure", None, None]
    assert found["success_least"].to_pylist() == ["success", "partial", "failure", "failure", None]
    assert found["success_most"].to_pylist() == ["success", "partial", "failure", "success", None]
