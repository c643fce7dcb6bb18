"""The Markdown report: safe cells, and the numbers of the tables."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evalkit.contracts import EvalRecord
from evalkit.report.gate import gate
from evalkit.report.markdown import document, fenced, span
from evalkit.report.policy import Policy
from evalkit.report.text import one_line, visible

READER = MarkdownIt("commonmark").enable("table")
HOSTILE = st.text(st.sampled_from("`|\\ *_[]()<>!#~\n\r\ta退"), max_size=30)


@given(HOSTILE)
def test_a_span_is_one_code_span_of_its_text(text: str) -> None:
    (inline,) = READER.parseInline(span(text)) if span(text) else (None,)
    kinds = [(part.type, part.content) for part in inline.children or ()] if inline else []
    assert kinds == ([("code_inline", one_line(text))] if one_line(text) else [])


@given(HOSTILE)
def test_a_fence_holds_its_text_whole(text: str) -> None:
    (block,) = READER.parse(fenced(text))
    assert block.type == "fence"
    assert block.content == visible(text).replace("\r", "\n") + "\n"


@pytest.mark.parametrize(
    ("text", "shown"), [("a" * 130, "`" + "a" * 120 + "…`"), ("", "")], ids=["long", "empty"]
)
def test_spans_end(text: str, shown: str) -> None:
    assert span(text) == shown


def test_long_answers_are_cut() -> None:
    assert fenced("x" * 9000).endswith("… 808 more bytes\n```")


def test_numbers_are_those_of_the_table(make_digest, rich_run: list[EvalRecord]) -> None:
    digest = make_digest(rich_run)
    text = document(digest).decode()
    for figure in digest.overall:
        arrow = " ↓" if figure.lower_is_better else ""
        cells = (f"`{figure.metric}`{arrow}", figure.value, figure.interval, figure.counted, figure.bound)
        assert f"| {' | '.join(cells)} |" in text


def test_ten_questions(make_digest, ten_questions: list[EvalRecord]) -> None:
    text = document(make_digest(ten_questions)).decode()
    assert "Micro mean 80.0% over all samples, macro mean 83.3% over 5 intents." in text
    assert "| `S3` | 50.0% | 9.5–90.5% | 2/2 | `S1` (1, 100.0% of its errors) | +10.0 (1.9–18.1) |" in text
    assert "| `S14` | 66.7% | 20.8–93.9% | 3/3 | `S15` (1, 100.0% of its errors) | +10.0 (1.8–23.8) |" in text


def test_what_does_not_fit_is_counted(make_digest) -> None:
    records = [EvalRecord(sample_id=str(row), intent_l2=f"L{row}") for row in range(25)]
    text = document(make_digest(records)).decode()
    assert "5 more are in slices.parquet." in text
    assert "5 more are in confusions.parquet." in text
    assert "5 more are in failures.jsonl." in text


def test_poor_runs_have_a_document(make_digest) -> None:
    assert b"0 of 0 samples failed" in document(make_digest([]))


def test_a_bar_in_a_label_parts_no_cell(make_digest) -> None:
    records = [EvalRecord(sample_id="1", intent_l2="a|b|c", intent_pred="d\\|e")]
    tokens = READER.parse(document(make_digest(records)).decode())
    spans = [part.content for token in tokens for part in token.children or () if part.type == "code_inline"]
    assert spans.count("a│b│c") == 2
    assert "d\\│e" in spans
    assert "50.0%" not in spans


def test_the_document_begins_with_the_verdict_and_counts_the_flips(make_digest, make_run) -> None:
    texts = {"query": ["能退吗？"] * 40, "intent_l2": ["S14"] * 40, "response": ["可以退。"] * 40}
    base, run = make_run([1] * 40, run_id="before", texts=texts), make_run([0] * 25 + [1] * 15, texts=texts)
    verdict = gate(run, base=base, policy=Policy(regression=("intent_top1",)), today=date(2026, 8, 26))
    text = document(make_digest([]), verdict).decode()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[:3] == ["# Report of `01RUN`", "## Verdict", "### What did not pass"]
    assert "**❌ REGRESSION** Run `run` against `before`, exit code 1." in text
    assert verdict.sentence in text
    flips = text.split("## Flips")[1].split("\n## ")[0]
    assert "`intent_top1`: 25 right → wrong, 0 wrong → right" in flips
    assert flips.count("❌ `q") == 20
    assert "5 more: `evalkit gate --json` has them." in flips


def test_without_a_verdict_the_document_speaks_of_none(make_digest) -> None:
    text = document(make_digest([])).decode()
    assert "## Verdict" not in text
    assert "## Flips" not in text
