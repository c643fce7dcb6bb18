"""`evalkit score` and `evalkit report`: a run's tables, and the pages for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.cli.engines import Engine, engine_options
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
    tell_spent,
)

if TYPE_CHECKING:
    from evalkit.reading import Intake

__all__ = ["report", "score"]


@click.command()
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@by_option
@cluster_option
@manual_option
@engine_options
@bad_lines
@places
@as_json
def score(  # noqa: PLR0913 - one parameter an option
    *,
    runs: tuple[str, ...],
    by: tuple[str, ...],
    cluster: str | None,
    manual: Path | None,
    engine: Engine,
    intake: Callable[[], Intake],
    runs_dir: Path,
    reports_dir: Path,
    as_json: bool,
) -> None:
    """Compute every metric of the named runs and write the tables to reports/<run_id>/.

    RUN is a path, a run id, or `latest`. All engines give the same tables; `stream` and `dask` take as much memory as
    parts of the run.

    \b
    evalkit score latest
    evalkit score runs/nightly.jsonl --by difficulty --by tags
    evalkit score monday --manual reports/monday/per_sample.csv
    evalkit score theirs.jsonl.gz --on-bad-line reject
    evalkit score nightly --engine stream --workers 2
    evalkit score nightly --engine dask --scheduler tcp://10.0.0.1:8786 --scratch s3://bucket/scratch
    """
    from evalkit.report.build import score_run  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.terminal import summary_view  # noqa: PLC0415

    told = []
    for run in runs:
        opened = engine.digest(
            run,
            runs_dir=runs_dir,
            by=by,
            cluster=cluster,
            manual=manual,
            intake=intake(),
            reports_dir=reports_dir,
        )
        with opened as digest:
            written = score_run(digest, reports_dir / digest.run.run_id)
            told.append(written.summary)
            if not as_json:
                show(summary_view(digest, files=written.files))
            tell_spent(digest)
    if as_json:
        say(told[0] if len(told) == 1 else told)


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
