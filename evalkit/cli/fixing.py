"""`evalkit fix`, `evalkit plan`, `evalkit history`: what to mend, what to ask next, and how it went so far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.cli.options import (
    as_json,
    bad_lines,
    cluster_option,
    digest_of,
    manual_option,
    places,
    run_argument,
    say,
    show,
    tell_by_hand,
    tell_rejected,
)

if TYPE_CHECKING:
    from evalkit.cases import Taxonomy
    from evalkit.reading import Intake
    from evalkit.report.plan import Plan

__all__ = ["fix", "history", "plan"]

_LIMIT = click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many rows of each list to show.",
)
_HEADLINES = ("intent_top1", "hit@5", "recall@5", "mrr@10", "completion", "tool_f1", "answer_error_rate")


@click.command()
@run_argument
@click.option("--metric", help="Rank the intents by this metric; without it by the main one of the run.")
@cluster_option
@manual_option
@_LIMIT
@bad_lines
@places
@as_json
def fix(  # noqa: PLR0913 - one parameter an option
    *,
    run: str,
    metric: str | None,
    cluster: str | None,
    manual: Path | None,
    limit: int,
    intake: Callable[[], Intake],
    runs_dir: Path,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    as_json: bool,
) -> None:
    """Print what to fix first in RUN: suggestions with their expected gain, funnel, intents, error directions.

    \b
    evalkit fix latest
    evalkit fix latest --metric recall@5 --json
    """
    from evalkit.report.fix_first import fix_first  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.fixing_json import plain  # noqa: PLC0415
    from evalkit.report.fixing_text import fix_view  # noqa: PLC0415

    digest = digest_of(run, runs_dir=runs_dir, cluster=cluster, manual=manual, intake=intake())
    found = fix_first(digest, metric=metric)
    if as_json:
        say(plain(found))
    else:
        show(fix_view(found, limit=limit))
    tell_by_hand(digest.run.overridden)
    tell_rejected(digest.run.run_id, digest.run.intake)


@click.command()
@click.argument("source", metavar="RUN|EVAL_SET")
@click.option(
    "--width", type=float, default=0.2, show_default=True, help="Wanted width of each intent's 95 % interval."
)
@click.option(
    "--taxonomy",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Known intents; else taxonomy.json beside the eval set, or that of the run.",
)
@_LIMIT
@bad_lines
@places
@as_json
def plan(
    *,
    source: str,
    width: float,
    taxonomy: Path | None,
    limit: int,
    intake: Callable[[], Intake],
    runs_dir: Path,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    as_json: bool,
) -> None:
    """Print which cases to write next: how many each intent needs, easily confused intents first.

    RUN is a run id, the path of a run, or `latest`; EVAL_SET the path of an eval set. A run tells how often each
    intent was right and what it was taken for. An eval set does not: each intent is taken as right half the time,
    which needs the most cases, and those whose questions read alike as easily confused.

    \b
    evalkit plan latest
    evalkit plan eval_sets/eval_set_v1.jsonl --width 0.3
    """
    from evalkit.report.fixing_json import plain  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.plan_text import plan_view  # noqa: PLC0415

    found = _planned(source, width=width, taxonomy=taxonomy, runs_dir=runs_dir, intake=intake())
    if as_json:
        say(plain(found))
    else:
        show(plan_view(found, limit=limit))


@click.command()
@click.option(
    "--metric", "metrics", multiple=True, help="Only this metric; repeatable. Without it the main ones."
)
@click.option(
    "--by", multiple=True, help="Slice by intent_l1, intent_l2, difficulty or trap_type too; repeatable."
)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="Look at so many of the newest runs.",
)
@_LIMIT
@places
@as_json
def history(
    *,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    last: int,
    limit: int,
    runs_dir: Path,
    reports_dir: Path,
    as_json: bool,
) -> None:
    """Print how the metrics moved over the runs, and at which run they changed for more than chance.

    Each run is tested against the one before it, case by case, and the last against the first; replays are left out.

    \b
    evalkit history
    evalkit history --metric intent_top1 --by intent_l2 --limit 5
    """
    from evalkit.report.fixing_json import plain  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.history import tracks  # noqa: PLC0415
    from evalkit.report.history_text import history_view  # noqa: PLC0415
    from evalkit.report.moments import moments  # noqa: PLC0415

    found = tracks(moments(runs_dir, reports_dir, last=last), metrics=metrics or _HEADLINES, by=by)
    if as_json:
        say(plain(found))
    else:
        show(history_view(found, limit=limit))


def _planned(source: str, *, width: float, taxonomy: Path | None, runs_dir: Path, intake: Intake) -> Plan:
    """The plan of an eval set where the source is one, else of a run."""
    from evalkit.report.plan import plan_of_cases, plan_of_run  # noqa: PLC0415 - heavy imports wait

    if _is_eval_set(Path(source), runs_dir):
        from evalkit.cases import load_cases  # noqa: PLC0415

        known = _taxonomy(source, taxonomy)
        return plan_of_cases(load_cases(Path(source)), width=width, taxonomy=known)
    digest = digest_of(source, runs_dir=runs_dir, intake=intake)
    tell_rejected(digest.run.run_id, intake)
    manifest = digest.run.manifest
    known = _taxonomy(manifest.eval_set if manifest else source, taxonomy)
    return plan_of_run(digest.tables.samples.to_pandas(), width=width, taxonomy=known)


def _is_eval_set(path: Path, runs_dir: Path) -> bool:
    """Whether the path is a file that is no run: no manifest stands beside it, and no line tells of an answer."""
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.reading.columnar import columns_of, is_table  # noqa: PLC0415
    from evalkit.reading.decoding import MAX_LINE_BYTES  # noqa: PLC0415
    from evalkit.reading.sources import decoded  # noqa: PLC0415

    if not path.is_file() or path.resolve().parent == runs_dir.resolve() or runs.manifest(path) is not None:
        return False
    if is_table(path):
        return not columns_of(path) & {"answer_status", "response", "intent_pred"}
    with decoded(path) as lines:
        first = lines.readline(MAX_LINE_BYTES)
    return not any(name in first for name in (b'"answer_status"', b'"response"', b'"intent_pred"'))


def _taxonomy(eval_set: str, named: Path | None) -> Taxonomy | None:
    """The taxonomy that was named, or the one beside the eval set; null where there is neither."""
    from evalkit.cases import Taxonomy  # noqa: PLC0415 - heavy imports wait for the command

    path = named or Path(eval_set).with_name("taxonomy.json")
    return Taxonomy.load(path) if named or path.is_file() else None
