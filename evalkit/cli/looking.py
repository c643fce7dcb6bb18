"""`evalkit worst` and `evalkit show`: where it hurts, and one sample whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
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
    tell_by_hand,
    tell_rejected,
)
from evalkit.cli.options import show as show_view

if TYPE_CHECKING:
    from evalkit.reading import Intake

__all__ = ["show", "worst"]


@click.command()
@run_argument
@click.option("--by", default="intent_l2", show_default=True, help="The field to slice by.")
@click.option("--metric", default="intent_top1", show_default=True, help="The metric to rank by.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="How many slices to show."
)
@cluster_option
@manual_option
@bad_lines
@places
@as_json
def worst(  # noqa: PLR0913 - one parameter an option
    *,
    run: str,
    by: str,
    metric: str,
    limit: int,
    cluster: str | None,
    manual: Path | None,
    intake: Callable[[], Intake],
    runs_dir: Path,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    as_json: bool,
) -> None:
    """Print the worst slices of a run with n, interval and the usual direction of their errors.

    \b
    evalkit worst latest
    evalkit worst latest --by difficulty --metric recall@5
    """
    from evalkit.report.figures import figures  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.terminal import worst_view  # noqa: PLC0415
    from evalkit.report.worst import worst as ranked  # noqa: PLC0415

    extra = () if by in ("intent_l1", "intent_l2") else (by,)
    digest = digest_of(run, runs_dir=runs_dir, by=extra, cluster=cluster, manual=manual, intake=intake())
    rows = ranked(digest.tables.slices, digest.tables.confusions, by=by, metric=metric)[:limit]
    if as_json:
        say([asdict(row) for row in rows])
    else:
        (overall,) = figures(digest.tables.slices, dimension="overall", metric=metric)
        show_view(worst_view(rows, overall=overall, cluster=cluster))
    tell_by_hand(digest.run.overridden)
    tell_rejected(digest.run.run_id, digest.run.intake)


@click.command()
@run_argument
@click.argument("sample", metavar="SAMPLE")
@bad_lines
@places
@as_json
def show(
    *,
    run: str,
    sample: str,
    intake: Callable[[], Intake],
    runs_dir: Path,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    as_json: bool,
) -> None:
    """Print one sample of a run whole: why it failed, its rules, what was asked, expected, observed.

    \b
    evalkit show latest v1-0001
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.engines.scored import scored  # noqa: PLC0415
    from evalkit.metrics.outcome import outcomes  # noqa: PLC0415
    from evalkit.report.failures import failures  # noqa: PLC0415
    from evalkit.report.terminal import sample_view  # noqa: PLC0415

    found = scored(runs.find(run, runs_dir), sample=sample, intake=intake())
    if as_json:
        say(found.records[0].model_dump(mode="json"))
    else:
        failed = failures(found.records, found.results).failed
        (outcome,) = outcomes(found.records, results=found.results)
        show_view(sample_view(found.records[0], failed[0].reasons if failed else (), outcome))
    tell_rejected(found.run_id, found.intake)
