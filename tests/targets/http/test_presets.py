"""Every ready-made target against a replica of its wire format: what the frames say is what the observation says.

Framing, order, end markers and error shapes are those of the public documents of each project (August 2026).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalkit.contracts import Case, EvalRecord, Observation, Usage
from evalkit.metrics import latency
from evalkit.registry import lookup, names
from evalkit.targets.http.ready import preset_names, preset_spec

DIALOG = Case(sample_id="d1", messages=("我要退耳机", "已经拆封了"))


def delta(content: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of chat completions."""
    said = {} if content is None else {"content": content}
    choice = {"index": 0, "delta": {**said, **more}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


def settings(name: str) -> dict[str, Any]:
    """Values for the parameters that must be set."""
    needed = {each for each, found in preset_spec(name).parameters.items() if found.needed}
    return dict.fromkeys(needed - {"base_url", "url"}, "x1")


def test_every_preset_is_a_target() -> None:
    assert set(preset_names()) <= set(names("target"))
    for name in preset_names():
        assert callable(lookup("target", name))
        assert preset_spec(name).about


# ---- OpenAI chat completions


def test_openai_text_tools_and_usage(replica: Any, sse: Any) -> None:
    """The first chunk has a role and no text: it is not the first token; the usage chunk has no choices."""
    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "query_order", "arguments": ""},
    }
    usage = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}
    seen = replica.ask(
        "openai",
        replica.streams(
            ": keep-alive\n\n",
            *sse(
                delta("", role="assistant"),
                delta(reasoning_content="先查订单"),
                delta(tool_calls=[call]),
                delta(tool_calls=[{"index": 0, "function": {"arguments": '{"order_id": '}}]),
                delta(tool_calls=[{"index": 0, "function": {"arguments": '"A1"}'}}]),
                delta("可以"),
                delta("退。"),
                delta(finish="stop"),
                usage,
                "[DONE]",
            ),
        ),
        **settings("openai"),
    )
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退。", "先查订单", "ok")
    assert [(call.name, call.arguments) for call in seen.tool_calls] == [("query_order", {"order_id": "A1"})]
    assert (seen.usage.prompt_tokens, seen.usage.completion_tokens, seen.usage.total_tokens) == (9, 4, 13)
    times = seen.answer_timings
    assert (
        times.first_event_ms
        < times.first_reasoning_ms
        < times.first_text_ms
        <= times.last_text_ms
        <= times.end_ms
    )
    assert (times.text_chunks, times.events) == (2, 10)
    assert seen.evidence_status == "skipped"
    assert replica.requests[0].headers["authorization"].startswith("Bearer canary")


def test_tokens_of_all_tries_and_turns_are_paid(replica: Any, sse: Any) -> None:
    """M14: a try that breaks after it told 100 tokens, and one that tells 100: 200; one that tells none adds none."""
    told = {"choices": [], "usage": {"completion_tokens": 30, "total_tokens": 100}}
    broken = replica.streams(*sse(delta("可"), told), cut=True)
    silent = replica.streams(*sse(delta("可")), cut=True)
    good = replica.streams(*sse(delta("可以"), delta(finish="stop"), told, "[DONE]"))
    given = settings("openai") | {"retries": 2}
    seen = replica.ask("openai", broken, silent, good, **given)
    assert [attempt.status for attempt in seen.answer_attempts] == ["error", "error", "ok"]
    assert seen.usage == Usage(completion_tokens=60, total_tokens=200)
    assert timed_tokens(seen) == 0
    seen = replica.ask("openai", good, case=DIALOG, **given)
    assert seen.usage == Usage(completion_tokens=60, total_tokens=200)
    assert timed_tokens(seen) == 0


def test_tokens_that_nobody_told_are_null(replica: Any, sse: Any) -> None:
    """M14: unknown is not 0."""
    silent = replica.streams(*sse(delta("可")), cut=True)
    seen = replica.ask("openai", silent, silent, **settings("openai") | {"retries": 1})
    assert (len(seen.answer_attempts), seen.usage) == (2, None)


