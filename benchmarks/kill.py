"""What kill -9 takes from a run: nothing that was acknowledged, nothing twice, no file that cannot be read.

Run `python benchmarks/kill.py`. Runs of 200 cases are written by processes that are killed at random moments, from
their first instruction on, and resumed until each run is complete. After every kill the file is read: whatever was
acknowledged through a pipe must be in it, every line must hold but a torn last one, and the reader must take it.
At the end of a run each sample must stand there exactly once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalkit.contracts import Case, EvalRecord, Observation
from evalkit.reading import read
from evalkit.runner import Plan, run
from evalkit.runner.verifying import verify

SAMPLES = 200
CASES = [Case(sample_id=f"c{n}", query="耳机能退吗") for n in range(SAMPLES)]
SEED = 20_260_826
LONGEST_S = 0.5


@dataclass
class Found:
    """Counts over all kills."""

    kills: int = 0
    runs: int = 0
    acknowledged: int = 0
    lost: int = 0
    duplicated: int = 0
    unreadable: int = 0
    torn: int = 0


async def ask(case: Case) -> Observation:
    """An answer of 1 to 60 kB after up to 4 ms."""
    dice = random.Random(case.sample_id)  # noqa: S311
    await asyncio.sleep(dice.random() * 0.004)
    return Observation(response="答" * int(300 * 66 ** dice.random()), retrieved_doc_ids=("D1",))


def write_run(folder: Path, pipe: int, *, resume: bool) -> None:
    """The writer: acknowledge each record once it is on file."""
    plan = Plan(runs_dir=folder, run_id="r", resume=resume, target="t", concurrency=8)
    asyncio.run(
        run(CASES, ask, plan, on_record=lambda record: os.write(pipe, f"{record.key}\n".encode()) and None)
    )


def writer(folder: Path, *, resume: bool) -> tuple[int, int]:
    """A process of its own that writes the run, forked with everything imported; its id and its pipe."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(told)
            write_run(folder, tell, resume=resume)
            code = 0
        finally:
            os._exit(code)
    os.close(tell)
    return child, told


def acknowledged(pipe: int) -> Iterator[str]:
    """The keys that were told whole."""
    with os.fdopen(pipe, "rb") as told:
        yield from (line.decode().strip() for line in told if line.endswith(b"\n"))


def one_run(folder: Path, dice: random.Random, found: Found, most: int) -> None:
    """Kill and resume until the run is complete, or as often as is left; then hold the whole against the rules."""
    acked, done = set[str](), False
    while not done:
        killing = found.kills < most
        done = one_writer(folder, dice.random() * LONGEST_S if killing else None, acked)
        assert done or killing, "a writer failed by itself"
        found.kills += not done
        look(folder, acked, found)
    keys = Counter(record.key for record in read(folder / "r.jsonl", EvalRecord).items)
    found.duplicated += sum(count - 1 for count in keys.values())
    found.lost += SAMPLES - len(keys)
    found.unreadable += not verify(folder / "r.jsonl").finished
    found.runs += 1
    found.acknowledged += len(acked)


def one_writer(folder: Path, life_s: float | None, acked: set[str]) -> bool:
    """Let a writer live so long, or to its end; whether it came to its end."""
    child, pipe = writer(folder, resume=(folder / "r.meta.json").exists())
    if life_s is not None:
        time.sleep(life_s)
        os.kill(child, signal.SIGKILL)
    acked |= set(acknowledged(pipe))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def look(folder: Path, acked: set[str], found: Found) -> None:
    """Read the file as it is."""
    if not (folder / "r.jsonl").exists():
        found.lost += len(acked)
        return
    counted = verify(folder / "r.jsonl")
    found.unreadable += counted.rejected
    found.torn += counted.torn
    reading = read(folder / "r.jsonl", EvalRecord, torn_tail=True)
    found.unreadable += len(reading.faults)
    found.lost += len(acked - {record.key for record in reading.items})


def kill(kills: int, seed: int = SEED) -> Found:
    """So many kills."""
    found, dice = Found(), random.Random(seed)  # noqa: S311
    while found.kills < kills:
        with tempfile.TemporaryDirectory() as folder:
            one_run(Path(folder), dice, found, kills)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1_000)
    counts = kill(parser.parse_args().kills)
    print(f"{counts.kills} kills over {counts.runs} runs of {SAMPLES} cases")
    print(f"acknowledged records  {counts.acknowledged}")
    print(f"lost                  {counts.lost}")
    print(f"duplicated            {counts.duplicated}")
    print(f"unreadable            {counts.unreadable}")
    print(f"torn last lines, set aside by the resume  {counts.torn}")
