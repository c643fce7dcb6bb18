"""Text metrics a pair: ours beside rouge-score and sacrebleu on the same Chinese texts, values held equal.

    python benchmarks/text_peers.py [pairs]

Each tool is timed in turn in this process, three times; the fastest counts. sacrebleu keeps the tokens of texts that
it has seen; before each run it is made to forget them, as a run's answers are new to it.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from evalkit.metrics.text import CHAR, bleu_zh, chrf, rouge_l

EVAL_SET = Path(__file__).parents[1] / "eval_sets" / "eval_set_v1_all.jsonl"
REPEATS = 3
SLOW = 10
"""rouge-score takes milliseconds a pair: it is given every tenth."""

Pairs = list[tuple[str, str]]
Leg = Callable[[Pairs], "NDArray[np.float64] | list[float]"]


def pairs_of(n: int) -> Pairs:
    """Answers and references of about 200 characters: references of the eval set, with and without changes."""
    rng = random.Random(20_260_826)  # noqa: S311 - test data
    lines = EVAL_SET.read_text(encoding="utf-8").splitlines()
    references = [found for line in lines if (found := json.loads(line).get("reference"))]
    return [changed("".join(rng.sample(references, 7)), rng) for _ in range(n)]


def changed(reference: str, rng: random.Random) -> tuple[str, str]:
    """An answer made from the reference: clauses left out and shuffled, every tenth character lost."""
    clauses = [clause for clause in re.split(r"(?<=[。；，])", reference) if rng.random() < 0.8]
    rng.shuffle(clauses)
    return "".join(char for char in "".join(clauses) if rng.random() < 0.9), reference


class _Characters:
    """rouge-score's form of our tokenizer `char`."""

    def tokenize(self, text: str) -> list[str]:
        return list("".join(text.split()))


def rouge_score(pairs: Pairs) -> list[float]:
    scorer = RougeScorer(["rougeL"], tokenizer=_Characters())
    return [scorer.score(reference, answer)["rougeL"].fmeasure for answer, reference in pairs]


def sacrebleu_chrf(pairs: Pairs) -> list[float]:
    scorer = CHRF()
    return [scorer.sentence_score(answer, [reference]).score / 100 for answer, reference in pairs]


def sacrebleu_bleu(pairs: Pairs) -> list[float]:
    scorer = BLEU(tokenize="zh", effective_order=True)
    for kept in (type(scorer.tokenizer).__call__, type(scorer.tokenizer._post_tokenizer).__call__):  # noqa: SLF001
        kept.cache_clear()
    return [scorer.sentence_score(answer, [reference]).score / 100 for answer, reference in pairs]


LEGS: dict[str, tuple[Leg, str, Leg, int]] = {
    "ROUGE-L, characters": (lambda pairs: rouge_l(pairs, tokenizer=CHAR), "rouge-score", rouge_score, SLOW),
    "chrF2": (chrf, "sacrebleu", sacrebleu_chrf, 1),
    "BLEU, Chinese": (bleu_zh, "sacrebleu", sacrebleu_bleu, 1),
}


def cost(leg: Leg, pairs: Pairs) -> float:
    """The fastest run, in CPU microseconds a pair."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        leg(pairs)
        times.append(time.process_time() - start)
    return min(times) / len(pairs) * 1e6


def main(n: int) -> None:
    """Time both sides of each metric, hold their values together, and print the table."""
    pairs = pairs_of(n)
    length = sum(len(text) for pair in pairs for text in pair) / len(pairs) / 2
    print(f"{n:,} pairs of {length:.0f} characters on average, CPU, best of {REPEATS}\n")
    print("| metric | evalkit µs | peer | peer µs | ratio | pairs | largest difference |")
    print("|---|---|---|---|---|---|---|")
    for name, (ours, peer, theirs, every) in LEGS.items():
        some = pairs[::every]
        apart = float(np.abs(np.asarray(ours(some)) - np.asarray(theirs(some))).max())
        assert apart < 1e-12, f"{name}: the values differ by {apart}"
        quick, slow = cost(ours, pairs), cost(theirs, some)
        told = f"{peer} {version(peer)}"
        print(
            f"| {name} | {quick:.1f} | {told} | {slow:,.0f} | {slow / quick:,.1f} | {len(some):,} | {apart:.0e} |"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
