"""`evalkit eval`: the main job, from cases to a page that says what to fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalkit.cli.asking import ask_all, asking_options
from evalkit.cli.options import as_json, by_option, digest_of, say, show

__all__ = ["eval_"]


@click.command("eval")
@asking_options
@by_option
@as_json
def eval_(*, by: tuple[str, ...], as_json: bool, runs_dir: Path, reports_dir: Path, **options: Any) -> None:
    """Ask, score and report in one go: the main job.

    \b
    evalkit eval eval_sets/eval_set_v1.jsonl --target demo
    evalkit eval my_cases.jsonl --target ragent --concurrency 8 --by difficulty
    """
    from evalkit.report.build import report_run, score_run  # noqa: PLC0415 - heavy imports wait
    from evalkit.report.terminal import summary_view  # noqa: PLC0415

    manifest = ask_all(runs_dir=runs_dir, **options)
    digest = digest_of(str(runs_dir / f"{manifest.run_id}.jsonl"), runs_dir=runs_dir, by=by)
    folder = reports_dir / manifest.run_id
    scored, reported = score_run(digest, folder), report_run(digest, folder)
    if as_json:
        say(scored.summary)
    else:
        show(summary_view(digest, files={**reported.files, **scored.files}))
