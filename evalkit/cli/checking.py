"""`evalkit check` and `evalkit schema`: is the eval set sound, and what may stand in a line."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.cli.options import as_json, say, show

if TYPE_CHECKING:
    from evalkit.cases import Check

__all__ = ["check", "schema"]

_BAD_DATA = 65
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("eval_set", type=click.Path(path_type=Path))
@click.option("--taxonomy", type=_FILE, help="Known labels; else taxonomy.json beside the eval set.")
@click.option("--catalogue", type=_FILE, help="Known documents; else catalogue.jsonl beside the eval set.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Show at most this many of each kind.",
)
@as_json
@click.pass_context
def check(
    ctx: click.Context,
    *,
    eval_set: Path,
    taxonomy: Path | None,
    catalogue: Path | None,
    limit: int,
    as_json: bool,
) -> None:
    """Validate an eval set: every error by file and line, warnings, and what is in it.

    Rules that mean nothing are errors too. Ends with 65 where there are errors, 0 otherwise.

    \b
    evalkit check eval_sets/eval_set_v1_all.jsonl
    """
    from evalkit import cases  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.engines.rules import rule_faults  # noqa: PLC0415

    found = cases.check(eval_set, taxonomy=taxonomy, catalogue=catalogue, further=rule_faults, limit=limit)
    if as_json:
        say(asdict(found) | {"lines": found.lines._asdict() if found.lines else None})
    else:
        _show(found, eval_set)
    if found.n_faults:
        ctx.exit(_BAD_DATA)


def _show(found: Check, eval_set: Path) -> None:
    from evalkit.report.text import visible  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.wording import times  # noqa: PLC0415

    _summary(found)
    for title, faults in (("error", found.faults), ("warning", found.warnings)):
        for fault in faults:
            click.echo(visible(f"{title}: {fault}"))
    hidden = found.n_faults + found.n_warnings - len(found.faults) - len(found.warnings)
    if hidden:
        click.echo(f"… and {hidden} more; --limit shows them")
    if found.lines:
        click.echo(visible(f"{eval_set}: {found.lines}"))
    click.echo(visible(f"{eval_set}: {times(found.n_faults, 'error')}, {times(found.n_warnings, 'warning')}"))


def _summary(found: Check) -> None:
    from rich.table import Table  # noqa: PLC0415 - heavy imports wait for the command
    from rich.text import Text  # noqa: PLC0415

    from evalkit.report.text import one_line  # noqa: PLC0415

    table = Table("dimension", "label", box=None, header_style="bold")
    table.add_column("cases", justify="right")
    for row in found.summary:
        table.add_row(Text(row.dimension), Text(one_line(row.label or "–")), str(row.cases))
    show(table)


@click.command()
@click.argument("noun", type=click.Choice(["case", "record"]))
def schema(*, noun: str) -> None:
    """Print the JSON Schema of a case (a line of an eval set) or a record (a line of a run).

    \b
    evalkit schema case > case.schema.json
    """
    from evalkit import schema as schemas  # noqa: PLC0415 - heavy imports wait for the command

    say(schemas.json_schema(noun))
