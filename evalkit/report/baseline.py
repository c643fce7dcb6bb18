"""What a run is held against: an earlier run, or a baseline that somebody accepted and committed.

A baseline is a file of its own, `eval_sets/baselines/<name>.json`: it moves when a person says so.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from evalkit import runs
from evalkit.contracts import Manifest
from evalkit.engines.scored import scored
from evalkit.errors import Incomplete, NoInput
from evalkit.reading import Intake, stem
from evalkit.report.snapshot import Snapshot, snapshot
from evalkit.report.snapshot_json import from_json, to_json
from evalkit.writing import replace

__all__ = ["FOLDER", "accept", "beside", "load", "previous", "resolve"]

FOLDER = Path("eval_sets") / "baselines"
"""Where baselines live whose eval set is not known."""

_END = ".json"


def load(path: Path, *, metrics: Collection[str] | None = None, intake: Intake | None = None) -> Snapshot:
    """The snapshot at `path`: a baseline's `.json`, or the records of a run, scored by every built-in metric.

    With `metrics` no more families of them are worked out than it takes to have those. The `intake` says what becomes
    of bad lines of a run.
    NoInput where there is no such file, BadData where it does not hold.
    """
    if path.suffix != _END:
        run = scored(path, wanted=metrics, intake=intake)
        return snapshot(run.records, run.results, run.manifest)
    try:
        return from_json(path.read_bytes(), path=str(path))
    except FileNotFoundError:
        raise NoInput(
            f"{path}: found no such baseline; make one with `evalkit baseline accept RUN`."
        ) from None


def accept(run: Snapshot, name: str, *, folder: Path = FOLDER) -> Path:
    """Make the run the baseline of that name; the file, replaced whole and read back.

    Incomplete for a run that has not all of its samples: what is missing there would never be missed later.
    UsageError for a name that cannot be a file's.
    """
    if not run.complete:
        raise Incomplete(
            f"run {run.run_id or 'without a manifest'}: found {len(run.samples)} of {run.planned} samples, "
            "wanted a complete run; resume it, then accept it."
        )
    path = folder / f"{runs.checked_id(name)}{_END}"
    written = to_json(run)
    replace(path, written)
    from_json(path.read_bytes(), path=str(path))
    return path


def beside(eval_set: Path) -> Path:
    """Where the baseline of an eval set lives: `baselines/<name of the set>.json` beside it."""
    return eval_set.parent / "baselines" / f"{stem(eval_set)}{_END}"


def resolve(name: str, *, run: Path, runs_dir: Path, folder: Path = FOLDER) -> Path | None:
    """The file that `name` means: a path, a baseline's name, a run's id, or `latest`.

    `latest` is the complete run of the same eval set and target before this one; null where there is none.
    NoInput where nothing else has that name.
    """
    if name == runs.LATEST:
        return previous(run, runs_dir)
    if Path(name).is_file():
        return Path(name)
    this = runs.manifest(run)
    own = [beside(Path(this.eval_set)).parent] if this else []
    accepted = (place / f"{name}{_END}" for place in (*own, folder))
    return next((path for path in accepted if path.is_file()), None) or runs.find(name, runs_dir)


def previous(run: Path, runs_dir: Path) -> Path | None:
    """The last complete run of the same eval set and target that was begun before `run`, replays aside; null for none."""
    this = runs.manifest(run)
    if this is None:
        return None
    earlier = [
        (found.started_at.timestamp(), path)
        for path in runs.known(runs_dir)
        if (found := runs.manifest(path)) is not None and _before(found, this)
    ]
    return max(earlier)[1] if earlier else None


def _before(found: Manifest, this: Manifest) -> bool:
    return (
        found.state == "complete"
        and not found.is_replay
        and found.run_id != this.run_id
        and (found.eval_set_sha256, found.target) == (this.eval_set_sha256, this.target)
        and found.started_at.timestamp() < this.started_at.timestamp()
    )
