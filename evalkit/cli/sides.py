"""The two sides of a comparison, by the names that a person gave them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evalkit.report.snapshot import Snapshot

__all__ = ["runs_dir_option", "sides"]

runs_dir_option = click.option(
    "--runs-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Where runs live.",
)


def sides(
    run: str, base: str | None, runs_dir: Path, *, metrics: Collection[str] | None = None
) -> tuple[Snapshot, Snapshot | None]:
    """The run, and what it is held against: null where that is `latest` and there is no earlier run.

    Both with every built-in metric, or with those `metrics` at least. NoInput where something has no such name.
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report import baseline as baselines  # noqa: PLC0415

    place = runs.find(run, runs_dir)
    against = None if base is None else baselines.resolve(base, run=place, runs_dir=runs_dir)
    before = None if against is None else baselines.load(against, metrics=metrics)
    return baselines.load(place, metrics=metrics), before
