"""Text metrics: golden values, sacrebleu and rouge-score bit by bit, the row form, hostile texts."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from evalkit import EvalRecord
from evalkit.engines.local import local
from evalkit.errors import UnknownName, UsageError
from evalkit.metrics import text
from evalkit.metrics.text.ngrams import overlap
from evalkit.metrics.text.tokens import Tokenizer, Tokens
from evalkit.registry import Spec

GOLDEN = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "golden" / "text.jsonl").read_text(encoding="utf-8").splitlines()
]
BLEU_ZH = BLEU(tokenize="zh", effective_order=True)
CHRF2 = CHRF()

ODD = (
    "退货可以七天，。？“”…  \u3000\t\n\r\x1c\x85\xa0\u2028\u200b\ufeff"  # Chinese and white space
    "abcABC12.,-'&$%/éİßﬁ①"  # Latin, signs that the tokenizers cut at
    "e\u0301ก่าคืक्षिهل가각ｶﾞＡ１"  # marks, scripts, widths
    "👍🏽👩\u200d👩\u200d👧❤\ufe0f\U00020000\U0002f800\U000e0041\uffff\U0010ffff"  # astral, joined, unassigned
)
words = st.sampled_from(("退货", "7天", "U.S.", "1,000.5", "a-b", "3-4", "don't", "....", "，", " ", "👍"))
texts = (
    st.text(st.sampled_from(ODD), max_size=25)
    | st.text(max_size=25)
    | st.lists(words, max_size=12).map("".join)
)
pairs_of_texts = st.lists(st.tuples(texts, texts) | texts.map(lambda one: (one, one)), max_size=8)


def scorer(cut: Callable[[str], Sequence[str]]) -> RougeScorer:
    """rouge-score with a tokenizer of ours."""
    return RougeScorer(["rougeL"], tokenizer=type("Cut", (), {"tokenize": staticmethod(cut)})())


def characters(value: str) -> list[str]:
    return list("".join(value.split()))


def mixed(value: str) -> list[str]:
    """The mixed tokens of one text, said in another way: by one regular expression over the categories."""
    unspaced = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
    unspaced += "\U00020000-\U0003ffff"
    kept = "".join(
        f" {char} " if unicodedata.category(char) == "So" or re.match(f"[{unspaced}]", char) else char
        for char in (
            "." if unicodedata.category(c)[0] not in "LMN" and unicodedata.category(c) != "So" else c
            for c in value.lower()
        )
    )
    return kept.replace(".", " ").split()


def near(found: Sequence[float], wanted: Sequence[float]) -> None:
    """Equal, NaN to NaN, as far as the last digits of a float tell."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12, equal_nan=True)


def check_against_peers(pairs: Sequence[tuple[str, str]]) -> None:
    """Each measure is what the reference tool gives; NaN exactly where the reference has no token."""

    def theirs(score: Callable[[str, str], float], cut: Callable[[str], Sequence[str]]) -> list[float]:
        return [score(answer, wanted) if cut(wanted) else math.nan for answer, wanted in pairs]

    near(text.chrf(pairs), theirs(lambda a, b: CHRF2.sentence_score(a, [b]).score / 100, characters))
    near(text.bleu_zh(pairs), theirs(lambda a, b: BLEU_ZH.sentence_score(a, [b]).score / 100, characters))
    for tokenizer, cut in ((text.CHAR, characters), (text.MIXED, mixed)):
        peer = scorer(cut)
        wanted = theirs(lambda a, b, peer=peer: peer.score(b, a)["rougeL"].fmeasure, cut)
        near(text.rouge_l(pairs, tokenizer=tokenizer), wanted)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    record = EvalRecord(sample_id="1", response=case["response"], reference=case["reference"])
    results = [*text.compute([record]), *text.compute([record], measures=["rouge_l"], tokenizer="char")]
    found = {result.name: result.per_sample["1"] for result in results}
    wanted = {
        name: score if score is None else pytest.approx(score, abs=5e-5)
        for name, score in case["scores"].items()
    }
    assert {name: found[name] for name in wanted} == wanted, case["source"]


@given(pairs_of_texts)
def test_equal_to_the_reference_tools_on_any_text(pairs: list[tuple[str, str]]) -> None:
    check_against_peers(pairs)


