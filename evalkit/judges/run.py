"""A run judged from end to end: its lines read, the judge seated, every missing judgement made and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.contracts import Judgement
from evalkit.errors import NoInput, UsageError
from evalkit.judgements import Judged, JudgedKey, joined, judged_path, newest, read_judged
from evalkit.judges.batch import Told, judge_all
from evalkit.judges.budget import Budget
from evalkit.judges.cache import Cache
from evalkit.judges.config import JudgeConfig, choose
from evalkit.judges.jobs import DEFAULT, EMBEDDED, Wanted, jobs
from evalkit.judges.panel import Panel, absent, seated
from evalkit.reading import encode
from evalkit.records import Records
from evalkit.writing import LineFile, lock, mend

__all__ = ["Judging", "JudgingPlan", "judge_run", "judged_records"]


@dataclass(frozen=True, slots=True)
class JudgingPlan:
    """How a run is to be judged: by whom, on what, within which limits, from which answers already given."""

    records: Path
    judges: Mapping[str, JudgeConfig]
    judge: str
    metrics: tuple[str, ...] = ()
    repeats: int = 1
    max_calls: int | None = None
    max_cost: float | None = None
    cache: Path | None = None
    replay: Path | None = None
    against: Path | None = None
    retry_errors: bool = False
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def config(self) -> JudgeConfig:
        """The judge's own table."""
        return choose(dict(self.judges), self.judge, role="judge")

    @property
    def wanted(self) -> Wanted:
        """The metrics that were named, else those that the configuration allows for."""
        embedding = self.config.embedding
        chosen = self.metrics or (*DEFAULT, *(EMBEDDED if embedding else ()))
        others = {record.key: record for record in Records.of(self.against)} if self.against else {}
        if self.against and "pairwise" not in chosen:
            chosen = (*chosen, "pairwise")
        if "pairwise" in chosen and not self.against:
            raise UsageError("pairwise: found no run to compare with, wanted --against RUN.")
        model = choose(dict(self.judges), embedding, role="embedding").model if embedding else None
        params = {metric: self.params[metric] for metric in chosen if metric in self.params}
        return Wanted(tuple(dict.fromkeys(chosen)), self.repeats, others, model, params)


@dataclass(frozen=True, slots=True)
class Judging:
    """What came of judging a run: how it went, what it cost, and where its lines are."""

    path: Path
    judge: str
    metrics: tuple[str, ...]
    told: Told
    budget: Budget = field(default_factory=Budget)


async def judge_run(plan: JudgingPlan) -> Judging:
    """Judge what of the run has not been judged; every line is on file before the next is asked for.

    With `replay` nobody is asked: what the file does not answer counts as failed. Raises Locked while another
    process judges the run, UsageError for limits that cannot be kept, NoInput for a replay that is not there.
    """
    _check(plan)
    records, path = Records.of(plan.records), judged_path(plan.records)
    budget = Budget(plan.max_calls, plan.max_cost)
    with lock(path.with_suffix(".lock")):
        if path.is_file():
            mend(path, torn=path.with_suffix(".torn"), model=Judged)
        known = _known(read_judged(path), again=plan.retry_errors)
        with LineFile(path, new=False) as file:
            told, name = await _judged(plan, records, known=known, file=file, budget=budget)
            file.sync()
    return Judging(path, name, tuple(plan.wanted.metrics), told, budget)


async def _judged(
    plan: JudgingPlan,
    records: Records,
    *,
    known: Mapping[JudgedKey, Judgement],
    file: LineFile,
    budget: Budget,
) -> tuple[Told, str]:
    def write(line: Judged) -> None:
        file.append(encode(line))

    async def go(panel: Panel, replay: Mapping[JudgedKey, Judgement]) -> tuple[Told, str]:
        made = jobs(records, panel, plan.wanted)
        concurrency = plan.config.concurrency
        told = await judge_all(made, known=known, replay=replay, write=write, concurrency=concurrency)
        return told, panel.name

    if plan.replay is not None:
        return await go(
            absent(plan.config, repeats=plan.repeats), _known(read_judged(plan.replay), again=False)
        )
    cache = Cache(plan.cache)
    async with seated(plan.judges, plan.judge, budget=budget, cache=cache, repeats=plan.repeats) as panel:
        return await go(panel, {})


def _known(lines: list[Judged], *, again: bool) -> dict[JudgedKey, Judgement]:
    """What was said already; where errors are to be asked about again, only what holds."""
    said = {key: line.judgement for key, line in newest(lines).items()}
    return {key: judgement for key, judgement in said.items() if not again or judgement.status == "ok"}


def _check(plan: JudgingPlan) -> None:
    if plan.replay is not None and not plan.replay.is_file():
        raise NoInput(f"{plan.replay}: found no such file, wanted the judgements to replay.")
    if plan.max_cost is None:
        return
    config = plan.config
    used = [name for name in (plan.judge, config.embedding, config.moderation) if name is not None]
    free = [name for name in used if name in plan.judges and not plan.judges[name].prices.known]
    if free:
        raise UsageError(
            f"--max-cost: found no price of {', '.join(free)}, wanted price_per_1k_prompt, price_per_1k_completion "
            "or price_per_call in the table of each; use --max-calls where nothing has a price."
        )


def judged_records(plan: JudgingPlan) -> Records:
    """The records of the run with all that was said of them so far."""
    return joined(Records.of(plan.records), read_judged(judged_path(plan.records)))
