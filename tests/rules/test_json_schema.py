"""Form of a reply: strict JSON, local references only, and no check that a hostile reply can blow up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Case
from evalkit.errors import UsageError
from evalkit.rules.json_schema import json_schema

from .conftest import dialog, reply

ORDER = {
    "type": "object",
    "required": ["order_id", "status"],
    "properties": {
        "order_id": {"type": "string", "pattern": "^E[0-9]{10}$"},
        "status": {"enum": ["已发货", "已签收"]},
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        pytest.param('{"order_id": "E2026081001", "status": "已发货"}', True, id="fits"),
        pytest.param('{"order_id": "E2026081001"}', False, id="required"),
        pytest.param('{"order_id": "2026", "status": "已发货"}', False, id="pattern"),
        pytest.param('{"order_id": "E2026081001", "status": "丢失"}', False, id="enum"),
        pytest.param('{"order_id": "E2026081001", "status": "已发货", "x": 1}', False, id="additional"),
        pytest.param('[{"order_id": "E2026081001"}]', False, id="list"),
        pytest.param("您的订单已发货", False, id="prose"),
        pytest.param("", False, id="nothing"),
        pytest.param('{"order_id": "E2026081001", "status": "已发货"} 谢谢', False, id="prose after"),
        pytest.param(
            '{"order_id": "E2026081001", "status": "已发货", "status": "已签收"}', False, id="key twice"
        ),
        pytest.param('{"a": NaN}', False, id="NaN"),
        pytest.param("[" * 100_000, False, id="nesting without end"),
        pytest.param('"\ud800"', False, id="half a character"),
        pytest.param('```json\n{"order_id": "E2026081001", "status": "已发货"}\n```', False, id="fence"),
    ],
)
def test_table(case: Case, text: str, *, passed: bool) -> None:
    verdict = json_schema(case, reply(text), schema=ORDER)
    assert (verdict.passed, verdict.score) == (passed, float(passed))
    assert bool(verdict.detail["problems"]) is not passed


def test_a_fence_is_read_through_when_asked(case: Case) -> None:
    text = '```json\n{"order_id": "E2026081001", "status": "已发货"}\n```'
    assert json_schema(case, reply(text), schema=ORDER, fenced=True).passed is True
    assert json_schema(case, reply(text.strip("`")), schema=ORDER, fenced=True).passed is False


def test_drafts_differ(case: Case) -> None:
    """In draft 7 `items` may be a list of schemas; in 2020-12 that is `prefixItems`, and `items` refuses it."""
    seven = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    assert json_schema(case, reply("[1]"), schema=seven).passed is False
    assert json_schema(case, reply("[1]"), schema={"prefixItems": [{"type": "string"}]}).passed is False
    with pytest.raises(UsageError, match="items"):
        json_schema(case, reply("[1]"), schema={"items": [{"type": "string"}]})


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A server that serves a schema that allows everything, and counts who asks."""
    hits: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}", hits
        served.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(lambda at: {"$ref": f"{at}/a.json"}, id="http"),
        pytest.param(lambda at: {"properties": {"a": {"$ref": f"{at}/a.json#/$defs/b"}}}, id="deep"),
        pytest.param(lambda at: {"$id": f"{at}/root.json", "$ref": "other.json"}, id="relative to $id"),
        pytest.param(lambda at: {"$schema": f"{at}/meta.json"}, id="dialect"),
        pytest.param(lambda at: {"$dynamicRef": f"{at}/a.json#x"}, id="dynamic"),
        pytest.param(lambda _: {"$ref": "file:///etc/passwd"}, id="file"),
        pytest.param(lambda _: {"$ref": "/etc/passwd"}, id="path"),
        pytest.param(lambda _: {"$ref": "urn:example:a"}, id="urn"),
    ],
)
def test_nothing_is_ever_fetched(case: Case, server: tuple[str, list[str]], schema: Any) -> None:
    """A reference out of the schema is an error of configuration; the server that it names sees no request."""
    place, hits = server
    with pytest.raises(UsageError):
        json_schema(case, reply('{"a": 1}'), schema=schema(place))
    assert hits == []


def test_a_base_url_is_a_name_and_is_not_fetched(case: Case, server: tuple[str, list[str]]) -> None:
    place, hits = server
    schema = {"$id": f"{place}/root.json", "$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}
    assert json_schema(case, reply("1"), schema=schema).passed is True
    assert hits == []


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$ref": "#/$defs/missing"}, id="leads nowhere"),
        pytest.param({"$ref": "#"}, id="leads to itself"),
        pytest.param({"type": "nonsense"}, id="no type"),
        pytest.param({"pattern": "(?=a)"}, id="look-around"),
        pytest.param({"patternProperties": {"[": {}}}, id="no pattern"),
        pytest.param({"patternProperties": {"a": {}}, "unevaluatedProperties": False}, id="unguarded"),
    ],
)
def test_a_schema_that_means_nothing_is_refused(case: Case, schema: Any) -> None:
    with pytest.raises(UsageError):
        json_schema(case, reply('{"a": 1}'), schema=schema)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        pytest.param({"pattern": "^(a+)+$"}, f'"{"a" * 40}!"', id="pattern"),
        pytest.param({"patternProperties": {"^(a+)+$": False}}, f'{{"{"a" * 40}!": 1}}', id="names"),
        pytest.param(
            {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
            f'{{"{"a" * 40}!": 1}}',
            id="other names",
        ),
    ],
)
def test_a_catastrophic_pattern_is_quick(case: Case, schema: Any, text: str) -> None:
    json_schema(case, reply("1"), schema=schema)
    begin = time.process_time()
    json_schema(case, reply(text), schema=schema)
    assert time.process_time() - begin < 2


def test_unique_items_of_many_kinds_are_quick(case: Case) -> None:
    """Items that cannot be sorted are compared by what they are, not each with each."""
    mixed = ",".join(f'{i},"{i}",[{i}]' for i in range(20_000))
    begin = time.process_time()
    assert json_schema(case, reply(f"[{mixed}]"), schema={"uniqueItems": True}).passed is True
    assert time.process_time() - begin < 30


scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from((1.0, 0.5, -0.0)) | st.sampled_from("ab")
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(("object", "array", "string", "number")),
        "uniqueItems": st.booleans(),
        "pattern": st.sampled_from(("a", "^b$", "[ab]")),
        "properties": st.just({"a": {"type": "number"}}),
        "patternProperties": st.sampled_from(({"^a": True}, {"[bc]": {"type": "array"}}, {"b": False})),
        "additionalProperties": st.sampled_from((True, False, {"type": "string"})),
    },
)


@given(value=values, schema=schemas)
def test_guarded_checks_agree_with_the_library(value: Any, schema: Any) -> None:
    """What is replaced for safety gives the same answer as jsonschema's own."""
    import json

    wanted = jsonschema.Draft202012Validator(schema).is_valid(value)
    verdict = json_schema(Case(sample_id="1"), reply(json.dumps(value)), schema=schema)
    assert verdict.passed is wanted


def test_each_reply_is_held_against_the_schema(case: Case) -> None:
    said = dialog(("查", "1"), ("再查", '"a"'))
    schema = {"type": "integer"}
    assert json_schema(case, said, schema=schema, evaluation_scope="every_agent_turn").passed is False
    assert json_schema(case, said, schema=schema, evaluation_scope="any_turn").passed is True