def timed_tokens(seen: Observation) -> int:
    """Of how many records there is a time per token."""
    record = EvalRecord(sample_id="1", **seen.model_dump())
    return {row.name: row.n_counted for row in latency.quantiles([record])}["tpot_ms"]


def test_openai_history_is_sent_again(replica: Any, sse: Any) -> None:
    answers = [replica.streams(*sse(delta(text), "[DONE]")) for text in ("拆封了吗？", "那不能退。")]
    seen = replica.ask("openai", *answers, case=DIALOG, model="m", system="你是客服")
    assert [turn.reply for turn in seen.dialog] == ["拆封了吗？", "那不能退。"]
    assert [(each["role"], each["content"]) for each in replica.bodies()[1]["messages"]] == [
        ("system", "你是客服"),
        ("user", "我要退耳机"),
        ("assistant", "拆封了吗？"),
        ("user", "已经拆封了"),
    ]


@pytest.mark.parametrize(
    ("frames", "status", "kind", "text"),
    [
        pytest.param([delta("可")], "incomplete", "incomplete", "可", id="silent-close"),
        pytest.param(
            [delta("可"), {"error": {"message": "overloaded", "code": "503"}}, "[DONE]"],
            "error",
            "stream_error",
            "可",
            id="error-in-the-stream",
        ),
        pytest.param([delta("可"), "{broken", "[DONE]"], "error", "bad_event", "可", id="no-json"),
        pytest.param([delta(finish="content_filter"), "[DONE]"], "rejected", "rejected", None, id="filtered"),
    ],
)
def test_openai_bad_ends(
    replica: Any, sse: Any, frames: Any, status: str, kind: str, text: str | None
) -> None:
    seen = replica.ask("openai", replica.streams(*sse(*frames)), model="m")
    assert (seen.answer_status, seen.answer_error.kind, seen.response) == (status, kind, text)


def test_openai_a_length_limit_is_flagged(replica: Any, sse: Any) -> None:
    seen = replica.ask("openai", replica.streams(*sse(delta("可", finish="length"), "[DONE]")), model="m")
    assert (seen.answer_status, seen.flags) == ("ok", ("truncated",))


def test_openai_refusals_before_the_stream(replica: Any) -> None:
    seen = replica.ask("openai", replica.gives({"error": {"message": "bad key"}}, status=401), model="m")
    assert (seen.answer_status, seen.answer_error.kind, seen.answer_error.http_status) == (
        "error",
        "http_status",
        401,
    )
    assert "bad key" in seen.answer_error.body


def test_a_broken_connection_is_tried_again_and_both_tries_are_kept(replica: Any, sse: Any) -> None:
    replica.retries = 1
    broken = replica.streams(*sse(delta("可")), cut=True)
    seen = replica.ask("openai", broken, replica.streams(*sse(delta("可以"), "[DONE]")), model="m")
    assert [attempt.status for attempt in seen.answer_attempts] == ["error", "ok"]
    assert seen.response == "可以"


def test_keys_that_a_server_repeats_are_blacked_out(replica: Any, sse: Any) -> None:
    seen = replica.ask("openai", replica.streams(*sse(delta("key canary-key-55120077"), "[DONE]")), model="m")
    assert (seen.response, seen.flags) == ("key ***", ("secret_in_answer",))


# ---- OpenAI Responses


