"""The one door for bytes: lines of JSON in, lines of JSON out.

Lines end at `\\n` and nowhere else. Nothing is repaired in silence: a line that is not one JSON object,
or does not fit the model, is a `Fault` with its file, line and field.
"""

from __future__ import annotations

from evalkit.reading.blocks import Block, Line, blocks, lines
from evalkit.reading.decoding import decode
from evalkit.reading.encoding import encode
from evalkit.reading.files import Reading, document, fit, parse, read

__all__ = [
    "Block",
    "Line",
    "Reading",
    "blocks",
    "decode",
    "document",
    "encode",
    "fit",
    "lines",
    "parse",
    "read",
]
