"""One sample put to the target, and the line that comes of it: whatever happens becomes its record.

A target may break in any way it likes. Its exceptions (`sys.exit` among them), its wrong types and the values
that no reader would take back are errors of that sample alone. Only a cancellation and KeyboardInterrupt pass.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeGuard

from evalkit.contracts import Case, ChannelError, EvalRecord, Observation, Timings, asked
from evalkit.errors import EvalkitError, UsageError
from evalkit.kinds import Ask, Target
from evalkit.net.masking import KNOWN
from evalkit.reading import encode
from evalkit.runner.plan import Sample

__all__ = ["AnyTarget", "late", "mark", "observed", "opened", "written"]

AnyTarget: TypeAlias = Target | Ask | Callable[[Case], Observation]
"""What can be asked: a target that is opened first, an async function of a case, or a plain one."""

MAX_MESSAGE = 2000
_OBSERVED = (frozenset(EvalRecord.model_fields) - frozenset(Case.model_fields)) | {
    alias
    for field in Observation.model_fields.values()
    for alias in getattr(field.validation_alias, "choices", ())
}


@contextlib.asynccontextmanager
async def opened(target: AnyTarget) -> AsyncIterator[Ask]:
    """The `Ask` of any target; a plain function is asked in threads, which the process does not wait for.

    UsageError where `target` has none of the three shapes, or breaks while it is opened.
    """
    if _is_async(target):
        yield target
    elif _accepts(target):
        stack = AsyncExitStack()
        ask = await _entered(stack, target)
        async with stack:
            yield ask
    elif _accepts(target, None):
        yield _in_threads(target)  # type: ignore[arg-type]
    else:
        raise _no_target(target)


async def _entered(stack: AsyncExitStack, target: AnyTarget) -> Ask:
    """What a target with a life of its own yields; the stack closes it."""
    try:
        manager = target()  # type: ignore[call-arg]
        if not isinstance(manager, AbstractAsyncContextManager):
            raise _no_target(target)  # noqa: TRY301
        ask: Ask = await stack.enter_async_context(manager)
    except (EvalkitError, asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UsageError(f"target: opening it raised {_words(error)}; mend the target.") from error
    return ask


def _is_async(target: object) -> TypeGuard[Ask]:
    """Whether calling it makes a coroutine: an async function, bound, partial, or an object that is one."""
    called = inspect.getattr_static(type(target), "__call__", None)
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(called)


def _accepts(target: object, *arguments: object) -> bool:
    """Whether it can be called with these arguments."""
    if not callable(target):
        return False
    try:
        inspect.signature(target).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True


def _no_target(target: object) -> UsageError:
    name = getattr(getattr(target, "func", target), "__qualname__", type(target).__name__)
    return UsageError(
        f"target: found {name}, wanted a function of one case, "
        "or one without arguments that returns an async context manager."
    )


def _in_threads(function: Callable[[Case], object]) -> Ask:
    """A thread for each question: a daemon, because no thread can be stopped and none may hold the process."""

    async def ask(case: Case) -> Observation:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()
        threading.Thread(target=_put, args=(function, case, ended), daemon=True).start()
        seen, error = await ended
        if error is not None:
            raise error
        return await seen if isinstance(seen, Awaitable) else seen  # type: ignore[return-value]

    return ask


def _put(
    function: Callable[[Case], object],
    case: Case,
    ended: asyncio.Future[tuple[object, BaseException | None]],
) -> None:
    """Ask in this thread and tell the loop how that ended, if it is still there to be told."""
    try:
        outcome: tuple[object, BaseException | None] = function(case), None
    except BaseException as error:  # noqa: BLE001
        outcome = None, error

    def settle() -> None:
        if not ended.done():
            ended.set_result(outcome)

    with contextlib.suppress(RuntimeError):
        ended.get_loop().call_soon_threadsafe(settle)


async def observed(case: Case, ask: Ask) -> Observation:
    """What the target did with the case; whatever it raises is the error of its answer."""
    try:
        seen = await ask(case)
        if not isinstance(seen, Observation):
            return _broken(TypeError(f"found a {type(seen).__name__}, wanted an Observation"))
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _broken(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001
        return _broken(error)
    return seen


def _broken(error: BaseException) -> Observation:
    """The observation of a sample whose target broke: no answer, and evidence that was never measured."""
    why = ChannelError(kind="target_error", message=_words(error)[:MAX_MESSAGE])
    return Observation(answer_status="error", answer_error=why, evidence_status="skipped")


def _words(error: BaseException) -> str:
    """The name and the text of an exception, whose text may be code that breaks in its turn."""
    try:
        said = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001
        said = "its text cannot be read"
    return f"{type(error).__name__}: {said}".encode("utf-8", "replace").decode("utf-8")


def late(seen: Observation, lag_ms: float) -> Observation:
    """The observation with the time that its sample waited for its turn added to `queue_ms`."""
    timings = seen.answer_timings or Timings()
    queue_ms = (timings.queue_ms or 0.0) + lag_ms
    return seen.model_copy(update={"answer_timings": timings.model_copy(update={"queue_ms": queue_ms})})


def mark(sample: Sample, *, run_id: str, started_at: datetime, lag_ms: float | None) -> dict[str, Any]:
    """What a run says of a record; where there is a schedule, the sample was due `lag_ms` before it was begun."""
    said = {"run_id": run_id, "repeat": sample.repeat, "started_at": started_at}
    due = {} if lag_ms is None else {"scheduled_at": started_at - timedelta(milliseconds=lag_ms)}
    return said | due


def written(
    sample: Sample, seen: Observation, said: Mapping[str, Any], *, doubtful: bool = False
) -> tuple[EvalRecord, bytes]:
    """The record of a sample and its line, which is known to be read back.

    `said` is what the run says of it, made by `mark`; a `doubtful` one is flagged `client_saturated`. A channel of
    which the observation says nothing, no field and no status, was never asked: `skipped`. An observation
    that could not be read back (not a number, too deep, too long) is an error instead. Secrets that this process
    knows are blacked out, whichever target repeats them.
    """
    try:
        record, line = _written(sample, seen, said, doubtful=doubtful)
        if not KNOWN.is_in(line):
            return record, line
        return _written(sample, KNOWN.observation(seen), said, doubtful=doubtful)
    except Exception as error:  # noqa: BLE001
        return _written(sample, _broken(error), said, doubtful=False)


def _written(
    sample: Sample, seen: Observation, said: Mapping[str, Any], *, doubtful: bool
) -> tuple[EvalRecord, bytes]:
    """As `written`; what the case says of itself stands, whatever the observation says of the case."""
    found = seen.model_dump(exclude_unset=True, warnings=False)
    own = {name: value for name, value in found.items() if name not in Case.model_fields}
    if doubtful:
        own["flags"] = (*own.get("flags", ()), "client_saturated")
    record = EvalRecord.model_validate(_given(sample.case) | own | dict(said))
    record = asked(record, set(own))
    return record, encode(record)


def _given(case: Case) -> dict[str, Any]:
    """The fields of the case, without those it may carry from an earlier run."""
    return {name: value for name, value in case.model_dump().items() if name not in _OBSERVED}