def typed(kind: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """An event whose name stands in its data too."""
    return kind, {"type": kind, **more}


def test_openai_responses(replica: Any, sse: Any) -> None:
    results = [{"file_id": "f1", "filename": "POLICY_RETURN_002.md", "score": 0.9, "text": "七天无理由"}]
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    seen = replica.ask(
        "openai_responses",
        replica.streams(
            *sse(
                typed("response.created", response={"id": "resp_1"}),
                typed(
                    "response.output_item.done",
                    output_index=0,
                    item={"type": "file_search_call", "results": results},
                ),
                typed("response.reasoning_summary_text.delta", delta="想"),
                typed(
                    "response.output_item.added",
                    output_index=1,
                    item={"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "refund"},
                ),
                typed("response.function_call_arguments.delta", output_index=1, delta='{"n":'),
                typed("response.function_call_arguments.delta", output_index=1, delta="1}"),
                typed("response.function_call_arguments.done", output_index=1, arguments='{"n":1}'),
                typed("response.output_text.delta", delta="可以"),
                typed("response.output_text.delta", delta="退"),
                typed("response.completed", response={"id": "resp_1", "usage": usage}),
            )
        ),
        model="m",
    )
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退", "想", "ok")
    assert [(call.name, call.arguments) for call in seen.tool_calls] == [("refund", {"n": 1})]
    assert (seen.retrieved_doc_ids, seen.retrieved_contexts) == (("POLICY_RETURN_002",), ("七天无理由",))
    assert (seen.evidence_source, seen.evidence_status, seen.usage.total_tokens) == ("stream", "ok", 10)


@pytest.mark.parametrize(
    ("last", "status"),
    [
        pytest.param(typed("error", code="server_error", message="坏了"), "error", id="error-event"),
        pytest.param(typed("response.failed", response={"error": {"message": "坏了"}}), "error", id="failed"),
        pytest.param(
            typed("response.incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}}),
            "incomplete",
            id="incomplete",
        ),
    ],
)
def test_openai_responses_bad_ends(replica: Any, sse: Any, last: Any, status: str) -> None:
    seen = replica.ask(
        "openai_responses",
        replica.streams(*sse(typed("response.output_text.delta", delta="可"), last)),
        model="m",
    )
    assert (seen.answer_status, seen.response) == (status, "可")
    assert seen.answer_error.message in ("坏了", "max_output_tokens")
    assert seen.evidence_status == "error", (
        "documents that a failed answer did not tell are not an empty retrieval"
    )


# ---- Anthropic


def block(index: int, **change: Any) -> tuple[str, dict[str, Any]]:
    return typed("content_block_delta", index=index, delta=change)


def test_anthropic(replica: Any, sse: Any) -> None:
    citation = {"type": "search_result_location", "source": "POLICY_1", "title": "t", "cited_text": "七天"}
    seen = replica.ask(
        "anthropic",
        replica.streams(
            *sse(
                typed(
                    "message_start",
                    message={"id": "msg_1", "usage": {"input_tokens": 12, "output_tokens": 1}},
                ),
                typed("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
                typed("ping"),
                block(0, type="thinking_delta", thinking="想一想"),
                block(0, type="signature_delta", signature="c2ln"),
                typed(
                    "content_block_start",
                    index=1,
                    content_block={"type": "tool_use", "id": "toolu_1", "name": "refund", "input": {}},
                ),
                block(1, type="input_json_delta", partial_json=""),
                block(1, type="input_json_delta", partial_json='{"order": "A'),
                block(1, type="input_json_delta", partial_json='1"}'),
                block(2, type="text_delta", text="可以"),
                block(2, type="citations_delta", citation=citation),
                typed("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 31}),
                typed("message_stop"),
            )
        ),
        model="m",
    )
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以", "想一想", "ok")
    assert [(call.name, call.arguments) for call in seen.tool_calls] == [("refund", {"order": "A1"})]
    assert (seen.usage.prompt_tokens, seen.usage.completion_tokens) == (12, 31)
    assert seen.retrieved_doc_ids == ("POLICY_1",)
    request = replica.requests[0]
    assert (request.headers["x-api-key"][:6], replica.bodies()[0]["max_tokens"]) == ("canary", 2048)


def test_anthropic_overload_inside_the_stream(replica: Any, sse: Any) -> None:
    error = typed("error", error={"type": "overloaded_error", "message": "Overloaded"})
    seen = replica.ask(
        "anthropic", replica.streams(*sse(block(0, type="text_delta", text="可"), error)), model="m"
    )
    assert (seen.answer_status, seen.answer_error.code) == ("error", "overloaded_error")


# ---- Dify


def dify(event: str, **more: Any) -> dict[str, Any]:
    return {"event": event, "conversation_id": "c-1", "message_id": "m-1", "task_id": "t-1", **more}


def test_dify_chat_with_sources_and_a_dialog(replica: Any, sse: Any) -> None:
    """A bare `event: ping` line is no event of the answer."""
    resources = [
        {
            "position": 1,
            "document_id": "u1",
            "document_name": "退货政策.md",
            "segment_id": "s1",
            "score": 0.9,
            "content": "七天",
        },
        {
            "position": 2,
            "document_id": "u1",
            "document_name": "退货政策.md",
            "segment_id": "s2",
            "score": 0.8,
            "content": "拆封",
        },
    ]
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    answer = replica.streams(
        "event: ping\n\n",
        *sse(dify("message", answer="可以"), dify("message", answer="可以")),
        "event: ping\n\n",
        *sse(dify("message_end", metadata={"retriever_resources": resources, "usage": usage})),
    )
    seen = replica.ask("dify", answer, case=DIALOG)
    assert [turn.reply for turn in seen.dialog] == ["可以可以", "可以可以"], (
        "a piece like the first is no repetition"
    )
    assert (seen.retrieved_doc_ids, seen.retrieved_chunk_ids) == (("退货政策",), ("s1", "s2"))
    assert (seen.retrieved_contexts, seen.usage.total_tokens) == (("七天", "拆封"), 2 * 7)
    first, second = replica.bodies()
    assert "conversation_id" not in first
    assert (second["conversation_id"], second["query"], second["inputs"]) == ("c-1", "已经拆封了", {})


def test_dify_new_agent_repeats_its_answer_at_the_end(replica: Any, sse: Any) -> None:
    thought = dify(
        "agent_thought", id="th1", thought="", tool="refund", tool_input='{"refund": {"order": "A1"}}'
    )
    seen = replica.ask(
        "dify",
        replica.streams(
            *sse(
                thought,
                thought | {"observation": "退款已受理"},
                dify("agent_message", answer="已"),
                dify("agent_message", answer="退款。"),
                dify("message", answer="已退款。"),
                dify("message_end", metadata={"usage": {}}),
            )
        ),
    )
    assert (seen.response, seen.answer_timings.text_chunks, seen.answer_status) == ("已退款。", 2, "ok")
    assert [(call.name, call.arguments, call.result) for call in seen.tool_calls] == [
        ("refund", {"order": "A1"}, "退款已受理")
    ]
    assert (seen.retrieved_doc_ids, seen.evidence_status) == (None, "skipped"), "it never tells its documents"


def test_dify_several_tools_in_one_thought(replica: Any, sse: Any) -> None:
    thought = dify(
        "agent_thought",
        id="th1",
        tool="a;b",
        tool_input='{"a": {"x": 1}, "b": {"y": 2}}',
        observation='{"a": "甲", "b": "乙"}',
    )
    seen = replica.ask("dify", replica.streams(*sse(thought, dify("message_end", metadata={}))))
    assert [(call.name, call.arguments, call.result) for call in seen.tool_calls] == [
        ("a", {"x": 1}, "甲"),
        ("b", {"y": 2}, "乙"),
    ]


def test_dify_moderation_replaces_the_answer_and_the_first_token_stays(replica: Any, sse: Any) -> None:
    frames = sse(
        dify("message", answer="坏话"), dify("message_replace", answer="换一句"), dify("message_end")
    )
    seen = replica.ask("dify", replica.streams(*frames))
    assert (seen.response, seen.flags) == ("换一句", ("replaced",))
    assert seen.ttft_ms < seen.answer_timings.last_text_ms


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(dify("error", status=400, code="quota", message="没有额度"), id="error-event"),
        pytest.param(
            dify("workflow_finished", data={"status": "failed", "error": "没有额度"}), id="failed-workflow"
        ),
    ],
)
def test_dify_errors_under_http_200(replica: Any, sse: Any, frame: Any) -> None:
    seen = replica.ask(
        "dify", replica.streams(*sse(dify("message", answer="可"), frame, dify("message_end")))
    )
    assert (seen.answer_status, seen.answer_error.message, seen.response) == ("error", "没有额度", "可")


def test_dify_chatflow_documents_of_its_nodes(replica: Any, sse: Any) -> None:
    found = [
        {"content": "七天", "metadata": {"document_id": "u1", "document_name": "a.v2.md", "segment_id": "s1"}}
    ]
    node = dify("node_finished", data={"node_type": "knowledge-retrieval", "outputs": {"result": found}})
    frames = sse(
        node,
        dify("message", answer="可"),
        dify("message_end", metadata={}),
        dify("workflow_finished", data={"status": "succeeded"}),
    )
    assert replica.ask("dify", replica.streams(*frames)).retrieved_doc_ids == ("a.v2",)
    assert replica.ask("dify", replica.streams(*frames), doc_ids="id").retrieved_doc_ids == ("u1",)


# ---- FastGPT


def test_fastgpt_evidence_after_done(replica: Any, sse: Any) -> None:
    quotes = [
        {
            "id": "q1",
            "q": "能退吗",
            "a": "七天",
            "collectionId": "c1",
            "sourceName": "退货政策.md",
            "score": [{"value": 0.8}],
        }
    ]
    flow = [
        {"moduleType": "datasetSearchNode", "quoteList": quotes, "inputTokens": 3, "outputTokens": 0},
        {"moduleType": "chatNode", "inputTokens": 40, "outputTokens": 8},
    ]
    tool = {"id": "t1", "toolName": "退款", "functionName": "refund"}
    seen = replica.ask(
        "fastgpt",
        replica.streams(
            *sse(
                ("flowNodeStatus", {"status": "running", "name": "知识库搜索"}),
                ("toolCall", {"tool": {**tool, "params": "", "response": ""}}),
                ("toolParams", {"tool": {"id": "t1", "params": '{"order":'}}),
                ("toolParams", {"tool": {"id": "t1", "params": '"A1"}'}}),
                ("toolResponse", {"tool": {"id": "t1", "response": "好"}}),
                ("answer", delta(reasoning_content="想")),
                ("answer", delta("可以退")),
                ("answer", delta("", finish="stop")),
                ("answer", "[DONE]"),
                ("flowResponses", flow),
            )
        ),
        case=DIALOG,
    )
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退", "想", "ok")
    assert seen.retrieved_doc_ids == ("退货政策",)
    assert seen.retrieved_contexts == ("能退吗\n七天",)
    assert [(call.name, call.arguments, call.result) for call in seen.tool_calls[:1]] == [
        ("refund", {"order": "A1"}, "好")
    ]
    assert (seen.usage.prompt_tokens, seen.usage.completion_tokens) == (2 * 43, 2 * 8)
    first, second = replica.bodies()
    assert first["chatId"] == second["chatId"], "one chat a dialog"
    assert second["messages"] == [{"role": "user", "content": "已经拆封了"}]


def test_fastgpt_errors(replica: Any, sse: Any) -> None:
    error = ("error", {"statusText": "unAuthApiKey", "message": "Key is error"})
    seen = replica.ask("fastgpt", replica.streams(*sse(("answer", delta("可")), error)))
    assert (seen.answer_status, seen.answer_error.message, seen.answer_error.code) == (
        "error",
        "Key is error",
        "unAuthApiKey",
    )
    before = replica.ask(
        "fastgpt", replica.gives({"code": 514, "statusText": "unAuthApiKey", "message": "Key is error"})
    )
    assert (before.answer_error.kind, before.answer_error.code, before.answer_error.message[-12:]) == (
        "envelope",
        "514",
        "Key is error",
    )


# ---- RAGFlow


def ragflow(answer: str, **more: Any) -> str:
    data = {"answer": answer, "reference": {}, "id": "m1", "session_id": "s1", **more}
    return "data:" + json.dumps({"code": 0, "message": "", "data": data}, ensure_ascii=False) + "\n\n"


LAST = 'data:{"code": 0, "message": "", "data": true}\n\n'
CHUNK = {
    "id": "k1",
    "content": "七天",
    "document_id": "u1",
    "document_name": "退货政策.pdf",
    "similarity": 0.7,
}


def test_ragflow_increments_with_thoughts_and_chunks(replica: Any) -> None:
    frames = [
        ragflow("", start_to_think=True),
        ragflow("想一想"),
        ragflow("", end_to_think=True),
        ragflow("可以"),
        ragflow("退。"),
        ragflow("", final=True, reference={"chunks": [CHUNK], "doc_aggs": []}),
        LAST,
    ]
    seen = replica.ask("ragflow", replica.streams(*frames), case=DIALOG, chat_id="c")
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退。", "想一想", "ok")
    assert (seen.retrieved_doc_ids, seen.retrieved_chunk_ids) == (("退货政策",), ("k1",))
    assert replica.bodies()[1]["session_id"] == "s1"
    assert seen.answer_timings.first_reasoning_ms < seen.ttft_ms


def test_ragflow_with_nothing_found_says_its_text_twice(replica: Any) -> None:
    frames = [ragflow("知识库中未找到答案"), ragflow("知识库中未找到答案", final=True, reference={}), LAST]
    seen = replica.ask("ragflow", replica.streams(*frames), chat_id="c")
    assert (seen.response, seen.retrieved_doc_ids, seen.evidence_status) == ("知识库中未找到答案", (), "ok")


@pytest.mark.parametrize("name", ["ragflow", "ragflow_legacy"])
def test_ragflow_an_error_is_followed_by_the_ordinary_end(replica: Any, name: str) -> None:
    error = (
        'data:{"code": 500, "message": "boom", "data": {"answer": "**ERROR**: boom", "reference": []}}\n\n'
    )
    seen = replica.ask(name, replica.streams(error, LAST), chat_id="c")
    assert (seen.answer_status, seen.answer_error.code, seen.response) == ("error", "500", None)
    refused = replica.ask(
        name, replica.gives({"code": 102, "message": "You don't own the chat"}), chat_id="c"
    )
    assert (refused.answer_error.kind, refused.answer_error.code) == ("envelope", "102")


def test_ragflow_legacy_is_cumulative_with_tags(replica: Any) -> None:
    frames = [
        ragflow("<think>想"),
        ragflow("<think>想一想</thi"),
        ragflow("<think>想一想</think>\n\n可以"),
        ragflow("<think>想一想</think>\n\n可以退。", reference={"chunks": [CHUNK]}),
        LAST,
    ]
    seen = replica.ask("ragflow_legacy", replica.streams(*frames), chat_id="c 1")
    assert (seen.response, seen.thinking) == ("可以退。", "想一想")
    assert (seen.answer_timings.text_chunks, seen.retrieved_doc_ids) == (2, ("退货政策",))
    assert replica.requests[0].path == "/api/v1/chats/c%201/completions"


def test_ragflow_agent(replica: Any, sse: Any) -> None:
    def event(name: str, **data: Any) -> dict[str, Any]:
        return {"event": name, "message_id": "m1", "session_id": "s1", "data": data}

    frames = [
        event("message", content="可以"),
        event("node_finished", component_id="r1", error=None),
        event("message", content="退"),
        event("message_end", reference={"chunks": {"k1": CHUNK}, "doc_aggs": {}}),
        "[DONE]",
    ]
    seen = replica.ask("ragflow_agent", replica.streams(*sse(*frames)), agent_id="a")
    assert (seen.response, seen.answer_status, seen.retrieved_doc_ids) == ("可以退", "ok", ("退货政策",))
    failed = replica.ask(
        "ragflow_agent", replica.streams(*sse(event("node_finished", error="坏了"), "[DONE]")), agent_id="a"
    )
    assert (failed.answer_status, failed.answer_error.message) == ("error", "坏了")


# ---- LangServe, LangGraph


def test_langserve_ends_with_an_event_without_data(replica: Any) -> None:
    frames = [
        'event: metadata\r\ndata: {"run_id": "r1"}\r\n\r\n',
        'event: data\r\ndata: "可以"\r\n\r\n',
        ": ping - 2026-08-01\r\n\r\n",
        'event: data\r\ndata: {"content": "退", "type": "AIMessageChunk"}\r\n\r\n',
    ]
    seen = replica.ask("langserve", replica.streams(*frames, "event: end\r\n\r\n"))
    assert (seen.response, seen.answer_status, seen.trace_ids) == ("可以退", "ok", {"run_id": "r1"})
    assert replica.ask("langserve", replica.streams(*frames)).answer_status == "incomplete"
    error = 'event: error\r\ndata: {"status_code": 500, "message": "Internal Server Error"}\r\n\r\n'
    failed = replica.ask("langserve", replica.streams(*frames[:2], error))
    assert (failed.answer_status, failed.answer_error.code) == ("error", "500")
    assert "authorization" not in replica.requests[0].headers, "without a key there is no header"


def test_langgraph(replica: Any, sse: Any) -> None:
    def message(name: str = "messages", **chunk: Any) -> tuple[str, list[Any]]:
        return name, [
            {"type": "AIMessageChunk", "id": "run-1", "content": "", **chunk},
            {"langgraph_node": "agent"},
        ]

    call = {"name": "refund", "args": "", "id": "call_1", "index": 0}
    seen = replica.ask(
        "langgraph",
        replica.streams(
            *sse(
                ("metadata", {"run_id": "r1", "attempt": 1}),
                message(content=[{"type": "thinking", "thinking": "想"}]),
                message(tool_call_chunks=[call]),
                message(tool_call_chunks=[{"name": None, "args": '{"n": 1}', "id": None, "index": 0}]),
                (
                    "messages",
                    [{"type": "tool", "tool_call_id": "call_1", "content": "好", "status": "success"}, {}],
                ),
                message(
                    id="run-2",
                    tool_call_chunks=[{"name": "notify", "args": "{}", "id": "call_2", "index": 0}],
                ),
                message("messages|tools:9", content="可以"),
                message(content=[{"type": "text", "text": "退"}]),
            )
        ),
    )
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退", "想", "ok"), (
        "the end of the response ends it"
    )
    assert [(each.name, each.arguments, each.result) for each in seen.tool_calls] == [
        ("refund", {"n": 1}, "好"),
        ("notify", {}, None),
    ], "a second message counts its calls from 0 again"
    failed = replica.ask(
        "langgraph", replica.streams(*sse(("error", {"error": "ValueError", "message": "坏了"})))
    )
    assert (failed.answer_status, failed.answer_error.message) == ("error", "坏了")


# ---- Vercel AI SDK


def test_vercel_ui_message_stream(replica: Any, sse: Any) -> None:
    tool = {"toolCallId": "t1", "toolName": "refund"}
    parts = [
        {"type": "start", "messageId": "m1"},
        {"type": "start-step"},
        {"type": "reasoning-delta", "id": "r", "delta": "想"},
        {"type": "tool-input-available", **tool, "input": {"n": 1}},
        {"type": "tool-output-available", "toolCallId": "t1", "output": {"ok": True}},
        {"type": "source-document", "sourceId": "d1", "mediaType": "text/markdown", "title": "退货政策.md"},
        {"type": "source-url", "sourceId": "u1", "url": "https://shop.example/faq"},
        {"type": "text-delta", "id": "x", "delta": "可以。"},
        {"type": "start-step"},
        {"type": "text-delta", "id": "x", "delta": "不"},
        {"type": "reset-step"},
        {"type": "text-delta", "id": "x", "delta": "退。"},
        {"type": "finish"},
        "[DONE]",
    ]
    seen = replica.ask("vercel", replica.streams(*sse(*parts)))
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以。退。", "想", "ok")
    assert [(call.name, call.arguments, call.result) for call in seen.tool_calls] == [
        ("refund", {"n": 1}, {"ok": True})
    ]
    assert seen.retrieved_doc_ids == ("退货政策", "https://shop.example/faq")
    assert replica.bodies()[0]["messages"] == [
        {"id": "m0", "role": "user", "parts": [{"type": "text", "text": "耳机能退吗"}]}
    ]
    for part, status in (
        ({"type": "error", "errorText": "坏了"}, "error"),
        ({"type": "abort", "reason": "坏了"}, "cancelled"),
    ):
        bad = replica.ask("vercel", replica.streams(*sse(part, "[DONE]")))
        assert (bad.answer_status, bad.answer_error.message) == (status, "坏了")


def test_vercel_4_lines(replica: Any) -> None:
    lines = [
        'f:{"messageId":"m1"}\n',
        'g:"想"\n',
        'b:{"toolCallId":"t1","toolName":"refund"}\nc:{"toolCallId":"t1","argsTextDelta":"{\\"n\\""}\n',
        '9:{"toolCallId":"t1","toolName":"refund","args":{"n":1}}\n',
        'a:{"toolCallId":"t1","result":"好"}\n',
        '0:"可',
        '以"\n0:"退\\n"\n',
        'e:{"finishReason":"stop","usage":{"promptTokens":4,"completionTokens":2},"isContinued":false}\n',
        'd:{"finishReason":"stop","usage":{"promptTokens":4,"completionTokens":2}}\n',
    ]
    seen = replica.ask("vercel4", replica.streams(*lines, kind="text/plain; charset=utf-8"))
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退\n", "想", "ok")
    assert [(call.name, call.arguments, call.result) for call in seen.tool_calls] == [
        ("refund", {"n": 1}, "好")
    ]
    assert (seen.usage.prompt_tokens, seen.usage.completion_tokens) == (4, 2)
    bad = replica.ask("vercel4", replica.streams('0:"可"\n', '3:"坏了"\n', kind="text/plain"))
    assert (bad.answer_status, bad.answer_error.message) == ("error", "坏了")


# ---- Coze


def coze(kind: str, content: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"m-{kind}",
        "conversation_id": "c1",
        "role": "assistant",
        "type": kind,
        "content": content,
        **more,
    }


def test_coze(replica: Any, sse: Any) -> None:
    chunks = {
        "chunks": [
            {"slice": "七天", "score": 0.9, "meta": {"document": {"id": "7", "name": "退货政策.docx"}}}
        ]
    }
    recall = json.dumps(
        {"msg_type": "knowledge_recall", "data": json.dumps(chunks, ensure_ascii=False)}, ensure_ascii=False
    )
    call = json.dumps({"name": "refund", "arguments": {"n": 1}, "plugin_name": "p", "api_name": "refund"})
    answer = replica.streams(
        *sse(
            ("conversation.chat.created", {"id": "chat1", "conversation_id": "c1", "status": "created"}),
            ("conversation.message.completed", coze("verbose", recall)),
            ("conversation.message.completed", coze("function_call", call)),
            ("conversation.message.delta", coze("answer", "", reasoning_content="想")),
            ("conversation.message.delta", coze("answer", "可以")),
            ("conversation.message.delta", coze("answer", "退")),
            ("conversation.message.completed", coze("answer", "可以退")),
            ("conversation.message.completed", coze("verbose", "not json")),
            ("conversation.message.completed", coze("follow_up", "还能换吗？")),
            (
                "conversation.chat.completed",
                {"id": "chat1", "usage": {"token_count": 30, "input_count": 20, "output_count": 10}},
            ),
            ("done", '"[DONE]"'),
        )
    )
    seen = replica.ask("coze", answer, case=DIALOG, bot_id="b")
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退", "想", "ok")
    assert (seen.retrieved_doc_ids, seen.retrieved_contexts) == (("退货政策",), ("七天",))
    assert [(call.name, call.arguments) for call in seen.tool_calls[:1]] == [("refund", {"n": 1})]
    assert (seen.usage.total_tokens, seen.answer_timings.text_chunks) == (2 * 30, 2)
    assert [request.query for request in replica.requests] == [{}, {"conversation_id": "c1"}]


def test_coze_failures(replica: Any, sse: Any) -> None:
    failed = ("conversation.chat.failed", {"last_error": {"code": 5000, "msg": "坏了"}})
    seen = replica.ask("coze", replica.streams(*sse(failed, ("done", '"[DONE]"'))), bot_id="b")
    assert (seen.answer_status, seen.answer_error.code, seen.answer_error.message) == (
        "error",
        "5000",
        "坏了",
    )
    before = replica.ask(
        "coze", replica.gives({"code": 4100, "msg": "authentication is invalid"}), bot_id="b"
    )
    assert (before.answer_error.kind, before.answer_error.code) == ("envelope", "4100")
    assert "authentication is invalid" in before.answer_error.message
