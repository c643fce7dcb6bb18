"""A long run against a replica: nothing that fails is the client's doing, and memory stays where it was.

    python benchmarks/load.py [--cases 10000] [--concurrency 200] [--workers 1] [--cancels 10000]

The replica streams 10 events in about 0.2 s a case, then answers the evidence request. The run goes through
the whole runner: a target described in `evalkit.toml`, one line on file a case. After it so many requests are
cancelled at every moment of their lives through one client, which must then serve the next one at once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from replica import replica

TARGET = """
[targets.replica]
about = "the replica"
parameters.base_url = {{ about = "where it is", default = "{url}" }}
[targets.replica.answer]
method = "GET"
url = "{{base_url}}/answer"
query = {{ q = "{{query}}" }}
ends_with_connection = true
[[targets.replica.answer.events]]
text = "text"
[targets.replica.evidence]
method = "GET"
url = "{{base_url}}/evidence"
documents = {{ each = "documents" }}
"""


def resident_mb(pids: set[int]) -> float:
    """The memory of these processes, in MB."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def family() -> set[int]:
    """The process and the workers it has started."""
    import psutil  # noqa: PLC0415

    workers = [each for each in psutil.Process().children() if "evalkit.runner.working" in each.cmdline()]
    return {os.getpid(), *(each.pid for each in workers)}


class Watch:
    """What becomes of the records, and the memory held at each tenth of them."""

    def __init__(self, count: int) -> None:
        self.every = max(count // 10, 1)
        self.done = 0
        self.errors: Counter[str] = Counter()
        self.held: list[float] = []

    def heard(self, record: Any) -> None:
        self.done += 1
        self.errors.update(error.kind for error in (record.answer_error, record.evidence_error) if error)
        if self.done % self.every == 0:
            self.held.append(resident_mb(family()))


def asked(count: int, concurrency: int, workers: int) -> None:
    """Run the cases, and print how they ended."""
    from evalkit.contracts import Case  # noqa: PLC0415
    from evalkit.registry import Spec, bind  # noqa: PLC0415
    from evalkit.runner import Apart, Plan, run  # noqa: PLC0415

    cases = [Case(sample_id=str(number), query=f"第 {number} 问：耳机能退吗") for number in range(count)]
    spec, watch, plan = Spec("replica"), Watch(count), Plan(run_id="load", concurrency=concurrency)
    target = Apart(spec, workers) if workers > 1 else bind("target", spec, concurrency=concurrency)
    began, cpu = time.perf_counter(), time.process_time()
    manifest = asyncio.run(run(cases, target, plan, on_record=watch.heard))
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    held = " ".join(f"{mb:.1f}" for mb in watch.held)
    print(
        f"{count} cases, {concurrency} at once, {workers} process(es), load {os.getloadavg()[0]:.1f}: {took:.1f} s"
    )
    print(f"CPU a case, in the process that writes: {cpu / count * 1e3:.1f} ms")
    print(
        f"recorded {manifest.recorded}, answers ok {manifest.answer_ok}, evidence ok {manifest.evidence_ok}"
    )
    print(f"errors: {dict(watch.errors) or 0}")
    print(f"client saturated: {manifest.client_saturated}; {manifest.client_delays}")
    print(f"resident MB at each tenth: {held}; last / first {watch.held[-1] / watch.held[0]:.3f}")


async def cancelled(url: str, count: int) -> None:
    """Cancel so many requests, then ask once more."""
    from evalkit.net.direct import DirectTransport  # noqa: PLC0415
    from evalkit.net.transport import client  # noqa: PLC0415

    async with client(base_url=url, concurrency=100) as http:
        for number in range(count // 100):
            tasks = [asyncio.create_task(http.get("/answer")) for _ in range(100)]
            for _ in range(number % 9):
                await asyncio.sleep(0)
            await asyncio.sleep(0.01 * (number % 4))
            for task in [*tasks, *tasks[::2]]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        began = time.perf_counter()
        response = await http.get("/evidence")
        took = (time.perf_counter() - began) * 1000
        transport = http._transport  # noqa: SLF001 - to count what is held
        assert isinstance(transport, DirectTransport)
        held = len(transport._busy)  # noqa: SLF001
    print(f"{count} cancelled; the next: {response.status_code} in {took:.1f} ms, connections held {held}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cancels", type=int, default=10_000)
    given = parser.parse_args()
    with replica(100, 10, 10) as url, tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        Path("evalkit.toml").write_text(TARGET.format(url=url), encoding="utf-8")
        asked(given.cases, given.concurrency, given.workers)
        asyncio.run(cancelled(url, given.cancels))


if __name__ == "__main__":
    main()
