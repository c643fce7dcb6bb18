"""Ragent as a target, over a real connection: each way a case can go, and what the observation says of it.

Frames and fields are Ragent's own (1.1.0): SSE as Spring writes it, envelopes under HTTP 200.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from evalkit.contracts import Case, Observation
from evalkit.errors import UsageError
from evalkit.targets.ragent import ragent

Loopback = Any  # the class behind the fixture of that name
Answer = Callable[[Any, Any], Awaitable[None]]

PASSWORD = "canary-pass-7731"  # noqa: S105
TOKEN = "canary-token-7731"  # noqa: S105
NOT_LOGGED_IN = {"code": "A000001", "message": "未登录或登录已过期", "success": False}
EVIDENCE = {
    "retrievedDocIds": ["POLICY_RETURN_002", "FAQ_RET_001"],
    "retrievedChunkIds": ["POLICY_RETURN_002#0", "FAQ_RET_001#1"],
    "retrievedContexts": ["七天无理由退货。", "耳机拆封后不支持退货。"],
    "retrievedContextDocIds": ["POLICY_RETURN_002", None],
    "subIntents": ["耳机能退吗", "几天到账"],
    "intentLeafIds": [None, "S14_退换货咨询"],
    "mcpContext": "",
    "hasMcp": False,
    "hasKb": True,
    "latencyMs": 12,
}


def envelope(data: Any, code: str = "0") -> dict[str, Any]:
    return {"code": code, "data": data, "requestId": "req-1", "success": code == "0"}


@dataclass
class Service:
    """A scripted Ragent: each channel gives its answers one after the other, the last one again and again."""

    loopback: Loopback
    chat: list[Answer]
    evidence: list[Answer] = field(default_factory=list)
    logins: int = 0
    valid: set[str] = field(default_factory=set)

    async def __call__(self, request: Any, peer: Any) -> None:
        path = request.path.removeprefix("/api/ragent")
        if path == "/auth/login":
            return await self.login(request, peer)
        if request.headers.get("authorization") not in self.valid:
            return await peer.send(self.loopback.json(NOT_LOGGED_IN))
        script = self.evidence if path == "/rag/eval" else self.chat
        answer = script.pop(0) if len(script) > 1 else script[0]
        return await answer(request, peer)

    async def login(self, request: Any, peer: Any) -> None:
        self.logins += 1
        given = json.loads(request.body)
        if given != {"username": "tester", "password": PASSWORD}:
            refusal = {"code": "A000001", "message": f"用户名或密码错误: {given['password']}"}
            return await peer.send(self.loopback.json(refusal))
        token = f"{TOKEN}-{self.logins}"
        self.valid.add(token)
        return await peer.send(self.loopback.json(envelope({"userId": "1", "role": "admin", "token": token})))


class Bench:
    """Cases put to a scripted service."""

    def __init__(self, loopback: Loopback) -> None:
        self.loopback = loopback
        self.requests: list[Any] = []
        self.service: Service

    def says(self, *events: tuple[str, Any], end: bytes | None = None) -> Answer:
        """A stream of these events, each in a write of its own."""

        async def answer(_request: Any, peer: Any) -> None:
            await peer.send(self.loopback.STREAM)
            for name, data in events:
                await peer.send(self.loopback.event(name, data))
                await asyncio.sleep(0.002)
            await peer.send(self.loopback.END if end is None else end)

        return answer

    def gives(self, response: bytes) -> Answer:
        """A whole response."""

        async def answer(_request: Any, peer: Any) -> None:
            await peer.send(response)

        return answer

    def looks_up(self, data: Any = EVIDENCE) -> Answer:
        return self.gives(self.loopback.json(envelope(data)))

    def ask(
        self, case: Case, chat: list[Answer], *, lookups: list[Answer] | None = None, **options: Any
    ) -> Observation:
        return self.ask_all([case], chat, lookups=lookups, **options)[0]

    def ask_all(
        self, cases: list[Case], chat: list[Answer], *, lookups: list[Answer] | None = None, **options: Any
    ) -> list[Observation]:
        self.service = Service(self.loopback, chat, lookups or [self.looks_up()])

        async def main() -> list[Observation]:
            async with self.loopback(self.service) as server:
                login = {"username": "tester", "password": PASSWORD}
                place = f"{server.url}/api/ragent"
                async with ragent(base_url=place, **{**login, **options}) as ask:
                    seen = await asyncio.gather(*(ask(case) for case in cases))
                self.requests = server.requests
            return list(seen)

        return asyncio.run(main())

    def asked(self, path: str) -> list[dict[str, str]]:
        """The parameters of the requests that went to that path."""
        return [request.query for request in self.requests if request.path == f"/api/ragent{path}"]


@pytest.fixture
def bench(loopback: Loopback) -> Bench:
    return Bench(loopback)


QUESTION = "拆封的耳机能退吗？{{7*7}} & 100%"
CASE = Case(sample_id="q1", query=QUESTION)
META = ("meta", {"conversationId": "c-1", "taskId": "t-1"})
DONE = ("done", '"[DONE]"')
NORMAL = ("finish", {"messageId": "m-1", "title": "退货", "messageStatus": "NORMAL"})


def text(delta: Any) -> tuple[str, Any]:
    return "message", {"type": "response", "delta": delta}


def thought(delta: Any) -> tuple[str, Any]:
    return "message", {"type": "think", "delta": delta}


def finish(*names: str) -> tuple[str, Any]:
    sources = [{"index": at + 1, "docId": f"18{at}", "docName": name} for at, name in enumerate(names)]
    return "finish", {"messageStatus": "NORMAL", "sources": sources}


def test_an_ordinary_case_is_seen_whole(bench: Bench) -> None:
    seen = bench.ask(CASE, [bench.says(META, text("不能"), text("退。"), NORMAL, DONE)])
    assert (seen.response, seen.thinking, seen.answer_status, seen.evidence_status) == (
        "不能退。",
        None,
        "ok",
        "ok",
    )
    assert seen.intent_pred == "S14_退换货咨询"
    assert seen.intent_pred_all == (None, "S14_退换货咨询")
    assert seen.sub_questions == ("耳机能退吗", "几天到账")
    assert seen.retrieved_doc_ids == ("POLICY_RETURN_002", "FAQ_RET_001")
    assert seen.retrieved_chunk_ids == ("POLICY_RETURN_002#0", "FAQ_RET_001#1")
    assert seen.retrieved_contexts == ("七天无理由退货。", "耳机拆封后不支持退货。")
    assert seen.retrieved_context_doc_ids == ("POLICY_RETURN_002", None)
    assert seen.evidence_source == "side_channel"
    assert seen.trace_ids == {"conversationId": "c-1", "taskId": "t-1", "requestId": "req-1"}
    assert (len(seen.answer_attempts), len(seen.evidence_attempts)) == (1, 1)
    assert (seen.tool_calls, seen.filled_slots, seen.done_steps, seen.flags) == (None, None, None, ())
    assert (seen.answer_error, seen.evidence_error) == (None, None)
    assert [turn.sent_message for turn in seen.dialog] == [QUESTION]


def test_the_question_goes_out_as_it_is_to_both_channels_and_the_token_goes_raw(bench: Bench) -> None:
    bench.ask(CASE, [bench.says(META, NORMAL, DONE)])
    assert bench.asked("/rag/v3/chat") == [{"question": QUESTION, "deepThinking": "false"}]
    assert bench.asked("/rag/eval") == [{"question": QUESTION}]
    assert [request.path.rsplit("/", 1)[1] for request in bench.requests] == ["login", "chat", "eval"]
    assert {request.headers.get("authorization") for request in bench.requests[1:]} == {f"{TOKEN}-1"}


def test_deep_thinking_is_asked_for(bench: Bench) -> None:
    bench.ask(CASE, [bench.says(META, NORMAL, DONE)], deep_thinking=True)
    assert bench.asked("/rag/v3/chat")[0]["deepThinking"] == "true"


def test_ttft_is_the_first_answer_text_not_meta_thoughts_or_empty_deltas(bench: Bench) -> None:
    """Each event is read before the next one is sent, by the same loop: what comes between tells which it was."""
    sent = list[float]()

    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(bench.loopback.STREAM)
        for name, data in [META, text(""), thought("用户想退货"), text("不能"), text(None), NORMAL, DONE]:
            sent.append(time.perf_counter())
            await peer.send(bench.loopback.event(name, data))
            await asyncio.sleep(0.06)
        sent.append(time.perf_counter())
        await peer.send(bench.loopback.END)

    seen = bench.ask(CASE, [answer])
    told = seen.answer_timings
    assert told
    assert seen.ttft_ms == told.first_text_ms == told.last_text_ms
    assert seen.total_ms == told.end_ms
    thought_s, text_s, end_s = (
        ((moment or 0) - (told.first_event_ms or 0)) / 1000
        for moment in (told.first_reasoning_ms, told.first_text_ms, told.end_ms)
    )
    assert sent[2] - sent[1] < thought_s < sent[3] - sent[0]
    assert sent[3] - sent[1] < text_s < sent[4] - sent[0]
    assert sent[7] - sent[1] < end_s
    assert (told.text_chunks, told.events, told.reused_connection) == (1, 7, True)
    assert (seen.response, seen.thinking) == ("不能", "用户想退货")


def test_an_answer_without_text_has_no_ttft(bench: Bench) -> None:
    seen = bench.ask(CASE, [bench.says(META, thought("嗯"), NORMAL, DONE)])
    assert (seen.response, seen.ttft_ms, seen.answer_status) == ("", None, "ok")
    assert seen.answer_timings
    assert (seen.answer_timings.first_text_ms, seen.answer_timings.text_chunks) == (None, 0)


REJECT = ("reject", {"type": "response", "delta": "系统繁忙，请稍后再试"})
MANY = [text(piece) for piece in "可以退货"]


@pytest.mark.parametrize(
    ("events", "status", "kind", "response"),
    [
        ([META, ("meta", {"taskId": "t-2"}), REJECT, ("finish", {"messageStatus": "REJECTED"}), DONE], "rejected", "rejected", None),
        ([("reject", {"type": "response", "delta": "体验环境仅支持查询操作"}), DONE], "rejected", "rejected", None),
        ([META, REJECT, NORMAL, DONE], "rejected", "rejected", None),
        ([META, REJECT], "rejected", "rejected", None),
        ([META, ("finish", {"messageStatus": "REJECTED"}), DONE], "rejected", "rejected", None),
        ([META, text("可"), ("cancel", {"messageStatus": "INTERRUPTED"}), DONE], "cancelled", "cancelled", "可"),
        ([META, text("可"), ("finish", {"messageStatus": "INTERRUPTED"}), DONE], "cancelled", "cancelled", "可"),
        ([META, ("cancel", {}), REJECT, DONE], "rejected", "rejected", None),
        ([META, text("可")], "incomplete", "incomplete", "可"),
        ([META], "incomplete", "incomplete", None),
        ([], "incomplete", "incomplete", None),
        ([META, text("可"), ("finish", {"messageId": "m", "title": "1.0.0"})], "ok", None, "可"),
        ([META, text("可"), DONE], "ok", None, "可"),
        ([META, text("可"), ("title", "x"), ("unheard_of", "["), NORMAL, DONE], "ok", None, "可"),
        ([META, REJECT, ("error", "炸了"), NORMAL, DONE], "error", "stream_error", None),
        ([META, text("可"), ("message", "{"), NORMAL, DONE], "error", "bad_event", "可"),
        ([META, text("可"), ("message", '["a"]'), NORMAL, DONE], "error", "bad_event", "可"),
        ([META, text(5), NORMAL, DONE], "error", "bad_event", None),
        ([META, ("message", {"type": "rumour", "delta": "x"}), NORMAL, DONE], "error", "bad_event", None),
        ([META, ("message", '{"type":"response","delta":NaN}'), NORMAL, DONE], "error", "bad_event", None),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_the_worst_ending_stands(
    events: list[tuple[str, Any]], status: str, kind: str | None, response: str | None, bench: Bench
) -> None:
    seen = bench.ask(CASE, [bench.says(*events)])
    assert (seen.answer_status, seen.answer_error and seen.answer_error.kind) == (status, kind)
    assert seen.response == response
    assert seen.dialog[0].status == status
    assert (len(seen.answer_attempts), len(bench.asked("/rag/v3/chat"))) == (1, 1)
    assert seen.evidence_status == "ok", "one channel's failure is not the other's"


def test_the_refusal_is_told_not_taken_for_an_answer(bench: Bench) -> None:
    seen = bench.ask(CASE, [bench.says(META, REJECT, ("finish", {"messageStatus": "REJECTED"}), DONE)])
    assert seen.answer_error
    assert seen.answer_error.message == "系统繁忙，请稍后再试"
    assert (seen.ttft_ms, seen.response) == (None, None)


def test_a_stream_cut_inside_an_event_keeps_the_cut_piece_apart(bench: Bench) -> None:
    cut = bench.loopback.piece(b'event:message\ndata:{"type":"response","del') + bench.loopback.END
    seen = bench.ask(CASE, [bench.says(META, text("可"), end=cut)])
    assert (seen.response, seen.answer_status) == ("可", "incomplete")
    assert seen.answer_error
    assert seen.answer_error.body == 'event:message\ndata:{"type":"response","del'


def test_a_reset_keeps_the_text_and_is_tried_again(bench: Bench) -> None:
    async def reset(_request: Any, peer: Any) -> None:
        await peer.send(bench.loopback.STREAM, *(bench.loopback.event(*event) for event in [META, *MANY]))
        await asyncio.sleep(0.02)
        peer.reset()

    seen = bench.ask(CASE, [reset], retries=1)
    assert (seen.response, seen.answer_status) == ("可以退货", "error")
    assert [attempt.error and attempt.error.kind for attempt in seen.answer_attempts] == [
        "incomplete_read"
    ] * 2


def test_an_end_without_its_framing_after_done_is_only_flagged(bench: Bench) -> None:
    async def untidy(_request: Any, peer: Any) -> None:
        await peer.send(
            bench.loopback.STREAM, *(bench.loopback.event(*e) for e in [META, text("可"), NORMAL, DONE])
        )
        peer.close()

    seen = bench.ask(CASE, [untidy])
    assert (seen.answer_status, seen.answer_error, seen.flags) == ("ok", None, ("unclean_end",))
    assert len(seen.answer_attempts) == 1


def test_comments_that_drip_for_ever_end_at_the_total_deadline(bench: Bench) -> None:
    async def drip(_request: Any, peer: Any) -> None:
        await peer.send(bench.loopback.STREAM, bench.loopback.event(*META), bench.loopback.event(*text("可")))
        while True:
            await peer.send(bench.loopback.piece(b":p\n\n"))
            await asyncio.sleep(0.01)

    seen = bench.ask(CASE, [drip], total_deadline_s=0.4)
    assert (seen.response, seen.answer_status) == ("可", "error")
    assert seen.answer_error
    assert seen.answer_error.kind == "deadline.total"
    assert 350 < (seen.total_ms or 0) < 10_000
    assert len(seen.answer_attempts) == 1


@pytest.mark.parametrize(("engine", "stop"), [("agent", "/agent/v1/stop"), ("workflow", "/rag/v3/stop")])
def test_a_task_that_a_deadline_cut_is_stopped(bench: Bench, engine: Any, stop: str) -> None:
    """The agent engine lets a user have one stream: a forgotten one would refuse the next case."""

    async def hang(request: Any, peer: Any) -> None:
        if request.path.endswith("/stop"):
            return await peer.send(bench.loopback.json(envelope(None)))
        await peer.send(bench.loopback.STREAM, bench.loopback.event(*META), bench.loopback.event(*text("可")))
        return await asyncio.sleep(30)

    seen = bench.ask(CASE, [hang], engine=engine, total_deadline_s=0.5)
    assert seen.answer_error
    assert (seen.answer_error.kind, seen.response) == ("deadline.total", "可")
    assert bench.asked(stop) == [{"taskId": "t-1"}]
    assert [request.method for request in bench.requests if request.path.endswith("/stop")] == ["POST"]
    bench.ask(CASE, [bench.says(META, text("好"), NORMAL, DONE)], engine=engine)
    assert not bench.asked(stop)


def test_text_that_came_in_one_read_is_flagged(bench: Bench) -> None:
    async def buffered(_request: Any, peer: Any) -> None:
        events = [META, *MANY, NORMAL, DONE]
        await peer.send(
            bench.loopback.STREAM, *(bench.loopback.event(*event) for event in events), bench.loopback.END
        )

    assert bench.ask(CASE, [buffered]).flags == ("buffered_stream",)
    assert bench.ask(CASE, [bench.says(META, *MANY, NORMAL, DONE)]).flags == ()


def test_surrogate_halves_in_two_deltas_are_one_character(bench: Bench) -> None:
    halves = [("message", f'{{"type":"response","delta":"{half}"}}') for half in ("\\ud83d", "\\ude00")]
    seen = bench.ask(CASE, [bench.says(META, *halves, NORMAL, DONE)])
    assert (seen.response, seen.flags) == ("😀", ())


def test_half_a_character_is_written_out_and_flagged(bench: Bench) -> None:
    half = ("message", '{"type":"response","delta":"好\\ud83d"}')
    seen = bench.ask(CASE, [bench.says(META, half, NORMAL, DONE)])
    assert (seen.response, seen.flags) == ("好\\ud83d", ("lone_surrogate",))
    assert Observation.model_validate_json(seen.model_dump_json()) == seen


def test_a_503_is_tried_again_and_only_the_second_latency_counts(bench: Bench) -> None:
    async def slow_refusal(_request: Any, peer: Any) -> None:
        await asyncio.sleep(0.3)
        await peer.send(bench.loopback.body(b"busy", kind="text/plain", status=503))

    seen = bench.ask(CASE, [slow_refusal, bench.says(META, text("可"), NORMAL, DONE)])
    first, second = seen.answer_attempts
    assert (first.status, first.error and first.error.http_status, second.status) == ("error", 503, "ok")
    assert first.total_ms >= 300
    assert seen.total_ms == second.total_ms < 200
    assert (seen.response, seen.answer_status, seen.answer_error) == ("可", "ok", None)


def test_a_429_with_too_long_a_wait_is_rate_limited(bench: Bench) -> None:
    refusal = bench.loopback.body(b"", status=429, headers={"Retry-After": "99999"})
    seen = bench.ask(CASE, [bench.gives(refusal)])
    assert seen.answer_error
    assert (seen.answer_error.kind, len(seen.answer_attempts)) == ("rate_limited", 1)


def test_an_error_envelope_under_http_200_is_an_error_with_its_code(bench: Bench) -> None:
    refusal = {"code": "B000001", "message": "系统执行出错", "success": False}
    seen = bench.ask(CASE, [bench.gives(bench.loopback.json(refusal))])
    assert seen.answer_error
    assert (seen.answer_error.kind, seen.answer_error.code) == ("envelope", "B000001")
    assert "系统执行出错" in seen.answer_error.message
    assert (seen.response, seen.ttft_ms, len(seen.answer_attempts)) == (None, None, 1)


def test_a_question_that_is_too_long_is_sent_whole_and_the_refusal_recorded(bench: Bench) -> None:
    async def validate(request: Any, peer: Any) -> None:
        assert len(request.query["question"]) == 600
        await peer.send(bench.loopback.json({"code": "A000001", "message": "问题长度不能超过500"}))

    seen = bench.ask(Case(sample_id="long", query="退" * 600), [validate])
    assert seen.answer_error
    assert (seen.answer_status, seen.answer_error.code) == ("error", "A000001")
    assert bench.service.logins == 1, "the code is also that of a lost login, the text is not"


def test_a_question_that_fits_no_address_is_that_case_alone(bench: Bench) -> None:
    seen = bench.ask(Case(sample_id="huge", query="退" * 40_000), [bench.says(META, NORMAL, DONE)])
    assert seen.answer_error
    assert seen.evidence_error
    assert (seen.answer_error.kind, seen.evidence_error.kind) == ("bad_request", "bad_request")


@pytest.mark.parametrize(
    ("response", "kind", "attempts"),
    [
        (lambda it: it.body(b"boom", kind="text/plain", status=500), "http_status", 2),
        (lambda it: it.body("<html>登录</html>".encode(), kind="text/html"), "bad_content_type", 1),
        (lambda it: it.json({"code": "B000001", "message": "系统执行出错"}), "envelope", 1),
        (lambda it: it.json({"answer": 1}), "envelope", 1),
        (lambda it: it.json(["0"]), "envelope", 1),
        (lambda it: it.body(b'{"code":"0","data":'), "bad_json", 1),
        (lambda it: it.json(envelope(None)), "bad_evidence", 1),
        (lambda it: it.json(envelope({"intentLeafIds": []})), "bad_evidence", 1),
        (lambda it: it.json(envelope({**EVIDENCE, "retrievedDocIds": None})), "bad_evidence", 1),
        (lambda it: it.json(envelope({**EVIDENCE, "retrievedDocIds": "A"})), "bad_evidence", 1),
        (lambda it: it.json(envelope({**EVIDENCE, "intentLeafIds": None})), "bad_evidence", 1),
        (lambda it: it.json(envelope({**EVIDENCE, "retrievedContexts": [{}]})), "bad_evidence", 1),
    ],
)
def test_failed_evidence_is_never_an_empty_retrieval(
    response: Callable[[Any], bytes], kind: str, attempts: int, bench: Bench
) -> None:
    failing = [bench.gives(response(bench.loopback))]
    seen = bench.ask(CASE, [bench.says(META, text("可"), NORMAL, DONE)], lookups=failing, retries=1)
    assert (seen.evidence_status, seen.evidence_error and seen.evidence_error.kind) == ("error", kind)
    assert (seen.retrieved_doc_ids, seen.evidence_source, seen.intent_pred) == (None, None, None)
    assert len(seen.evidence_attempts) == attempts
    assert (seen.answer_status, seen.response) == ("ok", "可")


def test_an_empty_retrieval_is_empty_and_ok(bench: Bench) -> None:
    nothing = {**EVIDENCE, "retrievedDocIds": [], "intentLeafIds": [None]}
    seen = bench.ask(CASE, [bench.says(META, NORMAL, DONE)], lookups=[bench.looks_up(nothing)])
    assert (seen.evidence_status, seen.retrieved_doc_ids) == ("ok", ())
    assert (seen.intent_pred, seen.intent_pred_all) == (None, (None,))


def test_evidence_that_is_not_asked_for_is_skipped(bench: Bench) -> None:
    seen = bench.ask(CASE, [bench.says(META, NORMAL, DONE)], evidence=False)
    assert (seen.evidence_status, seen.evidence_attempts, seen.retrieved_doc_ids) == ("skipped", (), None)
    assert bench.asked("/rag/eval") == []


@pytest.mark.parametrize(
    ("names", "flags"),
    [
        (["FAQ_RET_001.md", "POLICY_RETURN_002.docx"], ()),
        (["GUIDE_v1.2.pdf", "FAQ_RET_001"], ("evidence_mismatch",)),
        ([], ("evidence_mismatch",)),
    ],
)
def test_the_sources_of_the_answer_itself_come_before_those_of_the_second_run(
    names: list[str], flags: tuple[str, ...], bench: Bench
) -> None:
    seen = bench.ask(CASE, [bench.says(META, text("可"), finish(*names), DONE)])
    codes = {
        "GUIDE_v1.2.pdf": "GUIDE_v1.2",
        "FAQ_RET_001.md": "FAQ_RET_001",
        "POLICY_RETURN_002.docx": "POLICY_RETURN_002",
    }
    assert seen.retrieved_doc_ids == tuple(codes.get(name, name) for name in names)
    assert (seen.evidence_source, seen.flags) == ("stream", flags)
    assert seen.dialog[0].retrieved_doc_ids == seen.retrieved_doc_ids
    assert seen.intent_pred == "S14_退换货咨询"


def test_sources_stay_known_when_the_second_run_fails(bench: Bench) -> None:
    failing = [bench.gives(bench.loopback.body(b"", status=404))]
    seen = bench.ask(CASE, [bench.says(META, finish("A.md"), DONE)], lookups=failing)
    assert (seen.evidence_status, seen.retrieved_doc_ids, seen.evidence_source) == ("error", ("A",), "stream")


@pytest.mark.parametrize("sources", ["A", ["A"], {"docName": "A"}])
def test_sources_of_another_shape_are_flagged_and_the_second_run_is_used(sources: Any, bench: Bench) -> None:
    odd = ("finish", {"messageStatus": "NORMAL", "sources": sources})
    seen = bench.ask(CASE, [bench.says(META, text("可"), odd, DONE)])
    assert (seen.answer_status, seen.evidence_source, seen.flags) == ("ok", "side_channel", ("bad_sources",))


DIALOG = Case(sample_id="d1", query="", messages=("我要修手机", "星河 X1，屏幕碎了", "是的"))
STATE = {
    "task": "repair_booking",
    "filledSlots": {"product": "星河 X1", "fault": None},
    "doneSteps": ["identify_product"],
}


def tool(status: str, **more: Any) -> tuple[str, Any]:
    return "tool", {"name": "check_warranty", "displayName": "查询保修", "status": status, **more}


def test_a_dialog_goes_to_the_agent_engine_turn_by_turn_in_one_conversation(bench: Bench) -> None:
    second = [
        tool("start"),
        tool("end", ok=True, result='{"in_warranty":true}', arguments={"product": "X1"}, latencyMs=8),
    ]
    seen = bench.ask(
        DIALOG,
        [
            bench.says(META, text("哪一款？"), NORMAL, DONE),
            bench.says(
                META,
                *second,
                text("要预约吗？"),
                ("finish", {"messageStatus": "NORMAL", "state": STATE}),
                DONE,
            ),
            bench.says(META, text("好的"), text("，约好了"), NORMAL, DONE),
        ],
    )
    asked = bench.asked("/agent/v1/chat")
    assert [query["question"] for query in asked] == list(DIALOG.messages)
    assert [query.get("conversationId") for query in asked] == [None, "c-1", "c-1"]
    assert bench.asked("/rag/eval") == [{"question": "我要修手机"}]
    assert [turn.reply for turn in seen.dialog] == ["哪一款？", "要预约吗？", "好的，约好了"]
    assert seen.response == "好的，约好了"
    assert (seen.ttft_ms, seen.total_ms) == (seen.dialog[2].ttft_ms, seen.dialog[2].latency_ms)
    assert seen.answer_attempts[0].total_ms == pytest.approx(
        sum(turn.latency_ms or 0 for turn in seen.dialog)
    )
    assert seen.tool_calls == seen.dialog[1].tool_calls
    call = seen.dialog[1].tool_calls[0]
    assert (call.name, call.arguments, call.result, call.error, call.latency_ms) == (
        "check_warranty", {"product": "X1"}, '{"in_warranty":true}', None, 8.0,
    )  # fmt: skip
    assert (seen.filled_slots, seen.done_steps) == (STATE["filledSlots"], ("identify_product",))
    assert [turn.filled_slots for turn in seen.dialog] == [None, STATE["filledSlots"], None]


def test_a_dialog_stops_at_the_turn_that_goes_wrong(bench: Bench) -> None:
    seen = bench.ask(DIALOG, [bench.says(META, text("哪一款？"), NORMAL, DONE), bench.says(META, text("请"))])
    assert [turn.status for turn in seen.dialog] == ["ok", "incomplete"]
    assert (seen.response, seen.answer_status) == ("请", "incomplete")
    assert len(bench.asked("/agent/v1/chat")) == 2
    assert seen.tool_calls is None, "what tools would have been called is unknown"


def test_a_dialog_that_broke_is_begun_again_in_a_new_conversation(bench: Bench) -> None:
    whole = bench.says(META, text("好"), NORMAL, DONE)
    seen = bench.ask(DIALOG, [whole, bench.gives(bench.loopback.body(b"", status=502)), whole])
    asked = bench.asked("/agent/v1/chat")
    assert [query["question"] for query in asked] == [*DIALOG.messages[:2], *DIALOG.messages]
    assert asked[2].get("conversationId") is None
    assert (len(seen.answer_attempts), len(seen.dialog), seen.answer_status) == (2, 3, "ok")


def test_the_engine_can_be_chosen(bench: Bench) -> None:
    whole = bench.says(META, text("好"), NORMAL, DONE)
    bench.ask(DIALOG, [whole], engine="workflow")
    assert [query.get("conversationId") for query in bench.asked("/rag/v3/chat")] == [None, "c-1", "c-1"]
    seen = bench.ask(CASE, [whole], engine="agent")
    assert bench.asked("/agent/v1/chat") == [{"question": QUESTION}]
    assert seen.tool_calls == ()
    with pytest.raises(UsageError, match="wanted one of workflow, agent, auto"):
        bench.ask(CASE, [whole], engine="quick")


def test_the_agent_engine_gets_one_dialog_at_a_time(bench: Bench) -> None:
    """It refuses a user's second stream while the first one runs."""
    running = peak = 0

    async def answer(_request: Any, peer: Any) -> None:
        nonlocal running, peak
        running, peak = running + 1, max(peak, running + 1)
        await asyncio.sleep(0.01)
        running -= 1
        await bench.says(META, text("好"), NORMAL, DONE)(_request, peer)

    cases = [DIALOG.model_copy(update={"sample_id": str(n)}) for n in range(4)]
    bench.ask_all(cases, [answer])
    assert peak == 1
    bench.ask_all(cases, [answer], agent_streams=4)
    assert peak > 1


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        ([tool("start")], [("the stream ended before the tool did", None)]),
        ([tool("end", ok=False, result="没有这个订单")], [("没有这个订单", "没有这个订单")]),
        ([tool("start"), tool("start"), tool("end", result="1"), tool("end", result="2")], [(None, "1"), (None, "2")]),
        ([tool("end", latencyMs=-5, result="1")], [(None, "1")]),
        ([tool("end", latencyMs=True, result="1")], [(None, "1")]),
    ],
)  # fmt: skip
def test_tool_events_become_calls(
    events: list[tuple[str, Any]], calls: list[tuple[Any, Any]], bench: Bench
) -> None:
    seen = bench.ask(CASE, [bench.says(META, *events, text("好"), NORMAL, DONE)], engine="agent")
    assert [(call.error, call.result) for call in seen.tool_calls or ()] == calls
    assert all(call.latency_ms is None for call in seen.tool_calls or ())


