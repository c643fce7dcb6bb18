"""What a run is held to: the policy of a file with what the command line adds, and the baseline of its eval set.

Reading a policy loads what compares runs: import this inside the command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from evalkit import runs
from evalkit.cli.options import show, tell_spent
from evalkit.errors import UsageError
from evalkit.judges.certificates import read_certificates
from evalkit.report import baseline as baselines
from evalkit.report.digest import Digest
from evalkit.report.gate import gate
from evalkit.report.policy import Policy, read
from evalkit.report.settings import distance, number
from evalkit.report.snapshot import Snapshot, snapshot
from evalkit.report.terminal import summary_view
from evalkit.report.text import visible
from evalkit.report.verdict import Verdict
from evalkit.report.verdict_text import brief_view, details_view

__all__ = ["Own", "asked_policy", "held", "held_by_rights", "inputs", "own_baseline", "show_held"]

_POLICY = Path("evalkit.toml")
_INCOMPARABLE = ("start", "limit", "filter")


class Own(NamedTuple):
    """The accepted baseline of a run's eval set and target, and where it lies."""

    path: Path
    snapshot: Snapshot


def asked_policy(
    path: Path | None,
    *,
    thresholds: Iterable[str] = (),
    regression: Iterable[str] = (),
    cluster: str | None = None,
) -> Policy:
    """The policy in that file, else in evalkit.toml, else an empty one, with what the command line adds.

    A baseline that the policy names stands beside its file. UsageError for a pair that cannot be read.
    """
    policy = _read(path)
    least = _pairs("--threshold", thresholds, number)
    drops = _pairs("--regression", regression, distance)
    for name, value in least.items():
        if value is None:
            raise UsageError(f"--threshold: found {name!r}, wanted METRIC=VALUE.")
    return replace(
        policy,
        thresholds={
            **policy.thresholds,
            **{name: value for name, value in least.items() if value is not None},
        },
        regression=tuple(dict.fromkeys([*policy.regression, *drops])),
        max_drop={**policy.max_drop, **{name: drop for name, drop in drops.items() if drop is not None}},
        cluster=cluster or policy.cluster,
    )


def held(
    run: Snapshot,
    base: Snapshot | None,
    *,
    policy: Policy,
    changed_set: bool = False,
    certificates: Path = Path("certificates.jsonl"),
) -> Verdict:
    """The verdict on a run: held to the policy, today, against the base if any."""
    return gate(
        run,
        base=base,
        policy=policy,
        today=datetime.now(UTC).date(),
        allow_changed_set=changed_set,
        certificates=read_certificates(certificates),
    )


def own_baseline(run: str, runs_dir: Path) -> Own | None:
    """The accepted baseline of the run's eval set and target; null where there is none."""
    manifest = runs.manifest(runs.find(run, runs_dir))
    place = baselines.beside(Path(manifest.eval_set)) if manifest else None
    if manifest is None or place is None or not place.is_file():
        return None
    found = baselines.load(place)
    return Own(place, found) if found.target == manifest.target else None


def held_by_rights(digest: Digest) -> Verdict | str:
    """The run held to evalkit.toml against the baseline of its eval set; why not, where there is no such pair.

    The scores are those of the digest: nothing is measured twice.
    """
    policy, run = asked_policy(None, cluster=digest.cluster), digest.run
    if not policy.metrics:
        return "no table [gate] in evalkit.toml asks for anything"
    if run.manifest is None:
        return "the run has no manifest"
    if any(run.manifest.selection.get(name) for name in _INCOMPARABLE):
        return "only some cases were asked"
    place = baselines.beside(Path(run.manifest.eval_set))
    if not place.is_file():
        return f"no baseline {place}; `evalkit baseline accept {run.manifest.run_id}` makes one"
    base = baselines.load(place)
    if base.target != run.manifest.target:
        return (
            f"the baseline {place} is of the target {base.target}; hold runs of {run.manifest.target} against one of "
            f"their own with `evalkit baseline accept {run.manifest.run_id} --name NAME` and `evalkit gate --baseline NAME`"
        )
    after = snapshot(
        run.records, run.results, run.manifest, cluster=policy.cluster, overridden=run.overridden
    )
    return held(after, base, policy=policy)


def show_held(found: Verdict | str | None, digest: Digest, *, files: Mapping[str, Path]) -> None:
    """Print the verdict in one line, the summary, and what is behind the verdict; or why there is none, if told."""
    verdict = found if isinstance(found, Verdict) else None
    if found is not None:
        show(brief_view(verdict) if verdict else visible(f"not gated: {found}"))
        show("")
    show(summary_view(digest, files=files))
    if verdict is not None:
        show("")
        show(details_view(verdict))
    tell_spent(digest)


def inputs(
    run: str, *, policy: Path | None, baseline: str | None, own: Own | None, runs_dir: Path
) -> list[Path]:
    """Every file that a gate reads or that stands beside one: of the run, of its baseline, and the policy."""
    place = runs.find(run, runs_dir)
    named = baselines.resolve(baseline, run=place, runs_dir=runs_dir) if baseline else None
    base = named or (own.path if own else None)
    found = [*runs.family(place), *(runs.family(base) if base else ())]
    return [*found, policy or _POLICY]


def _read(path: Path | None) -> Policy:
    """The policy in that file, else in evalkit.toml, else none; its baseline stands beside the file."""
    if path is None and not _POLICY.is_file():
        return Policy()
    place = path or _POLICY
    found = read(place, needed=path is not None)
    beside = place.parent / (found.baseline or "")
    return replace(found, baseline=str(beside)) if found.baseline and beside.is_file() else found


def _pairs(
    option: str, texts: Iterable[str], reader: Callable[[str, float], float]
) -> dict[str, float | None]:
    """What an option says of each metric; UsageError where it speaks twice of one."""
    found: dict[str, float | None] = {}
    for text in texts:
        for name, value in _pair(option, text, reader).items():
            if name in found:
                raise UsageError(f"{option} {name}: found twice, wanted once; leave one of them out.")
            found[name] = value
    return found


def _pair(option: str, text: str, reader: Callable[[str, float], float]) -> dict[str, float | None]:
    """`METRIC=VALUE`, or `METRIC` alone with null."""
    name, equals, value = text.rpartition("=")
    if not equals:
        return {text: None}
    try:
        return {name: reader(f"{option} {name}", float(value))}
    except ValueError:
        raise UsageError(f"{option} {name}: found {value!r}, wanted a number.") from None
