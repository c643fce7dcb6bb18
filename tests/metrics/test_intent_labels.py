"""Which way the intent errs: confusions, look-alike labels, precision and recall by label."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import accuracy_score, classification_report
from sklearn.naive_bayes import MultinomialNB

from evalkit import EvalRecord
from evalkit.metrics import intent

TEN = Path(__file__).parents[1] / "golden" / "intent_ten_questions.jsonl"

labels = st.sampled_from(("S1", "S2", "S3", "Ｓ1", "S1 ", None, ""))
pairs = st.lists(st.tuples(labels, labels), max_size=25)


def run(rows: list[tuple[str | None, str | None]], **fields: Any) -> list[EvalRecord]:
    return [
        EvalRecord(sample_id=str(place), intent_l2=gold, intent_pred=predicted, **fields)
        for place, (gold, predicted) in enumerate(rows)
    ]


@given(rows=pairs)
def test_confusions_are_the_errors(rows: list[tuple[str | None, str | None]]) -> None:
    """Every error of a labelled sample is in exactly one pair, and the worst pair comes first."""
    found = intent.confusions(run(rows))
    wrong = Counter((gold, predicted or None) for gold, predicted in rows if gold and gold != predicted)
    errors = Counter(gold for gold, predicted in rows if gold and gold != predicted)
    gold_n = Counter(gold for gold, _ in rows if gold)
    assert {(pair.gold, pair.predicted): pair.n for pair in found} == wrong
    assert [pair.n for pair in found] == sorted((pair.n for pair in found), reverse=True)
    for pair in found:
        assert pair.gold_n == gold_n[pair.gold]
        assert pair.share == pair.n / errors[pair.gold]
        assert {rows[int(key)] for key in pair.keys} <= {
            (pair.gold, pair.predicted),
            (pair.gold, pair.predicted or ""),
        }
        assert pair.n == len(pair.keys)


@given(rows=pairs, random=st.randoms(use_true_random=False))
def test_order_changes_nothing(rows: list[tuple[str | None, str | None]], random: Any) -> None:
    records = run(rows)
    shuffled = random.sample(records, len(records))
    assert intent.confusions(records) == intent.confusions(shuffled)
    assert intent.averages(records) == intent.averages(shuffled)


def test_ten_questions_err_towards() -> None:
    """The worked example: S3 is taken for S1, S14 for S15; among equals the smaller label is worse."""
    assert intent.confusions(TEN) == [
        ("S3_对比选购", "S1_选购推荐", 1, 2, 1.0, ("5",)),
        ("S14_退换货咨询", "S15_保修维修", 1, 3, 1.0, ("3",)),
    ]


def test_a_failed_channel_is_no_confusion() -> None:
    assert intent.confusions(run([("S1", None)], evidence_status="error")) == []
    assert intent.confusions(run([("S1", None)]))[0][:3] == ("S1", None, 1)


def test_look_alikes_are_reported_and_wrong() -> None:
    """Full-width, zero-width and decomposed labels are wrong; three near misses say why."""
    rows: list[tuple[str | None, str | None]] = [
        ("S14_退换货咨询", "Ｓ１４＿退换货咨询"),
        ("S14_退换货咨询", "S14_退换货咨询\u200b"),
        ("S2_ガイド", "S2_カ\u3099イト\u3099"),
        ("S2_ガイド", "S2_カイト"),
        ("S14_退换货咨询", "s14_退换货咨询"),
        ("S1", None),
    ]
    assert intent.compute(run(rows)).overall == 0
    near = {(pair.gold, pair.predicted) for pair in intent.near_misses(intent.confusions(run(rows)))}
    assert near == set(rows[:3])


@given(rows=pairs)
def test_equal_to_scikit_learn(rows: list[tuple[str | None, str | None]]) -> None:
    """Per label and on average as `classification_report`, an abstention being a label of its own there."""
    counted = [(gold, predicted or "none") for gold, predicted in rows if gold]
    reports = intent.per_label(run(rows))
    if not counted:
        assert reports == []
        assert intent.averages(run(rows)) == []
        return
    names = [report.label for report in reports]
    wanted = scikit_learn(counted, names)
    assert set(names) == {label for pair in counted for label in pair} - {"none"}
    for report in reports:
        same(report, wanted[report.label])
    for report in intent.averages(run(rows)):
        if f"{report.label} avg" in wanted:
            same(report, wanted[f"{report.label} avg"])
        else:
            assert report.recall == pytest.approx(wanted["accuracy"], abs=1e-12)


def scikit_learn(counted: list[tuple[str, str]], names: list[str]) -> dict[str, Any]:
    gold, predicted = zip(*counted, strict=True)
    found: dict[str, Any] = classification_report(
        gold, predicted, labels=names, output_dict=True, zero_division=0
    )
    return found


def same(report: intent.LabelReport, wanted: dict[str, float]) -> None:
    """The same numbers; scikit-learn has 0 where a ratio has no denominator."""
    for found, name in ((report.precision, "precision"), (report.recall, "recall"), (report.f1, "f1-score")):
        assert math.isclose(found or 0.0, wanted[name], abs_tol=1e-12), (report, wanted)
    assert report.support == wanted["support"]


def test_a_ratio_without_denominator_is_null() -> None:
    """S1 is never predicted, S2 never gold: no precision of the one, no recall of the other."""
    s1, s2 = intent.per_label(run([("S1", "S2"), ("S1", None)]))
    assert s1 == ("S1", None, 0.0, 0.0, 2, 0, 0)
    assert s2 == ("S2", 0.0, None, 0.0, 0, 1, 0)


class Classified(NamedTuple):
    """Real queries with what a real classifier takes them for."""

    records: list[EvalRecord]
    gold: list[str]
    predicted: list[str]
    parents: dict[str, str]


@pytest.fixture(scope="module")
def clinc150(shared: Path) -> Classified:
    """The 5,500 test queries of CLINC150, classified by naive Bayes over words."""
    folder = shared / "data" / "clinc150" / "data"
    data = json.loads((folder / "data_small.json").read_text(encoding="utf-8"))
    domains = json.loads((folder / "domains.json").read_text(encoding="utf-8"))
    parents = {label: domain for domain, members in domains.items() for label in members}
    texts, gold = zip(*(data["test"] + data["oos_test"]), strict=True)
    train_texts, train_gold = zip(*(data["train"] + data["oos_train"]), strict=True)
    words = CountVectorizer()
    model = MultinomialNB().fit(words.fit_transform(train_texts), train_gold)
    predicted = [str(label) for label in model.predict(words.transform(texts))]
    records = [
        EvalRecord(sample_id=str(place), intent_l1=parents.get(label), intent_l2=label, intent_pred=guess)
        for place, (label, guess) in enumerate(zip(gold, predicted, strict=True))
    ]
    return Classified(records, list(gold), predicted, parents)


def test_clinc150_at_two_levels(clinc150: Classified) -> None:
    """Accuracy as scikit-learn at both levels; `oos` is in no domain and has no parent when predicted."""
    records, gold, predicted, parents = clinc150
    top1 = intent.compute(records).overall
    assert top1 == pytest.approx(accuracy_score(gold, predicted), abs=1e-12)
    pairs = [
        (parents[label], parents.get(guess, "none"))
        for label, guess in zip(gold, predicted, strict=True)
        if label != "oos"
    ]
    l1 = intent.l1_top1(records, parents=parents).overall
    assert l1 == pytest.approx(accuracy_score(*zip(*pairs, strict=True)), abs=1e-12)
    assert 0.4 < top1 < l1 < 0.99
    assert l1 == intent.l1_top1(records).overall
    lost = sum(guess == "none" for _, guess in pairs)
    assert lost > 0
    assert intent.unknown_parents(records, parents=parents) == {"oos": lost}


def test_clinc150_by_label(clinc150: Classified) -> None:
    """All 151 labels and the averages as scikit-learn; in micro everything is the accuracy."""
    reports = intent.per_label(clinc150.records)
    pairs = list(zip(clinc150.gold, clinc150.predicted, strict=True))
    wanted = scikit_learn(pairs, [report.label for report in reports])
    assert len(reports) == 151
    macro, weighted, micro = intent.averages(clinc150.records)
    for report in reports:
        same(report, wanted[report.label])
    same(macro, wanted["macro avg"])
    same(weighted, wanted["weighted avg"])
    assert micro.precision == micro.recall == micro.f1 == intent.compute(clinc150.records).overall
