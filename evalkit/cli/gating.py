"""`evalkit diff` and `evalkit gate`: did it get worse, and where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.options import apart, as_json, bad_lines, cluster_option, manual_option, run_argument, show
from evalkit.cli.sides import runs_dir_option, sides
from evalkit.errors import NoInput

if TYPE_CHECKING:
    from evalkit.reading import Intake
    from evalkit.report.verdict import Verdict

__all__ = ["diff", "gate"]

_CANNOT_DECIDE = 3
_TO_FILE = click.Path(path_type=Path, dir_okay=False)
changed_set = click.option(
    "--changed-set",
    is_flag=True,
    help="Compare runs of unequal eval sets over the cases that did not change.",
)


@click.command()
@click.argument("base", metavar="BASE")
@run_argument
@click.option("--metric", "metrics", multiple=True, help="Only this metric; repeatable. Without it all.")
@click.option(
    "--by",
    multiple=True,
    metavar="FIELD",
    help="Slice by this field (intent_l2, difficulty, tags, …); repeatable. Without it both intent levels.",
)
@cluster_option
@manual_option
@click.option(
    "--flips", type=click.IntRange(min=0), default=10, show_default=True, help="Show so many a metric."
)
@changed_set
@bad_lines
@runs_dir_option
@as_json
@click.pass_context
def diff(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    *,
    base: str,
    run: str,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    cluster: str | None,
    manual: Path | None,
    flips: int,
    changed_set: bool,
    intake: Callable[[], Intake],
    runs_dir: Path,
    as_json: bool,
) -> None:
    """Compare RUN with BASE, paired by sample: what changed, where, how sure, and which samples flipped.

    BASE and RUN are paths, run ids, names of accepted baselines, or `latest` (as BASE: the complete run of
    the same eval set and target before RUN). Ends with 3 where something may not be compared or
    a run is incomplete. Verdicts go by q over all that is compared; `evalkit gate` goes by Holm over its policy.

    \b
    evalkit diff monday nightly
    evalkit diff eval_sets/baselines/eval_set_v1.json latest --metric intent_top1 --by intent_l2
    evalkit diff latest nightly --by difficulty --by tags --cluster reference_doc_ids
    """
    from evalkit.report.compare import DIMENSIONS, compare  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.verdict_json import comparison_json  # noqa: PLC0415
    from evalkit.report.verdict_text import comparison_view  # noqa: PLC0415

    after, before = sides(
        run,
        base,
        runs_dir,
        metrics=metrics or None,
        by=by,
        cluster=cluster,
        manual=manual,
        intake=intake,
    )
    if before is None:
        raise NoInput(
            f"base {base!r}: found no complete run of this eval set and target before {run!r}; name one."
        )
    comparison = compare(
        before, after, metrics=metrics or None, dimensions=by or DIMENSIONS, allow_changed_set=changed_set
    )
    if as_json:
        _write(comparison_json(comparison))
    else:
        show(comparison_view(comparison, flips=flips))
    ctx.exit(0 if comparison.decidable else _CANNOT_DECIDE)


@click.command()
@run_argument
@click.option(
    "--baseline",
    metavar="BASE",
    help="What to hold RUN against; without it what the policy names, else the baseline of its eval set.",
)
@click.option("--policy", type=_TO_FILE, help="File with the table [gate]; evalkit.toml where there is one.")
@click.option(
    "--threshold", "thresholds", multiple=True, metavar="METRIC=VALUE", help="A mean to reach; repeatable."
)
@click.option(
    "--regression",
    multiple=True,
    metavar="METRIC[=DROP]",
    help="Must not get worse, or fall by DROP; repeatable.",
)
@cluster_option
@manual_option
@changed_set
@click.option(
    "--certificates",
    type=_TO_FILE,
    default=Path("certificates.jsonl"),
    show_default=True,
    help="Which judges may decide: what `certify --save` wrote.",
)
@click.option("--junit", type=_TO_FILE, help="Write the verdict as JUnit XML to this file.")
@click.option("--markdown", type=_TO_FILE, help="Write the verdict as a pull-request comment to this file.")
@click.option("--gitlab", type=_TO_FILE, help="Write the verdict as GitLab code-quality JSON to this file.")
@click.option("--github", is_flag=True, help="Print GitHub annotations as well.")
@runs_dir_option
@as_json
@click.pass_context
def gate(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    /,
    *,
    run: str,
    baseline: str | None,
    policy: Path | None,
    thresholds: tuple[str, ...],
    regression: tuple[str, ...],
    cluster: str | None,
    manual: Path | None,
    changed_set: bool,
    certificates: Path,
    runs_dir: Path,
    **outputs: Any,
) -> None:
    """Hold RUN to a policy and end with 0 (pass), 1 (regression) or 3 (cannot decide).

    What was not measured never passes: lost samples, low coverage, an incomplete run, another eval set or
    metric version, or nothing gated at all cannot be decided. Bad lines end it with 65: `evalkit repair` the run.

    \b
    evalkit gate latest --threshold intent_top1=0.6
    evalkit gate latest --baseline latest --regression intent_top1 --regression recall@5=0.02
    evalkit gate latest --policy evalkit.toml --junit gate.xml --markdown comment.md --github
    """
    from evalkit.cli.policies import asked_policy, held, inputs, own_baseline  # noqa: PLC0415 - heavy imports wait

    asked = asked_policy(policy, thresholds=thresholds, regression=regression, cluster=cluster)
    named = baseline or asked.baseline
    own = own_baseline(run, runs_dir) if asked.regression and not named else None
    apart(
        {f"--{name}": outputs[name] for name in ("junit", "markdown", "gitlab")},
        [
            certificates,
            *([manual] if manual else []),
            *inputs(run, policy=policy, baseline=named, own=own, runs_dir=runs_dir),
        ],
    )
    after, before = sides(run, named, runs_dir, metrics=asked.metrics, cluster=asked.cluster, manual=manual)
    verdict = held(
        after,
        before or (own.snapshot if own else None),
        policy=asked,
        changed_set=changed_set,
        certificates=certificates,
    )
    _tell(verdict, **outputs)
    ctx.exit(verdict.exit_code)


def _tell(
    verdict: Verdict,
    *,
    as_json: bool,
    github: bool,
    junit: Path | None,
    markdown: Path | None,
    gitlab: Path | None,
) -> None:
    """Every output that was asked for, all of the one verdict."""
    from evalkit.report import verdict_ci, verdict_json, verdict_junit, verdict_markdown  # noqa: PLC0415
    from evalkit.report.verdict_text import verdict_view  # noqa: PLC0415
    from evalkit.writing import replace as put  # noqa: PLC0415

    for path, written in (
        (junit, verdict_junit.verdict_junit),
        (markdown, verdict_markdown.verdict_markdown),
        (gitlab, verdict_ci.verdict_gitlab),
    ):
        if path is not None:
            put(path, written(verdict))
    if as_json:
        _write(verdict_json.verdict_json(verdict))
    else:
        show(verdict_view(verdict))
    if github:
        click.echo(verdict_ci.verdict_github(verdict), nl=False, err=as_json)


def _write(data: bytes) -> None:
    click.echo(data, nl=False)
