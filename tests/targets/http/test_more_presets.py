"""Further ready-made targets against replicas of their wire formats, and what every declarative target tells of itself.

Framing, order, end markers and error shapes are those of the public documents of each project (August 2026).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalkit.targets.http.opening import target
from evalkit.targets.http.ready import preset_spec
from evalkit.targets.http.spec import TargetSpec


def delta(content: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    said = {} if content is None else {"content": content}
    return {"id": "c1", "choices": [{"index": 0, "delta": {**said, **more}, "finish_reason": finish}]}


CHUNK = {
    "id": "k1",
    "content": "七天内可退",
    "document_id": "d1",
    "document_name": "退货政策.md",
    "similarity": 0.9,
}


@pytest.mark.parametrize(
    "reference", [[CHUNK], {"0": CHUNK}, {"chunks": [CHUNK], "doc_aggs": []}, {"chunks": {"0": CHUNK}}]
)
def test_ragflow_openai_has_its_references_in_the_last_chunk(replica: Any, sse: Any, reference: Any) -> None:
    last = {**delta("", "stop", reference=reference), "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    frames = sse(
        delta("", role="assistant"), delta(reasoning_content="想"), delta("可以"), delta("退"), last, "[DONE]"
    )
    seen = replica.ask("ragflow_openai", replica.streams(*frames), chat_id="a/b")
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退", "想", "ok")
    assert (seen.retrieved_doc_ids, seen.retrieved_chunk_ids) == (("退货政策",), ("k1",))
    assert (seen.evidence_source, seen.usage.prompt_tokens) == ("stream", 3)
    assert replica.requests[0].path == "/api/v1/openai/a%2Fb/chat/completions"
    assert replica.bodies()[0]["extra_body"] == {"reference": True}


def test_ragflow_openai_with_nothing_found_and_with_errors(replica: Any, sse: Any) -> None:
    frames = sse(delta("没有找到"), delta("", "stop", reference=[]), "[DONE]")
    assert replica.ask("ragflow_openai", replica.streams(*frames), chat_id="c").retrieved_doc_ids == ()
    frames = sse(delta("**ERROR**: model down"), delta("", "stop"), "[DONE]")
    seen = replica.ask("ragflow_openai", replica.streams(*frames), chat_id="c")
    assert (seen.answer_status, seen.evidence_status) == ("error", "error")
    seen = replica.ask("ragflow_openai", replica.gives({"code": 102, "message": "no chat"}), chat_id="c")
    assert (seen.answer_error.kind, seen.answer_error.code) == ("envelope", "102")


def on(event: str, **data: Any) -> dict[str, Any]:
    return {"event": event, "run_id": "r1", "name": "query_order", "data": data}


def test_langserve_stream_events(replica: Any, sse: Any) -> None:
    document = {"page_content": "七天内可退", "metadata": {"source": "POLICY_1"}}
    piece = {"chunk": {"content": "可以", "type": "AIMessageChunk"}}
    blocks = {"chunk": {"content": [{"type": "thinking", "thinking": "想"}, {"type": "text", "text": "退"}]}}
    frames = sse(
        ("data", on("on_chain_start", input="q")),
        ("data", on("on_retriever_end", output=[document])),
        ("data", on("on_tool_start", input={"id": "A1"})),
        ("data", on("on_tool_end", output={"content": "shipped"})),
        ("data", on("on_chat_model_stream", chunk={"content": ""})),
        ("data", on("on_chat_model_stream", **piece)),
        ("data", on("on_chat_model_stream", **blocks)),
        ("data", on("on_chain_end", output="可以退")),
    )
    seen = replica.ask("langserve_events", replica.streams(*frames, "event: end\n\n"))
    assert (seen.response, seen.thinking, seen.answer_status) == ("可以退", "想", "ok")
    assert (seen.retrieved_doc_ids, seen.retrieved_contexts) == (("POLICY_1",), ("七天内可退",))
    assert [(call.name, call.arguments, call.result) for call in seen.tool_calls] == [
        ("query_order", {"id": "A1"}, "shipped")
    ]
    assert replica.requests[0].path == "/stream_events"
    frames = sse(
        ("data", on("on_chat_model_stream", **piece)), ("error", {"status_code": 500, "message": "Internal"})
    )
    seen = replica.ask("langserve_events", replica.streams(*frames))
    assert (seen.answer_status, seen.answer_error.code, seen.response) == ("error", "500", "可以")


def message(content: Any, kind: str = "AIMessageChunk", **more: Any) -> list[dict[str, Any]]:
    return [{"id": "m1", "type": kind, "content": content, **more}]


def test_langgraph_messages_are_cumulative(replica: Any, sse: Any) -> None:
    call = {"id": "t1", "name": "query_order", "args": {"id": "A1"}}
    frames = sse(
        ("metadata", {"run_id": "g1", "attempt": 1}),
        ("messages/metadata", {"m0": {"metadata": {}}}),
        ("messages/partial", message("", tool_calls=[{**call, "args": {}}])),
        ("messages/partial", message("", tool_calls=[call])),
        ("messages/complete", message("shipped", "tool", tool_call_id="t1", status="success")),
        ("messages/metadata", {"m1": {"metadata": {}}}),
        ("messages/partial", message("可")),
        ("messages/partial|sub:1", message("可以")),
        ("messages/partial", message("可以退", usage_metadata={"input_tokens": 3, "output_tokens": 2})),
        ("messages/complete", message("可以退", "ai")),
    )
    seen = replica.ask("langgraph_partial", replica.streams(*frames))
    assert (seen.response, seen.answer_status, seen.flags) == ("可以退", "ok", ())
    assert seen.answer_timings.text_chunks == 3
    assert [(each.name, each.arguments, each.result) for each in seen.tool_calls] == [
        ("query_order", {"id": "A1"}, "shipped")
    ]
    assert (seen.usage.completion_tokens, seen.trace_ids["run_id"]) == (2, "g1")


@pytest.mark.parametrize("text", ["可以退", "可以退，请带发票"])
def test_langgraph_a_complete_message_without_pieces_or_after_others(
    replica: Any, sse: Any, text: str
) -> None:
    seen = replica.ask("langgraph_partial", replica.streams(*sse(("messages/complete", message(text, "ai")))))
    assert (seen.response, seen.answer_timings.text_chunks) == (text, 1)


def test_fastgpt_without_details(replica: Any, sse: Any) -> None:
    seen = replica.ask(
        "fastgpt", replica.streams(*sse(delta("可以"), delta("退", "stop"), "[DONE]")), detail=False
    )
    assert (seen.response, seen.answer_status, seen.evidence_status) == ("可以退", "ok", "skipped")
    assert replica.bodies()[0]["detail"] is False
    seen = replica.ask(
        "fastgpt", replica.streams(*sse(("error", {"statusText": "unAuthApp", "message": "no"})))
    )
    assert (seen.answer_status, seen.answer_error.code) == ("error", "unAuthApp")


def test_bytes_that_are_no_utf_8_are_flagged_and_a_replacement_character_is_not(
    replica: Any, sse: Any
) -> None:
    """HAZARDS: what cannot be read is told, never silently replaced."""
    good = replica.ask("openai", replica.streams(*sse(delta("\ufffd"), "[DONE]")), model="m")
    assert (good.response, good.flags) == ("\ufffd", ())

    async def bad(_request: Any, peer: Any) -> None:
        frame = b'data: {"choices":[{"delta":{"content":"\xe9\x80"}}]}\n\ndata: [DONE]\n\n'
        await peer.send(replica.loopback.STREAM, replica.loopback.piece(frame), replica.loopback.END)

    seen = replica.ask("openai", bad, model="m")
    assert (seen.response, seen.flags) == ("\ufffd", ("invalid_utf8",))


def test_a_description_has_a_hash_of_its_own_that_holds_no_key() -> None:
    table = preset_spec("openai").model_dump()
    one = target("a", TargetSpec.model_validate(table))
    same = target("b", TargetSpec.model_validate(json.loads(json.dumps(table))))
    table["answer"]["events"][1]["text"] = "choices[0].text"
    other = target("a", TargetSpec.model_validate(table))
    hashes = [each.description_sha256 for each in (one, same, other)]  # type: ignore[attr-defined]
    assert hashes[0] == hashes[1] != hashes[2]
