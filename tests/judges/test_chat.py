"""The judge over a real connection: asked, asked again once, refused, throttled, bounded, cached."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from evalkit.contracts import Judgement, Question
from evalkit.judges.budget import Budget
from evalkit.judges.cache import Cache
from evalkit.judges.chat import chat, identity
from evalkit.judges.config import JudgeConfig

CANARY = "sk-canary-0123456789abcdef"
QUESTION = Question(
    name="llm_score", task="评分", dimensions={"正确": "a", "礼貌": "b"}, material={"answer": "可以退货。"}
)
GRADES = {"正确": 8, "礼貌": 9}


def ask(
    model: Any, server: Any, /, *, question: Question = QUESTION, cache: Cache | None = None, repeats: int = 1, **config: Any) -> list[Judgement]:  # fmt: skip
    async def main() -> list[Judgement]:
        async with server(model.url, **config) as endpoint:
            kept = cache or Cache()
            return [
                await chat(question, server=endpoint, cache=kept, repeat=repeat) for repeat in range(repeats)
            ]

    return asyncio.run(main())


def good(model: Any) -> Any:
    made = model(lambda body: made.verdict(body, dimensions=GRADES))
    return made


def test_a_verdict_carries_its_grades_judge_usage_and_snapshot(model: Any, server: Any) -> None:
    (judgement,) = ask(good(model), server)
    assert judgement.score == pytest.approx(0.85)  # (8 + 9) / 2 / 10
    assert judgement.detail["dimensions"] == GRADES
    assert judgement.detail["served_by"] == "m-2026-11-01"
    assert judgement.judge.startswith("m@")
    assert judgement.usage is not None
    assert judgement.usage.total_tokens == 120


def test_the_request_asks_for_structured_output_without_chance(model: Any, server: Any) -> None:
    """J11: temperature 0 and a seed."""
    said = good(model)
    ask(said, server)
    (body,) = said.bodies
    assert (body["temperature"], body["seed"], body["model"]) == (0, 0, "m")
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"]["properties"]["nonce"]["enum"] == [
        said.nonce(body)
    ]


def test_a_server_without_structured_output_is_asked_without(model: Any, server: Any, wire: Any) -> None:
    def say(body: dict[str, Any]) -> Any:
        if "response_format" in body:
            return wire["json"]({"error": {"message": "response_format is not supported"}}, status_code=400)
        return said.verdict(body, dimensions=GRADES)

    said = model(say)
    found = ask(said, server, repeats=3)
    assert [judgement.status for judgement in found] == ["ok"] * 3
    assert [("response_format" in body) for body in said.bodies] == [True, False, False, False]


@pytest.mark.parametrize("first", ["8", "很好，我给 8 分", '{"score": 8}', '{"nonce": "x"', ""])
def test_an_unusable_reply_is_asked_for_once_more(first: str, model: Any, server: Any) -> None:
    """J2: the second question says what was wrong, has another nonce and repeats nothing of the reply."""
    said = model(lambda body: first if len(said.bodies) == 1 else said.verdict(body, dimensions=GRADES))
    (judgement,) = ask(said, server)
    assert judgement.status == "ok"
    assert judgement.usage is not None
    assert judgement.usage.total_tokens == 240
    one, two = said.bodies
    assert said.nonce(one) != said.nonce(two)
    assert "你上一次的回复无法采用" in two["messages"][-1]["content"]


def test_two_unusable_replies_are_an_error_with_the_reply_kept(model: Any, server: Any) -> None:
    said = model(lambda _: "8/10")
    (judgement,) = ask(said, server)
    assert (judgement.status, judgement.score, len(said.bodies)) == ("judge_error", None, 2)
    assert judgement.detail["raw"] == "8/10"
    assert judgement.detail["error"] == {
        "kind": "unusable",
        "message": "the reply is not exactly one JSON object",
    }


@pytest.mark.parametrize("grade", [-1, 11, "8", None, True, 7.5])
def test_a_grade_outside_the_scale_is_not_made_to_fit(grade: Any, model: Any, server: Any) -> None:
    """J3."""
    said = model(lambda body: said.verdict(body, dimensions={"正确": grade, "礼貌": 9}))
    (judgement,) = ask(said, server)
    assert (judgement.status, judgement.score) == ("judge_error", None)


def test_a_reply_cut_off_at_its_longest_length_says_so(model: Any, server: Any, wire: Any) -> None:
    choice = {"message": {"content": '{"nonce": "'}, "finish_reason": "length"}
    said = model(lambda _: wire["json"](wire["completion"]("", choices=[choice])))
    (judgement,) = ask(said, server)
    assert judgement.status == "judge_error"
    assert "cut off" in judgement.reason


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param({"choices": [{"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}]}, id="refusal"),
        pytest.param({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}, id="filtered"),
        pytest.param({"choices": [{"message": {"content": "抱歉，我无法评价这段内容。"}, "finish_reason": "stop"}]}, id="zh"),
        pytest.param({"choices": [{"message": {"content": "I'm sorry, but I can't help."}, "finish_reason": "stop"}]}, id="en"),
        pytest.param((400, {"error": {"code": "content_filter", "message": "blocked"}}), id="http-400"),
    ],
)  # fmt: skip
def test_a_refusal_is_its_own_status_and_is_not_kept(reply: Any, model: Any, server: Any, wire: Any, tmp_path: Path) -> None:  # fmt: skip
    """J9 and J6."""
    status, body = reply if isinstance(reply, tuple) else (200, reply)
    said = model(lambda _: wire["json"](body, status_code=status))
    found = ask(said, server, cache=Cache(tmp_path))
    assert [judgement.status for judgement in found] == ["judge_refused"]
    assert len(said.bodies) == 1
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"message": {"content": [1]}}]},
        {"choices": [None]},
    ],
)
def test_a_reply_of_another_shape_is_an_error(body: Any, model: Any, server: Any, wire: Any) -> None:
    said = model(lambda _: wire["json"](body))
    (judgement,) = ask(said, server)
    assert judgement.status == "judge_error"
    assert judgement.detail["error"]["kind"] == "bad_reply"


def test_verdicts_are_kept_by_all_that_could_change_them(model: Any, server: Any, tmp_path: Path) -> None:
    """J5: another model, parameter, question or repeat is another key; the same one costs no call."""
    said, cache = good(model), Cache(tmp_path)
    first = ask(said, server, cache=cache, repeats=5)
    assert len(said.bodies) == 5
    assert [body["seed"] for body in said.bodies] == [0, 1, 2, 3, 4]
    again = ask(said, server, cache=cache, repeats=5)
    assert len(said.bodies) == 5
    assert [judgement.cached for judgement in (*first, *again)] == [False] * 5 + [True] * 5
    assert again[0].model_dump(exclude={"cached", "usage"}) == first[0].model_dump(
        exclude={"cached", "usage"}
    )
    ask(said, server, cache=cache, model="n")
    ask(said, server, cache=cache, parameters={"temperature": 1, "seed": 0, "max_tokens": 1024})
    ask(said, server, cache=cache, question=QUESTION.model_copy(update={"material": {"answer": "不可以。"}}))
    ask(said, server, cache=cache, question=QUESTION.model_copy(update={"task": "重新评分"}))
    assert len(said.bodies) == 9


@pytest.mark.parametrize("spoil", ["", "{", "null", '{"key": "x", "answer": {}}', "truncate", "grade"])
def test_a_spoiled_entry_is_no_entry(spoil: str, model: Any, server: Any, tmp_path: Path) -> None:
    """J6: asked again, and replaced by what holds."""
    said, cache = good(model), Cache(tmp_path)
    ask(said, server, cache=cache)
    (path,) = tmp_path.rglob("*.json")
    whole = path.read_text(encoding="utf-8")
    spoiled = {"truncate": whole[:-5], "grade": whole.replace(": 8", ": 11")}.get(spoil, spoil)
    path.write_text(spoiled, encoding="utf-8")
    (judgement,) = ask(said, server, cache=cache)
    assert (judgement.cached, judgement.score, len(said.bodies)) == (False, pytest.approx(0.85), 2)
    assert path.read_text(encoding="utf-8") == whole


def test_errors_are_not_kept(model: Any, server: Any, wire: Any, tmp_path: Path) -> None:
    """J6: a 429 whose body looks like a verdict is no verdict."""
    said = model(lambda _: wire["json"](wire["completion"]("{}"), status_code=429))
    ask(said, server, cache=Cache(tmp_path))
    assert not list(tmp_path.rglob("*.json"))


def test_a_429_closes_the_gate_for_all(model: Any, server: Any, wire: Any) -> None:
    """R7, J7: nobody asks while the gate is shut, and everybody is answered in the end."""

    def say(body: dict[str, Any]) -> Any:
        if len(said.bodies) == 1:
            return wire["json"]({}, status_code=429, headers={"Retry-After": "1"})
        return said.verdict(body, dimensions=GRADES)

    said = model(say)

    async def main() -> list[Judgement]:
        async with server(said.url, concurrency=8, retries=3) as endpoint:
            first = asyncio.create_task(chat(QUESTION, server=endpoint, cache=Cache()))
            await asyncio.sleep(0.5)
            assert len(said.bodies) == 1
            rest = [chat(QUESTION, server=endpoint, cache=Cache()) for _ in range(20)]
            return [await first, *await asyncio.gather(*rest)]

    found = asyncio.run(main())
    assert {judgement.status for judgement in found} == {"ok"}
    refused_at, *later = said.times
    assert min(later) - refused_at >= 1


def test_an_endpoint_that_stays_away_is_an_error_of_that_kind(server: Any) -> None:
    class Nobody:
        url = "http://127.0.0.1:9/v1"

    (judgement,) = ask(Nobody, server)
    assert judgement.status == "judge_error"
    assert judgement.detail["error"]["kind"] == "connect"


def test_a_call_that_may_cost_too_much_is_not_made(model: Any, server: Any) -> None:
    """J8: with a cap of 1.00 and 0.30 a call there are three calls."""
    said, budget = good(model), Budget(max_cost=1.0)
    found = ask(said, server, budget=budget, repeats=5, price_per_call=0.3)
    assert [judgement.status for judgement in found] == ["ok"] * 3 + ["over_budget"] * 2
    assert len(said.bodies) == 3
    assert budget.spent == pytest.approx(0.9)


def test_calls_in_flight_are_within_the_budget_too(model: Any, server: Any) -> None:
    said = good(model)

    async def main() -> list[Judgement]:
        async with server(said.url, budget=Budget(max_calls=3), concurrency=10) as endpoint:
            return await asyncio.gather(*(chat(QUESTION, server=endpoint, cache=Cache()) for _ in range(10)))

    assert sorted(judgement.status for judgement in asyncio.run(main())) == ["ok"] * 3 + ["over_budget"] * 7
    assert len(said.bodies) == 3


def test_every_try_of_a_request_is_a_call(model: Any, server: Any, wire: Any) -> None:
    said = model(lambda _: wire["json"]({}, status_code=500))
    (judgement,) = ask(said, server, budget=Budget(max_calls=2), retries=5)
    assert (judgement.status, len(said.bodies)) == ("over_budget", 2)


def test_material_that_is_too_long_is_not_cut_in_silence(model: Any, server: Any) -> None:
    """J10."""
    said = good(model)
    long = QUESTION.model_copy(
        update={"material": {"question": "能退吗", "answer": "头" + "字" * 1_000_000 + "尾"}}
    )
    (refused,) = ask(said, server, question=long)
    assert (refused.status, refused.detail["error"]["kind"], said.bodies) == ("judge_error", "too_long", [])
    (cut,) = ask(said, server, question=long, overflow="head_tail", context_chars=1000)
    assert (cut.status, cut.detail["truncated"]) == ("ok", True)
    shown = said.material(said.bodies[0])
    assert shown["question"] == "能退吗"
    assert shown["answer"][0] + shown["answer"][-1] == "头尾"
    assert sum(map(len, shown.values())) <= 1000


def test_no_secret_reaches_the_judge_or_comes_back(
    model: Any, server: Any, caplog: Any, tmp_path: Path
) -> None:
    """J14, K1, K4: the key is in the header alone; a material that holds it is masked, as is a reply."""
    said = model(
        lambda body: said.verdict(body, dimensions=GRADES) if len(said.bodies) == 1 else f"key {CANARY}"
    )
    leaking = QUESTION.model_copy(update={"material": {"answer": f"令牌是 {CANARY}"}})
    with caplog.at_level(logging.DEBUG):
        found = ask(said, server, question=leaking, key=CANARY, cache=Cache(tmp_path), repeats=2)
    assert [judgement.status for judgement in found] == ["ok", "judge_error"]
    assert CANARY not in json.dumps(said.bodies, ensure_ascii=False)
    assert {headers["authorization"] for headers in said.headers} == {f"Bearer {CANARY}"}
    told = "".join([*(judgement.model_dump_json() for judgement in found), caplog.text])
    kept = "".join(path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.json"))
    assert CANARY not in told + kept


def test_personal_data_is_masked_where_that_was_asked_for(model: Any, server: Any) -> None:
    """J14, K8: the number of a person does not reach the model; without the setting it does, as the page says."""
    said = model(lambda body: said.verdict(body, dimensions=GRADES))
    private = QUESTION.model_copy(update={"material": {"answer": "他的电话是138 0013 8000"}})
    ask(said, server, question=private, mask_personal=True)
    ask(said, server, question=private)
    shown, plain = (said.material(body)["answer"] for body in said.bodies)
    assert (shown, plain) == ("他的电话是138****8000", "他的电话是138 0013 8000")


def test_a_judge_names_its_parameters(model: Any) -> None:
    """J11: the identity changes with the model and with whatever it is told or sent."""
    base = JudgeConfig(base_url="http://h/v1", model="m")
    changes: list[dict[str, Any]] = [
        {"model": "n"},
        {"parameters": {"temperature": 1}},
        {"context_chars": 900},
        {"mask_personal": True},
    ]
    others = [base.model_copy(update=change) for change in changes]
    assert len({identity(base), *map(identity, others)}) == 5
    assert identity(base) == identity(base.model_copy(update={"base_url": "http://other/v1", "key": "env:X"}))
