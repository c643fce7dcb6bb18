"""Eval sets: the cases of a file, and whether the file is fit to measure with.

Loading is strict and short; checking tells everything that is wrong, and what had better be otherwise,
against the taxonomy of intents and the catalogue of documents.
"""

from __future__ import annotations

from evalkit.cases.checking import Check, SummaryRow, check, parents_beside
from evalkit.cases.loading import load_cases, sha256_of
from evalkit.cases.near_duplicates import Pair, near_duplicates
from evalkit.cases.taxonomy import Document, Intent, Taxonomy, load_catalogue

__all__ = [
    "Check",
    "Document",
    "Intent",
    "Pair",
    "SummaryRow",
    "Taxonomy",
    "check",
    "load_cases",
    "load_catalogue",
    "near_duplicates",
    "parents_beside",
    "sha256_of",
]
