"""What several commands share: their options, how the name of a run becomes its digest, and how they print."""

from __future__ import annotations

import functools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from evalkit.errors import NoInput, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from evalkit.reading import Intake
    from evalkit.report.digest import Digest

__all__ = [
    "Number",
    "apart",
    "as_json",
    "bad_lines",
    "by_option",
    "cluster_option",
    "digest_of",
    "each",
    "keeping_rejects",
    "manual_option",
    "places",
    "run_argument",
    "say",
    "show",
    "tell_by_hand",
    "tell_rejected",
    "tell_spent",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])

run_argument = click.argument("run", metavar="RUN")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
manual_option = click.option(
    "--manual",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A per_sample.csv with scores that people set, in columns <metric>_manual.",
)
by_option = click.option(
    "--by",
    multiple=True,
    metavar="FIELD",
    help="Slice by this field too (difficulty, tags, target, …), or by several crossed: intent_l1,target; repeatable.",
)


cluster_option = click.option(
    "--cluster",
    metavar="FIELD",
    help="Draw cases that share this field (reference_doc_ids, or one of your own such as dialog_id) together in intervals and tests; "
    "without it each case, with its repeats.",
)


def places(command: _Command) -> _Command:
    """Add the options that say where runs and reports live."""
    for name, what in (("reports", "reports"), ("runs", "runs")):
        command = click.option(
            f"--{name}-dir",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path(name),
            show_default=True,
            help=f"Where {what} live.",
        )(command)
    return command


def each(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Several option decorators as one, in the order in which `--help` shows them."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def bad_lines(command: _Command) -> _Command:
    """Add the options that say what becomes of lines that do not hold, as `intake`."""

    @click.option(
        "--on-bad-line",
        type=click.Choice(["error", "reject"]),
        default="error",
        show_default=True,
        help="End with 65 at bad lines, or leave them out; `score` and `report` keep them in rejects.jsonl.",
    )
    @click.option(
        "--reject-limit",
        type=click.IntRange(min=0),
        metavar="N",
        help="Reject at most N lines, else end with 65.",
    )
    @functools.wraps(command)
    def asked(*args: Any, on_bad_line: str, reject_limit: int | None, **options: Any) -> Any:
        from evalkit.reading import Intake  # noqa: PLC0415 - heavy imports wait for the command

        reject = on_bad_line == "reject"
        if reject_limit is not None and not reject:
            raise UsageError("--reject-limit: found without --on-bad-line=reject, wanted both or neither.")
        return command(*args, intake=lambda: Intake(reject=reject, limit=reject_limit), **options)

    return cast("_Command", asked)


def digest_of(
    run: str,
    *,
    runs_dir: Path,
    by: Iterable[str] = (),
    cluster: str | None = None,
    manual: Path | None = None,
    intake: Intake | None = None,
    reports_dir: Path | None = None,
) -> Digest:
    """The run that a person named (path, id or `latest`), held against its rules, scored by every metric.

    `manual` is a table with scores that people set; cases that share the field `cluster` are drawn together. The
    `intake` says what becomes of bad lines; where all were rejected, they are in the run's folder in `reports_dir`
    when NoInput is raised.
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.engines.overrides import read_manual  # noqa: PLC0415
    from evalkit.engines.scored import scored  # noqa: PLC0415
    from evalkit.report.digest import Run, digest  # noqa: PLC0415

    by_hand = read_manual(manual) if manual else {}
    place = runs.find(run, runs_dir)
    with keeping_rejects(place, intake, reports_dir):
        return digest(Run(*scored(place, manual=by_hand, intake=intake)), by=tuple(by), cluster=cluster)


@contextmanager
def keeping_rejects(place: Path, intake: Intake | None, reports_dir: Path | None) -> Iterator[None]:
    """Where no line of a run is good: its bad lines in its folder."""
    from evalkit.reading import stem  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.report.build import save_rejects  # noqa: PLC0415

    try:
        yield
    except NoInput:
        if intake and intake.rejected and reports_dir:
            save_rejects(intake, reports_dir / stem(place))
        raise


class Number(click.FloatRange):
    """A number within bounds; NaN, which is in every range, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail("found nan, wanted a number.", param, ctx)
        return found


def apart(outputs: Mapping[str, Path | None], inputs: Iterable[Path]) -> None:
    """UsageError where an output, by the name of its option, would overwrite what the command reads."""
    read = {os.path.realpath(path) for path in inputs}
    for option, path in outputs.items():
        if path is not None and os.path.realpath(path) in read:  # where links lead, though it be in a circle
            raise UsageError(
                f"{option}: found {path}, which this command reads; wanted another file to write."
            )


def tell_by_hand(overridden: Mapping[str, int]) -> None:
    """Say on the error channel how many scores were set by hand, so that nobody takes them for measured ones."""
    if overridden:
        from evalkit.report.wording import by_hand  # noqa: PLC0415 - heavy imports wait for the command

        click.echo(f"! {by_hand(overridden)}", err=True)


def tell_spent(digest: Digest) -> None:
    """Say on the error channel what metrics that are none of this package cost: they may work row by row."""
    for name, seconds in digest.run.spent.items():
        each = 1e6 * seconds / max(digest.charged.n_total, 1)
        click.echo(f"metric {name}: {seconds:.2f} s of CPU, {each:.1f} µs a record", err=True)


def tell_rejected(run_id: str, intake: Intake | None) -> None:
    """Say on the error channel how many lines were left out of a run."""
    if intake and intake.rejected:
        click.echo(f"! {run_id}: bad lines were left out: {intake.counts}", err=True)


def say(value: Any) -> None:
    """Print a value as JSON for a machine, known secrets blacked out."""
    from evalkit.net.masking import KNOWN  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.reading.encoding import escaped  # noqa: PLC0415 - heavy imports wait for the command

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2, default=str)
    click.echo(escaped(KNOWN.text(text)))


def show(view: RenderableType) -> None:
    """Print a view for a person, every text as it is: in colour on a terminal; elsewhere no line ends in spaces."""
    from rich.console import Console, Group  # noqa: PLC0415 - heavy imports wait for the command

    console = Console(markup=False, highlight=False, emoji=False)
    whole = Group(view)  # a bare text would be printed as a copy that is folded otherwise
    if console.is_terminal:
        console.print(whole)
        return
    with console.capture() as printed:
        console.print(whole)
    sys.stdout.write("\n".join(line.rstrip(" ") for line in printed.get().split("\n")))
    sys.stdout.flush()
