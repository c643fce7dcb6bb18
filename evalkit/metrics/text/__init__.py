"""How near is the answer to the reference answer, letter by letter? No model is asked, every number is repeatable.

What an answer means is for judges; these say how much of its wording is the reference's.
"""

from __future__ import annotations

from evalkit.metrics.text.family import MEASURES, compute
from evalkit.metrics.text.measures import bleu_zh, chrf, edit_similarity, rouge_l
from evalkit.metrics.text.tokens import CHAR, CHINESE, MIXED, Tokenizer, Tokens

__all__ = [
    "CHAR",
    "CHINESE",
    "MEASURES",
    "MIXED",
    "Tokenizer",
    "Tokens",
    "bleu_zh",
    "chrf",
    "compute",
    "edit_similarity",
    "rouge_l",
]
