"""One sample put to an open target, and all that is kept of it: the record, its line, and where wanted the bytes."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from evalkit.contracts import EvalRecord
from evalkit.kinds import Ask
from evalkit.net.exchange import marked
from evalkit.runner.asking import late, mark, observed, written
from evalkit.runner.capturing import CaptureFile, Entry, recorded
from evalkit.runner.plan import Sample
from evalkit.runner.selfcheck import SelfCheck

__all__ = ["Desk"]


@dataclass(frozen=True, slots=True)
class Desk:
    """Where one process asks for a run: the open target, the check of its own delays, and the capture, if any."""

    ask: Ask
    check: SelfCheck
    run_id: str
    capture: CaptureFile | None = None

    async def put(self, sample: Sample, due: float | None) -> tuple[EvalRecord, bytes]:
        """Ask, and the record and the line of it; `due` is when that was to begin, by the loop's clock.

        What is captured is on file before this returns. A record of which the client may have read the bytes
        too late is flagged `client_saturated`.
        """
        begun, started_at = time.perf_counter(), datetime.now(UTC)
        lag_ms = None if due is None else (asyncio.get_running_loop().time() - due) * 1000
        with recorded(self.capture) as taken, marked(f"{self.run_id}/{sample.key}"):
            seen = await observed(sample.case, self.ask)
        seen = seen if lag_ms is None else late(seen, lag_ms)
        timed = seen.answer_timings is not None or seen.ttft_ms is not None
        doubtful = timed and self.check.late_since(begun, ttft_ms=seen.ttft_ms)
        said = mark(sample, run_id=self.run_id, started_at=started_at, lag_ms=lag_ms)
        record, line = written(sample, seen, said, doubtful=doubtful)
        if self.capture:
            entry = Entry(tuple(taken), sample.case, sample.repeat, started_at, lag_ms, doubtful=doubtful)
            self.capture.add(entry, record.flags)
        return record, line

    async def warm(self, sample: Sample) -> None:
        """Ask, and forget what came."""
        await observed(sample.case, self.ask)