@pytest.mark.parametrize("broken", [{"name": ""}, {"name": None}, {"arguments": [1]}])
def test_a_tool_event_that_cannot_be_read_is_an_error(broken: dict[str, Any], bench: Bench) -> None:
    events = [META, tool("end", **broken), text("好"), NORMAL, DONE]
    seen = bench.ask(CASE, [bench.says(*events)], engine="agent")
    assert seen.answer_error
    assert (seen.answer_error.kind, seen.response) == ("bad_event", "好")


@pytest.mark.parametrize("state", [[], {"filledSlots": []}, {"doneSteps": "x"}, {"doneSteps": [1]}])
def test_a_state_of_another_shape_is_flagged_not_taken(state: Any, bench: Bench) -> None:
    end = ("finish", {"messageStatus": "NORMAL", "state": state})
    seen = bench.ask(CASE, [bench.says(META, text("好"), end, DONE)], engine="agent")
    assert (seen.answer_status, seen.filled_slots, seen.done_steps, seen.flags) == (
        "ok",
        None,
        None,
        ("bad_state",),
    )


def test_running_out_of_iterations_is_flagged(bench: Bench) -> None:
    hint = ("hint", {"code": "MAX_ITERATIONS", "text": "已达上限"})
    assert bench.ask(CASE, [bench.says(META, hint, NORMAL, DONE)], engine="agent").flags == (
        "max_iterations",
    )


