"""When a run that is whole on disk is a failure nevertheless: too much of what it asked came to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.cli.options import Number
from evalkit.errors import Incomplete

if TYPE_CHECKING:
    from evalkit.contracts import Manifest
    from evalkit.records import Records

__all__ = ["check_answers", "error_option"]


error_option = click.option(
    "--max-error-rate",
    type=Number(0, 1),
    metavar="SHARE",
    help="End with 3 where more than this share of the records, from 0 to 1, has a channel error: the answer "
    "is error or incomplete, or the evidence is error.",
)


def check_answers(manifest: Manifest, runs_dir: Path, max_error_rate: float | None) -> None:
    """Incomplete where every answer of the run failed, or more than that share of its records has an error.

    Null allows any share below all answers. An answer that is rejected or cancelled is no error of a channel.
    """
    if manifest.answer_ok and max_error_rate is None:
        return
    from evalkit.records import load  # noqa: PLC0415 - heavy imports wait for the need

    records = load(runs_dir / f"{manifest.run_id}.jsonl")
    _check_all(manifest.run_id, records)
    if max_error_rate is not None:
        _check_share(manifest.run_id, records, max_error_rate)


def _check_all(run_id: str, records: Records) -> None:
    from evalkit.report.text import capped, one_line  # noqa: PLC0415 - heavy imports wait for the need

    failed = ~(records.equals("answer_status", "ok") | records.equals("answer_status", "skipped"))
    if not len(records) or not failed.all():
        return
    error = records[0].answer_error
    first = f"{error.kind}: {error.message}" if error else str(records[0].answer_status)
    raise Incomplete(
        f"run {run_id}: all {len(records)} answers failed; the first: {capped(one_line(first), 500)[0]}"
    )


def _check_share(run_id: str, records: Records, most: float) -> None:
    broken = records.equals("answer_status", "error") | records.equals("answer_status", "incomplete")
    failed = int((broken | records.equals("evidence_status", "error")).sum())
    if failed > most * len(records):
        raise Incomplete(
            f"run {run_id}: found a channel error in {failed} of {len(records)} records, wanted at most a share of "
            f"{most:g} (--max-error-rate); ask these again with --run-id {run_id} --resume --retry-errors."
        )
