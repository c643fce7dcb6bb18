"""A reply is a verdict only if it is exactly one object that fits and carries the nonce; nothing is made to fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Question
from evalkit.judges.parsing import Unusable, fault, schema, verdict_in

NONCE = "0f" * 16
QUESTION = Question(name="llm_score", task="评分", dimensions={"正确": "与参考一致", "礼貌": "语气得体"})
GOOD = {"nonce": NONCE, "reason": "好", "dimensions": {"正确": 8, "礼貌": 10}}


def reply(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes}, ensure_ascii=False)


def graded(grade: str) -> str:
    return f'{{"nonce": "{NONCE}", "reason": "", "dimensions": {{"正确": {grade}, "礼貌": 1}}}}'


def test_an_object_that_fits_is_the_verdict_without_its_nonce() -> None:
    assert verdict_in(reply(), QUESTION, NONCE) == {"reason": "好", "dimensions": {"正确": 8, "礼貌": 10}}


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "  \n```json\n{}\n```\n"])
def test_a_fence_around_the_whole_reply_is_taken_off(fence: str) -> None:
    assert verdict_in(fence.replace("{}", reply()), QUESTION, NONCE)["dimensions"]["正确"] == 8


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(f"我的评分如下：{reply()}", id="prose-before"),
        pytest.param(f"{reply()}\n以上。", id="prose-after"),
        pytest.param(reply() + reply(), id="two-objects"),
        pytest.param(f"```json\n{reply()}\n```\n```json\n{reply()}\n```", id="two-fences"),
        pytest.param(f"[{reply()}]", id="in-a-list"),
        pytest.param(json.dumps(reply()), id="in-a-string"),
        pytest.param(reply().replace('"', "'"), id="single-quotes"),
        pytest.param(reply()[:-3], id="truncated"),
        pytest.param(reply(nonce="0" * 32), id="another-nonce"),
        pytest.param(reply(nonce=None), id="null-nonce"),
        pytest.param(json.dumps({key: GOOD[key] for key in ("reason", "dimensions")}), id="no-nonce"),
        pytest.param(reply(verdict="pass"), id="a-key-too-many"),
        pytest.param(reply(reason=None), id="no-reason"),
        pytest.param(reply(dimensions={"正确": 8}), id="a-dimension-missing"),
        pytest.param(reply(dimensions={"正确": 8, "礼貌": 9, "速度": 9}), id="a-dimension-too-many"),
        pytest.param(reply(dimensions=8), id="one-grade-for-all"),
        pytest.param(graded('1, "正确": 10'), id="a-key-twice"),
        *(
            pytest.param(graded(grade), id=f"grade-{grade}")
            for grade in [
                '"8"',
                '"8/10"',
                "true",
                "NaN",
                "Infinity",
                "-1",
                "11",
                "7.5",
                "8.0",
                "1e1",
                "null",
                "[8]",
            ]
        ),
    ],
)
def test_what_is_not_exactly_one_verdict_is_unusable(text: str) -> None:
    with pytest.raises(Unusable):
        verdict_in(text, QUESTION, NONCE)


@pytest.mark.parametrize(
    ("asks", "good", "bad"),
    [
        pytest.param({"labels": {"退货": "", "换货": ""}}, {"label": "退货"}, [{"label": "退款"}, {"label": None}, {"label": ["退货"]}], id="label"),
        pytest.param({"items": {"a": "甲"}}, {"items": {"a": False}}, [{"items": {"a": 0}}, {"items": {"a": "false"}}, {"items": {}}], id="items"),
        pytest.param({"lists": {"claims": ""}}, {"lists": {"claims": ["甲"]}}, [{"lists": {"claims": "甲"}}, {"lists": {"claims": [1]}}], id="lists"),
    ],
)  # fmt: skip
def test_each_kind_of_answer_is_held_to_its_form(asks: Any, good: Any, bad: list[Any]) -> None:
    question = Question(name="q", task="t", **asks)
    assert fault({"reason": "", **good}, question) is None
    for wrong in bad:
        assert fault({"reason": "", **wrong}, question)


def test_the_schema_asks_for_exactly_what_is_read() -> None:
    form = schema(QUESTION, NONCE)
    assert form["required"] == ["nonce", "reason", "dimensions"]
    assert form["additionalProperties"] is False
    assert form["properties"]["nonce"]["enum"] == [NONCE]
    assert form["properties"]["dimensions"]["required"] == ["正确", "礼貌"]


@given(st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(json.dumps))  # fmt: skip
def test_no_reply_without_the_nonce_is_a_verdict(text: str) -> None:
    with pytest.raises(Unusable):
        verdict_in(text, QUESTION, NONCE)