def test_an_expired_token_is_renewed_once_for_all_who_need_it(bench: Bench) -> None:
    """Eight cases at once find the token gone: one of them logs in again, all are answered."""
    whole = bench.says(META, text("好"), NORMAL, DONE)
    first = True

    async def answer(request: Any, peer: Any) -> None:
        nonlocal first
        if first:
            first = False
            bench.service.valid.clear()
            await asyncio.sleep(0.05)
        await whole(request, peer)

    cases = [Case(sample_id=str(n), query="能退吗") for n in range(8)]
    seen = bench.ask_all(cases, [answer])
    assert [each.answer_status for each in seen] == ["ok"] * 8
    assert [each.evidence_status for each in seen] == ["ok"] * 8
    assert bench.service.logins == 2


def test_a_service_that_never_takes_the_token_is_asked_twice_not_for_ever(bench: Bench) -> None:
    lost = bench.gives(bench.loopback.json(NOT_LOGGED_IN))
    seen = bench.ask(CASE, [lost], lookups=[lost])
    assert seen.answer_error
    assert (seen.answer_error.kind, seen.answer_error.code) == ("envelope", "A000001")
    assert len(bench.asked("/rag/v3/chat")) == 2


def test_a_login_that_is_refused_while_running_is_an_error_of_the_case(bench: Bench) -> None:
    async def turn_away(request: Any, peer: Any) -> None:
        bench.service.valid.clear()
        bench.service.login = bench.gives(bench.loopback.json({"code": "A000001", "message": "账号已停用"}))  # type: ignore[method-assign]
        await peer.send(bench.loopback.json(NOT_LOGGED_IN))

    seen = bench.ask(CASE, [turn_away])
    assert seen.answer_error
    assert (seen.answer_error.kind, "账号已停用" in seen.answer_error.message) == ("login", True)
    assert seen.evidence_status == "error"


