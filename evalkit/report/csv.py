"""Samples as CSV for spreadsheets: readable there, and nothing in it is ever a formula.

A text that a spreadsheet would run gets an apostrophe before it; numbers stay numbers. The run's JSONL
keeps every text as it came.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from evalkit.report.digest import Digest
from evalkit.report.text import capped, visible

__all__ = ["guarded", "per_sample"]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LEAD = (
    "\\s\"'\\x00-\\x20\\x7f-\\xa0\\u00ad\\u180e\\u200b-\\u200f\\u2028-\\u202f\\u2060-\\u206f\\u3000\\ufeff"
)
_FORMULA = re.compile(f"[\\t\\r]|[{_LEAD}]*[=+\\-@＝＋－＠﹢﹣﹦﹫−]")
_AFTER = "repeat"


def guarded(text: str) -> str:
    """The text as a spreadsheet may have it: `'` before what begins like a formula, wherever blanks hide it.

    Formulas begin with = + - @, their full-width forms, TAB or CR. A plain number is no formula.
    """
    if _NUMBER.fullmatch(text) or not _FORMULA.match(text):
        return text
    return f"'{text}"


def per_sample(digest: Digest, *, raw: bool = False) -> bytes:
    """The samples table with the failed gate, the reasons and the answer, as UTF-8 CSV with BOM.

    Texts are cut at 8 KiB and unseen characters spelled out; null is an empty cell. `raw` leaves every
    text as it came, formulas included.
    """
    names, rows = _columns(digest)
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator="\r\n")
    for row in [names, *rows]:
        writer.writerow([_cell(value, raw=raw) for value in row])
    return sink.getvalue().encode("utf-8-sig", "backslashreplace")


def _columns(digest: Digest) -> tuple[list[str], Iterator[list[Any]]]:
    samples = digest.tables.samples
    place = samples.column_names.index(_AFTER) + 1
    failed = {failure.row: failure for failure in digest.failures.failed}
    columns = [samples[name].to_pylist() for name in samples.column_names]

    def rows() -> Iterator[list[Any]]:
        for number, (record, *row) in enumerate(zip(digest.run.records, *columns, strict=True)):
            failure = failed.get(number)
            reasons = "; ".join(reason.text for reason in failure.reasons) if failure else None
            told = [failure.gate if failure else None, reasons]
            yield [*row[:place], *told, *row[place:], record.response]

    names = samples.column_names
    return [*names[:place], "failed_at", "reasons", *names[place:], "response"], rows()


def _cell(value: Any, *, raw: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return text if raw else _safe(text)


def _safe(text: str) -> str:
    head, cut = capped(text)
    prefix = "'" if guarded(text) != text else ""
    return prefix + visible(head) + (f" … ({cut} more bytes)" if cut else "")
