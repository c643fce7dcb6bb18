"""The terminal views: 80 columns, Chinese in line, the numbers of the tables."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from evalkit.contracts import EvalRecord, Manifest
from evalkit.report.digest import Digest
from evalkit.report.sample import layout
from evalkit.report.terminal import sample_view, summary_view, worst_view
from evalkit.report.worst import worst


def printed(view: RenderableType, *, width: int = 80) -> list[str]:
    sink = io.StringIO()
    Console(file=sink, width=width).print(view)
    return [line.rstrip() for line in sink.getvalue().splitlines()]


def ranked(digest: Digest) -> RenderableType:
    found = digest.tables
    rows = worst(found.slices, found.confusions, by="intent_l2", metric="intent_top1")
    return worst_view(rows, overall=digest.overall[0])


@pytest.fixture
def chinese(make_digest) -> Digest:
    labels = ["S14_退换货咨询", "S3_对比选购", "F1_投诉", "S1"]
    return make_digest(
        [
            EvalRecord(
                sample_id=f"例{row}",
                query="买了两周的耳机能退吗",
                intent_l2=label,
                intent_pred="S15_保修维修",
            )
            for row, label in enumerate(labels * 2)
        ]
    )


def test_columns_are_in_line_whatever_the_labels(chinese: Digest) -> None:
    """Wide characters take two cells: the right edge of the numbers is the same in each row."""
    lines = printed(ranked(chinese))
    rows = [line for line in lines if "保修维修" in line]
    assert len(rows) == 4
    edges = {
        tuple(cell_len(line[: line.index(part)]) for part in ("0.0%  ", "2/2", "S15_保修维修"))
        for line in rows
    }
    assert len(edges) == 1


@pytest.mark.parametrize("width", [80, 60])
def test_no_line_is_wider_than_the_terminal(chinese: Digest, width: int) -> None:
    record = chinese.run.records[0].model_copy(update={"response": "退" * 500 + "x" * 500})
    files = {"report.html": Path("reports/01RUN/report.html"), "a.csv": Path("reports/01RUN/a.csv")}
    for view in (summary_view(chinese, files=files), ranked(chinese), sample_view(record)):
        assert max(cell_len(line) for line in printed(view, width=width)) <= width


def test_the_summary_says_it_all(make_digest, rich_run: list[EvalRecord]) -> None:
    digest = make_digest(rich_run)
    files = {
        "report.html": Path("reports/01RUN/report.html"),
        "summary.json": Path("reports/01RUN/summary.json"),
    }
    text = "\n".join(printed(summary_view(digest, files=files)))
    for figure in digest.headline:
        found = re.search(rf"^{re.escape(figure.metric)} .*$", text, re.MULTILINE)
        assert found, figure.metric
        for part in (figure.value, figure.interval, figure.counted):
            assert part in found[0]
    for row in digest.worst_intents[:5]:
        assert re.search(
            rf"^{re.escape(row.figure.slice)} +{row.figure.value}.* {row.figure.counted} ", text, re.MULTILINE
        )
    assert f"{len(digest.failures.failed)} of {len(rich_run)} samples" in text
    assert f"intent {digest.failures.by_gate['intent']}" in text
    assert "reports/01RUN/report.html" in text
    assert "beside it: summary.json" in text
    alone = "\n".join(printed(summary_view(digest, files={"a.csv": Path("reports/01RUN/a.csv")})))
    assert "in reports/01RUN/: a.csv" in alone
    assert len(text.splitlines()) <= 47


def test_times_stand_with_their_counts(make_digest) -> None:
    records = [EvalRecord(sample_id=str(row), ttft_ms=100.0 * (row + 1)) for row in range(20)]
    lines = printed(summary_view(make_digest(records), files={}))
    (line,) = (line for line in lines if line.startswith("first text"))
    assert line.split(maxsplit=2)[2] == "p50 1.00 s · p95 1.90 s · counted 20/20"


def test_failed_channels_are_told(make_digest) -> None:
    error = {"kind": "http_status"}
    records = [
        EvalRecord(sample_id="1"),
        EvalRecord.model_validate({"sample_id": "2", "evidence_status": "error", "evidence_error": error}),
    ]
    lines = printed(summary_view(make_digest(records), files={}))
    assert any(re.fullmatch(r"evidence channel +ok 1/2 · error 1", line) for line in lines)


def test_an_incomplete_run_is_marked(make_digest, manifest: Manifest) -> None:
    digest = make_digest(
        [EvalRecord(sample_id="1")], manifest=manifest.model_copy(update={"state": "interrupted"})
    )
    lines = printed(summary_view(digest, files={}))
    assert "demo · eval_set_v1.jsonl · 1 sample · interrupted, 1 of 10" in lines
    assert "! The run is not complete: 1 of 10 samples are there." in lines


def test_a_sample_is_shown_whole(make_digest) -> None:
    """Every text of the record is there, uncut, control characters spelled out."""
    texts = [
        "能退吗？",
        "七天内可以退。",
        "应答" * 50,
        "想了想",
        "S14_退换货咨询",
        "S15_保修维修",
        "DOC_1",
        "DOC_2",
        "系统繁忙",
        "值",
    ]
    query, reference, response, thinking, gold, given, doc, other, message, extra = texts
    record = EvalRecord.model_validate(
        {
            "sample_id": "s1",
            "query": query,
            "reference": reference,
            "response": response + "\x1b[2J",
            "thinking": thinking,
            "intent_l2": gold,
            "intent_pred": given,
            "reference_doc_ids": [doc],
            "retrieved_doc_ids": [other],
            "answer_error": {"kind": "rejected", "message": message},
            "answer_status": "rejected",
            "answer_timings": {"first_event_ms": 3.5},
            "own": extra,
        }
    )
    text = "".join(printed(sample_view(record), width=400))
    for part in [*texts, "\\x1b[2J", "missing: DOC_1", "first_event_ms=3.5", "own"]:
        assert part in text


def test_poor_runs_have_a_summary(make_digest) -> None:
    assert any("0 of 0 samples" in line for line in printed(summary_view(make_digest([]), files={})))


def test_a_sample_shows_what_judges_said_and_where_its_documents_come_from() -> None:
    record = EvalRecord.model_validate(
        {
            "sample_id": "1",
            "query": "能退吗",
            "evidence_source": "stream",
            "judgements": {"faithfulness": {"score": 0.75, "reason": "四条里有三条有据", "judge": "m@v1"}},
        }
    )
    rows = {name: text for section in layout(record) for name, text in section.rows}
    assert rows["faithfulness"] == "score 0.75 · 四条里有三条有据 · m@v1"
    assert rows["documents from"] == "stream"


def test_each_slot_and_step_says_where_it_was_found() -> None:
    """Provenance: which source tells it, in which turn, and where in its text; and where sources differ."""
    record = EvalRecord.model_validate(
        {
            "sample_id": "1",
            "response": "已登记",
            "required_slots": [
                {"name": "phone", "type": "phone", "value": "13800138000"},
                {"name": "color", "values": ["红色", "蓝色"]},
            ],
            "required_steps": [
                {"name": "record", "keywords": ["已登记"], "after": ["greet"]},
                {"name": "greet", "keywords": ["您好"]},
            ],
            "filled_slots": {"phone": "13900139000"},
            "dialog": [
                {"sent_message": "电话是13800138000", "reply": "已登记"},
                {"sent_message": "谢谢", "reply": "您好"},
            ],
        }
    )
    rows = {name: text for section in layout(record) for name, text in section.rows}
    assert rows["found slots"].splitlines() == [
        "phone: stated 13800138000 (user, turn 1, 3–14), reported 13900139000",
        "color: not found",
    ]
    assert rows["found steps"].splitlines() == [
        "record (agent, turn 1, too early: lacks greet)",
        "greet (agent, turn 2)",
    ]
    assert rows["sources differ"].startswith("phone: values: stated 13800138000")
