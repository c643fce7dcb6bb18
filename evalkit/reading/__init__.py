"""The one door for bytes: lines of JSON in, lines of JSON out.

Lines end at `\\n` and nowhere else. Nothing is repaired in silence: a line that is not one JSON object,
or does not fit the model, is a `Fault` with its file, line and field.
"""

from __future__ import annotations

from evalkit.reading.blocks import Block, Line, blocks, lines
from evalkit.reading.decoding import Refusal, decode
from evalkit.reading.encoding import encode
from evalkit.reading.files import Reading, Reject, document, fit, parse, read
from evalkit.reading.intake import Intake, LineCounts
from evalkit.reading.sources import stem

__all__ = [
    "Block",
    "Intake",
    "Line",
    "LineCounts",
    "Reading",
    "Refusal",
    "Reject",
    "blocks",
    "decode",
    "document",
    "encode",
    "fit",
    "lines",
    "parse",
    "read",
    "stem",
]
