"""Tool metrics, the whole family: CPU time a record from columns in memory, from objects, and from a run on file.

    python benchmarks/tool_calls.py [records]

Each record expects one to three calls of one to three arguments and made as many; twelve tools, order numbers that
hardly come twice. Half of the records made the very calls that were expected. Each leg is timed three times and
the fastest counts.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import EvalRecord, MetricResult, Records
from evalkit.contracts import ToolCall
from evalkit.metrics import tools
from evalkit.reading import encode
from evalkit.records import load
from evalkit.records.columnar import Columns
from evalkit.records.fields import of_rows
from evalkit.records.sealed import columns_path

REPEATS = 3
SEED = 20_260_826
TOOLS = 12


class Leg(NamedTuple):
    """What is timed, and the results that it gives."""

    name: str
    run: Callable[[], list[MetricResult]]


def call(rng: random.Random) -> ToolCall:
    """A call of one of the tools, each of which has its own number of arguments."""
    tool = rng.randrange(TOOLS)
    given: dict[str, Any] = {
        "order_id": f"A{rng.randrange(10**6)}",
        "days": rng.randint(1, 30),
        "reason": rng.choice(["退货", "换货", "维修"]),
    }
    return ToolCall(name=f"tool_{tool}", arguments=dict(list(given.items())[: 1 + tool % 3]))


def records(n: int) -> Iterator[EvalRecord]:
    """Records of which half are right, and others have another order, another argument, or other calls."""
    rng = random.Random(SEED)  # noqa: S311 - test data
    for number in range(n):
        expected = [call(rng) for _ in range(rng.randint(1, 3))]
        kind, made = rng.random(), list(expected)
        if kind > 0.85:
            made = [call(rng) for _ in range(rng.randint(1, 3))]
        elif kind > 0.7:
            made[0] = made[0].model_copy(update={"arguments": {**made[0].arguments, "order_id": "B1"}})
        elif kind > 0.5:
            rng.shuffle(made)
        yield EvalRecord(
            sample_id=f"case-{number:07d}",
            intent_l1="SUPPORT",
            intent_l2=f"S{rng.randrange(30)}",
            expected_tools=tuple(expected),
            tool_calls=tuple(made),
            response="支持七天无理由退货。",
        )


def legs(rows: list[EvalRecord], path: Path) -> list[Leg]:
    """The ways to the same scores; `path` is where the rows are written to."""
    columns = Columns(of_rows(rows))
    path.write_bytes(b"".join(map(encode, rows)))

    def from_lines() -> list[MetricResult]:
        columns_path(path).unlink(missing_ok=True)
        return tools.compute(load(path, rows_up_to=0))

    return [
        Leg("columns in memory", lambda: tools.compute(Records(rows, columns=columns))),
        Leg("objects in memory", lambda: tools.compute(Records(rows))),
        Leg("lines, columns kept", from_lines),
        Leg("kept columns on file", lambda: tools.compute(load(path, rows_up_to=0))),
    ]


def cpu(leg: Leg) -> float:
    """The fastest run of a leg, in CPU seconds of this process."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        leg.run()
        times.append(time.process_time() - start)
    return min(times)


def main(n: int) -> None:
    """Time the legs one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        found = legs(list(records(n)), Path(folder, "run.jsonl"))
        print(f"{n:,} records, CPU µs a record, best of {REPEATS}, load {os.getloadavg()[0]:.1f}\n")
        print("| from | µs a record |")
        print("|---|---|")
        for leg in found:
            print(f"| {leg.name} | {cpu(leg) / n * 1e6:.2f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
