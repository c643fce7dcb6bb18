"""`evalkit verify`, `repair` and `replay`: is every line of a run there, and how to get it back where one is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.cli.options import as_json, places, run_argument, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalkit.runner.repairing import Repaired
    from evalkit.runner.verifying import Verified

__all__ = ["repair", "replay", "verify"]

_UNFINISHED = 3
_BAD_DATA = 65
_SHOWN = 20


@click.command()
@run_argument
@click.option("--allow-rejects", is_flag=True, help="Do not end with 65 for lines that hold no record.")
@places
@as_json
@click.pass_context
def verify(
    ctx: click.Context,
    *,
    run: str,
    allow_rejects: bool,
    runs_dir: Path,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    as_json: bool,
) -> None:
    """Count every line of a run, lines = ok + rejected + torn + blank, and hold the counts against its manifest.

    Nothing is changed, also not while the run goes on. Ends with 0 where every line holds and the run is
    complete, with 65 where a line holds no record or the manifest disagrees, with 3 where the last line is torn
    or the run did not come to its end: `--resume` goes on with it. An empty file without a manifest ends it with 66.

    \b
    evalkit verify latest
    evalkit verify nightly --allow-rejects --json
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.runner.verifying import verify as verified  # noqa: PLC0415

    path = runs.find(run, runs_dir)
    found = verified(path)
    if as_json:
        say(_plain(found))
    else:
        _show(path, found)
    broken = found.disagreements or (found.rejects and not allow_rejects)
    ctx.exit(_BAD_DATA if broken else 0 if found.finished else _UNFINISHED)


@click.command()
@run_argument
@places
@as_json
def repair(*, run: str, runs_dir: Path, reports_dir: Path, as_json: bool) -> None:  # noqa: ARG001
    """Leave a run in which every line holds, and lose no byte of it.

    Whole records inside broken lines get lines of their own, where they are of the same run as the other lines. All
    other bytes of broken lines go to `<name>.torn`, and the file as it was stays as `<name>.before-repair`; a file
    that is whole is not touched. The manifest's counts follow; samples that are missing are asked by `--resume`. Ends with 75 while
    somebody writes the run.

    \b
    evalkit repair nightly
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.runner.repairing import repair as repaired  # noqa: PLC0415

    path = runs.find(run, runs_dir)
    done = repaired(path)
    if as_json:
        original = None if done.original is None else str(done.original)
        say({**done._asdict(), "original": original, "now": _plain(done.now)})
        return
    click.echo(_told(done))
    _show(path, done.now)


@click.command()
@run_argument
@click.option("--run-id", metavar="NAME", help="Name of the new run; made up without it.")
@places
@as_json
def replay(
    *,
    run: str,
    run_id: str | None,
    runs_dir: Path,
    reports_dir: Path,  # noqa: ARG001 - a shared option
    as_json: bool,
) -> None:
    """Make the records of a run anew from its capture, without asking anybody: a run of its own beside it.

    With the evalkit that made the run they are the same, byte for byte but for the name of the run; with another
    one they are what it reads out of the same bytes. No key is needed. A run is captured with `--capture`. A
    replay is never `latest`; name it.

    \b
    evalkit replay nightly --run-id nightly-again
    """
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.errors import Incomplete  # noqa: PLC0415
    from evalkit.runner.replaying import replay as replayed  # noqa: PLC0415

    path = runs.find(run, runs_dir)
    done = replayed(path, _target_of(path), run_id=run_id)
    if as_json:
        say({**done._asdict(), "manifest": done.manifest.model_dump(mode="json")})
    else:
        click.echo(
            f"run {done.manifest.run_id}: {done.replayed} replayed, {done.identical} identical, "
            f"{done.withheld} withheld, {done.unreadable} bytes unreadable"
        )
    if done.unreadable:
        told = f"found {done.manifest.recorded} of {done.manifest.planned} samples in its capture"
        raise Incomplete(f"run {done.manifest.run_id}: {told}, wanted all; the others cannot be replayed.")


def _target_of(path: Path) -> Callable[..., Any]:
    """The target of a run, with the parameters that its manifest has."""
    from evalkit import runs  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.cli.settings import DESCRIPTION, target_spec  # noqa: PLC0415
    from evalkit.errors import UsageError  # noqa: PLC0415
    from evalkit.registry import Spec, bind  # noqa: PLC0415

    manifest = runs.manifest(path)
    if manifest is None:
        raise UsageError(f"{path}: found no manifest beside it, wanted one, to know the target.")
    spec = target_spec(manifest.target, ())
    params = {name: value for name, value in manifest.target_config.items() if name != DESCRIPTION}
    return bind("target", Spec(spec.type, params))


def _plain(found: Verified) -> dict[str, Any]:
    from dataclasses import asdict  # noqa: PLC0415

    return {**asdict(found), "rejects": [reject._asdict() for reject in found.rejects]}


def _told(done: Repaired) -> str:
    if done.original is None:
        return "every line holds; nothing was touched"
    return f"{done.rescued} records rescued, {done.set_aside} bytes set aside; the file as it was: {done.original}"


def _show(path: Path, found: Verified) -> None:
    from evalkit.report.text import visible  # noqa: PLC0415

    click.echo(
        f"{path}: {found.lines} lines = {found.ok} ok + {found.rejected} rejected + {found.torn} torn"
        f" + {found.blank} blank"
    )
    click.echo(
        f"samples {found.samples}, superseded lines {found.superseded}, torn before {found.fragments} bytes"
    )
    for reject in found.rejects[:_SHOWN]:
        place = f"line {reject.line}, byte {reject.offset}, {reject.bytes} bytes"
        click.echo(visible(f"rejected: {place}: found {reject.found}, wanted {reject.wanted}"))
    if len(found.rejects) > _SHOWN:
        click.echo(f"… and {len(found.rejects) - _SHOWN} more")
    for told in found.disagreements:
        click.echo(visible(f"manifest disagrees: {told}"))
    click.echo(f"state: {found.state or 'no manifest'}")
