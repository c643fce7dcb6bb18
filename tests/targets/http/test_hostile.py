"""Whatever a stream holds, the reply can be kept: no frame raises, and every field fits the record."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord
from evalkit.net.exchange import Arrival, Exchange
from evalkit.net.sse import Event
from evalkit.net.transport import Stamps
from evalkit.reading import encode
from evalkit.targets.channels import Dialog, observation
from evalkit.targets.http.frames import read_reply
from evalkit.targets.http.ready import preset_names, preset_spec
from evalkit.targets.http.spec import AnswerSpec

WORDS = [
    "answer",
    "data",
    "code",
    "message",
    "error",
    "choices",
    "delta",
    "content",
    "tool_calls",
    "index",
    "id",
    "function",
    "name",
    "arguments",
    "event",
    "type",
    "item",
    "output_index",
    "usage",
    "metadata",
    "retriever_resources",
    "reference",
    "chunks",
    "final",
    "quoteList",
    "tool",
    "observation",
    "tool_input",
    "content_block",
    "citation",
    "toolCallId",
    "input",
    "output",
    "last_error",
    "msg_type",
    "slice",
    "meta",
    "document",
]
leaves = st.none() | st.booleans() | st.integers(-2, 2**40) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.sampled_from(
    ["", "0", "answer", "{}", '{"a": 1}', "<think>", "</think>", "\ud83d", "**ERROR**", *WORDS]
)
values = st.recursive(
    leaves | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)


def event_names(answer: AnswerSpec) -> list[str]:
    return sorted({name for rule in answer.events for name in rule.event} or {"message"})


@pytest.mark.parametrize("name", preset_names())
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_frames_make_a_reply_that_can_be_kept(name: str, data: st.DataObject) -> None:
    answer = preset_spec(name).answer
    known = st.sampled_from(event_names(answer))
    frames = data.draw(st.lists(st.tuples(known, values, known), max_size=6))
    seen = Exchange(stamps=Stamps(sent_at=0.5), http_status=200, ended_at=9.0)
    for at, (event, value, inner) in enumerate(frames):
        if isinstance(value, dict) and answer.name_from == "json":
            value = {**value, answer.name: inner}  # noqa: PLW2901
        seen.events.append(Arrival(Event(event, json.dumps(value)), 1.0 + at))
    reply, told = read_reply(seen, answer, "name")
    dialog = Dialog(tells_tools=True)
    dialog.add("问", reply)
    record = {"sample_id": "1", "query": "问", **observation([dialog], []).model_dump(exclude_unset=True)}
    assert encode(EvalRecord.model_validate(record))
    assert len(told) == len(frames)


def test_a_frame_that_cannot_be_read_does_not_stop_the_reading() -> None:
    seen = Exchange(stamps=Stamps(sent_at=0.5), http_status=200, ended_at=9.0)
    said: Any = {"choices": [{"delta": {"content": "可"}}]}
    for at, text in enumerate(
        [json.dumps(said), '{"choices": [{"delta": {"content": 7}}]}', json.dumps(said), "[DONE]"]
    ):
        seen.events.append(Arrival(Event("message", text), 1.0 + at))
    reply, frames = read_reply(seen, preset_spec("openai").answer, "name")
    assert (reply.text, reply.status) == ("可可", "error")
    assert reply.error is not None
    assert "choices[0].delta.content: found int, wanted text" in reply.error.message
    assert [taken.what for taken in frames[1].taken] == ["bad_event"]
