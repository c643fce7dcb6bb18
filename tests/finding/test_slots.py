"""Slots over all turns: what counts as given, who said it last, where it stands, and where sources differ."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import EvalRecord
from evalkit.contracts import SlotSpec, Turn
from evalkit.errors import UsageError
from evalkit.finding import disagreements, evidence, found, is_value
from evalkit.metrics import completion

ASKED_AT = datetime(2026, 8, 26, 10, tzinfo=UTC)
RED = {"name": "color", "value": "红色"}
PHONE = {"name": "phone", "type": "phone"}
DAY = {"name": "day", "type": "date"}
COLOR = {"name": "color", "type": "enum", "values": ["红色", "蓝色", "绿色"]}
VISIT = {"name": "visit", "type": "appointment", "value": "2026-08-28 上午"}


def record(slots: list[dict[str, Any]], *said: str, **more: Any) -> EvalRecord:
    """A dialog whose texts are those of user and agent in turn."""
    texts = [*said, ""] if len(said) % 2 else [*said]
    dialog = [
        Turn(sent_message=user, reply=reply) for user, reply in zip(texts[::2], texts[1::2], strict=True)
    ]
    required = [SlotSpec(**slot) for slot in slots]
    return EvalRecord(sample_id="1", required_slots=required, dialog=dialog, asked_at=ASKED_AT, **more)


GIVEN = [
    pytest.param(RED, ["要红色的"], "红色", id="said"),
    pytest.param(RED, ["我不要红色"], None, id="not wanted"),
    pytest.param(RED, ["不是红色"], None, id="denied"),
    pytest.param(RED, ["不是不要红色"], "红色", id="denied twice"),
    pytest.param(RED, ["是不是红色"], "红色", id="a question with 不 in its middle denies nothing"),
    pytest.param(RED, ["红色，不对，蓝色"], None, id="taken back"),
    pytest.param(RED, ["红色，哦不对，我要红色"], "红色", id="taken back and said again"),
    pytest.param(RED, ["有什么颜色？", "您要红色还是蓝色？"], None, id="only offered"),
    pytest.param(RED, ["有什么颜色？", "您要红色吗？"], None, id="only asked"),
    pytest.param(RED, ["有什么颜色？", "您要红色吗？", "对"], "红色", id="asked and affirmed"),
    pytest.param(RED, ["有什么颜色？", "您要红色吗？", "不要"], None, id="asked and refused"),
    pytest.param(RED, ["随便", "已为您下单红色"], "红色", id="the agent says so"),
    pytest.param(COLOR, ["红色", "好的", "还是改成蓝色吧"], "蓝色", id="the later value"),
    pytest.param(COLOR, ["不是红色，是蓝色"], "蓝色", id="not A but B"),
    pytest.param(COLOR, ["有吗", "有红色、蓝色"], None, id="a list of offers"),
    pytest.param(COLOR, ["有吗", "有红色、蓝色", "红色"], "红色", id="chosen among offers"),
    pytest.param(PHONE, ["电话13800138000"], "13800138000", id="phone"),
    pytest.param(
        PHONE,
        ["电话13800138000", "记下了13800138000", "不对，是139 0013 9000"],
        "13900139000",
        id="the correction, not the agent's echo",
    ),
    pytest.param(PHONE, ["13800138000，说错了，13900139000"], "13900139000", id="corrected in one breath"),
    pytest.param(PHONE, ["不方便留电话"], None, id="refused"),
    pytest.param(DAY, ["明天吧", "好的", "改成后天"], "2026-08-28", id="relative days"),
    pytest.param(DAY, ["I'll come on the 28th, no wait, the 29th"], "2026-08-29", id="English correction"),
    pytest.param(DAY, ["not tomorrow, Friday"], "2026-08-28", id="English denial"),
    pytest.param(VISIT, ["后天", "上午还是下午？", "上午"], "2026-08-28 上午", id="told in two turns"),
    pytest.param(VISIT, ["明天上午", "好", "改成周五"], "2026-08-28 上午", id="the day is changed, the rest stays"),
    pytest.param({"name": "m", "value": "A3"}, ["A3s坏了"], None, id="part of a longer word"),
    pytest.param({"name": "m", "value": "星河 A3s"}, ["星河A3s坏了"], "星河a3s", id="spaces are free"),
    pytest.param({"name": "n", "value": "4分"}, ["4分以上的"], None, id="a bound is another value"),
    pytest.param({"name": "n", "value": "13"}, ["13.5"], None, id="part of a decimal"),
    pytest.param({"name": "z", "pattern": r"[a-z]\d{3}"}, ["是X123"], "x123", id="pattern, any case"),
]  # fmt: skip


@pytest.mark.parametrize(("slot", "said", "value"), GIVEN)
def test_what_counts_as_given(slot: dict[str, Any], said: list[str], value: str | None) -> None:
    findings = found(record([slot], *said)) or []
    assert [finding.canonical.replace(" ", "") for finding in findings] == (
        [] if value is None else [value.replace(" ", "")]
    )


def test_a_wrong_value_fills_the_slot_and_is_not_right() -> None:
    one = record([{**PHONE, "value": "13800138000"}], "电话13800138000", "好", "不对，是13900139000")
    scores = {result.name: result.overall for result in completion.compute([one])}
    assert (scores["slot_completion"], scores["slot_value_accuracy"]) == (1, 0)


def test_the_last_turn_trap() -> None:
    """A slot given in turn 2 of 3 is filled over the dialog, and would not be in its last turn alone."""
    one = record([PHONE], "我要报修", "请留电话", "13800138000", "好的", "谢谢", "不客气")
    (finding,) = found(one) or []
    assert (finding.turn, finding.span, finding.source, finding.evidence) == (1, (0, 11), "user", "stated")
    assert found(one.model_copy(update={"dialog": one.dialog[-1:]})) == []


def test_stated_and_confirmed_are_kept_apart() -> None:
    one = record([PHONE], "我的电话是138 0013 8000", "您的电话13800138001已登记")
    (told,) = evidence(one)
    assert told.stated
    assert told.confirmed
    assert (told.stated.canonical, told.confirmed.canonical) == ("13800138000", "13800138001")
    assert [(one.slot, one.kind) for one in disagreements(one)] == [("phone", "values")]


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        pytest.param({"phone": "13800138000"}, None, id="agree in another writing"),
        pytest.param({"phone": "13900139000"}, "values", id="another value"),
        pytest.param({}, "unreported", id="said, not reported"),
        pytest.param(None, None, id="no report is no lie"),
    ],
)
def test_the_target_is_the_third_source(report: dict[str, str] | None, kind: str | None) -> None:
    one = record([PHONE], "电话138-0013-8000", "好的", filled_slots=report)
    assert [each.kind for each in disagreements(one)] == ([kind] if kind else [])


def test_reported_and_never_said() -> None:
    one = record([PHONE], "你好", "您好", filled_slots={"phone": "13800138000"})
    assert [each.kind for each in disagreements(one)] == ["unsaid"]
    assert [each.evidence for each in found(one) or []] == ["reported"]
    assert found(one, trust="texts") == []


def test_slots_of_one_type_are_told_apart_by_their_words() -> None:
    slots = [{"name": "酒店的电话", "type": "phone"}, {"name": "餐馆的电话", "type": "phone"}]
    one = record(slots, "酒店电话多少？", "010-84273030", "餐馆的呢？", "010-65139661")
    assert [each.canonical for each in found(one) or []] == ["01084273030", "01065139661"]


def test_a_range_of_days_is_begin_and_end() -> None:
    slots = [{"name": "check_in_date", "type": "date"}, {"name": "check_out_date", "type": "date"}]
    one = record(slots, "I'll check out on the 30th and check in on the 28th", "ok")
    assert [each.canonical for each in found(one) or []] == ["2026-08-28", "2026-08-30"]


def test_the_shops_own_phone_is_not_the_users() -> None:
    one = record([{**PHONE, "value": "13800138000"}], "不方便留电话", "可拨打客服电话400-610-1101")
    assert found(one) == []


def test_a_hostile_pattern_does_not_hang() -> None:
    """`(a+)+$` over many a's takes a backtracking engine longer than the universe is old."""
    one = record([{"name": "x", "pattern": r"(a+)+$"}], "a" * 50_000 + "b")
    begun = time.process_time()
    assert found(one) == []
    assert time.process_time() - begun < 30


