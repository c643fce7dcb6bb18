"""A scenario: an eval set as one JSON document with a list of `cases`, for those who write cases by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalkit.contracts import Case
from evalkit.errors import Fault
from evalkit.reading import Reading, document, fit
from evalkit.reading.sources import opened

__all__ = ["read_scenario"]

_BLANK = " \t\r\n"


def read_scenario(path: Path) -> Reading[Case]:
    """The cases in the list `cases` of the document, each with the line that it begins in.

    Other fields of the document, as its `name`, are left alone. Raises NoInput or BadData where the file is no
    JSON document; whatever else does not hold is a fault.
    """
    told = document(path)
    listed = told.get("cases") if isinstance(told, dict) else None
    if not isinstance(listed, list):
        wanted = 'an object with a list "cases"; an eval set of one case a line is named .jsonl'
        return Reading(faults=[Fault(str(path), 1, "file", f"a JSON {_name(told)}", wanted)])
    reading: Reading[Case] = Reading()
    for value, line in zip(listed, _lines(path), strict=True):
        item = fit(value, Case, path=str(path), line=line)
        if isinstance(item, list):
            reading.faults.extend(item)
        else:
            reading.items.append(item)
            reading.numbers.append(line)
    return reading


def _name(value: Any) -> str:
    return 'object without a list "cases"' if isinstance(value, dict) else type(value).__name__


def _lines(path: Path) -> Iterator[int]:
    """The line in which each case begins, in a document that is known to be good."""
    with opened(path) as file:
        text = file.read().decode("utf-8-sig")
    decoder = json.JSONDecoder()
    place = _inside(text, decoder)
    line, before = 1, 0
    while text[place] != "]":
        line += text.count("\n", before, place)
        before = place
        yield line
        _, end = decoder.raw_decode(text, place)
        place = _past(text, end, ",")


def _inside(text: str, decoder: json.JSONDecoder) -> int:
    """Where the list of cases begins, past its bracket."""
    place = _past(text, 0, "{")
    while True:
        key, end = decoder.raw_decode(text, place)
        value = _past(text, end, ":")
        if key == "cases":
            return _past(text, value, "[")
        _, end = decoder.raw_decode(text, value)
        place = _past(text, end, ",")


def _past(text: str, place: int, mark: str) -> int:
    """The next place that is not blank, after the mark if it comes first."""
    while text[place] in _BLANK:
        place += 1
    if text[place] == mark:
        place += 1
        while text[place] in _BLANK:
            place += 1
    return place
