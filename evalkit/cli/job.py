"""`evalkit eval`: the main job, from cases to a verdict and a page that says what to fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalkit.cli.asking import ask_all, asking_options
from evalkit.cli.failing import check_answers
from evalkit.cli.options import as_json, by_option, cluster_option, digest_of, say

__all__ = ["eval_"]


@click.command("eval")
@asking_options
@by_option
@cluster_option
@as_json
@click.pass_context
def eval_(
    ctx: click.Context,
    /,
    *,
    by: tuple[str, ...],
    cluster: str | None,
    as_json: bool,
    runs_dir: Path,
    reports_dir: Path,
    max_error_rate: float | None,
    **options: Any,
) -> None:
    """Ask, score and report in one go, and hold the run to its baseline: the main job.

    The baseline is `baselines/<eval set>.json` beside the eval set, the policy the table [gate] of
    evalkit.toml. Where either is missing, or cases were selected, nothing is held against anything.
    Ends with 3 where every answer failed, or more samples than --max-error-rate allows, once the report is
    written.

    \b
    evalkit eval eval_sets/eval_set_v1.jsonl --target demo
    evalkit eval eval_sets/eval_set_v1.jsonl --target demo --run-id monday --by difficulty
    evalkit eval my_cases.jsonl --target ragent --concurrency 8
    """
    from evalkit.cli.policies import held_by_rights, show_held  # noqa: PLC0415 - heavy imports wait
    from evalkit.report.build import report_run, score_run  # noqa: PLC0415 - heavy imports wait

    manifest = ask_all(runs_dir=runs_dir, by=(*by, cluster) if cluster else by, **options)
    run = str(runs_dir / f"{manifest.run_id}.jsonl")
    digest = digest_of(run, runs_dir=runs_dir, by=by, cluster=cluster)
    folder = reports_dir / manifest.run_id
    scored = score_run(digest, folder)
    found = held_by_rights(digest)
    verdict = None if isinstance(found, str) else found
    reported = report_run(digest, folder, verdict=verdict)
    if as_json:
        say({**scored.summary, "verdict": verdict.verdict if verdict else None})
    else:
        show_held(found, digest, files={**reported.files, **scored.files})
    check_answers(manifest, runs_dir, max_error_rate)
    ctx.exit(verdict.exit_code if verdict else 0)
