"""Whatever JSON a target sends, reading it never raises, and what was read can be written and read again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Observation, Turn
from evalkit.net.exchange import Arrival, Exchange
from evalkit.net.sse import Event
from evalkit.net.transport import Stamps
from evalkit.net.wire import decoded, storable
from evalkit.targets.ragent.answer import doc_code, read_reply
from evalkit.targets.ragent.evidence import read_evidence

TEXT = st.one_of(st.text(max_size=8), st.characters(categories=["Cs"]))
LEAF = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(), TEXT)
JSON = st.recursive(
    LEAF, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3))
)
FIELDS = [
    "type",
    "delta",
    "conversationId",
    "messageStatus",
    "sources",
    "docName",
    "state",
    "filledSlots",
    "doneSteps",
]
FIELDS += [
    "name",
    "status",
    "arguments",
    "result",
    "ok",
    "latencyMs",
    "code",
    "retrievedDocIds",
    "intentLeafIds",
]
FIELDS += [
    "subIntents",
    "retrievedContexts",
    "retrievedContextDocIds",
    "retrievedChunkIds",
    "data",
    "requestId",
]
TELLING = st.sampled_from(
    ["response", "think", "start", "end", "REJECTED", "MAX_ITERATIONS", "A.md", [], {}, [{}], ["a"]]
)
OBJECT = st.dictionaries(
    st.sampled_from(FIELDS), st.one_of(JSON, TELLING, st.deferred(lambda: OBJECT)), max_size=6
)
NAMES = ["meta", "message", "finish", "cancel", "reject", "done", "tool", "hint", "error", "title"]


def text(value: Any) -> str:
    return json.dumps(value)


EVENTS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.one_of(st.builds(text, OBJECT), st.builds(text, JSON), TEXT))
)


@given(EVENTS)
def test_any_events_make_a_reply_that_can_be_kept(events: list[tuple[str, str]]) -> None:
    reply = read_reply(
        Exchange(
            events=[Arrival(Event(*event), 1.0) for event in events],
            ended_at=2.0,
            stamps=Stamps(handed_at=0.5),
        )
    )
    turn = reply.turn("问")
    assert Turn.model_validate_json(turn.model_dump_json()) == turn
    seen = Observation(
        response=reply.text,
        answer_error=reply.error,
        done_steps=reply.steps,
        trace_ids=reply.ids,
        flags=tuple(reply.flags),
    )
    assert Observation.model_validate_json(seen.model_dump_json()) == seen
    assert (reply.status == "ok") == (reply.error is None)


@given(st.one_of(JSON, OBJECT))
def test_any_data_makes_evidence_that_can_be_kept_or_an_error(data: Any) -> None:
    try:
        reply = storable(decoded(text({"code": "0", "data": data, "requestId": data})))
    except ValueError:
        return  # NaN and its like: told as bad_json before anybody reads on
    found = read_evidence(Exchange(reply=reply, ended_at=2.0))
    assert bool(found.observed) == (found.error is None)
    seen = Observation(**found.observed, evidence_error=found.error, trace_ids=found.ids)
    assert Observation.model_validate_json(seen.model_dump_json()) == seen


def test_the_document_code_is_the_name_without_its_last_extension() -> None:
    names = ["POLICY_RETURN_002.md", "GUIDE_v1.2.pdf", "FAQ_RET_001", "说明.书.docx", ".md", ""]
    assert [doc_code(name) for name in names] == [
        "POLICY_RETURN_002",
        "GUIDE_v1.2",
        "FAQ_RET_001",
        "说明.书",
        "",
        "",
    ]