@given(st.lists(texts, min_size=1, max_size=6))
def test_chinese_tokens_are_sacrebleu_s(values: list[str]) -> None:
    """The same tokens in the same places: equal tokens have equal codes, others have others."""
    wanted = [TokenizerZh()(value.rstrip()).split() for value in values]
    found = text.CHINESE(values).lists()
    assert [len(each) for each in found] == [len(each) for each in wanted]
    meant = set(zip(chain.from_iterable(found), chain.from_iterable(wanted), strict=True))
    assert len(meant) == len({code for code, _ in meant}) == len({token for _, token in meant})


def test_every_character_is_cut_as_sacrebleu_cuts_it() -> None:
    """Alone between letters or not, nothing or something: for each code point of the first plane, some beyond."""
    points = [*range(0xD800), *range(0xE000, 0x10000), *range(0x1F300, 0x1F700), 0x20000, 0x2A6D6, 0x2F800]
    values = [f"a{chr(point)}b" for point in points]
    cut = TokenizerZh()
    assert [len(cut(value).split()) for value in values] == text.CHINESE(values).sizes.tolist()


def test_mixed_tokens_of_ascii_are_those_of_rouge_1_5_5(shared: Path) -> None:
    """The published values of its Perl script, on random English."""
    folder = shared / "data" / "rouge"
    values = json.loads((folder / "EXPECTED.json").read_text(encoding="utf-8"))["values"]["rougeL"]
    sides = [
        (folder / name).read_text(encoding="utf-8").splitlines() for name in ("prediction.txt", "target.txt")
    ]
    found = text.rouge_l(list(zip(*sides, strict=True)), tokenizer=text.MIXED)
    assert found.tolist() == pytest.approx([f1 for _, _, f1 in values], abs=5e-6)


def test_real_answers(shared: Path) -> None:
    """Chinese answers of two models to the same questions, English answers with their gold."""
    check_against_peers([*two_models(shared), *gold_answers(shared)])


def two_models(shared: Path) -> list[tuple[str, str]]:
    said: list[dict[int, str]] = []
    for model in ("qwen-plus", "qwen3-max"):
        folder = shared / "data" / "evalscope_iquiz" / model / "predictions" / model
        lines = (folder / "iquiz_EQ.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        said.append({row["index"]: row["model_output"]["choices"][0]["message"]["content"] for row in rows})
    both = sorted(set(said[0]) & set(said[1]))
    assert len(both) == 10
    return [(said[0][index][:600], said[1][index][:600]) for index in both]


def gold_answers(shared: Path) -> list[tuple[str, str]]:
    path = shared / "data" / "continuous_eval" / "tests" / "data" / "correctness_sm.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["answer"], gold) for row in rows for gold in row["ground_truths"]]


@settings(max_examples=20)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6), st.integers(100, 400))
def test_batches_do_not_show(pairs: list[tuple[str, str]], times: int) -> None:
    """A pair's value is the same alone and among thousands of characters of others."""
    many = pairs * times
    for measure in (text.chrf, text.bleu_zh):
        alone = [measure([pair])[0] for pair in pairs]
        np.testing.assert_array_equal(measure(many), alone * times)


def test_long_texts() -> None:
    """A pair that is longer than a batch, of which every character is another."""
    first = "".join(map(chr, range(0x4E00, 0x9F00)))
    assert text.chrf([(first, first)]).tolist() == [1.0]
    assert text.bleu_zh([(first, first[::-1])])[0] == pytest.approx(
        BLEU_ZH.sentence_score(first, [first[::-1]]).score / 100, abs=1e-12
    )
    assert text.rouge_l([(first, first[::2])], tokenizer=text.MIXED)[0] == pytest.approx(2 / 3, abs=1e-4)


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=2, max_size=6).filter(
        lambda all_: len(all_) % 2 == 0
    )
)
def test_counts_do_not_depend_on_the_size_of_codes(lists: list[list[int]]) -> None:
    """Codes too large to be sorted as one number with their place give the counts of small ones."""
    sizes = np.array([len(each) for each in lists])
    codes = np.array(list(chain.from_iterable(lists)), dtype=np.int64)
    small, large = overlap(Tokens(codes, sizes), 4), overlap(Tokens(codes * 2**54, sizes), 4)
    np.testing.assert_array_equal(small.both, large.both)


def plain(value: str) -> str:
    folded = unicodedata.normalize("NFKC", value).casefold()
    return unicodedata.normalize("NFKC", folded).strip()