def test_a_wrong_password_ends_the_run_before_it_begins_and_is_not_shown(bench: Bench) -> None:
    with pytest.raises(UsageError, match="用户名或密码错误") as caught:
        bench.ask(CASE, [], password="swordfish")  # noqa: S106
    assert "swordfish" not in str(caught.value)
    assert "***" in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"code": "0", "data": {"token": ""}}, "no usable data.token"),
        ({"code": "0", "data": None}, "no usable data.token"),
        ({"code": "0", "data": {"token": "a\r\nX: b"}}, "no usable data.token"),
        ({"data": {}}, "wanted an envelope"),
    ],
)
def test_a_login_reply_without_a_token_is_told(reply: Any, told: str, loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.json(reply))

    async def main() -> None:
        async with loopback(answer) as server, ragent(base_url=server.url, username="u", password=PASSWORD):
            pass

    with pytest.raises(UsageError, match=told):
        asyncio.run(main())


def test_nobody_at_home_is_told_before_the_first_case() -> None:
    async def main() -> None:
        async with ragent(base_url="http://127.0.0.1:1/api", username="u", password=PASSWORD):
            pass

    with pytest.raises(UsageError, match=r"ragent at http://127\.0\.0\.1:1/api: auth/login"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"password": PASSWORD}, "RAGENT_USERNAME"),
        ({"username": "u"}, "RAGENT_PASSWORD"),
        ({"base_url": f"http://u:{PASSWORD}@127.0.0.1:1"}, "a login in the address"),
    ],
)
def test_a_missing_or_misplaced_login_is_told(
    options: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAGENT_BASE_URL", "RAGENT_USERNAME", "RAGENT_PASSWORD"):
        monkeypatch.delenv(name, raising=False)

    async def main() -> None:
        async with ragent(**options):
            pass

    with pytest.raises(UsageError, match=told) as caught:
        asyncio.run(main())
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"retries": -1}, "retries: found -1"),
        ({"retries": "abc"}, "retries: found 'abc'"),
        ({"agent_streams": 0}, "agent_streams: found 0"),
        ({"concurrency": 0}, "concurrency: found 0"),
        ({"concurrency": "x"}, "concurrency: found 'x'"),
        ({"total_deadline_s": 0}, "total_deadline_s: found 0"),
        ({"total_deadline_s": "abc"}, "total_deadline_s: found 'abc'"),
        ({"first_event_deadline_s": float("nan")}, "first_event_deadline_s: found nan"),
        ({"base_url": 5}, "base_url: found no address"),
        ({"base_url": "http://[::1"}, "base_url: found no address"),
        ({"base_url": "http://h:99999"}, "base_url: found no address"),
        ({"base_url": "http://\udc80"}, "base_url: found no address"),
        ({"base_url": "localhost:9090"}, "base_url: found no address"),
        ({"base_url": "http://h/?token=t"}, "base_url: found a query"),
        ({"password": "\udc80"}, "RAGENT_PASSWORD: found bytes that are no UTF-8"),
        ({"username": "\udc80"}, "RAGENT_USERNAME: found bytes that are no UTF-8"),
    ],
)
def test_a_setting_that_cannot_be_is_a_usage_error(options: dict[str, Any], told: str) -> None:
    async def main() -> None:
        async with ragent(**{"base_url": "http://127.0.0.1:1", "username": "u", "password": "p", **options}):
            pass

    with pytest.raises(UsageError, match=told):
        asyncio.run(main())


