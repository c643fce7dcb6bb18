"""The log of finished and running answers that `/rag/traces/runs` serves."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from evalkit.targets.demo.admission import number
from evalkit.targets.demo.streams import Run

__all__ = ["Traces"]

_KEPT = 1000
_FILTERS = {"taskId": "task_id", "conversationId": "conversation_id", "status": "status"}


class Traces:
    """The latest runs, newest first."""

    def __init__(self) -> None:
        self._runs: deque[Run] = deque(maxlen=_KEPT)

    def add(self, run: Run) -> None:
        """Take a run in; it is shown as it stands when it is asked for."""
        self._runs.appendleft(run)

    def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The runs that fit the filters of `query`, one page of them (`current` from 1, `size`)."""
        rows = [_shown(run) for run in self._runs if _fits(run, query)]
        size, current = int(query.get("size", "10")), int(query.get("current", "1"))
        start = (current - 1) * size
        pages = -(-len(rows) // size)
        return {
            "records": rows[start : start + size],
            "total": len(rows),
            "size": size,
            "current": current,
            "pages": pages,
        }


def _fits(run: Run, query: Mapping[str, str]) -> bool:
    trace = query.get("traceId")
    wanted = {field: query[name] for name, field in _FILTERS.items() if query.get(name)}
    return (not trace or trace == number(run.task_id)) and all(
        getattr(run, field) == value for field, value in wanted.items()
    )


def _shown(run: Run) -> dict[str, Any]:
    return {
        "traceId": number(run.task_id),
        "taskId": run.task_id,
        "conversationId": run.conversation_id,
        "username": run.username,
        "status": run.status,
        "errorMessage": "模型调用失败" if run.status == "ERROR" else None,
        "durationMs": _ms(run, run.ended),
        "ttftMs": _ms(run, run.first_text),
        "question": run.question,
    }


def _ms(run: Run, moment: float | None) -> int | None:
    return None if moment is None else round((moment - run.started) * 1000)
