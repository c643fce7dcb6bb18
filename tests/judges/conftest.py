"""A model behind a real server on loopback that speaks OpenAI's wire format; what it says is a function."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from evalkit.judges.budget import Budget
from evalkit.judges.config import JudgeConfig
from evalkit.judges.server import Server, opened
from evalkit.net.keys import mask_of

Say = Callable[[dict[str, Any]], Any]


@dataclass
class Model:
    """`say` maps the request's body to the reply's text, or to a whole Response."""

    say: Say
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.bodies.append(body)
        self.times.append(time.monotonic())
        self.headers.append(dict(request.headers))
        said = self.say(body)
        return said if isinstance(said, Response) else JSONResponse(completion(said))

    @staticmethod
    def nonce(body: dict[str, Any]) -> str:
        """The nonce that the question asks for."""
        return re.findall(r'"nonce"：字符串 ([0-9a-f]{32})', body["messages"][-1]["content"])[-1]

    @staticmethod
    def material(body: dict[str, Any]) -> dict[str, str]:
        """The judged texts by role, as a model that understands JSON reads them."""
        found = re.findall(
            r'^<material [0-9a-f]+ (".*")>\n(".*")$', body["messages"][-1]["content"], re.MULTILINE
        )
        return {json.loads(role): json.loads(text) for role, text in found}

    @classmethod
    def verdict(cls, body: dict[str, Any], **parts: Any) -> str:
        """The text of a verdict that holds."""
        return json.dumps({"nonce": cls.nonce(body), "reason": "理由", **parts}, ensure_ascii=False)


def completion(text: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion that says `text`."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {
        "id": "1", "object": "chat.completion", "model": "m-2026-11-01", "choices": [choice], "usage": usage, **more
    }  # fmt: skip


@contextlib.contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """The address of the application, served on loopback by a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def model() -> Iterator[Callable[[Say], Model]]:
    """Start a model that says what the function says."""
    with contextlib.ExitStack() as stack:

        def start(say: Say) -> Model:
            made = Model(say)
            paths = ("chat/completions", "embeddings", "moderations")
            routes = [Route(f"/v1/{path}", made.answer, methods=["POST"]) for path in paths]
            made.url = stack.enter_context(serving(Starlette(routes=routes)))
            return made

        yield start


@pytest.fixture
def wire() -> dict[str, Any]:
    """How replies are made by hand."""
    return {"completion": completion, "json": JSONResponse}


@contextlib.asynccontextmanager
async def _server(
    url: str, *, key: str = "", budget: Budget | None = None, **config: Any
) -> AsyncIterator[Server]:
    settings = JudgeConfig(
        base_url=url, model=config.pop("model", "m"), retries=config.pop("retries", 0), **config
    )
    async with opened(settings, key=key, mask=mask_of(key), budget=budget or Budget()) as server:
        yield server


@pytest.fixture(scope="session")
def server() -> Any:
    """The endpoint at an address, opened with `async with`."""
    return _server


@pytest.fixture(scope="session")
def run() -> Any:
    """Run a coroutine to its end."""
    return asyncio.run
