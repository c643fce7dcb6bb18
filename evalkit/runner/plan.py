"""What a run sets out to do: its settings, the samples they ask for, and the manifest that says so."""

from __future__ import annotations

import hashlib
import math
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalkit import __version__
from evalkit.contracts import Case, Manifest
from evalkit.contracts.record import sample_key
from evalkit.errors import NoInput, UsageError, shown
from evalkit.reading import encode

__all__ = ["Plan", "Sample", "check_descriptors", "planned", "promised"]

CHANNELS = 2
SPARE_DESCRIPTORS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The settings of a run; UsageError names the one that cannot be.

    Without `run_id` a new one is made. `eval_set` says where the cases come from, `eval_set_sha256` is the
    hash of that file and `eval_set_cases` how many are in it, asked or not; without them the cases that are
    asked are hashed and counted. `target`, `target_config` (public values only: they are stored), `selection`
    (what chose the cases) and `intent_parents` (the taxonomy's) go into the manifest. `rate` is in cases
    per second: each case then has its time, whatever the others do, as far as `concurrency` lets it.
    `resume` goes on with a run that is there; `retry_errors` asks anew what failed in it. `grace_s` is how
    long cases in flight may take after the first interrupt. With `capture` every byte that the target sends is
    kept beside the run. `adaptive` finds out how many cases at once the target bears, up to `concurrency`. A record
    of `durability` process survives the death of the process, one of power also that of the machine, at some
    milliseconds a record. The first `warmup` samples are asked once before the others, by each process that asks,
    and not recorded: connections and caches are warm then.
    """

    run_id: str | None = None
    runs_dir: Path = Path("runs")
    eval_set: str = "in memory"
    eval_set_sha256: str | None = None
    eval_set_cases: int | None = None
    target: str | None = None
    target_config: Mapping[str, Any] = field(default_factory=dict)
    selection: Mapping[str, Any] = field(default_factory=dict)
    intent_parents: Mapping[str, str] = field(default_factory=dict)
    concurrency: int = 8
    repeat: int = 1
    rate: float | None = None
    resume: bool = False
    retry_errors: bool = False
    grace_s: float = 10.0
    capture: bool = False
    adaptive: bool = False
    durability: Literal["process", "power"] = "process"
    warmup: int = 0

    def __post_init__(self) -> None:
        wrong = {
            "concurrency": (self.concurrency < 1, "at least 1"),
            "repeat": (self.repeat < 1, "at least 1"),
            "rate": (self.rate is not None and not 0 < self.rate < math.inf, "more than 0 cases per second"),
            "warmup": (self.warmup < 0, "0 or more"),
            "adaptive": (self.adaptive and self.rate is not None, "none with a rate, which has its own pace"),
            "durability": (self.durability not in ("process", "power"), "process or power"),
            "grace_s": (not self.grace_s >= 0, "0 seconds or more"),
            "run_id": (self.resume and self.run_id is None, "the id of the run to resume"),
        }
        for name, (bad, wanted) in wrong.items():
            if bad:
                raise UsageError(f"{name}: found {shown(getattr(self, name))}, wanted {wanted}.")


class Sample(NamedTuple):
    """One case, asked for the `repeat`-th time, counted from 0; `key` is its identity within the run."""

    case: Case
    repeat: int
    key: str


def planned(cases: Sequence[Case], repeat: int) -> list[Sample]:
    """Every sample of the run in the order of asking: all cases once, then all of them again.

    NoInput where there is no case, UsageError where two samples would have one key.
    """
    if not cases:
        raise NoInput("eval set: found no case, wanted at least one.")
    samples = [Sample(case, n, sample_key(case.sample_id, n)) for n in range(repeat) for case in cases]
    seen: set[str] = set()
    for sample in samples:
        if sample.key in seen:
            raise UsageError(f"sample_id: found {sample.key!r} twice, wanted each once; rename one of them.")
        seen.add(sample.key)
    return samples


def promised(run_id: str, cases: Sequence[Case], plan: Plan, *, workers: int = 1) -> Manifest:
    """The manifest of a run that is about to start; several `workers` are told of."""
    return Manifest(
        run_id=run_id,
        eval_set=plan.eval_set,
        eval_set_sha256=plan.eval_set_sha256 or _sha256(cases),
        target=plan.target or "unnamed",
        target_config=dict(plan.target_config),
        intent_parents=dict(plan.intent_parents),
        evalkit_version=__version__,
        started_at=datetime.now(UTC),
        cases=len(cases) if plan.eval_set_cases is None else plan.eval_set_cases,
        planned=len(cases) * plan.repeat,
        selection=dict(plan.selection),
        settings=_settings(plan, workers),
    )


def _settings(plan: Plan, workers: int) -> dict[str, Any]:
    told = ("repeat", "concurrency", "rate", "adaptive", "capture", "durability", "warmup")
    return {name: getattr(plan, name) for name in told} | ({"workers": workers} if workers > 1 else {})


def _sha256(cases: Sequence[Case]) -> str:
    digest = hashlib.sha256()
    for case in cases:
        digest.update(encode(case))
    return digest.hexdigest()


def check_descriptors(concurrency: int, *, option: str = "--concurrency") -> None:
    """UsageError where the process may not open enough connections: one a channel of each case in flight.

    `option` is what the number was given by.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CHANNELS * concurrency + _open_now() + SPARE_DESCRIPTORS
    if limit != resource.RLIM_INFINITY and wanted > limit:
        raise UsageError(
            f"{option} {concurrency}: found a limit of {limit} open files, wanted {wanted}; "
            f"lower it, or raise the limit with `ulimit -n {wanted}`."
        )


def _open_now() -> int:
    """How many descriptors the process has open; 0 where the system does not say."""
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return 0
