"""The wire, byte by byte, over a real socket: TARGETS.md section 1 of the reference data says what is right."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from evalkit.errors import UsageError
from evalkit.targets.demo import Faults, Limits, Pacing, serve
from evalkit.targets.demo.understanding import trained

QUICK = Pacing(chunk_ms=0, think_ms=0)
QUESTION = "耳机拆封后还能退吗"
FRAME = re.compile(rb'event:([a-z]+)\ndata:([{"].*)\n\n')


@asynccontextmanager
async def shop(**options: Any):
    """A client that is logged in to a server with these options."""
    async with (
        serve(**{"pacing": QUICK, **options}) as url,
        httpx.AsyncClient(base_url=url, timeout=10) as client,
    ):
        login = await client.post("/auth/login", json={"username": "admin", "password": "admin"})
        client.headers["Authorization"] = login.json()["data"]["token"]
        yield client


def run(body: Callable[[httpx.AsyncClient], Awaitable[Any]], **options: Any) -> Any:
    async def main() -> Any:
        async with shop(**options) as client:
            return await body(client)

    return asyncio.run(main())


async def raw(client: httpx.AsyncClient, path: str = "/rag/v3/chat", **params: str) -> bytes:
    return (await client.get(path, params={"question": QUESTION, **params})).content


async def frames(
    client: httpx.AsyncClient, path: str = "/rag/v3/chat", **params: str
) -> list[tuple[str, Any]]:
    return parsed(await raw(client, path, **params))


def parsed(body: bytes) -> list[tuple[str, Any]]:
    """The events of a stream, which has nothing between and around its frames."""
    found = FRAME.findall(body)
    assert b"".join(b"event:%s\ndata:%s\n\n" % pair for pair in found) == body
    return [(name.decode(), json.loads(data)) for name, data in found]


def text_of(events: list[tuple[str, Any]], kind: str = "response") -> str:
    return "".join(data["delta"] for name, data in events if name == "message" and data["type"] == kind)


def names(events: list[tuple[str, Any]]) -> list[str]:
    """Event names in order, repeats in a row once."""
    found = [name for name, _ in events]
    return [name for place, name in enumerate(found) if found[place - 1 : place] != [name]]


def test_a_stream_byte_by_byte() -> None:
    body = run(raw)
    assert re.match(
        rb'event:meta\ndata:{"conversationId":"\d{19}","taskId":"\d{19}"}\n\nevent:message\n', body
    )
    assert 'event:message\ndata:{"type":"response","delta":"根据《耳机"}\n\n'.encode() in body
    assert body.endswith(b'"messageStatus":"NORMAL"}\n\nevent:done\ndata:"[DONE]"\n\n')


def test_the_order_of_a_normal_stream() -> None:
    events = run(frames)
    assert names(events) == ["meta", "message", "finish", "done"]
    assert events[-1][1] == "[DONE]"
    assert text_of(events).startswith("根据《")


def test_the_content_type_is_the_real_one() -> None:
    async def body(client: httpx.AsyncClient) -> str:
        return (await client.get("/rag/v3/chat", params={"question": "你好"})).headers["content-type"]

    assert run(body) == "text/event-stream;charset=UTF-8"


def test_sources_are_documents_best_first() -> None:
    finish = dict(run(frames))["finish"]
    assert set(finish) == {"messageId", "title", "sources", "messageStatus"}
    assert [source["index"] for source in finish["sources"]] == list(range(1, len(finish["sources"]) + 1))
    first = finish["sources"][0]
    assert set(first) == {"index", "docId", "docName", "sourceType", "fileType", "excerpt"}
    assert re.fullmatch(r"[A-Z]+_[A-Z]+_\d{3}\.md", first["docName"])
    assert re.fullmatch(r"\d{19}", first["docId"])
    assert len(first["excerpt"]) <= 100
    assert len({source["docId"] for source in finish["sources"]}) == len(finish["sources"])


def test_answer_and_side_channel_find_the_same_documents() -> None:
    async def body(client: httpx.AsyncClient) -> tuple[list[str], list[str]]:
        finish = dict(await frames(client))["finish"]
        data = (await client.get("/rag/eval", params={"question": QUESTION})).json()["data"]
        return [source["docName"].removesuffix(".md") for source in finish["sources"]], data[
            "retrievedDocIds"
        ]

    streamed, evidence = run(body)
    assert streamed == evidence


def test_a_system_leaf_has_no_sources() -> None:
    async def body(client: httpx.AsyncClient) -> dict[str, Any]:
        return dict(await frames(client, question="你好"))["finish"]

    assert "sources" not in run(body)


def test_evidence_has_all_its_fields() -> None:
    async def body(client: httpx.AsyncClient) -> Any:
        return (await client.get("/rag/eval", params={"question": "会员怎么退订？运费多少钱？"})).json()

    envelope = run(body)
    assert (envelope["code"], envelope["success"], envelope["message"]) == ("0", True, None)
    data = envelope["data"]
    assert set(data) == {
        "retrievedDocIds", "retrievedChunkIds", "retrievedContexts", "retrievedContextDocIds", "subIntents",
        "intentLeafIds", "mcpContext", "hasMcp", "hasKb", "latencyMs",
    }  # fmt: skip
    assert data["subIntents"] == ["会员怎么退订？", "运费多少钱？"]
    assert len(data["intentLeafIds"]) == 2
    assert (
        len(data["retrievedContexts"])
        == len(data["retrievedContextDocIds"])
        == len(data["retrievedChunkIds"])
    )
    assert data["retrievedDocIds"] == list(dict.fromkeys(data["retrievedContextDocIds"]))
    assert (data["hasKb"], data["hasMcp"], data["mcpContext"]) == (True, False, "")


@pytest.mark.parametrize(
    ("question", "leaf", "has_mcp"),
    [
        ("量子力学的基本假设是什么", None, False),
        ("你好", "C1_闲聊问候", False),
        ("帮我查一下订单E2026082401", "S5_订单查询", True),
    ],
    ids=["unsure", "system", "mcp"],
)
def test_evidence_of_what_needs_no_documents(question: str, leaf: str | None, has_mcp: bool) -> None:  # noqa: FBT001
    async def body(client: httpx.AsyncClient) -> Any:
        return (await client.get("/rag/eval", params={"question": question})).json()["data"]

    data = run(body)
    assert data["intentLeafIds"] == [leaf]
    assert (data["retrievedDocIds"], data["hasKb"], data["hasMcp"]) == ([], False, has_mcp)
    assert ("已发货" in data["mcpContext"]) is has_mcp


@pytest.mark.parametrize(
    "path", ["/rag/v3/chat", "/agent/v1/chat", "/rag/eval", "/intent-tree/trees", "/rag/traces/runs"]
)
@pytest.mark.parametrize("header", [None, "wrong", "Bearer {}"], ids=["none", "wrong", "with-bearer"])
def test_without_a_bare_token_nothing_is_served(path: str, header: str | None) -> None:
    async def body(client: httpx.AsyncClient) -> httpx.Response:
        good = client.headers.pop("Authorization")
        headers = {} if header is None else {"Authorization": header.format(good)}
        return await client.get(path, params={"question": QUESTION}, headers=headers)

    answer = run(body)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "code": "A000001",
        "message": "未登录或登录已过期",
        "data": None,
        "requestId": None,
        "success": False,
    }


def test_a_token_grows_old() -> None:
    async def body(client: httpx.AsyncClient) -> list[str]:
        codes = [(await client.get("/rag/eval", params={"question": "你好"})).json()["code"]]
        await asyncio.sleep(0.6)
        return [*codes, (await client.get("/rag/eval", params={"question": "你好"})).json()["code"]]

    assert run(body, limits=Limits(token_seconds=0.5)) == ["0", "A000001"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"username":"admin","password":"wrong"}', "用户名或密码错误"),
        (b'{"username":"nobody","password":"admin"}', "用户名或密码错误"),
        (b'{"username":"admin"}', "用户名或密码不能为空"),
        (b"not json", "用户名或密码不能为空"),
        (b"[]", "用户名或密码不能为空"),
    ],
    ids=["password", "user", "missing", "no-json", "list"],
)
def test_a_bad_login_is_a_client_error_under_200(content: bytes, message: str) -> None:
    async def body(client: httpx.AsyncClient) -> httpx.Response:
        return await client.post("/auth/login", content=content)

    answer = run(body)
    assert answer.status_code == 200
    assert (answer.json()["code"], answer.json()["message"]) == ("A000001", message)


def test_a_login_gives_what_the_real_one_gives() -> None:
    async def body(client: httpx.AsyncClient) -> Any:
        return (await client.post("/auth/login", json={"username": "admin", "password": "admin"})).json()[
            "data"
        ]

    data = run(body)
    assert set(data) == {"userId", "role", "token", "avatar"}
    assert re.fullmatch(r"[0-9a-f]{32}", data["token"])


@pytest.mark.parametrize("path", ["/rag/v3/chat", "/agent/v1/chat", "/rag/eval"])
@pytest.mark.parametrize(
    ("question", "code"), [("问" * 500, "0"), ("问" * 501, "A000001"), ("  ", "A000001"), ("", "A000001")],
    ids=["500", "501", "blank", "empty"],
)  # fmt: skip
def test_a_question_has_1_to_500_characters(path: str, question: str, code: str) -> None:
    async def body(client: httpx.AsyncClient) -> httpx.Response:
        return await client.get(path, params={"question": question})

    answer = run(body)
    assert answer.status_code == 200
    if code == "0" and path.endswith("chat"):
        assert answer.content.endswith(b'data:"[DONE]"\n\n')
    else:
        assert answer.json()["code"] == code


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nowhere"), ("DELETE", "/rag/eval"), ("GET", "/auth/login")]
)
def test_what_does_not_exist_is_a_server_error_under_200(method: str, path: str) -> None:
    async def body(client: httpx.AsyncClient) -> httpx.Response:
        return await client.request(method, path)

    answer = run(body)
    assert (answer.status_code, answer.json()["code"], answer.json()["message"]) == (
        200,
        "B000001",
        "系统执行出错",
    )


def test_thoughts_come_first_when_asked_for() -> None:
    async def body(client: httpx.AsyncClient) -> list[tuple[str, Any]]:
        return await frames(client, deepThinking="true")

    events = run(body)
    kinds = [data["type"] for name, data in events if name == "message"]
    assert kinds == sorted(kinds, reverse=True)
    assert "退换货咨询" in text_of(events, "think")
    assert "根据《" in text_of(events)


def test_no_thoughts_unless_asked_for() -> None:
    assert text_of(run(frames), "think") == ""


def test_deltas_of_white_space_are_lost() -> None:
    """As in the real system: the newline between two sources of an answer never arrives on its own."""

    async def body(client: httpx.AsyncClient) -> list[tuple[str, Any]]:
        return await frames(client, question="怎么开专用发票？会员怎么退订？")

    whole, pieces = run(body), run(body, pacing=Pacing(chunk_chars=1, chunk_ms=0, think_ms=0))
    deltas = [data["delta"] for name, data in pieces if name == "message"]
    assert {len(delta) for delta in deltas} == {1}
    assert all(delta.strip() for delta in deltas)
    assert "\n" in text_of(whole)
    assert "".join(deltas) == re.sub(r"\s", "", text_of(whole))


def test_the_agent_engine_tells_its_tools_and_its_state() -> None:
    async def body(client: httpx.AsyncClient) -> list[tuple[str, Any]]:
        return await frames(client, "/agent/v1/chat", question="帮我查一下订单E2026082401")

    events = run(body)
    assert names(events) == ["meta", "tool", "message", "finish", "done"]
    tools = [data for name, data in events if name == "tool"]
    assert [(tool["name"], tool["status"]) for tool in tools] == [
        ("get_order", "start"),
        ("get_order", "end"),
        ("track_shipment", "start"),
        ("track_shipment", "end"),
    ]
    assert tools[0] == {"name": "get_order", "displayName": "查询订单", "status": "start"}
    assert set(tools[1]) == {"name", "displayName", "status", "result", "ok", "arguments", "latencyMs"}
    assert (tools[1]["ok"], tools[1]["arguments"]) == (True, {"order_id": "E2026082401"})
    assert json.loads(tools[1]["result"])["status"] == "已发货"
    assert dict(events)["finish"]["state"] == {
        "task": "order_query",
        "filledSlots": {"order_id": "E2026082401"},
        "doneSteps": ["identify_order", "report_status"],
    }
    assert "sources" not in dict(events)["finish"]


def test_a_tool_that_fails_is_not_ok() -> None:
    async def body(client: httpx.AsyncClient) -> list[tuple[str, Any]]:
        return await frames(client, "/agent/v1/chat", question="帮我查一下订单E2026999999")

    events = run(body)
    end = next(data for name, data in events if name == "tool" and data["status"] == "end")
    assert end["ok"] is False
    assert end["result"].startswith("ORDER_NOT_FOUND")
    assert "没有查到" in text_of(events)


def test_a_conversation_goes_on_under_its_id() -> None:
    async def body(client: httpx.AsyncClient) -> list[dict[str, Any]]:
        first = await frames(
            client, "/agent/v1/chat", question="我要退货，订单E2026082102，买错了，手机13800010004"
        )
        again = {"conversationId": dict(first)["meta"]["conversationId"]}
        second = await frames(client, "/agent/v1/chat", question="确认", **again)
        other = await frames(client, "/agent/v1/chat", question="确认")
        return [dict(events)["finish"] for events in (first, second, other)]

    first, second, other = run(body)
    assert second["state"]["doneSteps"] == ["identify_order", "check_eligibility", "confirm", "create_return"]
    assert other["state"]["task"] is None
    assert "title" in first
    assert "title" not in second


def test_the_workflow_engine_does_the_same_without_telling_of_tools() -> None:
    async def body(client: httpx.AsyncClient) -> list[tuple[str, Any]]:
        return await frames(client, question="帮我查一下订单E2026082401")

    events = run(body)
    assert names(events) == ["meta", "message", "finish", "done"]
    assert "已发货" in text_of(events)
    assert "state" not in dict(events)["finish"]


def rejected(events: list[tuple[str, Any]]) -> bool:
    names_in_order = [name for name, _ in events]
    if names_in_order != ["meta", "meta", "reject", "finish", "done"]:
        return False
    first, second = events[0][1], events[1][1]
    assert first["conversationId"] == second["conversationId"]
    assert first["taskId"] != second["taskId"]
    assert events[2][1] == {"type": "response", "delta": "系统繁忙，请稍后再试"}
    assert events[3][1]["messageStatus"] == "REJECTED"
    return True


def test_who_waits_too_long_is_rejected() -> None:
    async def body(client: httpx.AsyncClient) -> list[list[tuple[str, Any]]]:
        return await asyncio.gather(*(frames(client) for _ in range(3)))

    slow = Pacing(think_ms=600, chunk_ms=0)
    answers = run(body, pacing=slow, limits=Limits(max_concurrent=1, max_wait_ms=100))
    assert sorted(map(rejected, answers)) == [False, True, True]
    assert names(next(events for events in answers if not rejected(events))) == [
        "meta",
        "message",
        "finish",
        "done",
    ]


def test_who_waits_in_time_is_served() -> None:
    async def body(client: httpx.AsyncClient) -> list[list[tuple[str, Any]]]:
        return await asyncio.gather(*(frames(client) for _ in range(4)))

    answers = run(body, limits=Limits(max_concurrent=1, max_wait_ms=5000))
    assert [names(events)[-1] for events in answers] == ["done"] * 4


def test_one_stream_a_user_where_that_is_the_rule() -> None:
    async def body(client: httpx.AsyncClient) -> list[bytes]:
        return await asyncio.gather(*(raw(client, "/agent/v1/chat") for _ in range(2)))

    answers = run(body, pacing=Pacing(think_ms=300, chunk_ms=0), limits=Limits(one_stream_per_user=True))
    refused = [json.loads(answer) for answer in answers if answer.startswith(b"{")]
    assert [(answer["code"], answer["message"]) for answer in refused] == [
        ("A000001", "当前会话处理中，请稍后再发起新的对话")
    ]
    assert len(run(body, pacing=Pacing(think_ms=100, chunk_ms=0))) == 2


def test_a_stopped_stream_is_cancelled() -> None:
    async def body(client: httpx.AsyncClient) -> bytes:
        got = b""
        async with client.stream("GET", "/rag/v3/chat", params={"question": QUESTION}) as answer:
            async for chunk in answer.aiter_raw():
                if not got:
                    task = json.loads(FRAME.findall(chunk)[0][1])["taskId"]
                    assert (await client.post("/rag/v3/stop", params={"taskId": task})).json()["success"]
                got += chunk
        return got

    events = parsed(run(body, pacing=Pacing(chunk_chars=1, chunk_ms=20, think_ms=0)))
    assert names(events)[-2:] == ["cancel", "done"]
    assert dict(events)["cancel"]["messageStatus"] == "INTERRUPTED"
    assert "finish" not in names(events)


async def drain(answer: httpx.Response, got: list[bytes]) -> None:
    async for chunk in answer.aiter_raw():
        got += [chunk]


def test_a_cut_stream_closes_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    async def body(client: httpx.AsyncClient) -> bytes:
        got: list[bytes] = []
        async with client.stream("GET", "/rag/v3/chat", params={"question": QUESTION}) as answer:
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
                await drain(answer, got)
        return b"".join(got)

    events = parsed(run(body, faults=Faults(cut=1, cut_after=2)))
    assert caplog.text == ""  # it was asked for: nobody is told of an error
    assert [name for name, _ in events] == ["meta", "message", "message"]


def test_a_cut_stream_can_also_end_in_good_order_but_short() -> None:
    events = run(frames, faults=Faults(cut=1, cut_after=0, cut_as="end"))
    assert [name for name, _ in events] == ["meta"]


def test_the_server_lives_on_after_a_cut() -> None:
    async def body(client: httpx.AsyncClient) -> str:
        with pytest.raises(httpx.RemoteProtocolError):
            await raw(client)
        return (await client.get("/rag/traces/runs")).json()["data"]["records"][0]["status"]

    assert run(body, faults=Faults(cut=1)) == "ERROR"


def test_reject_is_a_fault_too() -> None:
    assert rejected(run(frames, faults=Faults(reject=1)))


@pytest.mark.parametrize(
    ("how", "status", "code"), [("http", 500, None), ("envelope", 200, "B000001")], ids=["http", "envelope"]
)
def test_evidence_can_fail(how: str, status: int, code: str | None) -> None:
    async def body(client: httpx.AsyncClient) -> httpx.Response:
        return await client.get("/rag/eval", params={"question": QUESTION})

    answer = run(body, faults=Faults(fail_evidence=1, fail_evidence_as=how))
    assert (answer.status_code, answer.json().get("code")) == (status, code)


def test_the_first_token_can_be_slow() -> None:
    async def body(client: httpx.AsyncClient) -> float:
        start = time.monotonic()
        await frames(client)
        return time.monotonic() - start

    assert run(body, faults=Faults(slow_first_token_ms=400)) >= 0.4
    assert run(body, faults=Faults(slow_first_token_ms=5000, slow=0)) < 4


def test_a_wrong_intent_shows_in_the_evidence() -> None:
    async def body(client: httpx.AsyncClient) -> list[str]:
        return (await client.get("/rag/eval", params={"question": QUESTION})).json()["data"]["intentLeafIds"]

    assert run(body) == ["S14_退换货咨询"]
    assert run(body, faults=Faults(wrong_intent=1)) != ["S14_退换货咨询"]


def test_a_hallucinated_tool_shows_in_the_stream() -> None:
    async def body(client: httpx.AsyncClient) -> list[tuple[str, Any]]:
        return await frames(client, "/agent/v1/chat", question="你好")

    tools = [data["name"] for name, data in run(body, faults=Faults(hallucinate_tool=1)) if name == "tool"]
    assert tools == ["grant_compensation", "grant_compensation"]


def test_the_tree_has_every_leaf_under_its_domain() -> None:
    async def body(client: httpx.AsyncClient) -> Any:
        return (await client.get("/intent-tree/trees")).json()["data"]

    roots = run(body)
    assert {root["intentCode"] for root in roots} == {"SUPPORT", "FEEDBACK", "CHAT"}
    leaves = {leaf["intentCode"]: leaf for root in roots for leaf in root["children"]}
    assert len(leaves) == 28
    assert {leaf["parentCode"] for leaf in leaves.values()} == {"SUPPORT", "FEEDBACK", "CHAT"}
    kinds = [leaves[code]["kind"] for code in ("S14_退换货咨询", "C1_闲聊问候", "S5_订单查询")]
    assert kinds == [0, 1, 2]
    assert set(roots[0]) == set(leaves["S5_订单查询"]) == {
        "id", "intentCode", "name", "level", "parentCode", "kind", "description", "examples", "collectionNames",
        "topK", "mcpToolId", "enabled", "children",
    }  # fmt: skip


def test_traces_are_found_by_task() -> None:
    async def body(client: httpx.AsyncClient) -> tuple[str, Any]:
        await frames(client, question="你好")
        task = dict(await frames(client))["meta"]["taskId"]
        return task, (await client.get("/rag/traces/runs", params={"taskId": task})).json()["data"]

    task, page = run(body)
    assert (page["total"], page["pages"], page["current"]) == (1, 1, 1)
    (record,) = page["records"]
    assert (record["taskId"], record["question"], record["status"]) == (task, QUESTION, "SUCCESS")
    assert 0 <= record["ttftMs"] <= record["durationMs"]


def test_it_starts_within_two_seconds_and_stops() -> None:
    """Starting is counted in seconds of work, training included, so that a busy machine does not matter."""

    async def main() -> tuple[float, float, str]:
        trained.cache_clear()
        start = time.process_time()
        async with serve() as url:
            up = time.process_time() - start
            stop = time.monotonic()
        return up, time.monotonic() - stop, url

    up, down, url = asyncio.run(main())
    assert up < 2
    assert down < 2
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_signal_handlers_stay_as_they_are() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    async def main() -> tuple[Any, Any]:
        async with serve():
            return signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    # asyncio.run installs its own SIGINT handler around the loop; only that one may be there
    during = asyncio.run(main())
    assert during[1] == before[1]
    assert "uvicorn" not in repr(during[0])


def test_the_server_stops_when_the_block_raises() -> None:
    async def main() -> str:
        async with serve() as url:
            seen.append(url)
            raise LookupError

    seen: list[str] = []
    with pytest.raises(LookupError):
        asyncio.run(main())
    with pytest.raises(httpx.ConnectError):
        httpx.get(seen[0], trust_env=False)


def test_a_taken_port_is_refused_in_words() -> None:
    async def main(port: int) -> None:
        async with serve(port=port):
            pass

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match="cannot listen"):
        asyncio.run(main(taken.getsockname()[1]))
