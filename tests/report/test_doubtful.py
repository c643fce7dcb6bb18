"""Twins among the cases: alike questions, and alike questions with two labels."""

from __future__ import annotations

from evalkit.contracts import EvalRecord
from evalkit.report.doubtful import doubtful_labels


def case(sample_id: str, query: str, label: str | None, repeat: int = 0) -> EvalRecord:
    return EvalRecord(sample_id=sample_id, query=query, intent_l2=label, repeat=repeat)


def test_contradictory_labels_stand_first() -> None:
    records = [
        case("a", "耳机拆封以后还能退货吗", "退货"),
        case("b", "耳机拆封以后还能退货吗？", "退货"),
        case("c", "洗衣机怎么预约上门安装", "安装"),
        case("d", "洗衣机怎么预约上门安装呢", "预约"),
    ]
    first, second = doubtful_labels(records)
    assert (first.first, first.second, first.contradictory) == ("c", "d", True)
    assert (second.first, second.second, second.contradictory, second.similarity) == ("a", "b", False, 1.0)


def test_repeats_of_a_case_are_no_twins() -> None:
    assert doubtful_labels([case("a", "还能退货吗", "退货", repeat) for repeat in range(3)]) == []


def test_a_case_without_label_contradicts_nothing() -> None:
    (only,) = doubtful_labels([case("a", "还能退货吗", None), case("b", "还能退货吗", "退货")])
    assert not only.contradictory
