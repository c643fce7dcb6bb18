"""Task completion: golden cases, the extractor's evidence, an independent row form."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalkit import EvalRecord
from evalkit.contracts import SlotSpec, StepSpec, ToolCall, Turn
from evalkit.errors import UsageError
from evalkit.metrics import completion

TABLE = Path(__file__).parents[1] / "golden" / "completion.jsonl"
GOLDEN = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    """What one record scores."""
    assert case["source"]
    record = EvalRecord(sample_id="1", **case["record"])
    found = {result.name: result.overall for result in completion.compute([record])}
    for name, value in case["scores"].items():
        assert found[name] == (value if value is None else pytest.approx(value, abs=5e-5)), name


letters = st.sampled_from(("1", "3", "8", "０", "é", "e\u0301", "上", "海", "Ａ", "b", " ", "㌔", "ß"))
texts = st.lists(letters, max_size=8).map("".join)
ways = st.sampled_from(("138", "8", "1", "上海", "ab", "é", "SS", "キロ", "㌔"))
slots = st.lists(
    st.builds(
        SlotSpec,
        name=st.sampled_from(("a", "b", "c")),
        value=st.none() | ways | st.sampled_from((138, 8.0, True)),
        aliases=st.lists(ways, max_size=2),
        pattern=st.sampled_from((None, None, r"\d{2}", "A+b")),
    ),
    max_size=3,
)
steps = st.lists(
    st.builds(
        StepSpec,
        name=st.sampled_from("xyz"),
        after=st.lists(st.sampled_from("xyz"), max_size=1),
        keywords=st.lists(ways, max_size=2),
        tool=st.sampled_from((None, "find", "book")),
    ),
    max_size=3,
)
calls = st.lists(st.builds(ToolCall, name=st.sampled_from(("find", "book"))), max_size=2)
state = st.none() | st.dictionaries(st.sampled_from("abcd"), st.sampled_from((None, "", "138", 8, True, [])))
turns = st.builds(Turn, sent_message=texts, reply=texts, tool_calls=calls, filled_slots=st.none() | state)
runs = st.lists(
    st.fixed_dictionaries(
        {
            "intent_l1": st.sampled_from((None, "SUPPORT")),
            "intent_l2": st.sampled_from((None, "S1")),
            "query": texts,
            "messages": st.lists(texts, max_size=2),
            "required_slots": slots,
            "required_steps": steps,
            "response": st.none() | texts,
            "dialog": st.lists(turns, max_size=2),
            "tool_calls": st.none() | calls,
            "filled_slots": state,
            "done_steps": st.none() | st.lists(st.sampled_from("wxyz"), max_size=4),
            "answer_status": st.sampled_from(("ok", "ok", "ok", "error")),
        }
    ),
    max_size=4,
).map(lambda rows: [EvalRecord(sample_id=str(place), **row) for place, row in enumerate(rows)])


def fold(text: str) -> str:
    """The whole text at once, unlike the extractor, which must keep track of places."""
    return unicodedata.normalize("NFKC", text).casefold()


def written(value: object) -> str | None:
    if isinstance(value, bool) or value is None or isinstance(value, (list, dict)):
        return None
    return fold(str(int(value)) if isinstance(value, float) else str(value)).strip() or None


def is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()


def holds(text: str, way: str) -> int | None:
    """Where the way to write something first stands in a folded text, not inside a longer number or word."""
    for start in range(len(text) - len(way) + 1):
        end = start + len(way)
        if text[start:end] != way:
            continue
        inside = is_latin(way[0]) and start > 0 and is_latin(text[start - 1])
        if not inside and not (is_latin(way[-1]) and end < len(text) and is_latin(text[end])):
            return start
    return None


def conversation(record: EvalRecord) -> list[tuple[str, str]] | None:
    if record.dialog:
        return [(turn.sent_message, turn.reply) for turn in record.dialog]
    if record.response is None:
        return None
    users = list(record.messages or [record.query])
    return [(user, record.response if place == len(users) - 1 else "") for place, user in enumerate(users)]


def filled(record: EvalRecord) -> dict[str, object] | None:
    """The required slots that were filled, each with its value in folded writing."""
    specs = {slot.name: slot for slot in record.required_slots}
    reports = [record.filled_slots, *(turn.filled_slots for turn in reversed(record.dialog))]
    report = next((report for report in reports if report is not None), None)
    if report is not None:
        empty = ("", [], {})
        return {
            name: report[name] for name in specs if report.get(name) is not None and report[name] not in empty
        }
    said = conversation(record)
    found: dict[str, object] = {}
    for name, slot in specs.items():
        known = [way for way in map(written, (slot.value, *slot.aliases)) if way]
        if said is None or not (known or slot.pattern):
            return None
        everything = [fold(text) for exchange in said for text in exchange]
        way = next((way for way in known if any(holds(text, way) is not None for text in everything)), None)
        regex = re.compile(slot.pattern, re.IGNORECASE) if slot.pattern else None
        match = next((match for text in everything if regex and (match := regex.search(text))), None)
        if way or match:
            found[name] = way or match[0]
    return found


def slot_row(record: EvalRecord) -> float | None:
    found = filled(record)
    if record.answer_status != "ok" or not record.required_slots or found is None:
        return None
    return len(found) / len({slot.name for slot in record.required_slots})


def value_row(record: EvalRecord) -> float | None:
    found = filled(record)
    valued = [
        slot
        for slot in {slot.name: slot for slot in record.required_slots}.values()
        if slot.value is not None
    ]
    if record.answer_status != "ok" or not valued or found is None:
        return None
    right = 0
    for slot in valued:
        value = found.get(slot.name)
        if written(value):
            right += written(value) in [written(way) for way in (slot.value, *slot.aliases)]
        else:
            right += value is not None and value is slot.value
    return right / len(valued)


def calls_by_turn(record: EvalRecord) -> dict[int, tuple[ToolCall, ...]] | None:
    if any(turn.tool_calls for turn in record.dialog):
        return {place: turn.tool_calls for place, turn in enumerate(record.dialog)}
    last = max(len(record.dialog) - 1, 0)
    return None if record.tool_calls is None else {last: record.tool_calls}


def deeds(record: EvalRecord) -> list[set[str]] | None:
    """The steps that show at each moment, in order; null where that cannot be known."""
    if record.done_steps is not None:
        return [{name} for name in record.done_steps]
    said, made = conversation(record), calls_by_turn(record)
    specs = list({step.name: step for step in record.required_steps}.values())
    if said is None or not all(step.keywords or (step.tool and made is not None) for step in specs):
        return None
    moments: list[set[str]] = []
    for turn, (_, reply) in enumerate(said):
        called = (made or {}).get(turn, ())
        moments += [{step.name for step in specs if step.tool == call.name} for call in called]
        text = fold(reply)
        moments += [{step.name for step in specs if says(text, start, step)} for start in range(len(text))]
    return moments


def says(text: str, start: int, step: StepSpec) -> bool:
    """Whether a keyword of the step stands at that very place of a folded text."""
    before = text[start - 1] if start else ""
    return any(holds(before + text[start:], written(word) or "") == len(before) for word in step.keywords)


def done(record: EvalRecord) -> set[str] | None:
    moments = deeds(record)
    if moments is None:
        return None
    specs = {step.name: step for step in record.required_steps}
    found: set[str] = set()
    for moment in moments:
        before = set(found)
        found |= {name for name in moment if name in specs and before >= set(specs[name].after)}
    return found


def step_row(record: EvalRecord) -> float | None:
    found = done(record)
    if record.answer_status != "ok" or not record.required_steps or found is None:
        return None
    return len(found) / len({step.name for step in record.required_steps})


def completion_row(record: EvalRecord) -> float | None:
    slot, step = slot_row(record), step_row(record)
    if not record.required_slots or not record.required_steps:
        return step if record.required_steps else slot
    return None if slot is None or step is None else 0.4 * slot + 0.6 * step


two_of_one_pattern = EvalRecord(
    sample_id="1",
    query="b 13",
    response="",
    required_slots=[SlotSpec(name="a", pattern=r"\d{2}"), SlotSpec(name="b", pattern=r"\d{2}")],
)
"""Both slots match; that the word `b` stands beside takes nothing from `a`."""

ROWS = {
    "slot_completion": slot_row,
    "step_completion": step_row,
    "completion": completion_row,
    "slot_value_accuracy": value_row,
}


@given(records=runs)
@example(records=[two_of_one_pattern])
def test_scores_equal_rows(agree: Callable[..., None], records: list[EvalRecord]) -> None:
    """Whatever the run, completion is what an independent row form says, and in range."""
    results = completion.compute(records)
    agree(results, records, ROWS)
    scores = [score for result in results for score in result.per_sample.values() if score is not None]
    assert all(0 <= score <= 1 for score in scores)


@given(records=runs)
def test_every_finding_shows_its_evidence(records: list[EvalRecord]) -> None:
    """The span of a finding is the place in the text of its turn where its value stands."""
    for record in records:
        said = conversation(record)
        for finding in completion.found(record) or []:
            assert (finding.span is None) == (finding.turn is None) == (finding.source == "target")
            if said is not None and finding.span is not None and finding.turn is not None:
                text = said[finding.turn][0 if finding.source == "user" else 1]
                assert text[slice(*finding.span)] == finding.value
        for deed in completion.steps(record) or []:
            assert (deed.span is None) == (deed.source != "agent")


def dialog() -> EvalRecord:
    return EvalRecord(
        sample_id="1",
        required_slots=[SlotSpec(name="phone", value="13800138000"), SlotSpec(name="city", value="上海")],
        required_steps=[
            StepSpec(name="verify", keywords=["核实"]),
            StepSpec(name="book", tool="book_repair", after=["verify"]),
            StepSpec(name="tell", keywords=["预约成功"], after=["book"]),
            StepSpec(name="thank", keywords=["感谢"]),
        ],
        dialog=[
            Turn(sent_message="耳机坏了", reply="请问您在哪个城市？"),
            Turn(
                sent_message="上海，电话１３８００１３８０００",
                reply="已核实，稍后告诉您预约成功与否",
                tool_calls=[ToolCall(name="book_repair")],
            ),
        ],
    )


@pytest.mark.parametrize(
    ("value", "said", "span"),
    [
        pytest.param("キロ", "２㌔です", (1, 2), id="one character is two"),
        pytest.param("キ", "２㌔です", None, id="part of a character"),
        pytest.param("é", "cafe\u0301", (3, 5), id="two characters are one"),
        pytest.param("e", "cafe\u0301", None, id="letter without its accent"),
        pytest.param("8", "8\u0301", None, id="digit without its accent"),
        pytest.param("straße", "STRASSE", (0, 7), id="case folding"),
        pytest.param("订单1", "订单12，订单1", (5, 8), id="not the longer number"),
    ],
)
def test_spans_are_of_the_text_as_it_was_said(value: str, said: str, span: tuple[int, int] | None) -> None:
    """Texts compare in another form than they are written in; spans are of the written one."""
    record = EvalRecord(
        sample_id="1", required_slots=[SlotSpec(name="a", value=value)], query=said, response="好"
    )
    found = completion.found(record)
    assert [finding.span for finding in found or []] == ([span] if span else [])


def test_findings_of_a_dialog() -> None:
    """Slots with turn, span and speaker, the value as it was written."""
    found = completion.found(dialog()) or []
    assert [(one.slot, one.value, one.turn, one.span, one.source) for one in found] == [
        ("phone", "１３８００１３８０００", 1, (5, 16), "user"),
        ("city", "上海", 1, (0, 2), "user"),
    ]


def test_steps_of_a_dialog() -> None:
    """Booked before it was verified: out of order, and so is what waits for the booking; countable."""
    found = completion.steps(dialog())
    assert found == [
        ("verify", 1, (1, 3), "agent", True, ()),
        ("book", 1, None, "tool", False, ("verify",)),
        ("tell", 1, (9, 13), "agent", False, ("book",)),
    ]
    assert sum(not step.in_order for step in found) == 2


@pytest.mark.parametrize(
    "weights",
    [(0.4, 0.5), (0.0, 0.0), (-1.0, 2.0), (0.5, 0.5 + 1e-6), (float("nan"), 0.6)],
    ids=str,
)
def test_weights_must_sum_to_one(weights: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="two numbers from 0 that sum to 1"):
        completion.compute([], slot_weight=weights[0], step_weight=weights[1])


def test_weights_are_a_parameter() -> None:
    record = EvalRecord(
        sample_id="1",
        required_slots=[SlotSpec(name="a")],
        required_steps=[StepSpec(name="x")],
        filled_slots={"a": 1},
        done_steps=[],
    )
    found = {
        result.name: result.overall for result in completion.compute([record], slot_weight=1, step_weight=0)
    }
    assert found["completion"] == 1.0


def test_a_bad_pattern_is_named() -> None:
    record = EvalRecord(sample_id="1", required_slots=[SlotSpec(name="phone", pattern="(")], response="好")
    with pytest.raises(UsageError, match=r"slot 'phone': regular expression '\('"):
        completion.found(record)


def test_marks_of_the_results() -> None:
    """Shares in percent, none a binomial rate, null over nothing."""
    results = completion.compute([])
    marks = {(result.is_rate, result.is_pct, result.lower_is_better, result.overall) for result in results}
    assert marks == {(False, True, False, None)}
