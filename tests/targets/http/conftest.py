"""A replica server: it sends the bytes that it is told to, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from evalkit.contracts import Case, Observation
from evalkit.registry import Spec, bind
from evalkit.targets.http.opening import target
from evalkit.targets.http.spec import TargetSpec

Answer = Callable[[Any, Any], Awaitable[None]]
KEY = "canary-key-55120077"


@dataclass
class Replica:
    """Answers one after the other, the last one again and again; `requests` are those that came."""

    loopback: Any
    requests: list[Any] = field(default_factory=list)
    retries: int = 0

    def streams(self, *frames: str, kind: str = "text/event-stream", cut: bool = False) -> Answer:
        """Each frame in a write of its own; with `cut` the connection then breaks inside the body."""

        async def answer(_request: Any, peer: Any) -> None:
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
            await peer.send(head.encode())
            for frame in frames:
                await peer.send(self.loopback.piece(frame.encode()))
                await asyncio.sleep(0.004)
            if cut:
                peer.close()
            else:
                await peer.send(self.loopback.END)

        return answer

    def gives(self, value: Any, status: int = 200) -> Answer:
        """One JSON response."""

        async def answer(_request: Any, peer: Any) -> None:
            await peer.send(self.loopback.json(value, status=status))

        return answer

    def ask(
        self, what: str | TargetSpec, *answers: Answer, case: Case | None = None, **settings: Any
    ) -> Observation:
        """What the target makes of these answers; `url` and `base_url` are filled in."""
        script = list(answers)

        async def serve(request: Any, peer: Any) -> None:
            await (script.pop(0) if len(script) > 1 else script[0])(request, peer)

        async def main() -> Observation:
            async with self.loopback(serve) as server:
                place = "url" if what in ("vercel", "vercel4") else "base_url"
                given = {place: server.url, "retries": self.retries, **settings}
                bound = (
                    bind("target", Spec(what, given))
                    if isinstance(what, str)
                    else (lambda: target("own", what)(**given))
                )
                async with bound() as ask:
                    seen: Observation = await ask(case or Case(sample_id="q1", query="耳机能退吗"))
                self.requests += server.requests
                return seen

        return asyncio.run(asyncio.wait_for(main(), 20))

    def ask_now(self, name: str, settings: dict[str, Any]) -> None:
        """Open the target with just these settings, and ask nothing."""

        async def main() -> None:
            async with bind("target", Spec(name, settings))():
                pass

        asyncio.run(main())

    def bodies(self) -> list[Any]:
        """The JSON bodies of the requests."""
        return [json.loads(request.body) for request in self.requests]


@pytest.fixture
def replica(loopback: Any, monkeypatch: pytest.MonkeyPatch) -> Replica:
    """A replica, and a key for it in every variable that a preset names."""
    for name in ("OPENAI", "ANTHROPIC", "DIFY", "FASTGPT", "RAGFLOW"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
    monkeypatch.setenv("COZE_API_TOKEN", KEY)
    return Replica(loopback)


@pytest.fixture
def sse() -> Callable[..., list[str]]:
    """Frames as most servers write them: `data:` alone, or after `event:`; texts as they are, the rest as JSON."""

    def frames(*events: Any) -> list[str]:
        return [_frame(event) for event in events]

    return frames


def _frame(event: Any) -> str:
    name, data = event if isinstance(event, tuple) else (None, event)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
