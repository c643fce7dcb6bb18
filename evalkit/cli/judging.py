"""`evalkit judge`: models read a run's answers; nobody asks the target again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.options import Number, as_json, each, places, run_argument, say, show
from evalkit.cli.settings import settings_by_name
from evalkit.errors import Incomplete, UsageError

if TYPE_CHECKING:
    from evalkit.judges.run import Judging
    from evalkit.records import Records

__all__ = ["judge"]

_FILE = click.Path(path_type=Path, dir_okay=False)

_options = each(
    click.option(
        "--judge", "-j", "name", required=True, help="The judge: a table [judges.NAME] of the configuration."
    ),
    click.option(
        "--metrics",
        "-m",
        metavar="NAME,…",
        help="What to judge; else the RAGAS metrics that the judge can be asked.",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(1, 100),
        default=1,
        show_default=True,
        help="Ask everything this often.",
    ),
    click.option("--max-calls", type=click.IntRange(0), help="Make at most this many requests."),
    click.option("--max-cost", type=Number(0), help="Spend at most this much, by the configured prices."),
    click.option(
        "--replay",
        type=_FILE,
        help="Ask no model: take what it said from this file, the .judged.jsonl of any run of the same answers.",
    ),
    click.option(
        "--against", metavar="RUN", help="Compare answers with this run, in both orders (metric pairwise)."
    ),
    click.option("--retry-errors", is_flag=True, help="Ask again where a reply held no verdict."),
    click.option(
        "--config",
        type=_FILE,
        default=Path("evalkit.toml"),
        show_default=True,
        help="Where judges are configured.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="METRIC.KEY=VALUE",
        help="A parameter of what is judged, before those of [measures.METRIC]; repeatable.",
    ),
    click.option(
        "--no-cache", is_flag=True, help="Ask even what was answered before, in this run or another."
    ),
)


@click.command()
@run_argument
@_options
@places
@as_json
def judge(  # noqa: PLR0913 - one parameter an option
    *,
    run: str,
    name: str,
    metrics: str | None,
    against: str | None,
    config: Path,
    no_cache: bool,
    settings: tuple[str, ...],
    runs_dir: Path,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    as_json: bool,
    **limits: Any,
) -> None:
    """Have a model judge the answers of a run; `score` then counts what it says.

    Judgements go to runs/<run_id>.judged.jsonl, one a line, and are never made twice. Ends with 3 where the
    budget or an outage left some unmade; the same command then goes on.

    \b
    evalkit judge latest --judge main
    evalkit judge latest --judge main --metrics faithfulness,llm_score --repeats 3 --max-cost 2.50
    evalkit judge latest --judge main --replay runs/nightly.judged.jsonl
    evalkit judge latest --judge main --metrics llm_score --set 'llm_score.dimensions={"同理心": "有同理心"}'
    """
    import asyncio  # noqa: PLC0415 - heavy imports wait for the command

    from evalkit import runs  # noqa: PLC0415
    from evalkit.judges import config as configuration  # noqa: PLC0415
    from evalkit.judges.run import JudgingPlan, judge_run, judged_records  # noqa: PLC0415

    plan = JudgingPlan(
        records=runs.find(run, runs_dir),
        judges=configuration.read(config),
        judge=name,
        metrics=tuple(part.strip() for part in (metrics or "").split(",") if part.strip()),
        against=runs.find(against, runs_dir) if against else None,
        params=_params(settings, config),
        cache=None if no_cache else runs_dir / ".judge-cache",
        **limits,
    )
    for unused in settings_by_name(settings).keys() - set(plan.wanted.metrics):
        raise UsageError(
            f"--set {unused}: nothing of that name is judged, wanted one of {', '.join(plan.wanted.metrics)}."
        )
    judging = asyncio.run(judge_run(plan))
    told = _told(judging, judged_records(plan))
    if as_json:
        say(told)
    else:
        _show(told)
    _complete(judging)


def _params(settings: tuple[str, ...], config: Path) -> dict[str, dict[str, Any]]:
    """The parameters of what is judged: those of the configuration, and before them those of the command line."""
    from evalkit.judges.config import measures  # noqa: PLC0415 - heavy imports wait for the command

    params, given = measures(config), settings_by_name(settings)
    return {name: {**params.get(name, {}), **given.get(name, {})} for name in {**params, **given}}


def _told(judging: Judging, records: Records) -> dict[str, Any]:
    """What there is to say of the judging, for people and for machines."""
    from evalkit.judges.telling import told  # noqa: PLC0415 - heavy imports wait for the command

    return told(judging, records)


def _show(told: dict[str, Any]) -> None:
    from rich.table import Table  # noqa: PLC0415 - heavy imports wait for the command
    from rich.text import Text  # noqa: PLC0415

    from evalkit.report.text import visible  # noqa: PLC0415

    table = Table("metric", box=None, header_style="bold")
    for column in ("mean", "judged", "of", "without verdict", "flips", "kappa"):
        table.add_column(column, justify="right")
    for row in told["metrics"]:
        cells = (
            row["mean"],
            row["n_counted"],
            row["n_total"],
            row["n_failed"],
            row["flip_rate"],
            row["kappa"],
        )
        table.add_row(Text(row["metric"]), *(_number(cell) for cell in cells))
    show(table)
    for line in told["notes"]:
        click.echo(visible(line))


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def _complete(judging: Judging) -> None:
    told = judging.told
    if told.complete:
        return
    reasons = "; ".join(f"{count} × {reason}" for reason, count in told.failures.most_common(3))
    why = {"budget": "the budget ended", "outage": "the endpoint stayed away"}.get(told.stopped_by, "")
    raise Incomplete(
        f"judging {judging.path.name}: {told.failed} failed, {told.left} not asked. "
        f"{'; '.join(filter(None, (why, reasons)))}. The same command goes on from here."
    )
