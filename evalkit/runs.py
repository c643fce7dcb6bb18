"""Where runs live: `<run_id>.jsonl` is the truth, its manifest, its fragments and its lock stand beside it."""

from __future__ import annotations

import difflib
import json
import re
import secrets
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from evalkit import writing
from evalkit.contracts import Manifest
from evalkit.errors import BadData, NoInput, UsageError
from evalkit.reading import Line, parse
from evalkit.reading.encoding import escaped

__all__ = [
    "RunFiles",
    "beside",
    "checked_id",
    "family",
    "files",
    "find",
    "latest",
    "manifest",
    "new_id",
    "save",
]

LATEST = "latest"
_BESIDE = ".judged.jsonl"  # what judges said of a run is no run
_ENDS = (
    ".meta.json",
    ".torn",
    ".lock",
    ".capture",
    ".before-repair",
    _BESIDE,
    ".judged.torn",
    ".judged.lock",
)
_TAKEN = (".meta", ".judged", ".torn", ".lock", ".capture", ".before-repair")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = 5


class RunFiles(NamedTuple):
    """The paths of one run: its records, its manifest, torn fragments of its records, its lock, its capture."""

    records: Path
    manifest: Path
    torn: Path
    lock: Path
    capture: Path


def checked_id(name: str) -> str:
    """The run id itself where it can be one, so that no id ever leaves the folder of runs; else UsageError."""
    if name == LATEST or not _ID.fullmatch(name) or name.lower().endswith(_TAKEN):
        raise UsageError(
            f"run id: found {name[:140]!r}, wanted 1 to 128 of A-Z a-z 0-9 . _ - that begin with a letter or a "
            f"digit, not {LATEST!r}, and not ending as files beside a run do ({' '.join(_TAKEN)})."
        )
    return name


def files(run_id: str, runs_dir: Path) -> RunFiles:
    """Where the run with that id lives; UsageError where it cannot be an id."""
    return beside(runs_dir / f"{checked_id(run_id)}.jsonl")


def family(records: Path) -> list[Path]:
    """The records of a run, and every file that may stand beside them: manifest, judgements, fragments, locks."""
    stem = records.name.removesuffix(".jsonl")
    return [records, *(records.with_name(stem + end) for end in _ENDS)]


def beside(records: Path) -> RunFiles:
    """The files of the run whose records are at that path."""
    stem = records.name.removesuffix(".jsonl")
    ends = (".meta.json", ".torn", ".lock", ".capture")
    return RunFiles(records, *(records.with_name(stem + end) for end in ends))


def _ids() -> Iterator[str]:
    """Ids that sort by time: the microsecond in UTC, never the same one twice, and 40 random bits."""
    last = 0
    while True:
        last = max(time.time_ns() // 1000, last + 1)
        yield f"{_EPOCH + timedelta(microseconds=last):%Y%m%dT%H%M%S%f}-{secrets.token_hex(5)}"


_next_id = _ids()
_turn = threading.Lock()


def new_id() -> str:
    """A run id that nobody had before; the ids of one process sort in the order in which they were made."""
    with _turn:
        return next(_next_id)


def find(run: str | PathLike[str], runs_dir: Path) -> Path:
    """The records of a run named by its id, by its path, or by the word `latest`; else NoInput."""
    if run == LATEST:
        return latest(runs_dir)
    if Path(run).is_file():
        return Path(run)
    place = runs_dir / f"{run}.jsonl"
    if _ID.fullmatch(str(run)) and place.is_file():
        return place
    known = _newest_first(runs_dir)
    near = difflib.get_close_matches(str(run), known, n=_SHOWN, cutoff=0.5) or known[:_SHOWN]
    raise NoInput(
        f"run {str(run)!r}: found neither such a file nor such a run in {runs_dir}, wanted a path, a run id "
        f"or {LATEST!r}. Nearest: {', '.join(near) or 'none, there is no run yet'}."
    )


def latest(runs_dir: Path) -> Path:
    """The records of the run that was written to last; NoInput where there is none."""
    known = _newest_first(runs_dir)
    if not known:
        raise NoInput(f"{runs_dir}: found no run, wanted at least one; make one with `evalkit run`.")
    return runs_dir / f"{known[0]}.jsonl"


def _newest_first(runs_dir: Path) -> list[str]:
    """The ids of the runs there, the one written to last first."""
    paths = [path for path in runs_dir.glob("*.jsonl") if not path.name.endswith(_BESIDE) and path.is_file()]
    known = [(path.stat().st_mtime_ns, path.stem) for path in paths]
    return [name for _, name in sorted(known, reverse=True)]


def manifest(records: Path) -> Manifest | None:
    """What stands beside the records of a run, null where nothing does; BadData where it does not hold."""
    path = beside(records).manifest
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    found = parse(path, Line(1, 0, raw, ended=True), Manifest)
    if isinstance(found, list):
        raise BadData(found)
    return found


def save(new: Manifest, path: Path) -> None:
    """Put the manifest at `path`, whole or not at all; StorageError where the disk refuses."""
    text = json.dumps(new.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=2)
    writing.replace(path, escaped(text + "\n"))
