"""`evalkit calibrate`: how many streams one process of this machine can stamp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from evalkit.cli.options import Number, as_json, say

if TYPE_CHECKING:
    from evalkit.runner.calibrating import Calibration

__all__ = ["calibrate"]

_SATURATED = 3
_COUNTS = (20, 64, 256, 500)
_COLUMNS = "{:>8}{:>8}{:>14}{:>10}{:>16}  {}"


@click.command()
@click.option(
    "--streams",
    multiple=True,
    type=click.IntRange(1, 10_000),
    help="Streams at once; repeatable. Without it 20, 64, 256 and 500.",
)
@click.option(
    "--seconds",
    type=Number(3, 600),
    default=5,
    show_default=True,
    help="How long to hold them; the last streams are waited for.",
)
@as_json
@click.pass_context
def calibrate(ctx: click.Context, *, streams: tuple[int, ...], seconds: float, as_json: bool) -> None:
    """Measure what times to first token are worth on this machine, by streams whose send times are known.

    One process holds so many streams from a server beside it, on loopback, through the client that asks HTTP targets
    in a run. `ok`: the p99 of the error, and of the client's own delays, is within 10 ms. `flagged`: it is not, and
    a run like this would be called `client_saturated`; give it fewer streams a process (`--concurrency`,
    `--workers`); or nothing was answered. `too short`: fewer than 100 beats came. Ends with 3 unless every line is `ok`.

    \b
    evalkit calibrate
    evalkit calibrate --streams 200 --seconds 30
    """
    import asyncio  # noqa: PLC0415 - heavy imports wait for the command

    from evalkit.runner.calibrating import calibrate as calibrated  # noqa: PLC0415
    from evalkit.runner.plan import check_descriptors  # noqa: PLC0415

    counts = streams or _COUNTS
    check_descriptors(max(counts), option="--streams")
    if not as_json:
        click.echo(_COLUMNS.format("streams", "n", "error ms p50", "p99", "delay ms p99", ""))
    found = []
    for count in counts:
        found.append(asyncio.run(calibrated(count, seconds=seconds)))
        if not as_json:
            click.echo(_row(found[-1]))
    if as_json:
        say([each._asdict() for each in found])
    ctx.exit(0 if all(each.client_saturated is False for each in found) else _SATURATED)


def _row(found: Calibration) -> str:
    verdict = {True: "flagged", False: "ok", None: "too short"}[found.client_saturated]
    told = f"{verdict}, {found.failed} failed" if found.failed else verdict
    times = (found.error_p50_ms, found.error_p99_ms, found.delay_p99_ms)
    return _COLUMNS.format(
        found.streams, found.n, *("–" if each is None else f"{each:.2f}" for each in times), told
    )
