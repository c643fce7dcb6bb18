"""Tool calls: golden cases, brute force over all pairings, large groups, columns that need no lines."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from evalkit import EvalRecord, Records
from evalkit.contracts import ToolCall, Turn
from evalkit.metrics import tools
from evalkit.reading import encode
from evalkit.records import load

TABLE = Path(__file__).parents[1] / "golden" / "tools.jsonl"
GOLDEN = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]

values = st.sampled_from(
    (
        None,
        True,
        False,
        0,
        1,
        1.0,
        0.5,
        "1",
        "退货",
        "退货\u200b",
        [1],
        [True],
        {"a": 1, "b": []},
        {"b": [], "a": 1.0},
    )
)
calls = st.lists(
    st.builds(
        ToolCall,
        name=st.sampled_from(("find", "ｆind", "refund", "查订单")),
        arguments=st.dictionaries(st.sampled_from(("a", "ａ", 'b"', "c")), values, max_size=3),
    ),
    max_size=4,
)
runs = st.lists(
    st.fixed_dictionaries(
        {
            "intent_l1": st.sampled_from((None, "SUPPORT")),
            "intent_l2": st.sampled_from((None, "S1", "S2")),
            "expected_tools": st.none() | calls,
            "expected_turns": st.none() | st.integers(1, 3),
            "tool_calls": st.none() | calls,
            "dialog": st.lists(st.builds(Turn, tool_calls=calls.map(lambda made: made[:2])), max_size=2),
            "messages": st.lists(st.just("你好"), max_size=2),
            "response": st.sampled_from((None, "", "好的")),
            "answer_status": st.sampled_from(("ok", "ok", "ok", "error")),
        }
    ),
    max_size=5,
).map(lambda rows: [EvalRecord(sample_id=str(place), **row) for place, row in enumerate(rows)])


def text(value: object) -> str:
    """A JSON value as text, in which 1 and 1.0 are one and true is another."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{text(value[key])}" for key in sorted(value)) + "}"
    return "[" + ",".join(map(text, value)) + "]" if isinstance(value, list) else json.dumps(value)


def equal(expected: ToolCall, made: ToolCall) -> int:
    pairs = {(name, text(value)) for name, value in made.arguments.items()}
    return len({(name, text(value)) for name, value in expected.arguments.items()} & pairs)


def best(expected: Sequence[ToolCall], made: Sequence[ToolCall]) -> tuple[int, int, int]:
    """Over all ways to pair the calls: most pairs, then most equal, then fewest unequal arguments."""
    places: list[int | None] = [*range(len(made)), *([None] * len(expected))]
    ways = set(itertools.permutations(places, len(expected)))
    found = []
    for way in ways:
        pairs = [(call, made[place]) for call, place in zip(expected, way, strict=True) if place is not None]
        if all(call.name == other.name for call, other in pairs):
            same = sum(equal(call, other) for call, other in pairs)
            found.append((len(pairs), same, same - sum(len(call.arguments) for call, _ in pairs)))
    return max(found)


def made_calls(record: EvalRecord) -> Sequence[ToolCall] | None:
    if record.tool_calls is not None:
        return record.tool_calls
    return [call for turn in record.dialog for call in turn.tool_calls] or None


def subsequence(expected: Sequence[ToolCall], made: Sequence[ToolCall]) -> int:
    """By trying every subsequence of the expected names, longest first."""
    names = [call.name for call in made]
    for size in range(len(expected), 0, -1):
        for some in itertools.combinations([call.name for call in expected], size):
            rest = iter(names)
            if all(name in rest for name in some):
                return size
    return 0


def row(name: str) -> Callable[[EvalRecord], float | None]:
    def score(record: EvalRecord) -> float | None:
        expected, made = record.expected_tools, made_calls(record)
        if record.answer_status != "ok":
            return None
        if name == "step_ratio":
            turns = len(record.dialog) or (0 if record.response is None else max(len(record.messages), 1))
            return min(1.0, record.expected_turns / turns) if record.expected_turns and turns else None
        if expected is None or made is None:
            return None
        if not expected:
            return None if name == "argument_accuracy" else float(not made)
        n, same, less = best(expected, made)
        wanted = {
            "tool_precision": n / len(made) if made else None,
            "tool_recall": n / len(expected),
            "tool_f1": 2 * n / (len(expected) + len(made)),
            "argument_accuracy": same / (same - less) if same - less else None,
            "call_ratio": min(1.0, len(expected) / len(made)) if made else None,
            "partial_match": subsequence(expected, made) / len(expected),
        }
        return wanted[name]

    return score


NAMES = (
    *("tool_precision", "tool_recall", "tool_f1", "argument_accuracy"),
    *("call_ratio", "step_ratio", "partial_match"),
)
ROWS = {name: row(name) for name in NAMES}


