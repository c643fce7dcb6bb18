"""`evalkit baseline`: the runs that later ones are held against."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit.cli.options import as_json, run_argument, say
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
@click.option(
    "--name", help="The baseline's name; the eval set's own, which `evalkit eval` looks for, without it."
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where baselines live; `baselines` beside the run's eval set, where `evalkit eval` looks, without it.",
)
@runs_dir_option
@as_json
def accept(*, run: str, name: str | None, folder: Path | None, runs_dir: Path, as_json: bool) -> None:
    """Make RUN the baseline of that name; commit the file that is printed.

    \b
    evalkit baseline accept latest --name shop
    evalkit baseline accept latest
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report import baseline as baselines  # noqa: PLC0415

    after, _ = sides(run, None, runs_dir)
    manifest = runs.manifest(runs.find(run, runs_dir))
    beside = baselines.beside(Path(manifest.eval_set)) if manifest else baselines.FOLDER / "default.json"
    path = baselines.accept(after, name or beside.stem, folder=folder or beside.parent)
    if as_json:
        say({"baseline": str(path), "run_id": after.run_id, "samples": len(after.samples)})
    else:
        click.echo(str(path))
