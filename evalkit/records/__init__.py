"""A run as rows and as columns: `Records` is a sequence of EvalRecord that is also a table.

Iterating gives rows. Naming gives columns: texts become int32 codes over one vocabulary, so that equality
of strings is equality of integers; null is -1 among codes, NaN among numbers.
"""

from __future__ import annotations

from evalkit.records.calls import arguments, canonical
from evalkit.records.columns import Groups, Lists, Ranked, ToolCalls
from evalkit.records.parting import OnFile, on_file, parts
from evalkit.records.table import FIELDS_OF_RUN, Records, RecordsLike, load

__all__ = [
    "FIELDS_OF_RUN",
    "Groups",
    "Lists",
    "OnFile",
    "Ranked",
    "Records",
    "RecordsLike",
    "ToolCalls",
    "arguments",
    "canonical",
    "load",
    "on_file",
    "parts",
]
