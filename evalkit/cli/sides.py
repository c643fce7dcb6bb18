"""The two sides of a comparison, by the names that a person gave them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.cli.options import tell_rejected

if TYPE_CHECKING:
    from evalkit.reading import Intake
    from evalkit.report.snapshot import Snapshot

__all__ = ["of_run", "runs_dir_option", "sides"]

runs_dir_option = click.option(
    "--runs-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Where runs live.",
)


def sides(
    run: str,
    base: str | None,
    runs_dir: Path,
    *,
    metrics: Collection[str] | None = None,
    by: Sequence[str] = (),
    cluster: str | None = None,
    manual: Path | None = None,
    intake: Callable[[], Intake] | None = None,
) -> tuple[Snapshot, Snapshot | None]:
    """The run, and what it is held against: null where that is `latest` and there is no earlier run.

    Both with every built-in metric, or with those `metrics` at least. The run has the labels of the fields in `by`,
    its cases that share the field `cluster` go together, and the scores of the table `manual` stand in place of
    the measured ones. Each run is taken in by an `intake` of its own, strictly without any. NoInput where something
    has no such name.
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.reading import stem  # noqa: PLC0415
    from evalkit.report import baseline as baselines  # noqa: PLC0415

    place = runs.find(run, runs_dir)
    against = None if base is None else baselines.resolve(base, run=place, runs_dir=runs_dir)
    left, right = (intake(), intake()) if intake else (None, None)
    before = None if against is None else baselines.load(against, metrics=metrics, intake=left)
    after = of_run(place, metrics=metrics, by=by, cluster=cluster, manual=manual, intake=right)
    for path, taken in ((against, left), (place, right)):
        if path is not None:
            tell_rejected(stem(path), taken)
    return after, before


def of_run(
    place: Path,
    *,
    metrics: Collection[str] | None = None,
    by: Sequence[str] = (),
    cluster: str | None = None,
    manual: Path | None = None,
    intake: Intake | None = None,
) -> Snapshot:
    """The snapshot of the run at that path, as `sides` makes it; a baseline's file can only be taken as it is."""
    from evalkit.engines.overrides import read_manual  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.engines.scored import scored  # noqa: PLC0415
    from evalkit.report import baseline as baselines  # noqa: PLC0415
    from evalkit.report.snapshot import snapshot  # noqa: PLC0415

    if place.suffix == ".json":
        return baselines.load(place)
    found = scored(place, wanted=metrics, manual=read_manual(manual) if manual else {}, intake=intake)
    return snapshot(
        found.records,
        found.results,
        found.manifest,
        by=by,
        cluster=cluster,
        overridden=found.overridden,
    )
