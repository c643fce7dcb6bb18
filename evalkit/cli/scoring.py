"""`evalkit score` and `evalkit report`: a run's tables, and the pages for people."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.options import (
    as_json,
    bad_lines,
    by_option,
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

__all__ = ["report", "score"]


@click.command()
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@by_option
@manual_option
@click.option(
    "--engine",
    type=click.Choice(["memory", "stream"]),
    default="memory",
    show_default=True,
    help="Hold the run in memory, or measure it part by part, however large it is.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes that measure parts, with --engine stream. [default: 1]",
)
@bad_lines
@places
@as_json
def score(  # noqa: PLR0913 - one parameter an option
    *,
    runs: tuple[str, ...],
    by: tuple[str, ...],
    manual: Path | None,
    engine: str,
    workers: int | None,
    intake: Callable[[], Intake],
    runs_dir: Path,
    reports_dir: Path,
    as_json: bool,
) -> None:
    """Compute every metric of the named runs and write the tables to reports/<run_id>/.

    RUN is a path, a run id, or `latest`. The engine `stream` takes as much memory as a part of the run and gives the
    same tables; what to fix first it leaves to `evalkit fix`.

    \b
    evalkit score latest
    evalkit score runs/nightly.jsonl --by difficulty --by tags
    evalkit score latest --manual reports/nightly/per_sample.csv
    evalkit score theirs.jsonl.gz --on-bad-line reject
    evalkit score nightly --engine stream --workers 2
    """
    from evalkit.report.build import score_run  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.terminal import summary_view  # noqa: PLC0415

    if engine != "stream" and workers:
        raise UsageError("--workers: found without --engine stream, wanted both or neither.")
    if engine == "stream" and manual:
        raise UsageError(
            "--manual: found with --engine stream, wanted one of them: scores set by hand are few."
        )
    told = []
    for run in runs:
        named: dict[str, Any] = {
            "runs_dir": runs_dir,
            "reports_dir": reports_dir,
            "by": by,
            "intake": intake(),
        }
        opened = (
            streamed_of(run, workers=workers or 1, **named)
            if engine == "stream"
            else nullcontext(digest_of(run, manual=manual, **named))
        )
        with opened as digest:
            written = score_run(digest, reports_dir / digest.run.run_id)
            told.append(written.summary)
            if not as_json:
                show(summary_view(digest, files=written.files))
    if as_json:
        say(told[0] if len(told) == 1 else told)


@click.command()
@run_argument
@by_option
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
    summary begin with the verdict; scores set by hand, and runs with rejected lines, are held against nothing. The exit code stays 0.

    \b
    evalkit report latest
    evalkit report latest --mask-pii
    """
    from evalkit.cli.policies import held_by_rights, show_held  # noqa: PLC0415 - heavy imports wait
    from evalkit.report.build import report_run  # noqa: PLC0415 - heavy imports wait for the command

    told = intake()
    digest = digest_of(run, runs_dir=runs_dir, by=by, manual=manual, intake=told, reports_dir=reports_dir)
    partial = manual or told.rejected
    found = None if partial else held_by_rights(run, digest.run.manifest, runs_dir=runs_dir)
    verdict = None if isinstance(found, str) else found
    folder = reports_dir / digest.run.run_id
    written = report_run(digest, folder, verdict=verdict, mask_pii=mask_pii, csv_raw=csv_raw)
    if as_json:
        say({**written.summary, "verdict": verdict.verdict if verdict else None})
    else:
        show_held(verdict, digest, files=written.files)
