"""`evalkit baseline`: the runs that later ones are held against."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit.cli.options import run_argument
from evalkit.cli.sides import runs_dir_option, sides

__all__ = ["accept", "baseline"]


@click.group()
def baseline() -> None:
    """Baselines: the runs that somebody accepted, to hold later ones against.

    \b
    evalkit baseline accept latest --name shop
    """


@baseline.command()
@run_argument
@click.option("--name", default="default", show_default=True, help="The baseline's name.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("eval_sets") / "baselines",
    show_default=True,
    help="Where baselines live.",
)
@runs_dir_option
def accept(*, run: str, name: str, folder: Path, runs_dir: Path) -> None:
    """Make RUN the baseline of that name; commit the file that is printed.

    \b
    evalkit baseline accept latest --name shop
    """
    from evalkit.report import baseline as baselines  # noqa: PLC0415 - heavy imports wait for the command

    after, _ = sides(run, None, runs_dir)
    click.echo(str(baselines.accept(after, name, folder=folder)))
