"""Which leaf of the intent tree a question belongs to: regularised least squares on tf-idf terms.

One regression a leaf, solved at once in the dual (as many unknowns as training texts). Its leave-one-out
errors have a closed form, and the temperature that makes softmax scores honest probabilities is fitted on
them, so nothing is held back and nothing is seen twice. Source: Rifkin & Lippert (2007), MIT-CSAIL-TR-2007-025.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.targets.demo.knowledge import Utterance
from evalkit.targets.demo.words import terms

__all__ = ["Candidate", "Classifier"]

MIN_SCORE = 0.35
MAX_CANDIDATES = 3
RIDGE = 0.5
_TEMPERATURES = np.geomspace(0.01, 1.0, 41)

Matrix = NDArray[np.float64]


class Candidate(NamedTuple):
    """A leaf that a question may belong to, and the probability of it."""

    intent: str
    score: float


class Classifier:
    """Trained at construction; leaves that share no term with a question are as likely as any.

    `utterances` are what users say; accuracy and temperature are fitted to them alone. `background` are other
    texts of the same leaves: what the tree and the documents say of them.
    """

    def __init__(self, utterances: Sequence[Utterance], background: Sequence[Utterance] = ()) -> None:
        said = [*utterances, *background]
        self.labels = tuple(dict.fromkeys(utterance.intent for utterance in said))
        counts = [Counter(terms(utterance.text)) for utterance in said]
        vocabulary = dict.fromkeys(term for count in counts for term in count)
        self._columns = {term: column for column, term in enumerate(vocabulary)}
        self._idf = self._inverse_frequencies(counts)
        self._texts = np.stack([self._vector(count) for count in counts])
        gold = np.array([self.labels.index(utterance.intent) for utterance in said])
        self._duals, left_out = _ridge(self._texts @ self._texts.T, np.eye(len(self.labels))[gold])
        asked = slice(len(utterances))
        self.temperature = _calibrated(left_out[asked], gold[asked])
        self.held_out_accuracy = float((left_out.argmax(axis=1) == gold)[asked].mean())

    def probabilities(self, question: str) -> Mapping[str, float]:
        """The probability of every leaf; they add up to 1."""
        similar = self._texts @ self._vector(Counter(terms(question)))
        shares = _softmax((similar @ self._duals)[None, :] / self.temperature)[0]
        return dict(zip(self.labels, shares.tolist(), strict=True))

    def candidates(self, question: str) -> list[Candidate]:
        """The leaves with a probability of at least `MIN_SCORE`, best first; none when nothing is sure."""
        ranked = sorted(self.probabilities(question).items(), key=lambda pair: -pair[1])
        return [Candidate(*pair) for pair in ranked[:MAX_CANDIDATES] if pair[1] >= MIN_SCORE]

    def _inverse_frequencies(self, counts: Sequence[Counter[str]]) -> Matrix:
        having = Counter(term for count in counts for term in count)
        return np.array([np.log((1 + len(counts)) / (1 + having[term])) + 1 for term in self._columns])

    def _vector(self, count: Counter[str]) -> Matrix:
        """Damped tf-idf of length 1; zero where no term is known."""
        vector = np.zeros(len(self._columns))
        for term, often in count.items():
            if term in self._columns:
                vector[self._columns[term]] = 1 + np.log(often)
        vector *= self._idf
        return vector / (np.linalg.norm(vector) or 1.0)


def _ridge(gram: Matrix, wanted: Matrix) -> tuple[Matrix, Matrix]:
    """The dual weights, and for each text the scores of a model that was trained without it."""
    inverse = np.linalg.inv(gram + RIDGE * np.eye(len(gram)))
    duals = inverse @ wanted
    return duals, wanted - duals / np.diag(inverse)[:, None]


def _calibrated(scores: Matrix, gold: NDArray[np.int64]) -> float:
    """The temperature under which the gold labels are the most likely."""
    rows = np.arange(len(gold))
    losses = [-np.log(_softmax(scores / t)[rows, gold] + 1e-12).mean() for t in _TEMPERATURES]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def _softmax(scores: Matrix) -> Matrix:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Matrix = powers / powers.sum(axis=1, keepdims=True)
    return shares
