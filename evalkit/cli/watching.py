"""A run while it is under way, for whoever sits before the terminal: a bar, and who keeps all others waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evalkit.contracts import Case, EvalRecord, Manifest
    from evalkit.runner import Apart, Plan

__all__ = ["watched"]


def watched(cases: Sequence[Case], target: Callable[..., Any] | Apart, plan: Plan) -> Manifest:
    """The run of the cases, with a bar for whoever watches."""
    import asyncio  # noqa: PLC0415 - heavy imports wait for the command

    from evalkit.runner import run as run_cases  # noqa: PLC0415

    with _progress() as (begin, advance):
        asked = run_cases(cases, target, plan, on_start=begin, on_record=advance, on_block=_blocked)
        manifest: Manifest = asyncio.run(asked)
    return manifest


def _blocked(key: str) -> None:
    """Say which sample keeps all others waiting."""
    from evalkit.report.text import visible  # noqa: PLC0415

    click.echo(
        visible(
            f"evalkit: the target holds the event loop in sample {key}; all others wait, and their times are not "
            "theirs. A function that blocks should be a plain one, which is asked in threads."
        ),
        err=True,
    )


@contextmanager
def _progress() -> Iterator[tuple[Callable[[Manifest], None], Callable[[EvalRecord], None]]]:
    """A bar with time left on a terminal; nothing where nobody watches."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[failed]}"),
    )
    failed = 0
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, failed="")

        def begin(manifest: Manifest) -> None:
            bar.update(task, total=manifest.planned, completed=manifest.recorded)

        def advance(record: EvalRecord) -> None:
            nonlocal failed
            failed += record.answer_status not in ("ok", "skipped") or record.evidence_status == "error"
            bar.update(task, advance=1, failed=f"{failed} failed" if failed else "")

        yield begin, advance