def distance(first: str, second: str) -> int:
    """Levenshtein's distance by its definition."""
    row = list(range(len(second) + 1))
    for i, char in enumerate(first, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(second, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (char != other))
    return row[-1]


def row_of(score: Callable[[str, str], float]) -> Callable[[EvalRecord], float | None]:
    def row(record: EvalRecord) -> float | None:
        told = record.answer_status == "ok" and record.response is not None
        if not told or not (record.reference or "").strip():
            return None
        value = score(record.response or "", record.reference or "")
        return None if math.isnan(value) else value

    return row


def similarity(answer: str, wanted: str) -> float:
    first, second = plain(answer), plain(wanted)
    return 1 - distance(first, second) / max(len(first), len(second))


ROWS = {
    "exact_match": row_of(lambda answer, wanted: float(plain(answer) == plain(wanted))),
    "contains_reference": row_of(lambda answer, wanted: float(plain(wanted) in plain(answer))),
    "edit_similarity": row_of(similarity),
    "rouge_l_mixed": row_of(lambda *pair: float(text.rouge_l([pair], tokenizer=text.MIXED)[0])),
    "chrf": row_of(lambda *pair: float(text.chrf([pair])[0])),
    "bleu_zh": row_of(lambda *pair: float(text.bleu_zh([pair])[0])),
}
runs = st.lists(
    st.fixed_dictionaries(
        {
            "intent_l1": st.sampled_from((None, "SUPPORT")),
            "intent_l2": st.sampled_from((None, "S1", "S2")),
            "response": st.none() | texts,
            "reference": st.none() | texts,
            "answer_status": st.sampled_from(("ok", "ok", "ok", "error", "incomplete", "skipped")),
        }
    ),
    max_size=6,
).map(lambda rows: [EvalRecord(sample_id=str(place), **row) for place, row in enumerate(rows)])


@given(runs)
def test_row_form(agree: Callable[..., None], records: list[EvalRecord]) -> None:
    agree(text.compute(records), records, ROWS)


def test_normalizers() -> None:
    """What each makes alike: composed forms, width and case, nothing."""
    records = [
        EvalRecord(sample_id=str(place), response=response, reference=reference)
        for place, (response, reference) in enumerate(
            [("é", "e\u0301"), ("Ａ", "a"), ("a ", "a"), ("a", "a"), ("S14\u200b", "S14")]
        )
    ]
    found = {
        name: list(text.compute(records, measures=["exact_match"], normalizer=name)[0].per_sample.values())
        for name in ("none", "nfc", "nfkc_casefold")
    }
    assert found == {
        "none": [0, 0, 0, 1, 0],
        "nfc": [1, 0, 0, 1, 0],
        "nfkc_casefold": [1, 1, 1, 1, 0],
    }


def test_what_was_set_is_told() -> None:
    record = EvalRecord(sample_id="1", response="可以", reference="可以")
    params = {"measures": ["rouge_l"], "tokenizer": "char", "normalizer": "nfc"}
    (result,) = local([record], metrics=[Spec("text", params)])
    assert (result.name, result.is_rate) == ("rouge_l_char", False)
    assert result.params == 'measures=["rouge_l"],normalizer="nfc",tokenizer="char"'
    assert local([record], metrics=[Spec("text", {"measures": []})]) == []


@pytest.mark.parametrize(
    ("params", "error", "told"),
    [
        ({"measures": ["rougeL"]}, UnknownName, "rouge_l"),
        ({"measures": [["chrf"]]}, UnknownName, "chrf"),
        ({"measures": ["chrf", "chrf"]}, UsageError, "each name once"),
        ({"tokenizer": "jieba"}, UsageError, "mixed or char"),
        ({"normalizer": "lower"}, UsageError, "none or nfc or nfkc_casefold"),
    ],
)
def test_settings_that_mean_nothing(params: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=re.escape(told)):
        local([EvalRecord(sample_id="1")], metrics=[Spec("text", params)])


def test_a_tokenizer_asks_about_a_character_once() -> None:
    asked: list[str] = []
    tokenizer = Tokenizer(lambda char: asked.append(char) or 1)  # type: ignore[func-returns-value]
    tokenizer(["退货", "退"])
    tokenizer(["货"])
    assert sorted(asked) == sorted(set("退货\n"))


def test_no_pair_no_value() -> None:
    for measure in (text.chrf, text.bleu_zh, text.edit_similarity):
        assert measure([]).tolist() == []
    assert [result.overall for result in text.compute([])] == [None] * len(text.MEASURES)
