"""`evalkit eval`: the main job, from cases to a verdict and a page that says what to fix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.asking import ask_all, asking_options, check_answers
from evalkit.cli.options import as_json, by_option, digest_of, say, show

if TYPE_CHECKING:
    from evalkit.contracts import Manifest
    from evalkit.report.verdict import Verdict

__all__ = ["eval_"]

_INCOMPARABLE = ("start", "limit", "filter")


@click.command("eval")
@asking_options
@by_option
@as_json
@click.pass_context
def eval_(
    ctx: click.Context,
    /,
    *,
    by: tuple[str, ...],
    as_json: bool,
    runs_dir: Path,
    reports_dir: Path,
    **options: Any,
) -> None:
    """Ask, score and report in one go, and hold the run to its baseline: the main job.

    The baseline is `baselines/<eval set>.json` beside the eval set, the policy the table [gate] of
    evalkit.toml. Where either is missing, or cases were selected, nothing is held against anything.
    Ends with 3 where every answer failed, once the report is written.

    \b
    evalkit eval eval_sets/eval_set_v1.jsonl --target demo
    evalkit eval my_cases.jsonl --target ragent --concurrency 8 --by difficulty
    """
    from evalkit.report.build import report_run, score_run  # noqa: PLC0415 - heavy imports wait
    from evalkit.report.terminal import summary_view  # noqa: PLC0415
    from evalkit.report.verdict_text import verdict_view  # noqa: PLC0415

    manifest = ask_all(runs_dir=runs_dir, **options)
    run = str(runs_dir / f"{manifest.run_id}.jsonl")
    digest = digest_of(run, runs_dir=runs_dir, by=by)
    folder = reports_dir / manifest.run_id
    scored, reported = score_run(digest, folder), report_run(digest, folder)
    verdict = _verdict(manifest, run, runs_dir)
    if as_json:
        say({**scored.summary, "verdict": verdict.verdict if verdict else None})
    else:
        show(summary_view(digest, files={**reported.files, **scored.files}))
        if verdict:
            show(verdict_view(verdict))
    check_answers(manifest, runs_dir)
    ctx.exit(verdict.exit_code if verdict else 0)


def _verdict(manifest: Manifest, run: str, runs_dir: Path) -> Verdict | None:
    """The run held to the policy against the baseline of its eval set; null where there is no such pair."""
    from evalkit.cli.policies import asked_policy, held  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report import baseline as baselines  # noqa: PLC0415

    place = baselines.beside(Path(manifest.eval_set))
    policy = asked_policy(None, thresholds=(), regression=())
    selected = any(manifest.selection.get(name) for name in _INCOMPARABLE)
    if selected or not policy.metrics or not place.is_file():
        return None
    if baselines.load(place).target != manifest.target:
        return None
    return held(run, policy=policy, baseline=str(place), runs_dir=runs_dir)
