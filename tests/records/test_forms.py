"""Forms only save time: what they match, the models accept, and as the very same record."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord, asked
from evalkit.engines.local import local
from evalkit.errors import BadData, NoInput, StorageError
from evalkit.reading import Reading, encode, read
from evalkit.records import load
from evalkit.records.fields import COLUMNS, of_rows
from evalkit.records.forms import Forms
from evalkit.records.sources import Lines

RUNS = settings(max_examples=100_000 if os.environ.get("HYPOTHESIS_PROFILE") == "golden" else 200)
"""How many generated runs are read both ways."""

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["S1", 'a"b', "a\\b", "\u2028", "null", "[]", ", ", '", "', "\n", "\x7f", "退货", "\U0001f600", ""]
)
NUMBERS = st.floats(0, 1e6) | st.integers(0, 10**6) | st.sampled_from([0, 0.1, 1e-7, 1e22, 2**53 - 1])
IDS = st.lists(TEXTS.filter(bool), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"name": TEXTS.filter(bool), "arguments": st.dictionaries(TEXTS, JSON, max_size=2)}
    ),
    max_size=2,
)
TURNS = st.lists(
    st.fixed_dictionaries({"reply": TEXTS}, optional={"tool_calls": st.none() | CALLS}), max_size=2
)
TIMINGS = st.fixed_dictionaries({}, optional=dict.fromkeys(("first_text_ms", "end_ms"), st.none() | NUMBERS))
ATTEMPT = st.fixed_dictionaries({"status": TEXTS, "total_ms": st.none() | NUMBERS})
LINES = st.fixed_dictionaries(
    {"sample_id": TEXTS.filter(bool) | st.integers(0, 9)},
    optional={
        "query": TEXTS,
        "messages": st.lists(TEXTS, max_size=2),
        "intent_l1": st.none() | TEXTS,
        "intent_l2": st.none() | TEXTS,
        "requires_rag": st.none() | st.booleans(),
        "reference_doc_ids": st.none() | IDS,
        "retrieved_doc_ids": st.none() | IDS,
        "intent_pred": st.none() | TEXTS,
        "intent_pred_all": st.none() | st.lists(st.none() | TEXTS, max_size=3),
        "tags": st.lists(TEXTS, max_size=2),
        "asked_at": st.none() | st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
        "response": st.none() | TEXTS,
        "answer_status": st.none() | st.sampled_from(["ok", "error"]),
        "answer_error": st.none()
        | st.fixed_dictionaries({"kind": TEXTS, "http_status": st.none() | st.just(500)}),
        "answer_attempts": st.lists(ATTEMPT, max_size=2),
        "answer_timings": st.none() | TIMINGS,
        "ttft_ms": st.none() | NUMBERS,
        "repeat": st.integers(0, 2),
        "from_cache": st.booleans(),
        "expected_tools": st.none() | CALLS,
        "tool_calls": st.none() | CALLS,
        "expected_turns": st.none() | st.integers(1, 3),
        "dialog": TURNS,
        "trace_ids": st.dictionaries(TEXTS, TEXTS, max_size=2),
        "own": JSON,
    },
)
STYLES = st.sampled_from([(", ", ": "), (",", ":")])


def written(rows: list[dict[str, Any]], style: tuple[str, str]) -> bytes:
    lines = (json.dumps(row, ensure_ascii=False, separators=style) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def in_columns(
    path: Path, *, learn_after: int = 0, block_bytes: int = 2_000
) -> tuple[Any, Reading[EvalRecord]]:
    """All columns of the file, read by forms as soon as there are some."""
    import pyarrow as pa

    reading = Reading[EvalRecord]()
    lines = Lines(path, learn_after=learn_after, block_bytes=block_bytes)
    parts = [part.columns for part in lines.batches(reading, rejecting=True)]
    return pa.concat_tables(parts).combine_chunks(), reading


def assert_same(path: Path, *, learn_after: int = 0, block_bytes: int = 2_000) -> None:
    """The columns by forms, and what became of the other lines, are those of the models alone."""
    found, reading = in_columns(path, learn_after=learn_after, block_bytes=block_bytes)
    exact = read(path, EvalRecord, torn_tail=True, rejecting=True)
    wanted = of_rows([asked(record, record.model_fields_set) for record in exact.items]).combine_chunks()
    for name in COLUMNS:
        assert found[name].to_pylist() == wanted[name].to_pylist(), name
    assert (reading.blank, reading.torn, reading.rejects) == (exact.blank, exact.torn, exact.rejects)


@RUNS
@given(st.lists(LINES, min_size=1, max_size=12), STYLES, st.integers(200, 20_000))
def test_columns_by_forms_are_those_of_the_models(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    style: tuple[str, str],
    block_bytes: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "forms.jsonl"  # one file: a folder each would be slow
    path.write_bytes(written(rows + rows, style))
    assert_same(path, block_bytes=block_bytes)


def results(records: Any) -> list[Any]:
    """All that the metrics say of the records, every score of every sample."""
    return [
        (one.name, one.overall, dict(one.by_intent_l1), dict(one.by_intent_l2), dict(one.per_sample))
        for one in local(records)
    ]


@given(st.lists(LINES, min_size=1, max_size=6), st.sampled_from([1, 2, 3]))
def test_any_run_scores_by_columns_as_by_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], times: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "scores.jsonl"
    path.write_bytes(written(rows * times, (", ", ": ")))
    try:
        by_rows = load(path)
    except (BadData, NoInput):
        return
    assert results(load(path, rows_up_to=0)) == results(by_rows)


def full(number: int, **fields: Any) -> bytes:
    """A line as this package writes it: every field in it."""
    said = {
        "intent_l2": f"S{number % 7}",
        "intent_pred": "S1",
        "response": f"答{number}",
        "ttft_ms": number / 7,
    }
    return encode(EvalRecord.model_validate({"sample_id": f"c{number}", **said, **fields}))


def mutations(line: bytes, n: int) -> list[bytes]:
    dice = random.Random(7)  # noqa: S311 - test data
    tokens = [
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"null",
        b"0",
        b"-",
        b".",
        b"\xff",
        b"\x00",
        b"\r",
    ]
    found = []
    for _ in range(n):
        place, token = dice.randrange(len(line) - 1), dice.choice(tokens)
        kept = line[place + dice.choice((0, 0, 1, 1, len(token), 9)) :]
        found.append(line[:place] + dice.choice((token, token, b"")) + kept)
    return found


def test_mutations_of_lines_that_forms_know_are_judged_by_the_models(tmp_path: Path) -> None:
    taught = [full(number) for number in range(64)]
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join([*taught, *mutations(taught[5], 1_500), b"\n", *taught]))
    assert_same(path)


ATTEMPTS = [
    [],
    [{"status": "ok", "total_ms": 1.5, "error": None}],
    [{"status": "error"}, {"status": "ok"}],
    None,
]
TOOLS = [None, [], [{"name": "a", "arguments": {}}], [{"name": "a", "arguments": {"b": 1}}, {"name": "c"}]]
TURN = {"reply": "a", "tool_calls": [{"name": "a", "arguments": {"b": 1}}]}
SIZES: dict[str, list[Any]] = {
    "answer_attempts": ATTEMPTS,
    "evidence_attempts": ATTEMPTS,
    "expected_tools": TOOLS,
    "tool_calls": TOOLS,
    "required_slots": [[], [{"name": "phone"}], None],
    "rules": [[], [{"type": "safety"}], [{"type": "safety"}, {"type": "safety", "weight": 2}]],
    "expectation": [None, {"behavior": "x"}, {"keywords": ["a"]}],
    "expected_turns": [None, 1, 2],
    "asked_at": [None, "2026-08-26T10:00:00Z", "2026-02-28T10:00:00+08:00"],
    "rule_pass_threshold": [None, 0.5, 1],
    "retrieved_chunk_ids": [None, [], ["a"], ["a", "b"]],
    "judgements": [{}, {"x": {"status": "ok", "score": 1}}, None],
    "expectation ": [None, {}, "a sentence", {"behavior": "x"}],
    "answer_status": ["ok", "error", None],
    "rule_logic": ["all", None, "any"],
    "ttft_ms": [1.5, 2, 12345678901234567890, 9007199254740993, 1e22, None],
    "own": [1, 1764489600123456789, 2**53, 0.5, None],
    "intent_pred_all": [["a"], [None, "a"], [], None],
    "dialog": [[], [{"sent_message": "a"}], [{"sent_message": "a"}, {"sent_message": "b"}]],
    "dialog ": [[TURN], [{**TURN, "tool_calls": []}], [], [TURN, TURN]],
}


@pytest.mark.parametrize("taught", range(4))
@pytest.mark.parametrize("field", SIZES)
def test_what_is_empty_is_told_from_what_is_not(tmp_path: Path, field: str, taught: int) -> None:
    """Taught by one kind of value alone, a form says nothing wrong of the others."""
    values, field = SIZES[field], field.strip()
    first = {"sample_id": "a", field: values[taught % len(values)], "intent_pred": "b", "tags": []}
    rows = [{**first, "sample_id": f"a{number}"} for number in range(40)]
    rows += [{**first, "sample_id": f"b{number}", field: value} for number, value in enumerate(values * 3)]
    rows += [{**row, "intent_pred": None, "tags": ["t"], "from_cache": True} for row in rows[-9:]]
    rows += [{**row, "tool_calls": calls} for calls in (None, [], TOOLS[3], None) for row in rows[-9:]]
    path = tmp_path / "run.jsonl"
    for style in ((", ", ": "), (",", ":")):
        path.write_bytes(written(rows, style))
        assert_same(path, learn_after=600)


@pytest.mark.parametrize("key", ["usage.completion_tokens", "dialog#", "calls_made()", "calls_made"])
def test_a_key_of_somebody_else_is_no_column(tmp_path: Path, key: str) -> None:
    """Though it is called as one of ours is."""
    assert key in COLUMNS or key == "calls_made"
    path = tmp_path / "run.jsonl"
    path.write_bytes(written([{"sample_id": f"a{n}", key: n} for n in range(60)], (", ", ": ")))
    assert_same(path, learn_after=600)


def test_forms_take_most_lines_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(full(number) for number in range(300)))
    reading = Reading[EvalRecord]()
    parts = list(Lines(path, learn_after=4_000).batches(reading))
    taken = sum(len(part.columns) for part in parts)
    assert taken == 300

    forms = Forms()
    lines = path.read_bytes().splitlines()
    forms.learn((line, EvalRecord.model_validate_json(line)) for line in lines[:32])
    (form,) = forms.known
    assert all(form.expression.fullmatch(line + b"\n") for line in lines[32:])


def test_a_text_that_goes_on_in_the_next_line_is_no_line(tmp_path: Path) -> None:
    """Cut by a raw line end inside a text, the two halves together look like a line of the form."""
    path = tmp_path / "run.jsonl"
    cut = full(7).replace("答7".encode(), "答\n7".encode())
    path.write_bytes(b"".join(full(number) for number in range(40)) + cut + full(8))
    assert_same(path, learn_after=4_000, block_bytes=1 << 20)


@pytest.mark.parametrize(
    ("fields", "odd"),
    [
        ({"intent_pred": None, "intent_pred_all": [None]}, False),
        ({"intent_pred": None, "intent_pred_all": ["", None]}, False),
        ({"intent_pred": "", "intent_pred_all": []}, False),
        ({"intent_pred": None, "intent_pred_all": [None, "S2"]}, True),
        ({"intent_pred": "", "intent_pred_all": ["S2"]}, True),
        ({"intent_pred": "S1", "intent_pred_all": ["S2"]}, False),
    ],
)
def test_only_a_prediction_that_the_models_would_fill_in_is_odd(
    fields: dict[str, Any],
    odd: bool,  # noqa: FBT001
) -> None:
    """Chat turns have no intent: their lines are as good as any other."""
    taught = [
        {
            "sample_id": f"c{number}",
            "intent_pred": f"S{number}",
            "intent_pred_all": ["S1", None][: number % 3],
        }
        for number in range(40)
    ]
    forms = Forms()
    lines = written(taught, (", ", ": ")).splitlines()
    forms.learn((line, EvalRecord.model_validate_json(line)) for line in lines)
    (form,) = forms.known
    (line,) = written([{"sample_id": "x", **fields}], (", ", ": ")).splitlines(keepends=True)
    found = form.expression.fullmatch(line)
    assert found
    assert form.odd([[cell] for cell in found.groups()], 1) == ([0] if odd else [])


@pytest.mark.parametrize("said", [{}, {"intent_pred": None}, {"intent_pred": ""}])
@pytest.mark.parametrize("several", [[None], [], None, ["", None], ["S2"]])
def test_a_prediction_filled_in_for_one_line_is_none_of_another(
    tmp_path: Path, several: list[str | None] | None, said: dict[str, Any]
) -> None:
    """Learned from lines that name several predictions and not the first, a form knows nothing of the first."""
    rows = [{"sample_id": f"c{number}", **said, "intent_pred_all": ["S1"]} for number in range(20)]
    rows += [{"sample_id": f"d{number}", **said, "intent_pred_all": several} for number in range(20)]
    path = tmp_path / "run.jsonl"
    for ordered in (rows, rows[::2] + rows[1::2]):
        path.write_bytes(written(ordered * 2, (", ", ": ")))
        assert_same(path, learn_after=600)


def test_forms_know_values_of_which_only_json_is_asked() -> None:
    """Arguments of calls and values of slots may be any JSON; lines with them are of a form too."""
    slots = [{"name": "phone", "value": "13800138000"}]
    lines = [
        full(
            n,
            required_slots=slots,
            tool_calls=[{"name": f"t{n % 3}", "arguments": {"order": f"A{n}", "n": n}}],
        )
        for n in range(40)
    ]
    forms = Forms()
    forms.learn((line[:-1], EvalRecord.model_validate_json(line)) for line in lines[:20])
    (form,) = forms.known
    assert all(form.expression.fullmatch(line) for line in lines[20:])


@pytest.mark.parametrize("end", [b"", b'{"sample_id": "torn', b"\n\n", b"\xef\xbb\xbf"])
def test_a_run_by_columns_scores_as_by_rows(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "run.jsonl"
    lines = [full(number % 90, repeat=number % 2, tags=["a", "b"][: number % 3]) for number in range(120)]
    head = end if end.startswith(b"\xef") else b""
    path.write_bytes(head + b"".join(lines) + (b"" if head else end))
    rows, columns = load(path), load(path, rows_up_to=0)
    assert list(columns) == list(rows)
    assert columns.keys == rows.keys
    assert (columns.superseded, columns.torn) == (rows.superseded, rows.torn)
    assert results(columns) == results(rows)


def test_a_row_that_changed_since_is_not_made_up(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(full(1) + full(2))
    records = load(path, rows_up_to=0)
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(StorageError, match="changed while it was read"):
        records[1]


def test_other_records_in_some_rows(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(full(number) for number in range(4)))
    new = EvalRecord(sample_id="c2", intent_l2="S9", required_slots=({"name": "phone"},))  # type: ignore[arg-type]
    for rows_up_to in (0, 1 << 20):
        found = load(path, rows_up_to=rows_up_to).replaced({2: new})
        assert found[2] == new
        assert found.column("intent_l2") == ["S0", "S1", "S9", "S3"]
        assert found.given("required_slots").tolist() == [False, False, True, False]
