"""Targets of a project: tables of evalkit.toml, presets to start from, lookups and traces, one JSON, lines, faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit import registry
from evalkit.contracts import Case
from evalkit.errors import EvalkitError, UnknownName, UsageError
from evalkit.registry import Spec, bind
from evalkit.targets.http.configured import spec_of

CANARY = "sk-canary-0123456789"
URL = "{base_url}/ask"
BASE = {"parameters": {"base_url": {}}}


def own(answer: dict[str, Any], **more: Any) -> Any:
    """A description with that answer channel."""
    return spec_of("own", BASE | {"answer": {"url": URL, **answer}} | more)


ONE_JSON = {
    "framing": "json",
    "body": {"q": "{query}", "id": "{sample_id}", "vip": "{case.vip}", "turn": "{turn}"},
    "events": [
        {"when": "code != `0`", "status": "error", "message": "msg", "code": "code"},
        {"text": "data.answer", "intent": "data.intents", "slots": "data.slots", "steps": "data.steps"},
    ],
}


def test_one_json_reply_has_no_first_token(replica: Any) -> None:
    data = {
        "answer": "可以退",
        "intents": [None, "S14_退换货咨询"],
        "slots": {"order": "A1"},
        "steps": ["query"],
    }
    case = Case.model_validate({"sample_id": "q1", "query": '说"{query}"', "vip": True})
    seen = replica.ask(own(ONE_JSON), replica.gives({"code": 0, "data": data}), case=case)
    assert (seen.response, seen.answer_status, seen.ttft_ms) == ("可以退", "ok", None)
    assert (seen.intent_pred, seen.intent_pred_all) == ("S14_退换货咨询", (None, "S14_退换货咨询"))
    assert (seen.filled_slots, seen.done_steps) == ({"order": "A1"}, ("query",))
    assert replica.bodies() == [{"q": '说"{query}"', "id": "q1", "vip": True, "turn": 1}]


def test_one_json_reply_with_an_error_in_it(replica: Any) -> None:
    seen = replica.ask(own(ONE_JSON), replica.gives({"code": 7, "msg": "坏了"}))
    assert (seen.answer_status, seen.answer_error.code, seen.answer_error.message) == ("error", "7", "坏了")


def test_json_lines(replica: Any) -> None:
    spec = own({"framing": "lines", "events": [{"text": "t"}, {"when": "done", "end": True}]})
    seen = replica.ask(
        spec, replica.streams('{"t": "可"}\n{"t": "', '以"}\n{"done": true}\n', kind="application/x-ndjson")
    )
    assert (seen.response, seen.answer_status, seen.answer_timings.text_chunks) == ("可以", "ok", 2)


STREAM = {
    "events": [{"event": "m", "text": "t", "ids": {"trace_id": "trace"}}, {"event": "done", "end": True}]
}
SAID = [("m", {"t": "可以", "trace": "tr/1"}), ("done", {})]


def test_a_lookup_of_its_own(replica: Any, sse: Any) -> None:
    evidence = {
        "method": "GET",
        "url": "{base_url}/lookup",
        "query": {"q": "{query}"},
        "failures": [{"when": "code != '0'", "message": "message", "code": "code"}],
        "documents": {"each": "data.docs", "id": "id", "text": "text"},
        "intent": "data.intent",
    }
    found = {
        "code": "0",
        "data": {"docs": [{"id": 7, "text": "七天"}, {"id": 7, "text": "拆封"}], "intent": "S14_退换货咨询"},
    }
    case = Case(sample_id="d", messages=("甲", "乙"))
    talks = [replica.streams(*sse(*SAID))] * 2
    seen = replica.ask(own(STREAM, evidence=evidence), *talks, replica.gives(found), case=case)
    assert (seen.retrieved_doc_ids, seen.retrieved_contexts) == (("7",), ("七天", "拆封"))
    assert (seen.intent_pred, seen.evidence_source, seen.evidence_status) == (
        "S14_退换货咨询",
        "side_channel",
        "ok",
    )
    assert replica.requests[-1].query == {"q": "甲"}, "the first question is looked up"
    bad = replica.ask(
        own(STREAM, evidence=evidence), talks[0], replica.gives({"code": "9", "message": "坏了"})
    )
    assert (bad.evidence_status, bad.evidence_error.code, bad.retrieved_doc_ids) == ("error", "9", None)
    lost = replica.ask(own(STREAM, evidence=evidence), talks[0], replica.gives({"code": "0", "data": {}}))
    assert (lost.evidence_status, lost.evidence_error.kind) == ("error", "bad_evidence"), (
        "no list is no empty list"
    )
    off = replica.ask(own(STREAM, evidence=evidence), talks[0], evidence=False)
    assert off.evidence_status == "skipped"


def test_a_trace_is_asked_until_it_is_there(replica: Any, sse: Any) -> None:
    evidence = {
        "source": "trace",
        "method": "GET",
        "url": "{base_url}/traces/{trace_id}",
        "until": "state == 'done'",
        "every_s": 0.01,
        "within_s": 5,
        "documents": {"each": "docs", "name": "file"},
    }
    later, done = (
        replica.gives({"state": "running"}),
        replica.gives({"state": "done", "docs": [{"file": "a.md"}]}),
    )
    evidence["documents"]["each"] = "docs || `[]`"
    seen = replica.ask(own(STREAM, evidence=evidence), replica.streams(*sse(*SAID)), later, later, done)
    assert (seen.retrieved_doc_ids, seen.evidence_source, len(replica.requests)) == (("a",), "trace", 4)
    assert replica.requests[-1].path == "/traces/tr%2F1"
    untold = replica.ask(
        own(STREAM, evidence=evidence), replica.streams(*sse(("m", {"t": "可"}), SAID[1])), done
    )
    assert (untold.evidence_status, untold.evidence_error.kind) == ("error", "bad_request"), "no id, no trace"
    assert "trace_id" in untold.evidence_error.message
    never = replica.ask(
        own(STREAM, evidence=evidence | {"within_s": 0.03}), replica.streams(*sse(*SAID)), later
    )
    assert (never.evidence_status, never.evidence_error.kind, never.retrieved_doc_ids) == (
        "error",
        "trace_late",
        None,
    )


def test_a_dialog_stops_at_the_first_bad_turn(replica: Any, sse: Any) -> None:
    cut = replica.streams(*sse(SAID[0]))
    seen = replica.ask(own(STREAM), cut, case=Case(sample_id="d", messages=("甲", "乙")))
    assert ([turn.status for turn in seen.dialog], seen.answer_status) == (["incomplete"], "incomplete")


def write(folder: Path, text: str) -> None:
    (folder / "evalkit.toml").write_text(text, encoding="utf-8")


SHOP = """
[targets.shop]
use = "openai"
about = "our shop"
set = { base_url = "http://127.0.0.1:1/v1", model = "shop", key = "" }
[targets.shop.answer.body]
temperature = 0
"""


def test_a_table_starts_from_a_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, SHOP)
    monkeypatch.chdir(tmp_path)
    assert "shop" in registry.names("target")
    assert bind("target", Spec("shop", {"model": "other"}))
    body = spec_of("shop", {"use": "openai", "answer": {"body": {"temperature": 0}}}).answer.body
    assert isinstance(body, dict)
    assert (body["temperature"], body["stream"]) == (0, True)
    with pytest.raises(UnknownName, match="shop"):
        registry.lookup("target", "shops")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        pytest.param('[targets.x]\nuse = "openai"\nmodle = "m"\n', r"modle: Extra inputs", id="unknown-key"),
        pytest.param('[targets.x]\nuse = "opnai"\n', "unknown preset 'opnai'", id="unknown-preset"),
        pytest.param(
            '[targets.x]\nuse = "openai"\nset = { modle = "m" }\n',
            "no such parameter",
            id="unknown-parameter",
        ),
        pytest.param(
            f'[targets.x]\nuse = "openai"\nset = {{ key = "{CANARY}" }}\n',
            "wanted env:NAME",
            id="a-key-itself",
        ),
        pytest.param(
            f'[targets.x]\nuse = "openai"\nanswer.headers.Authorization = "Bearer {CANARY}"\n',
            "placeholder of a secret",
            id="a-key-in-a-header",
        ),
        pytest.param(
            '[targets.x]\nuse = "openai"\nanswer.body.x = "{qurey}"\n',
            "unknown placeholder",
            id="unknown-placeholder",
        ),
        pytest.param(
            '[targets.x.answer]\nurl = "http://h"\nevents = [{ text = "a[" }]\n', "no JMESPath", id="bad-path"
        ),
        pytest.param(
            '[targets.x]\nuse = "openai"\nparameters.query = {}\n',
            "query: wanted a name",
            id="a-name-that-is-taken",
        ),
        pytest.param(
            '[targets.openai]\nuse = "openai"\n', "the name is taken", id="a-target-that-is-built-in"
        ),
        pytest.param("targets = 1\n", "wanted tables", id="no-tables"),
    ],
)
def test_what_cannot_hold_is_named_without_its_value(
    table: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, table)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvalkitError, match=message) as raised:
        registry.lookup("target", "openai" if "targets.openai" in table else "x")
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({}, "missing model", id="missing"),
        pytest.param({"model": "m", "modle": 1}, "unknown modle", id="unknown"),
        pytest.param(
            {"model": "m", "base_url": f"http://u:{CANARY}@h"},
            "a login in the address",
            id="login-in-the-address",
        ),
        pytest.param({"model": "m", "doc_ids": "path"}, "wanted name or id", id="doc-ids"),
        pytest.param({"model": "m", "extra_body": 1}, "wanted one as JSON", id="extra-body"),
        pytest.param({"model": "m", "key": CANARY}, "wanted env:NAME", id="a-key-itself"),
        pytest.param({"model": "m", "key": "env:NOT_SET_ANYWHERE"}, "found no key at", id="no-key"),
    ],
)
def test_settings_that_do_not_hold(replica: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        replica.ask_now("openai", settings)
    assert CANARY not in str(raised.value)


def test_extra_keys_go_into_the_body(replica: Any, sse: Any) -> None:
    frame = {"choices": [{"delta": {"content": "可"}, "finish_reason": "stop"}]}
    replica.ask(
        "openai",
        replica.streams(*sse(frame)),
        model="m",
        extra_body={"temperature": 0, "stream_options": None},
    )
    sent = json.loads(replica.requests[0].body)
    assert (sent["temperature"], sent["stream_options"], sent["model"]) == (0, None, "m")
