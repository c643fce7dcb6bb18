"""Run ids never leave the folder of runs and never collide; runs are found by id, path and `latest`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalkit import runs
from evalkit.contracts import Manifest
from evalkit.errors import BadData, NoInput, UsageError


def manifest(run_id: str = "r") -> Manifest:
    return Manifest(
        run_id=run_id,
        eval_set="eval_sets/电商.jsonl",
        eval_set_sha256="0" * 64,
        target="demo",
        evalkit_version="0.1.0",
        started_at=datetime(2026, 8, 26, tzinfo=UTC),
    )


def made(folder: Path, *names: str) -> None:
    """Runs of these names, each written a second after the one before."""
    for n, name in enumerate(names):
        path = folder / f"{name}.jsonl"
        path.write_bytes(b"{}\n")
        os.utime(path, (1_000_000 + n, 1_000_000 + n))


def test_ids_are_unique_and_sort_as_they_were_made() -> None:
    ids = [runs.new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert ids == sorted(ids)


def test_ids_sort_though_the_clock_stands_still_or_jumps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = runs.new_id()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    ids = [first, *(runs.new_id() for _ in range(100))]
    assert ids == sorted(ids)
    assert len({name.split("-")[0] for name in ids}) == 101


def test_ids_made_at_once_by_threads_and_processes_never_collide() -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: runs.new_id(), range(1000)))
    code = "from evalkit.runs import new_id\nfor _ in range(200): print(new_id())"
    children = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
    for child in children:
        ids.extend(child.communicate()[0].decode().split())
    assert len(set(ids)) == len(ids) == 1400


def test_a_new_id_is_a_good_id_and_begins_with_the_time() -> None:
    before = f"{datetime.now(UTC):%Y%m%dT%H%M}"
    made_id = runs.new_id()
    after = f"{datetime.now(UTC):%Y%m%dT%H%M}"
    assert runs.checked_id(made_id) == made_id
    assert before <= made_id[:13] <= after


@pytest.mark.parametrize("name", ["a", "nightly", "2026-08-26", "v1.0_rc-2", "A" * 128, "a..b"])
def test_plain_names_are_ids(name: str) -> None:
    assert runs.checked_id(name) == name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("../x", id="parent"),
        pytest.param("..%2f", id="escaped parent"),
        pytest.param("a/../../b", id="parents inside"),
        pytest.param("a#/../b", id="fragment"),
        pytest.param("a b", id="space"),
        pytest.param("a;b", id="semicolon"),
        pytest.param("a\0b", id="NUL"),
        pytest.param("a\n", id="newline at the end"),
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("-rf", id="leading dash"),
        pytest.param(".hidden", id="leading dot"),
        pytest.param("运行", id="Chinese"),
        pytest.param("a" * 129, id="129 characters"),
        pytest.param("a" * 300, id="300 characters"),
        pytest.param("latest", id="the word latest"),
        pytest.param("a.judged", id="as judgements"),
        pytest.param("a.meta", id="as a manifest"),
        pytest.param("a.torn", id="as fragments"),
        pytest.param("a.LOCK", id="as a lock"),
    ],
)
def test_other_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run id: found"):
        runs.files(name, tmp_path)


def test_the_files_of_a_run_stand_beside_each_other(tmp_path: Path) -> None:
    names = [path.name for path in runs.files("v1.0", tmp_path)]
    assert names == ["v1.0.jsonl", "v1.0.meta.json", "v1.0.torn", "v1.0.lock", "v1.0.capture"]


def test_a_run_is_found_by_id_by_path_and_by_latest(tmp_path: Path) -> None:
    made(tmp_path, "c", "a", "b")
    assert runs.find("a", tmp_path) == tmp_path / "a.jsonl"
    assert runs.find(tmp_path / "c.jsonl", Path("nowhere")) == tmp_path / "c.jsonl"
    assert runs.find(str(tmp_path / "c.jsonl"), Path("nowhere")) == tmp_path / "c.jsonl"
    assert runs.find("latest", tmp_path) == runs.latest(tmp_path) == tmp_path / "b.jsonl"


def test_latest_is_the_run_written_to_last(tmp_path: Path) -> None:
    made(tmp_path, "x", "y")
    os.utime(tmp_path / "x.jsonl", (2_000_000, 2_000_000))
    assert runs.latest(tmp_path).stem == "x"


def test_latest_is_a_run_that_asked_and_a_replay_is_found_by_its_name(tmp_path: Path) -> None:
    made(tmp_path, "asked", "replayed")
    replay = manifest("replayed").model_copy(update={"settings": {"replay_of": "asked"}})
    runs.save(replay, tmp_path / "replayed.meta.json")
    assert runs.find("latest", tmp_path).stem == "asked"
    assert runs.find("replayed", tmp_path).stem == "replayed"
    (tmp_path / "asked.jsonl").unlink()
    with pytest.raises(NoInput, match="found no run that asked a target"):
        runs.find("latest", tmp_path)


def test_latest_may_have_a_manifest_that_does_not_hold(tmp_path: Path) -> None:
    made(tmp_path, "old", "torn")
    (tmp_path / "torn.meta.json").write_bytes(b'{"run_id"')
    assert runs.latest(tmp_path).stem == "torn"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("nightly-1O", "Nearest: nightly-11, nightly-10[.]", id="a slip of the finger"),
        pytest.param("zzz", "Nearest: weekly, nightly-11, nightly-10", id="nothing near: the newest"),
        pytest.param("../secrets", "found neither", id="outside"),
    ],
)
def test_an_unknown_run_names_the_nearest(tmp_path: Path, name: str, told: str) -> None:
    made(tmp_path, "nightly-10", "nightly-11", "weekly")
    with pytest.raises(NoInput, match=told) as caught:
        runs.find(name, tmp_path)
    assert caught.value.exit_code == 66


def test_no_run_at_all_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="found no run"):
        runs.latest(tmp_path / "missing")
    with pytest.raises(NoInput, match="there is no run yet"):
        runs.find("x", tmp_path)


def test_a_manifest_reads_back_as_it_was_saved(tmp_path: Path) -> None:
    kept = manifest().model_copy(update={"note": "由别人添加"})
    runs.save(kept, tmp_path / "r.meta.json")
    found = runs.manifest(tmp_path / "r.jsonl")
    assert found
    assert found.model_dump() == kept.model_dump()
    assert "由别人添加" in (tmp_path / "r.meta.json").read_text(encoding="utf-8")


def test_no_manifest_is_none(tmp_path: Path) -> None:
    assert runs.manifest(tmp_path / "r.jsonl") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "wanted one JSON", id="empty"),
        pytest.param('{"run_id": "r"}', "eval_set: found nothing", id="fields missing"),
        pytest.param("[1]", "wanted a JSON object", id="no object"),
    ],
)
def test_a_damaged_manifest_says_what_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "r.meta.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadData, match=told):
        runs.manifest(tmp_path / "r.jsonl")


def test_a_run_is_found_in_whatever_form_it_is_kept(tmp_path: Path) -> None:
    for n, name in enumerate(["a.jsonl", "b.jsonl.gz", "c.jsonl.zst", "d.parquet", "e.arrow", "f.feather"]):
        path = tmp_path / name
        path.touch()
        os.utime(path, (1_000_000 + n, 1_000_000 + n))
        assert runs.find(name[0], tmp_path) == path
        assert runs.latest(tmp_path) == path
        assert runs.family(path)[1] == tmp_path / f"{name[0]}.meta.json"
    (tmp_path / "a.parquet").touch()
    (tmp_path / "a.judged.jsonl.gz").touch()
    assert runs.find("a", tmp_path) == tmp_path / "a.jsonl"
    assert [path.name[0] for path in runs.known(tmp_path)] == list("abcdef")
    assert [path.name for path in runs.known(tmp_path)][:2] == ["a.jsonl", "b.jsonl.gz"]
