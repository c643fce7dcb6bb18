"""What a message does inside a task."""

from __future__ import annotations

import pytest

from evalkit.targets.demo.acts import agrees, cancels, denies, meant, refuses


@pytest.mark.parametrize(
    "text", ["确认", "是的", "对", "嗯，对的", "没问题", "好的，提交吧", "都对，提交", "信息正确", "OK"]
)
def test_a_yes(text: str) -> None:
    assert agrees(text)
    assert not denies(text)
    assert not cancels(text)


@pytest.mark.parametrize("text", ["不对", "不是", "地址错了", "等一下", "先别提交", "要改一下时间", "不行"])
def test_a_no(text: str) -> None:
    assert denies(text)
    assert not agrees(text)


@pytest.mark.parametrize(
    "text", ["算了不修了", "不退了", "取消吧", "不用了，谢谢", "我要取消", "先不办了", "放弃"]
)
def test_giving_up(text: str) -> None:
    assert cancels(text)
    assert not agrees(text)


@pytest.mark.parametrize(
    "text", ["不想给", "手机号不方便给", "凭什么要手机号", "为什么要留电话", "我不愿意说"]
)
def test_a_refusal(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize("text", ["明天上午", "屏幕碎了", "13800010001"])
def test_plain_values_are_none_of_these(text: str) -> None:
    assert not any(act(text) for act in (cancels, refuses, agrees, denies))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("不对，是后天下午", "是后天下午"),
        ("明天，哦不，后天上午", "后天上午"),
        ("不是明天，是后天", "是后天"),
        ("不要明天，后天上午", "后天上午"),
        ("明天不行，后天吧", "后天吧"),
        ("地址写错了，应该是文三路22号", "应该是文三路22号"),
        ("后天下午", "后天下午"),
        ("不对", "不对"),
    ],
)
def test_what_is_taken_back_is_not_meant(text: str, expected: str) -> None:
    assert meant(text) == expected
