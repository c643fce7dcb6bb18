"""Where a run is measured: in memory, part by part, or by the workers of a cluster; the options, and what they come to."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from evalkit.cli.options import digest_of, each, keeping_rejects
from evalkit.errors import UsageError

if TYPE_CHECKING:
    from evalkit.reading import Intake
    from evalkit.report.digest import Digest
    from evalkit.report.partwork import Reduced

__all__ = ["Engine", "engine_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_LACKING = {"memory": ("workers", "scheduler", "scratch"), "stream": ("scheduler",), "auto": ("scheduler",)}
"""The options that each engine does not have."""

_options = each(
    click.option(
        "--engine",
        type=click.Choice(["auto", "memory", "stream", "dask"]),
        default="auto",
        show_default=True,
        help="Hold the run in memory; measure it part by part, however large it is; do so on a cluster; auto: in memory "
        "up to 32 MiB of lines, or with metrics of your own, else part by part.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        help="Processes on this machine that measure parts. [default: 1 for stream, 2 for dask]",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="The dask scheduler, tcp://host:port; else a cluster on this machine.",
    ),
    click.option(
        "--part-rows",
        type=click.IntRange(min=1),
        default=4_096,
        show_default=True,
        help="Records of a part.",
    ),
    click.option(
        "--scratch",
        metavar="FOLDER|URL",
        help="Where the samples of parts are until the tables are made: a folder, or a URL that fsspec knows, which all "
        "workers see (s3://bucket/scratch). [default: --reports-dir]",
    ),
)


@dataclass(frozen=True)
class Engine:
    """How a run is measured, as somebody asked for it."""

    name: str
    workers: int | None
    scheduler: str | None
    rows: int
    scratch: str | None

    @contextmanager
    def digest(
        self,
        run: str,
        *,
        runs_dir: Path,
        by: Iterable[str],
        cluster: str | None,
        manual: Path | None,
        intake: Intake,
        reports_dir: Path,
    ) -> Iterator[Digest]:
        """As `digest_of`; what is on file of a run that is measured in parts is gone when the block ends."""
        from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
        from evalkit.engines.overrides import read_manual  # noqa: PLC0415
        from evalkit.report.streaming import streamed  # noqa: PLC0415

        named: dict[str, Any] = {"by": tuple(by), "cluster": cluster, "intake": intake}
        place = runs.find(run, runs_dir)
        with ExitStack() as stack:
            if self._takes_parts(place):
                asked = {**named, "manual": read_manual(manual) if manual else {}, "rows": self.rows}
                with keeping_rejects(place, intake, reports_dir):
                    reduced = stack.enter_context(self._reduced())
                    found = stack.enter_context(
                        streamed(place, reduced=reduced, where=self.scratch or reports_dir, **asked)
                    )
                if found is not None:
                    yield found
                    return
            yield digest_of(run, runs_dir=runs_dir, manual=manual, reports_dir=reports_dir, **named)

    def _takes_parts(self, place: Path) -> bool:
        from evalkit.engines.parted import LARGE, bears_parts  # noqa: PLC0415

        if self.name == "auto":
            return place.stat().st_size > LARGE and bears_parts()
        return self.name != "memory"

    @contextmanager
    def _reduced(self) -> Iterator[Reduced]:
        """Who measures the parts of a run, telling on standard error."""
        from evalkit.engines import cluster, pool  # noqa: PLC0415 - heavy imports wait for the command

        tell = functools.partial(click.echo, err=True)
        if self.name == "dask":
            with cluster.connected(scheduler=self.scheduler, workers=self.workers or 2, tell=tell) as found:
                yield found.reduced
        else:
            yield functools.partial(pool.reduced, workers=self.workers or 1, tell=tell)


def engine_options(command: _Command) -> _Command:
    """Add the options that say where a run is measured, as `engine`."""

    @_options
    @functools.wraps(command)
    def asked(
        *args: Any,
        engine: str,
        workers: int | None,
        scheduler: str | None,
        part_rows: int,
        scratch: str | None,
        **options: Any,
    ) -> Any:
        _check(engine, workers=workers, scheduler=scheduler, scratch=scratch)
        if engine != "memory":  # a pool of Arrow's own keeps what it once had, in every process
            os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        return command(*args, engine=Engine(engine, workers, scheduler, part_rows, scratch), **options)

    return cast("_Command", asked)


def _check(engine: str, **given: object) -> None:
    """UsageError for an option that the engine does not have."""
    for option in _LACKING.get(engine, ()):
        if given[option] is not None:
            raise UsageError(f"--{option}: found with --engine {engine}, wanted one or the other.")
    if given["workers"] and given["scheduler"]:
        raise UsageError("--workers: found with --scheduler, whose workers are there already; name one.")
