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
    default=Path("eval_sets") / "baselines",
    show_default=True,
    help="Where baselines live.",
)
@runs_dir_option
@as_json
def accept(*, run: str, name: str | None, folder: Path, runs_dir: Path, as_json: bool) -> None:
    """Make RUN the baseline of that name; commit the file that is printed.

    \b
    evalkit baseline accept latest
    evalkit baseline accept latest --name shop
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.reading import stem  # noqa: PLC0415
    from evalkit.report import baseline as baselines  # noqa: PLC0415

    after, _ = sides(run, None, runs_dir)
    manifest = runs.manifest(runs.find(run, runs_dir))
    own = stem(Path(manifest.eval_set)) if manifest else "default"
    path = baselines.accept(after, name or own, folder=folder)
    if as_json:
        say({"baseline": str(path), "run_id": after.run_id, "samples": len(after.samples)})
    else:
        click.echo(str(path))