def test_address_and_login_are_taken_from_the_environment(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(bench.loopback, [bench.says(META, text("好"), NORMAL, DONE)], [bench.looks_up()])

    async def main() -> Observation:
        async with bench.loopback(service) as server:
            monkeypatch.setenv("RAGENT_BASE_URL", f"{server.url}/api/ragent")
            monkeypatch.setenv("RAGENT_USERNAME", "tester")
            monkeypatch.setenv("RAGENT_PASSWORD", PASSWORD)
            async with ragent() as ask:
                return await ask(CASE)

    assert asyncio.run(main()).answer_status == "ok"


def test_secrets_are_nowhere(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Not though the target repeats the token and the password in every channel, and logs run at DEBUG."""
    shown: list[str] = []

    async def echo(request: Any, peer: Any) -> None:
        token = request.headers["authorization"]
        if request.path.endswith("/eval"):
            return await peer.send(bench.loopback.body(f"{token} {PASSWORD}".encode(), kind="text/html"))
        return await bench.says(META, text(f"你的口令是 {token}"), text(PASSWORD), NORMAL, DONE)(
            request, peer
        )

    async def main() -> Observation:
        service = Service(bench.loopback, [echo], [echo])
        async with (
            bench.loopback(service) as server,
            ragent(base_url=f"{server.url}/api/ragent", username="tester", password=PASSWORD) as ask,
        ):
            shown.append(repr(ask) + repr(vars(ask) if hasattr(ask, "__dict__") else ""))
            return await ask(CASE)

    with caplog.at_level(logging.DEBUG):
        seen = asyncio.run(main())
    shown += [seen.model_dump_json(), repr(seen), caplog.text]
    assert seen.response == "你的口令是 ******"
    assert seen.flags == ("secret_in_answer",)
    assert not [text for text in shown if "7731" in text]
