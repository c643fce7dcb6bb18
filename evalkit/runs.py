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
from evalkit.reading import Line, parse, stem
from evalkit.reading.encoding import escaped
from evalkit.reading.sources import ENDINGS

__all__ = [
    "RunFiles",
    "beside",
    "checked_id",
    "family",
    "files",
    "find",
    "known",
    "latest",
    "manifest",
    "new_id",
    "on_file",
    "save",
]

LATEST = "latest"
_BESIDE = ".judged"  # what judges said of a run is no run
_ENDS = (
    ".meta.json",
    ".torn",
    ".lock",
    ".capture",
    ".before-repair",
    ".judged.jsonl",
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
    return [records, *(records.with_name(stem(records) + end) for end in _ENDS)]


def beside(records: Path) -> RunFiles:
    """The files of the run whose records are at that path."""
    ends = (".meta.json", ".torn", ".lock", ".capture")
    return RunFiles(records, *(records.with_name(stem(records) + end) for end in ends))


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
    place = on_file(str(run), runs_dir)
    if place is not None:
        return place
    names = [stem(path) for path in _newest_first(runs_dir)]
    near = difflib.get_close_matches(str(run), names, n=_SHOWN, cutoff=0.5) or names[:_SHOWN]
    raise NoInput(
        f"run {str(run)!r}: found neither such a file nor such a run in {runs_dir}, wanted a path, a run id "
        f"or {LATEST!r}. Nearest: {', '.join(near) or 'none, there is no run yet'}."
    )


def latest(runs_dir: Path) -> Path:
    """The records of the run that was written to last, replays aside; NoInput where there is none."""
    found = next((path for path in _newest_first(runs_dir) if not _is_replay(path)), None)
    if found is None:
        raise NoInput(
            f"{runs_dir}: found no run that asked a target, wanted at least one; make one with `evalkit run`."
        )
    return found


def _is_replay(records: Path) -> bool:
    """Whether the run asked nobody; one whose manifest cannot be read is left to whoever needs the manifest."""
    try:
        told = manifest(records)
    except BadData:
        return False
    return told is not None and told.is_replay


def on_file(run_id: str, runs_dir: Path) -> Path | None:
    """The records of the run with that id, in whatever form they are kept; null where there are none."""
    if not _ID.fullmatch(run_id):
        return None
    places = (runs_dir / f"{run_id}{ending}" for ending in ENDINGS)
    return next((place for place in places if place.is_file()), None)


def known(runs_dir: Path) -> list[Path]:
    """The records of every run there, one file a run though it be kept in several forms, in order of their ids."""
    found: dict[str, Path] = {}
    for ending in ENDINGS:
        for path in runs_dir.glob(f"*{ending}"):
            if not stem(path).endswith(_BESIDE) and path.is_file():
                found.setdefault(stem(path), path)
    return [found[name] for name in sorted(found)]


def _newest_first(runs_dir: Path) -> list[Path]:
    """The records of the runs there, the one written to last first."""
    return sorted(known(runs_dir), key=lambda path: (path.stat().st_mtime_ns, stem(path)), reverse=True)


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
