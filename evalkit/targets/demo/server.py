"""The HTTP surface, wire-compatible with Ragent 1.1: envelopes, raw tokens, event streams, side channel.

Business errors are envelopes under HTTP 200. A model that fails in mid-answer closes the connection without
a word. Beyond the real system, the agent engine's `tool` end has `arguments` and `latencyMs`, and its `finish`
has `state`.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from evalkit.targets.demo.admission import Accounts, Gate, number
from evalkit.targets.demo.agent import Agent
from evalkit.targets.demo.conversations import Conversations
from evalkit.targets.demo.envelope import Refused, failure, success
from evalkit.targets.demo.evidence import evidence, tree
from evalkit.targets.demo.frames import EventStream
from evalkit.targets.demo.settings import Settings
from evalkit.targets.demo.slots import Reader
from evalkit.targets.demo.store import Store
from evalkit.targets.demo.streams import Broken, Engine, Run, events, rejection
from evalkit.targets.demo.tools import Tools
from evalkit.targets.demo.traces import Traces
from evalkit.targets.demo.understanding import Understanding, trained

__all__ = ["application"]

BASE_PATH = "/api/ragent"

Handler = Callable[[Request], Awaitable[Response]]
_log = logging.getLogger(__name__)


def application(settings: Settings) -> Starlette:
    """The ASGI application of one shop; conversations and tokens live as long as it does."""
    server = _Server(settings)
    routes = [
        Route("/auth/login", server.login, methods=["POST"]),
        Route("/rag/v3/chat", server.secured(server.workflow)),
        Route("/rag/v3/stop", server.secured(server.stop), methods=["POST"]),
        Route("/agent/v1/chat", server.secured(server.agent)),
        Route("/agent/v1/stop", server.secured(server.stop), methods=["POST"]),
        Route("/rag/eval", server.secured(server.evaluate)),
        Route("/intent-tree/trees", server.secured(server.intents)),
        Route("/rag/traces/runs", server.secured(server.runs)),
    ]
    return Starlette(
        routes=[Mount(BASE_PATH, routes=routes)],
        exception_handlers={Refused: _refused, HTTPException: _unknown, Exception: _failed},
    )


class _Server:
    """The handlers and what they share."""

    def __init__(self, settings: Settings) -> None:
        model = trained(settings.data)
        self.settings = settings
        self._knowledge = model.knowledge
        seed = Store(model.knowledge.shop)
        self._reader = Reader(model.products, seed.clock.date())
        self._understanding = Understanding(model, settings.faults)
        self._agent = Agent(self._understanding, self._reader)
        self._talks = Conversations(seed, shared=settings.shared_books)
        self._accounts = Accounts(settings.users, token_seconds=settings.limits.token_seconds)
        self._gate = Gate(settings.limits.max_concurrent, max_wait_ms=settings.limits.max_wait_ms)
        self._running: dict[str, Run] = {}
        self._traces = Traces()

    def secured(self, handler: Handler) -> Handler:
        """`handler` behind a login: the token stands bare in the Authorization header."""

        async def checked(request: Request) -> Response:
            user = self._accounts.user(request.headers.get("Authorization", ""))
            if user is None:
                raise Refused("未登录或登录已过期")
            request.state.user = user
            return await handler(request)

        return checked

    async def login(self, request: Request) -> Response:
        """A token for a name and a password."""
        try:
            body = await request.json()
            username, password = str(body["username"]), str(body["password"])
        except (ValueError, KeyError, TypeError):
            raise Refused("用户名或密码不能为空") from None
        token = self._accounts.login(username, password)
        if token is None:
            raise Refused("用户名或密码错误")
        return success({"userId": number(username), "role": "admin", "token": token, "avatar": None})

    async def workflow(self, request: Request) -> Response:
        """The answer stream of the workflow engine."""
        return self._stream(request, "workflow")

    async def agent(self, request: Request) -> Response:
        """The answer stream of the agent engine."""
        user = request.state.user
        busy = any(run.username == user and run.engine == "agent" for run in self._running.values())
        if busy and self.settings.limits.one_stream_per_user:
            raise Refused("当前会话处理中，请稍后再发起新的对话")
        return self._stream(request, "agent")

    async def stop(self, request: Request) -> Response:
        """End a running stream; an unknown one has ended already."""
        run = self._running.get(request.query_params.get("taskId", ""))
        if run and run.username == request.state.user:
            run.stopped.set()
        return success()

    async def evaluate(self, request: Request) -> Response:
        """What would be understood and found for a question, without history and without an answer."""
        started = time.perf_counter()
        question = self._question(request)
        faults = self.settings.faults
        if faults.strikes("fail_evidence", question):
            if faults.fail_evidence_as == "envelope":
                return failure("系统执行出错")
            return JSONResponse({"status": 500, "error": "Internal Server Error"}, status_code=500)
        tools = Tools(lambda: self._talks.seed)
        data = evidence(self._understanding.parts(question), reader=self._reader, tools=tools)
        return success({**data, "latencyMs": round((time.perf_counter() - started) * 1000)})

    async def intents(self, _request: Request) -> Response:
        """The intent tree."""
        return success(tree(self._knowledge))

    async def runs(self, request: Request) -> Response:
        """A page of the traces."""
        return success(self._traces.page(request.query_params))

    def _question(self, request: Request) -> str:
        question = request.query_params.get("question", "")
        longest = self.settings.limits.question_chars
        if not question.strip():
            raise Refused("问题不能为空")
        if len(question) > longest:
            raise Refused(f"问题长度不能超过{longest}个字符")
        return question

    def _stream(self, request: Request, engine: Engine) -> Response:
        run = Run(
            question=self._question(request),
            conversation_id=request.query_params.get("conversationId") or number(secrets.token_hex(8)),
            task_id=number(secrets.token_hex(8)),
            engine=engine,
            username=request.state.user,
            deep_thinking=request.query_params.get("deepThinking", "").casefold() == "true",
        )
        self._running[run.task_id] = run
        self._traces.add(run)
        return EventStream(self._frames(run))

    async def _frames(self, run: Run) -> AsyncGenerator[bytes]:
        """All frames of a stream, from its `meta` to its end, in the order of streams.py."""
        task_id = run.task_id
        try:
            yield run.meta()
            async with self._gate.place() as admitted, aclosing(self._rest(run, admitted=admitted)) as rest:
                async for part in rest:
                    yield part
        except Exception as error:
            if self._breaks_connection(run, error):
                raise
        finally:
            run.end()
            self._running.pop(task_id, None)

    def _rest(self, run: Run, *, admitted: bool) -> AsyncGenerator[bytes]:
        if not admitted or self.settings.faults.strikes("reject", run.question):
            return rejection(run)
        run.started = time.monotonic()
        talk = self._talks.open(run.username, run.conversation_id)
        return events(run, agent=self._agent, talk=talk, settings=self.settings)

    def _breaks_connection(self, run: Run, error: Exception) -> bool:
        """Whether the connection is to break where an answer failed; what nobody asked for is logged."""
        run.status = "ERROR"
        if not isinstance(error, Broken):
            _log.error("answering failed", exc_info=error)
            return True
        return self.settings.faults.cut_as == "abort"


async def _refused(_request: Request, refused: Exception) -> Response:
    return failure(str(refused), code=getattr(refused, "code", ""))


async def _unknown(_request: Request, _error: Exception) -> Response:
    return failure("系统执行出错")


async def _failed(_request: Request, error: Exception) -> Response:
    if not isinstance(error, Broken):  # a stream that is cut was asked for
        _log.error("a request failed", exc_info=error)
    return failure("系统执行出错")
