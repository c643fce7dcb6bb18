"""The benchmarks behind the page on performance, in small: the same code, fewer kills and fewer streams."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forks a process that has threads
def test_kills_lose_nothing_and_a_loss_would_be_seen(
    benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = benchmark("kill")
    found = kill.kill(4, seed=3)
    assert (found.kills, found.lost, found.duplicated, found.unreadable) == (4, 0, 0, 0)
    assert found.acknowledged == found.runs * kill.SAMPLES
    lossy = kill.Found()
    (tmp_path / "r.jsonl").write_bytes(b'{"sample_id": "c1", "query": "q"}\n{"sample_id"\n')
    kill.look(tmp_path, {"c1", "c2"}, lossy)
    assert (lossy.lost, lossy.unreadable) == (1, 2)


def test_fuzzed_streams_are_read_as_the_reference_reads_them(benchmark) -> None:
    fuzz = benchmark("sse_fuzz")
    assert fuzz.fuzz(3_000, seed=1) == []
    dice = random.Random(2)  # noqa: S311
    bodies = [fuzz.fuzzed(dice) for _ in range(300)]
    assert sum(bool(fuzz.reference(body)[0]) for body in bodies) > 30  # there is something to differ in
    assert fuzz.reference(b"\xef\xbb\xbfid:1\r\ndata:a\rdata: b\n\n: c\ndata\n\n") == (
        [("message", "a\nb", "1"), ("message", "", "1")],
        None,
    )


def test_the_page_says_what_the_benchmarks_are() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert "## Nothing lost" in page
    for name in ("kill.py", "sse_fuzz.py"):
        assert f"python benchmarks/{name}" in page
