"""What the commands call: a run worked out once, then written as tables and as things to read.

Each file is replaced whole, and the same run gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.reading import Intake
from evalkit.reading.encoding import escaped
from evalkit.reading.intake import as_lines as rejected_lines
from evalkit.report import csv, html, markdown, parquet
from evalkit.report.digest import Digest
from evalkit.report.failures import as_lines
from evalkit.report.masking import masked_digest, masked_verdict
from evalkit.report.summary import summary
from evalkit.report.verdict import Verdict
from evalkit.writing import folder as made
from evalkit.writing import replace

__all__ = ["Written", "report_run", "save_rejects", "score_run"]


SUMMARY = "summary.json"
REJECTS = "rejects.jsonl"
_ROWS = {"confusions": 64}
"""Rows of a row group where they are not as usual: a direction has the keys of all its samples."""


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were put in place, by name, and the summary of the run they tell of."""

    files: Mapping[str, Path]
    summary: Mapping[str, Any]


def score_run(digest: Digest, folder: Path) -> Written:
    """Write samples, slices, confusions and latency as Parquet, and `summary.json`, to the folder.

    StorageError where the disk refuses; each file is then the old one or the new one, whole.
    """
    tables = digest.tables._asdict()
    rejects = save_rejects(digest.run.intake, folder)
    files = [*(f"{name}.parquet" for name in tables), *rejects, SUMMARY]
    told = summary(digest, files=files)
    for name, table in tables.items():
        place, rows = folder / f"{name}.parquet", _ROWS.get(name, parquet.ROWS)
        parquet.write(digest.pieces(name), place, schema=table.schema, rows=rows)
    text = json.dumps(told, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    replace(folder / SUMMARY, escaped(text))
    return Written({name: folder / name for name in files}, told)


def save_rejects(intake: Intake | None, folder: Path) -> tuple[str, ...]:
    """Write `rejects.jsonl` where bad lines are rejected, though there be none; its name, or none.

    Elsewhere one that an earlier reading left is removed: it would tell of lines that now hold.
    """
    if intake is None or not intake.reject:
        (made(folder) / REJECTS).unlink(missing_ok=True)
        return ()
    replace(folder / REJECTS, rejected_lines(intake.rejected))
    return (REJECTS,)


def report_run(
    digest: Digest,
    folder: Path,
    *,
    verdict: Verdict | None = None,
    mask_pii: bool = False,
    csv_raw: bool = False,
) -> Written:
    """Write `report.html`, `report.md`, `per_sample.csv` and `failures.jsonl` to the folder.

    A `verdict` stands first on both pages, with the samples that flipped; without one neither page speaks of it.
    `mask_pii` hides the middle of phone and identity numbers and of e-mail names in all four; the run and
    the Parquet files stay as they are. `csv_raw` leaves texts in the CSV that a spreadsheet would run.
    StorageError as for `score_run`.
    """
    shown = masked_digest(digest) if mask_pii else digest
    told = masked_verdict(verdict) if verdict and mask_pii else verdict
    pages = {
        "failures.jsonl": as_lines(shown.failures, run_id=shown.run.run_id),
        "per_sample.csv": csv.per_sample(shown, raw=csv_raw),
        "report.html": html.page(shown, told),
        "report.md": markdown.document(shown, told),
    }
    for name, data in pages.items():
        replace(folder / name, data)
    names = [*pages, *save_rejects(digest.run.intake, folder)]
    return Written({name: folder / name for name in names}, summary(shown, files=names))
