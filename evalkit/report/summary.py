"""A run in one JSON object: what `summary.json` holds, for scripts and for people in a hurry."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from evalkit.contracts import Manifest
from evalkit.metrics.intent import averaged
from evalkit.report.charges import KEYS
from evalkit.report.digest import Digest, Run
from evalkit.report.fix_first import FIRST
from evalkit.report.fixing_json import plain
from evalkit.report.verdict_json import drawn
from evalkit.report.worst import WorstRow

__all__ = ["facts", "state", "summary"]

SHOWN = 10


def summary(digest: Digest, *, files: Iterable[str]) -> dict[str, Any]:
    """The run, what became of its file's lines, every metric overall, the worst intents, error directions, latencies, failures, the first things to fix and files.

    All numbers are those of the tables, unrounded; null where nothing was counted. `files` are names in the
    folder of the summary.
    """
    found = digest.tables
    counts = digest.run.intake.counts if digest.run.intake else None
    return {
        "run": _run(digest),
        "lines": counts._asdict() if counts else None,
        "metrics": [_plain(asdict(figure)) for figure in digest.overall],
        "macro": _macro(digest),
        "overridden": dict(digest.run.overridden),
        "drawn": drawn(digest.cluster),
        "worst_intents": [_worst(row) for row in digest.worst_intents[:SHOWN]],
        "confusions": _confusions(digest),
        "latency": [_plain(row) for row in found.latency.to_pylist()],
        "channels": {channel.name: asdict(channel) for channel in digest.channels},
        "labels": [label._asdict() for label in (*averaged(digest.labels), *digest.labels)],
        "failures": digest.charged._asdict(),
        "fix_first": [plain(replace(each, keys=each.keys[:KEYS])) for each in digest.suggestions[:FIRST]],
        "files": sorted(files),
    }


def _confusions(digest: Digest) -> list[dict[str, Any]]:
    """The most frequent error directions, each with its first samples."""
    rows = itertools.chain.from_iterable(piece.to_pylist() for piece in digest.pieces("confusions"))
    return [_plain({**row, "keys": row["keys"][:KEYS]}) for row in itertools.islice(rows, SHOWN)]


def _macro(digest: Digest) -> dict[str, Any] | None:
    if digest.averages is None:
        return None
    micro, (mean, n) = digest.averages
    return {"metric": micro.metric, "dimension": "intent_l2", "mean": mean, "n_slices": n}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("run_id", "dimension", "slice")}


def _worst(row: WorstRow) -> dict[str, Any]:
    figure, way = row.figure, row.direction
    return {
        "intent_l2": figure.slice,
        **_plain(asdict(figure)),
        "recoverable": row.recoverable,
        "direction": asdict(way) if way else None,
    }


def _run(digest: Digest) -> dict[str, Any]:
    run = digest.run
    known = run.manifest.model_dump(mode="json", include=set(_KNOWN)) if run.manifest else {}
    return {
        "run_id": run.run_id,
        **dict.fromkeys(_KNOWN),
        **known,
        "n_samples": digest.charged.n_total,
        "n_superseded": run.records.superseded,
        "n_torn": run.records.torn,
    }


_KNOWN = (
    "state",
    "target",
    "eval_set",
    "eval_set_sha256",
    "evalkit_version",
    "started_at",
    "finished_at",
    "cases",
    "planned",
    "recorded",
    "client_saturated",
    "client_delays",
)


def state(run: Run, n: int) -> str:
    """How far the run got: `complete`, or that its `n` samples are there, of how many."""
    manifest = run.manifest
    if manifest is None:
        return "no manifest"
    if manifest.state == "complete":
        return "complete"
    word = "in progress" if manifest.state == "running" else manifest.state
    return f"{word}, {n} of {manifest.planned}"


def facts(run: Run) -> list[tuple[str, str]]:
    """What is known of the run, as pairs of a name and a text, in the order in which to show them."""
    pairs = [("state", state(run, len(run.records))), ("samples", str(len(run.records)))]
    if run.overridden:
        told = ", ".join(f"{n} of {metric}" for metric, n in run.overridden.items())
        pairs.append(("overridden by hand", told))
    return pairs + (_manifest_facts(run.manifest) if run.manifest else [])


def _spelt(value: Any) -> str:
    """A setting as a command or a file has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _manifest_facts(manifest: Manifest) -> list[tuple[str, str]]:
    pairs = [
        ("target", manifest.target),
        ("eval set", manifest.eval_set),
        ("eval set sha256", manifest.eval_set_sha256[:12]),
        ("started", f"{manifest.started_at:%Y-%m-%d %H:%M:%S %Z}".rstrip()),
    ]
    if manifest.finished_at:
        seconds = (manifest.finished_at - manifest.started_at).total_seconds()
        pairs.append(("took", f"{seconds:.1f} s"))
    settings = manifest.target_config | manifest.settings | manifest.selection
    pairs += [(name, _spelt(value)) for name, value in settings.items() if value]  # what is off was not asked
    return [*pairs, ("evalkit", manifest.evalkit_version)]
