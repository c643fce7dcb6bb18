"""`evalkit run`: cases in, records out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from evalkit.cli.failing import check_answers, error_option
from evalkit.cli.options import as_json, each, places, say
from evalkit.cli.settings import settled, target_spec
from evalkit.cli.watching import watched
from evalkit.errors import Incomplete, UsageError

if TYPE_CHECKING:
    from evalkit.contracts import Case, Manifest
    from evalkit.registry import Spec
    from evalkit.runner import Apart, Plan

__all__ = ["ask_all", "asking_options", "run"]


def _concurrency(text: str) -> int | Literal["auto"]:
    """A whole number, or auto."""
    return "auto" if text == "auto" else int(text)


_LIST = click.option
asking_options = each(
    click.argument("eval_set", type=click.Path(path_type=Path)),
    _LIST(
        "--target",
        "-t",
        required=True,
        help="The system under test: a name that `evalkit targets` lists, or your own as module:function.",
    ),
    _LIST(
        "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A parameter of the target; repeatable."
    ),
    _LIST("--run-id", metavar="NAME", help="Name of the run; made up so that runs sort by time without it."),
    _LIST(
        "--concurrency",
        "-c",
        type=_concurrency,
        metavar="N|auto",
        default=8,
        show_default=True,
        help="Cases in flight at once; auto: as many as the target bears, up to 64.",
    ),
    _LIST("--rate", type=float, help="Start this many cases a second, whatever the others do (open loop)."),
    _LIST(
        "--workers",
        type=click.IntRange(1),
        help="Processes that ask; by itself one for every 256 cases in flight, for targets behind HTTP.",
    ),
    _LIST(
        "--warmup",
        type=int,
        default=0,
        show_default=True,
        help="Ask the first cases once before, and leave that out.",
    ),
    _LIST("--repeat", type=int, default=1, show_default=True, help="Ask every case this often."),
    _LIST("--start", type=int, default=0, show_default=True, help="Leave out the first cases."),
    _LIST("--limit", type=int, help="Ask at most this many cases."),
    _LIST(
        "--filter",
        "keep",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Only cases with this value; repeatable.",
    ),
    _LIST(
        "--resume",
        is_flag=True,
        help="Go on with the run of that --run-id, same target and parameters; asks only what has no line yet.",
    ),
    _LIST(
        "--capture",
        is_flag=True,
        help="Keep every byte that the target sends, with its arrival, beside the run; `evalkit replay` reads it.",
    ),
    _LIST(
        "--durability",
        type=click.Choice(["process", "power"]),
        default="process",
        show_default=True,
        help="What a record on file survives: the death of evalkit, or of the machine too (some ms a record).",
    ),
    _LIST("--retry-errors", is_flag=True, help="With --resume, ask again what failed."),
    error_option,
    places,
)
"""Every option of asking a target, shared by `run` and `eval`."""


@click.command()
@asking_options
@as_json
def run(
    *,
    as_json: bool,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    max_error_rate: float | None,
    **options: Any,
) -> None:
    """Ask a target every case of EVAL_SET and write one record a line to runs/.

    \b
    evalkit run eval_sets/eval_set_v1.jsonl --target demo --run-id nightly --capture
    evalkit run eval_sets/eval_set_v1.jsonl --target demo --run-id nightly --capture --resume
    evalkit run my_cases.jsonl -t ragent -c 8

    Ctrl-C once stops asking and lets the cases in flight finish; twice ends at once, a plain function that
    hangs in its thread included. Either way every record that was written stays, and --resume goes on from
    there. Ends with 3 where every answer failed, or more samples than --max-error-rate allows.
    """
    manifest = ask_all(**options)
    if as_json:
        say(manifest.model_dump(mode="json"))
    else:
        click.echo(
            f"run {manifest.run_id}: {manifest.recorded}/{manifest.planned} recorded, "
            f"answers ok {manifest.answer_ok}, evidence ok {manifest.evidence_ok}"
        )
    check_answers(manifest, options["runs_dir"], max_error_rate)


def ask_all(  # noqa: PLR0913 - one parameter an option
    *,
    eval_set: Path,
    target: str,
    settings: tuple[str, ...],
    runs_dir: Path,
    start: int,
    limit: int | None,
    keep: tuple[str, ...],
    concurrency: int | Literal["auto"],
    workers: int | None,
    by: Sequence[str] = (),
    **plan: Any,
) -> Manifest:
    """Run the eval set against the target; KeyboardInterrupt where a person stopped it.

    `by` names the fields that the run will be sliced by: one that no case has is refused before anything is
    asked.
    """
    from evalkit import cases as eval_sets  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.engines.rules import check_rules  # noqa: PLC0415
    from evalkit.registry import bind  # noqa: PLC0415
    from evalkit.runner import Plan, select  # noqa: PLC0415
    from evalkit.runner.pacing import MOST  # noqa: PLC0415

    _check_resume(run_id=plan["run_id"], resume=plan["resume"])
    spec = target_spec(target, settings)
    most = MOST if concurrency == "auto" else concurrency
    bound = bind("target", spec, concurrency=most)
    cases = eval_sets.load_cases(eval_set)
    _check_slices(cases, by)
    chosen = select(cases, start=start, limit=limit, keep=keep)
    check_rules(chosen)
    promised = Plan(
        runs_dir=runs_dir,
        eval_set=str(eval_set),
        eval_set_sha256=eval_sets.sha256_of(eval_set),
        eval_set_cases=len(cases),
        intent_parents=eval_sets.parents_beside(eval_set),
        target=target,
        target_config=settled(bound),
        selection={"start": start, "limit": limit, "filter": list(keep)},
        concurrency=most,
        adaptive=concurrency == "auto",
        **plan,
    )
    manifest = watched(chosen, _crew(bound, spec, workers, promised), promised)
    _complete(manifest)
    return manifest


def _crew(
    bound: Callable[..., Any], spec: Spec, workers: int | None, plan: Plan
) -> Callable[..., Any] | Apart:
    """The target for this process, or for as many as were asked for or are needed; a capture needs this one."""
    from evalkit.runner import Apart, workers_for  # noqa: PLC0415 - heavy imports wait for the command

    if not getattr(getattr(bound, "func", bound), "apart", False):
        if (workers or 1) > 1:
            raise UsageError(
                f"--workers: found {workers}, wanted 1: the target {spec.type} lives in one process."
            )
        return bound
    number = workers or (1 if plan.capture else workers_for(plan.concurrency))
    return bound if number == 1 else Apart(spec, min(number, plan.concurrency))


def _check_slices(cases: Sequence[Case], by: Sequence[str]) -> None:
    if by:
        from evalkit.report.fields import refuse_unknown  # noqa: PLC0415 - heavy imports wait for the need

        refuse_unknown(cases, by)


def _check_resume(*, run_id: str | None, resume: bool) -> None:
    if resume and run_id is None:
        raise UsageError("--resume needs --run-id NAME: the run to go on with.")


def _complete(manifest: Manifest) -> None:
    """KeyboardInterrupt for a run that a person stopped, Incomplete for one that lacks records."""
    if manifest.state == "interrupted":
        click.echo(f"interrupted after {manifest.recorded} of {manifest.planned}; --resume goes on", err=True)
        raise KeyboardInterrupt
    if manifest.recorded < manifest.planned:
        raise Incomplete(
            f"run {manifest.run_id}: found {manifest.recorded} records, wanted {manifest.planned}; "
            f"go on with --run-id {manifest.run_id} --resume."
        )
