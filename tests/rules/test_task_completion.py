"""How much was done: the mission's figures, scopes, halves, and what a judge says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalkit import EvalRecord
from evalkit.contracts import Case, SlotSpec, StepSpec, ToolCall, Turn, Verdict
from evalkit.errors import UsageError
from evalkit.rules.task_completion import task_completion

from .conftest import Judge, dialog

FIVE = [
    SlotSpec(name="user_name", description="用户姓名", value="张三"),
    SlotSpec(name="phone", description="联系电话", value="13800138000"),
    SlotSpec(name="address", description="服务地址", value="朝阳区建国路88号"),
    SlotSpec(name="fault_description", description="故障描述", value="不制冷"),
    SlotSpec(name="appointment_time", description="预约时间", value="明天上午"),
]
STEPS = [
    StepSpec(name="record", keywords=["记录"]),
    StepSpec(name="apologise", keywords=["抱歉"]),
    StepSpec(name="solve", keywords=["为您更换"], after=["record"]),
    StepSpec(name="confirm", keywords=["满意"], after=["solve"]),
]


def now(verdict: Any) -> Verdict:
    assert isinstance(verdict, Verdict)
    return verdict


@pytest.mark.parametrize(
    ("told", "rate", "least", "passed"),
    [
        pytest.param(["我叫张三", "13800138000", "不制冷"], 0.6, 0.6, True, id="3 of 5 at 0.6"),
        pytest.param(["我叫张三", "13800138000", "不制冷"], 0.6, 0.61, False, id="3 of 5 under 0.61"),
        pytest.param(["我叫张三", "13800138000", "不制冷", "明天上午"], 0.8, 0.8, True, id="4 of 5 at 0.8"),
        pytest.param([], 0.0, 0.0, True, id="none"),
    ],
)
def test_slots(case: Case, told: list[str], rate: float, least: float, *, passed: bool) -> None:
    """Mission, functional completeness, second plan, 3.1: 3 of 5 slots gathered is 3/5 = 0.6."""
    said = dialog(*((text, "好的") for text in told or ["你好"]))
    verdict = now(task_completion(case, said, required_slots=FIVE, min_completion_rate=least))
    assert verdict.score == rate
    assert verdict.passed is passed
    assert verdict.detail["completion_rate"] == rate


TRAP = dialog(("我要挂号", "请问姓名？"), ("我叫张三", "好的"), ("谢谢", "不客气"))


@pytest.mark.parametrize(("scope", "rate"), [("full_dialog", 1.0), ("last_turn", 0.0)])
def test_the_last_turn_trap(case: Case, scope: Any, rate: float) -> None:
    """A slot given in turn 2 counts over the dialog, and not in the last turn."""
    verdict = now(task_completion(case, TRAP, required_slots=FIVE[:1], evaluation_scope=scope))
    assert verdict.score == rate
    assert verdict.scope == scope


def test_a_report_of_earlier_turns_is_not_of_the_last(case: Case) -> None:
    """The target's state is cumulative: it cannot speak for one turn."""
    turns = [*TRAP[:2], TRAP[2].model_copy(update={"filled_slots": {"user_name": "张三"}})]
    record = EvalRecord(sample_id="1", dialog=turns, filled_slots={"user_name": "张三"})
    params: dict[str, Any] = {"required_slots": FIVE[:1]}
    assert now(task_completion(record, turns, **params)).score == 1.0
    assert now(task_completion(record, turns, evaluation_scope="last_turn", **params)).score == 0.0


@pytest.mark.parametrize(
    ("replies", "rate"),
    [
        pytest.param(["已记录", "很抱歉", "为您更换", "您满意吗"], 1.0, id="all in order"),
        pytest.param(["已记录", "为您更换"], 0.5, id="half"),
        pytest.param(["为您更换", "已记录"], 0.25, id="solved before it was recorded"),
        pytest.param(["您好"], 0.0, id="none"),
    ],
)
def test_steps(case: Case, replies: list[str], rate: float) -> None:
    """Mission, second plan, 3.2: steps depend on each other; completed / required."""
    said = dialog(*(("嗯", text) for text in replies))
    assert now(task_completion(case, said, mode="step", required_steps=STEPS)).score == rate


@pytest.mark.parametrize(
    ("weights", "rate"),
    [
        pytest.param((0.4, 0.6), 0.4 * 0.6 + 0.6 * 0.25, id="defaults"),
        pytest.param((1.0, 0.0), 0.6, id="slots alone"),
        pytest.param((0.5, 0.5), 0.425, id="halves"),
    ],
)
def test_hybrid(case: Case, weights: tuple[float, float], rate: float) -> None:
    """Mission, second plan, 3.3: slot_weight 0.4, step_weight 0.6."""
    said = dialog(("我叫张三", "好的"), ("13800138000", "已记录"), ("不制冷", "好的"))
    verdict = task_completion(
        case,
        said,
        mode="hybrid",
        required_slots=FIVE,
        required_steps=STEPS,
        slot_weight=weights[0],
        step_weight=weights[1],
    )
    assert now(verdict).score == pytest.approx(rate)


def test_a_hybrid_of_one_kind_is_that_kind(case: Case) -> None:
    said = dialog(("我叫张三", "好的"), ("13800138000", "已记录"), ("不制冷", "好的"))
    verdict = task_completion(
        case, said, mode="hybrid", required_slots=FIVE, min_completion_rate=0.6, slot_weight=0, step_weight=1
    )
    assert now(verdict).score == 0.6
    assert now(verdict).passed is True