@given(records=runs)
def test_columns_equal_rows(agree: Callable[..., None], records: list[EvalRecord]) -> None:
    """Whatever the run, every tool metric is what brute force over all pairings says."""
    agree(tools.compute(records), records, ROWS)


@given(records=runs)
def test_columns_on_file_equal_rows(
    agree: Callable[..., None], tmp_path_factory: pytest.TempPathFactory, records: list[EvalRecord]
) -> None:
    """The same from columns that are kept beside a run, though its lines are gone."""
    if not records:
        return
    path = tmp_path_factory.mktemp("tools") / "run.jsonl"
    path.write_bytes(b"".join(map(encode, records)))
    kept = load(path, rows_up_to=0)
    path.write_bytes(b"x" * path.stat().st_size)
    agree(tools.compute(kept), records, ROWS)


@given(expected=calls, made=calls, dice=st.randoms(use_true_random=False))
def test_the_order_of_calls_moves_only_the_subsequence(
    expected: list[ToolCall], made: list[ToolCall], dice: random.Random
) -> None:
    """Shuffled calls pair to the same scores, and every call is in one pair or in what is left."""
    results = [
        {result.name: result.overall for result in tools.compute([record])}
        for record in (
            EvalRecord(sample_id="1", expected_tools=some, tool_calls=other)
            for some, other in (
                (expected, made),
                (dice.sample(expected, len(expected)), dice.sample(made, len(made))),
            )
        )
    ]
    assert results[0] | {"partial_match": 0} == results[1] | {"partial_match": 0}
    found = tools.pairing(expected, made)
    assert len(found.pairs) + len(found.missing) == len(expected)
    assert len(found.pairs) + len(found.surplus) == len(made)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    """What one record with these calls scores."""
    assert case["source"]
    record = EvalRecord(sample_id="1", expected_tools=case["expected"], tool_calls=case["made"])
    found = {result.name: result.overall for result in tools.compute([record])}
    for name, value in case["scores"].items():
        assert found[name] == (value if value is None else pytest.approx(value, abs=5e-5)), name


def random_call(dice: np.random.Generator) -> ToolCall:
    names = "abcdef"[: dice.integers(1, 7)]
    return ToolCall(name="find", arguments={name: int(dice.integers(3)) for name in names})


def test_a_whole_run_equals_rows(agree: Callable[..., None]) -> None:
    """A thousand records at once, most of their names standing on both sides, many of them twice."""
    dice = np.random.default_rng(7)

    def some() -> list[ToolCall]:
        made = [random_call(dice) for _ in range(dice.integers(4))]
        return [call.model_copy(update={"name": "abc"[dice.integers(3)]}) for call in made]

    records = [EvalRecord(sample_id=str(n), expected_tools=some(), tool_calls=some()) for n in range(1_000)]
    agree(tools.compute(records), records, ROWS)


def test_many_calls_of_one_tool() -> None:
    """60 against 80 calls of one name pair as scipy's assignment does, in bounded work."""
    dice = np.random.default_rng(7)
    expected, made = ([random_call(dice) for _ in range(n)] for n in (60, 80))
    equals = np.array([[equal(call, other) for other in made] for call in expected])
    most = equals[linear_sum_assignment(equals, maximize=True)].sum()
    start = time.process_time()
    found = tools.pairing(expected, made)
    assert time.process_time() - start < 20
    assert len(found.pairs) == 60
    assert sum(equal(*pair) for pair in found.pairs) == most
    record = EvalRecord(sample_id="1", expected_tools=expected, tool_calls=made)
    scores = {result.name: result.overall for result in tools.compute(Records([record]))}
    assert scores["argument_accuracy"] == most / sum(len(call.arguments) for call, _ in found.pairs)


def test_one_call_given_twice() -> None:
    """Calls are told apart by their place: the same object twice is two calls."""
    call = ToolCall(name="find")
    assert [len(part) for part in tools.pairing([call, call], [call])] == [1, 1, 0]


def test_turns_and_their_calls() -> None:
    """Calls told turn by turn count in order; a single exchange is one turn."""
    dialog = [Turn(tool_calls=[ToolCall(name="find")]), Turn(), Turn(tool_calls=[ToolCall(name="refund")])]
    record = EvalRecord(
        sample_id="1",
        expected_tools=[ToolCall(name="find"), ToolCall(name="refund")],
        expected_turns=2,
        dialog=dialog,
    )
    found = {result.name: result.overall for result in tools.compute([record])}
    assert (found["tool_f1"], found["partial_match"]) == (1.0, 1.0)
    assert found["step_ratio"] == pytest.approx(2 / 3)


def test_marks_of_the_results() -> None:
    """Shares in percent, none of them a binomial rate, null over nothing."""
    results = tools.compute([])
    marks = {(result.is_rate, result.is_pct, result.lower_is_better, result.overall) for result in results}
    assert marks == {(False, True, False, None)}
