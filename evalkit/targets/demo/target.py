"""`--target demo`: the shop in a process of its own, so that its work does not delay the client's clock."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal, TypedDict

from evalkit.errors import EvalkitError
from evalkit.kinds import Ask
from evalkit.net.capture import playing
from evalkit.net.keys import STAND_IN_KEY
from evalkit.net.limits import check_limits
from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.settings import Limits, Pacing
from evalkit.targets.ragent import Engine, ragent

__all__ = ["Login", "child", "demo"]

_START_S = 20.0
_STOP_S = 2.0


class Login(TypedDict):
    """Where the server is, and who may ask it."""

    base_url: str
    username: str
    password: str


@asynccontextmanager
async def demo(  # noqa: PLR0913 - the parameters of a target are its configuration
    *,
    engine: Engine = "auto",
    concurrency: int = 8,
    deep_thinking: bool = False,
    evidence: bool = True,
    retries: int = 2,
    chunk_chars: int = 5,
    chunk_ms: float = 2.0,
    think_ms: float = 20.0,
    slow_first_token_ms: float = 0.0,
    slow: float = 1.0,
    cut: float = 0.0,
    cut_after: int = 3,
    cut_as: Literal["abort", "end"] = "abort",
    reject: float = 0.0,
    fail_evidence: float = 0.0,
    fail_evidence_as: Literal["http", "envelope"] = "http",
    wrong_intent: float = 0.0,
    drop_document: float = 0.0,
    over_retrieve: float = 0.0,
    hallucinate_tool: float = 0.0,
) -> AsyncIterator[Ask]:
    """The embedded demo shop, started on a free port and stopped at the end, come what may.

    The first five are those of the `ragent` target; the next three set the pace of the answers
    (`settings.Pacing`), the others are known-bad behaviour (`faults.Faults`). EvalkitError when the server does
    not start.
    """
    check_limits("demo", {"concurrency": concurrency, "retries": retries})
    faults = Faults.of(
        {
            "slow_first_token_ms": slow_first_token_ms,
            "slow": slow,
            "cut": cut,
            "cut_after": cut_after,
            "cut_as": cut_as,
            "reject": reject,
            "fail_evidence": fail_evidence,
            "fail_evidence_as": fail_evidence_as,
            "wrong_intent": wrong_intent,
            "drop_document": drop_document,
            "over_retrieve": over_retrieve,
            "hallucinate_tool": hallucinate_tool,
        }
    )
    pacing = Pacing(chunk_chars=chunk_chars, chunk_ms=chunk_ms, think_ms=think_ms)
    async with _server(*_options(faults, pacing, concurrency)) as login:
        target = ragent(
            **login,
            engine=engine,
            concurrency=concurrency,
            agent_streams=concurrency,
            deep_thinking=deep_thinking,
            evidence=evidence,
            retries=retries,
        )
        async with target as ask:
            yield ask


def _settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """The faults that the server will have: those given, and for the others what the environment says."""
    normal = dataclasses.asdict(Faults())
    around = dataclasses.asdict(Faults.switched_on(()))
    return {name: around[name] for name in normal if given.get(name, normal[name]) == normal[name]}


demo.settle = _settled  # type: ignore[attr-defined]
demo.over_http = True  # type: ignore[attr-defined]


def _server(*options: str) -> AbstractAsyncContextManager[Login]:
    """The shop, or where exchanges are played back nobody, since nobody is asked."""
    if playing():
        nobody = Login(base_url="http://127.0.0.1", username=STAND_IN_KEY, password=STAND_IN_KEY)
        return nullcontext(nobody)
    return child(*options)


@asynccontextmanager
async def child(*options: str) -> AsyncIterator[Login]:
    """Where a server with these command-line options listens, and its login; stopped at the end of the block."""
    command = [sys.executable, "-P", "-m", "evalkit.targets.demo", "--port=0", f"--parent-pid={os.getpid()}"]
    process = await asyncio.create_subprocess_exec(
        *command, *options, stdin=PIPE, stdout=PIPE, env=_environment(), start_new_session=True
    )
    try:
        yield await _announced(process)
    finally:
        await asyncio.shield(_stop(process))


def _options(faults: Faults, pacing: Pacing, concurrency: int) -> list[str]:
    """The server's command line; only faults that were asked for, the others may come from the environment."""
    normal = dataclasses.asdict(Faults())
    asked = {name: value for name, value in dataclasses.asdict(faults).items() if value != normal[name]}
    pace = {f"--{name.replace('_', '-')}": value for name, value in dataclasses.asdict(pacing).items()}
    return [
        *(f"--fault={name}={value}" for name, value in asked.items()),
        *(f"{name}={value}" for name, value in pace.items()),
        f"--max-concurrent={max(concurrency, Limits().max_concurrent)}",
    ]


async def _announced(process: Process) -> Login:
    """The line in which the server says where it is."""
    line = b""
    if process.stdout is not None:
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _START_S)
        except TimeoutError:
            raise EvalkitError(f"demo: the server did not start within {_START_S:g} s.") from None
    if not line:
        code = await process.wait()
        raise EvalkitError(
            f"demo: the server ended with exit code {code} before it was ready; see its words above."
        )
    login: Login = json.loads(line)
    return login


async def _stop(process: Process) -> None:
    """Close its standard input, which ends it; kill it where that does not help."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()


def _environment() -> dict[str, str]:
    """The environment of this process, with this very package first on the path, and one thread for sums.

    A thread for each core would only get in the client's way.
    """
    here = str(Path(__file__).parents[3])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**threads, **os.environ, "PYTHONPATH": path}