def test_a_threshold_is_not_missed_by_rounding(case: Case) -> None:
    """Hazard: 0.4 · 0.7 + 0.6 · 0.7 is 0.7 to the person who wrote 0.7."""
    ten = [SlotSpec(name=f"s{i}", value=f"值{i}号") for i in range(10)]
    steps = [StepSpec(name=f"t{i}", keywords=[f"做{i}号"]) for i in range(10)]
    said = dialog(*((f"值{i}号", f"做{i}号") for i in range(7)))
    verdict = task_completion(
        case, said, mode="hybrid", required_slots=ten, required_steps=steps, min_completion_rate=0.7
    )
    assert now(verdict).passed is True


@pytest.mark.parametrize("weights", [(0.4, 0.5), (0.0, 0.0), (0.9, 0.9)], ids=["0.9", "0", "1.8"])
def test_weights_that_do_not_sum_to_one_are_refused(case: Case, weights: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="sum to 1"):
        task_completion(case, TRAP, required_slots=FIVE, slot_weight=weights[0], step_weight=weights[1])


@pytest.mark.parametrize("mode", ["slot", "step", "hybrid"])
def test_nothing_required_is_undecided(case: Case, mode: Any) -> None:
    """Nothing is not zero: 0 of 0 slots is no completion."""
    verdict = now(task_completion(case, TRAP, mode=mode))
    assert (verdict.passed, verdict.score) == (None, None)


def test_a_slot_that_says_nothing_of_its_value_is_undecided_without_a_report(case: Case) -> None:
    vague = [SlotSpec(name="mood", description="心情")]
    assert now(task_completion(case, TRAP, required_slots=vague)).passed is None
    record = EvalRecord(sample_id="1", dialog=TRAP, filled_slots={"mood": "好"})
    assert now(task_completion(record, TRAP, required_slots=vague)).score == 1.0


def test_the_case_requires_what_the_rule_does_not(case: Case) -> None:
    record = EvalRecord(sample_id="1", dialog=TRAP, required_slots=FIVE[:2])
    assert now(task_completion(record, TRAP)).score == 0.5
    assert now(task_completion(record, TRAP, required_slots=FIVE[:1])).score == 1.0


def test_an_answer_without_a_dialog_is_read_with_what_the_user_said() -> None:
    record = EvalRecord(sample_id="1", messages=["我叫张三", "电话 13800138000"], response="好的")
    last = [Turn(sent_message="电话 13800138000", reply="好的")]
    assert now(task_completion(record, last, required_slots=FIVE[:2])).score == 1.0
    only = task_completion(record, last, required_slots=FIVE[:2], evaluation_scope="last_turn")
    assert now(only).score == 0.5


def test_a_tool_does_a_step() -> None:
    turns = [Turn(sent_message="约", reply="好", tool_calls=(ToolCall(name="book"),))]
    record = EvalRecord(sample_id="1", dialog=turns)
    verdict = task_completion(record, turns, mode="step", required_steps=[StepSpec(name="book", tool="book")])
    assert now(verdict).score == 1.0


@pytest.mark.parametrize(
    ("held", "rate"),
    [
        pytest.param({"slot:user_name": True, "slot:phone": True, "slot:address": True}, 0.6, id="3 of 5"),
        pytest.param({}, 0.0, id="none"),
    ],
)
def test_the_judge_says_yes_or_no_to_each_slot(case: Case, held: dict[str, bool], rate: float) -> None:
    items = {f"slot:{slot.name}": held.get(f"slot:{slot.name}", False) for slot in FIVE}
    judge = Judge(detail={"items": items})
    verdict = asyncio.run(
        task_completion(case, TRAP, required_slots=FIVE, min_completion_rate=0.6, judge=judge)
    )
    assert verdict.score == rate
    assert verdict.passed is (rate == 0.6)
    assert "联系电话" in judge.asked[0].items["slot:phone"]


def test_a_judged_step_counts_after_those_that_it_waits_for(case: Case) -> None:
    items = {"step:record": False, "step:apologise": True, "step:solve": True, "step:confirm": False}
    judge = Judge(detail={"items": items})
    verdict = asyncio.run(task_completion(case, TRAP, mode="step", required_steps=STEPS, judge=judge))
    assert verdict.score == 0.25


@pytest.mark.parametrize(
    "judgement",
    [
        {"status": "judge_refused"},
        {"detail": {"items": {"slot:user_name": True}}},
        {"detail": {"items": {f"slot:{slot.name}": 1 for slot in FIVE}}},
        {},
    ],
    ids=["refused", "one of five", "no truth values", "nothing"],
)
def test_no_judgement_is_undecided(case: Case, judgement: dict[str, Any]) -> None:
    verdict = asyncio.run(task_completion(case, TRAP, required_slots=FIVE, judge=Judge(**judgement)))
    assert (verdict.passed, verdict.score) == (None, None)


def test_by_says_who_tells(case: Case) -> None:
    judge = Judge(detail={"items": {"slot:user_name": False}})
    params: dict[str, Any] = {"required_slots": FIVE[:1]}
    assert now(task_completion(case, TRAP, by="extractor", judge=judge, **params)).score == 1.0
    assert judge.asked == []
    assert now(task_completion(case, TRAP, by="judge", **params)).passed is None
