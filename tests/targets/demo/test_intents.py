"""Learning leaves from utterances."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.targets.demo.intents import Classifier, _ridge
from evalkit.targets.demo.knowledge import Utterance
from evalkit.targets.demo.understanding import Model


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("这个七天里能退货吗", "S1_退货"),
        ("运费要多少", "S2_配送"),
        ("帮我看看订单状态", "S3_查单"),
        ("你好啊", "C1_问候"),
    ],
)
def test_questions_never_seen_are_classified(tiny: Model, question: str, intent: str) -> None:
    candidates = tiny.classifier.candidates(question)
    assert candidates[0].intent == intent
    assert candidates[0].score >= 0.35


def test_nothing_is_sure_of_what_shares_no_term(tiny: Model) -> None:
    assert tiny.classifier.candidates("xyz") == []
    assert list(tiny.classifier.probabilities("xyz").values()) == pytest.approx([0.25] * 4)


def test_probabilities_add_up(tiny: Model) -> None:
    assert sum(tiny.classifier.probabilities("运费多少").values()) == pytest.approx(1)


def test_swapped_labels_are_learned_as_they_are() -> None:
    """The labels come from the training set, not from the words in them."""
    said = [
        Utterance("甲", "退货"),
        Utterance("甲", "退货运费"),
        Utterance("乙", "你好"),
        Utterance("乙", "你好呀"),
    ]
    swapped = [Utterance({"甲": "乙", "乙": "甲"}[intent], text) for intent, text in said]
    assert Classifier(said).candidates("退货")[0].intent == "甲"
    assert Classifier(swapped).candidates("退货")[0].intent == "乙"


def test_left_out_scores_equal_those_of_models_trained_without() -> None:
    """The closed form against the loop that it replaces."""
    rng = np.random.default_rng(7)
    texts, wanted = rng.normal(size=(12, 5)), np.eye(3)[rng.integers(0, 3, 12)]
    _, closed = _ridge(texts @ texts.T, wanted)
    for row in range(12):
        rest = np.delete(np.arange(12), row)
        duals, _ = _ridge(texts[rest] @ texts[rest].T, wanted[rest])
        assert closed[row] == pytest.approx(texts[row] @ texts[rest].T @ duals)


def test_the_shop_learns_more_than_guessing(shop: Model) -> None:
    """Each of its 28 leaves has about one utterance in 28."""
    assert shop.classifier.held_out_accuracy > 5 / 28