def test_look_around_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="slot 'x': regular expression"):
        found(record([{"name": "x", "pattern": r"(?<=a)b"}], "ab"))


def test_nothing_required_looks_at_nothing() -> None:
    """A record that requires nothing costs nothing, however long it is."""
    one = record([], "长" * 2_000_000)
    begun = time.process_time()
    assert found(one) == []
    assert completion.steps(one) == []
    assert time.process_time() - begun < 0.5


def test_slot_report() -> None:
    """Two records: one right, one wrong for the phone; the color once missing."""
    phone = {**PHONE, "value": "13800138000"}
    records = [
        record([phone, RED], "138 0013 8000", "好"),
        record([phone], "13900139000", "好").model_copy(update={"sample_id": "2"}),
    ]
    color, number = completion.slot_report(records)
    assert (color.slot, color.right, color.wrong, color.missing) == ("color", 0, 0, 1)
    assert (color.precision, color.recall, color.f1) == (None, 0.0, 0.0)
    assert (number.right, number.wrong, number.missing) == (1, 1, 0)
    assert (number.precision, number.recall, number.f1) == (0.5, 0.5, 0.5)
    assert completion.slot_report([]) == []


def test_a_negated_keyword_is_no_step() -> None:
    one = EvalRecord(
        sample_id="1",
        query="退了吗",
        response="还没有退款",
        required_steps=[{"name": "x", "keywords": ["退款"]}],
    )
    assert completion.steps(one) == []


phones = st.from_regex(r"1[3-9][0-9]{9}", fullmatch=True)
wrapped = st.sampled_from(
    ("电话{}", "我的手机是{}，谢谢", "{}", "call me at {} please", "㌔{}。", "cafe\u0301 {}")
)
grouped = st.sampled_from(("{0}{1}{2}", "{0} {1} {2}", "{0}-{1}-{2}", "+86 {0}{1}{2}"))


@given(phone=phones, sentence=wrapped, form=grouped, wide=st.booleans())
def test_the_span_holds_the_value(phone: str, sentence: str, form: str, wide: bool) -> None:  # noqa: FBT001
    """However a number is grouped, widened and wrapped, its span is where it stands, and it is that number."""
    said = form.format(phone[:3], phone[3:7], phone[7:])
    said = said.translate({ord("0") + digit: ord("０") + digit for digit in range(10)}) if wide else said
    one = record([{**PHONE, "value": phone}], sentence.format(said))
    (finding,) = found(one) or []
    assert finding.span is not None
    assert one.dialog[0].sent_message[slice(*finding.span)] == finding.value
    assert said.endswith(str(finding.value))
    assert is_value(finding, one.required_slots[0], one)
