"""The Markdown report: safe cells, and the numbers of the tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evalkit.contracts import EvalRecord
from evalkit.report.markdown import document, fenced, span
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
