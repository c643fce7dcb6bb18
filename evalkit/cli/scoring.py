"""`evalkit score` and `evalkit report`: a run's tables, and the pages for people."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.options import (
    as_json,
    bad_lines,
    by_option,
    cluster_option,
    digest_of,
    manual_option,
    places,
    run_argument,
    say,
    show,
    streamed_of,
)
from evalkit.errors import UsageError

if TYPE_CHECKING:
    from evalkit.reading import Intake
    from evalkit.report.streaming import Reduced

__all__ = ["report", "score"]


@click.command()
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@by_option
@cluster_option
@manual_option
@click.option(
    "--engine",
    type=click.Choice(["memory", "stream", "dask"]),
    default="memory",
    show_default=True,
    help="Hold the run in memory; measure it part by part, however large it is; or do so on a cluster.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes on this machine that measure parts. [default: 1 for stream, 2 for dask]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="The dask scheduler, tcp://host:port; else a cluster on this machine.",
)
@click.option(
    "--part-rows", type=click.IntRange(min=1), default=4_096, show_default=True, help="Records of a part."
)
@bad_lines
@places
@as_json
def score(  # noqa: PLR0913 - one parameter an option
    *,
    runs: tuple[str, ...],
    by: tuple[str, ...],
    cluster: str | None,
    manual: Path | None,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    part_rows: int,
    intake: Callable[[], Intake],
    runs_dir: Path,
    reports_dir: Path,
    as_json: bool,
) -> None:
    """Compute every metric of the named runs and write the tables to reports/<run_id>/.

    RUN is a path, a run id, or `latest`. The engines `stream` and `dask` take as much memory as parts of the run and
    give the same tables; what to fix first they leave to `evalkit fix`.

    \b
    evalkit score latest
    evalkit score runs/nightly.jsonl --by difficulty --by tags
    evalkit score monday --manual reports/monday/per_sample.csv
    evalkit score theirs.jsonl.gz --on-bad-line reject
    evalkit score nightly --engine stream --workers 2
    evalkit score nightly --engine dask --scheduler tcp://10.0.0.1:8786
    """
    if engine != "memory":  # a pool of Arrow's own keeps what it once had, in every process
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from evalkit.report.build import score_run  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.terminal import summary_view  # noqa: PLC0415

    _check(engine, workers=workers, scheduler=scheduler, manual=manual, cluster=cluster)
    told = []
    for run in runs:
        named: dict[str, Any] = {
            "runs_dir": runs_dir,
            "reports_dir": reports_dir,
            "by": by,
            "intake": intake(),
        }
        opened = (
            nullcontext(digest_of(run, cluster=cluster, manual=manual, **named))
            if engine == "memory"
            else streamed_of(run, reduced=_reduced(engine, workers, scheduler), rows=part_rows, **named)
        )
        with opened as digest:
            written = score_run(digest, reports_dir / digest.run.run_id)
            told.append(written.summary)
            if not as_json:
                show(summary_view(digest, files=written.files))
    if as_json:
        say(told[0] if len(told) == 1 else told)


def _check(engine: str, **given: object) -> None:
    """UsageError for an option that the engine does not have."""
    whole = ("manual", "cluster")  # these look at all samples at once
    lacking = {"memory": ("workers", "scheduler"), "stream": ("scheduler", *whole), "dask": whole}
    for option in lacking[engine]:
        if given[option] is not None:
            raise UsageError(f"--{option}: found with --engine {engine}, wanted one or the other.")
    if given["workers"] and given["scheduler"]:
        raise UsageError("--workers: found with --scheduler, whose workers are there already; name one.")


def _reduced(engine: str, workers: int | None, scheduler: str | None) -> Reduced:
    """Who measures the parts of a run, telling on standard error."""
    from evalkit.engines import cluster, pool  # noqa: PLC0415 - heavy imports wait for the command

    tell = partial(click.echo, err=True)
    if engine == "dask":
        return partial(cluster.reduced, scheduler=scheduler, workers=workers or 2, tell=tell)
    return partial(pool.reduced, workers=workers or 1, tell=tell)


@click.command()
@run_argument
@by_option
@cluster_option
@manual_option
@click.option(
    "--mask-pii", is_flag=True, help="Hide phone numbers, identity numbers and mail names in the pages."
)
@click.option(
    "--csv-raw", is_flag=True, help="Leave texts in the CSV that a spreadsheet would take for formulas."
)
@bad_lines
@places
@as_json
def report(  # noqa: PLR0913 - one parameter an option
    *,
    run: str,
    by: tuple[str, ...],
    cluster: str | None,
    manual: Path | None,
    mask_pii: bool,
    csv_raw: bool,
    intake: Callable[[], Intake],
    runs_dir: Path,
    reports_dir: Path,
    as_json: bool,
) -> None:
    """Write report.html, report.md, per_sample.csv and failures.jsonl, and print the summary.

    With a table [gate] in evalkit.toml and a baseline beside the eval set, as for `evalkit eval`, pages and
    summary begin with the verdict, which tells how many scores were set by hand; runs with rejected lines are held
    against nothing. The exit code stays 0.

    \b
    evalkit report latest
    evalkit report latest --mask-pii
    """
    from evalkit.cli.policies import held_by_rights, show_held  # noqa: PLC0415 - heavy imports wait
    from evalkit.report.build import report_run  # noqa: PLC0415 - heavy imports wait for the command

    told = intake()
    digest = digest_of(
        run, runs_dir=runs_dir, by=by, cluster=cluster, manual=manual, intake=told, reports_dir=reports_dir
    )
    found = None if told.rejected else held_by_rights(digest)
    verdict = None if isinstance(found, str) else found
    folder = reports_dir / digest.run.run_id
    written = report_run(digest, folder, verdict=verdict, mask_pii=mask_pii, csv_raw=csv_raw)
    if as_json:
        say({**written.summary, "verdict": verdict.verdict if verdict else None})
    else:
        show_held(verdict, digest, files=written.files)
