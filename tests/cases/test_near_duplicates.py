"""Near-duplicates: the bounded join finds what comparing all pairs finds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.cases import Pair, near_duplicates
from evalkit.cases.near_duplicates import plain


def grams(text: str) -> set[str]:
    folded = plain(text)
    return {folded[i : i + 2] for i in range(len(folded) - 1)} or set(folded)


def all_pairs(texts: list[str], threshold: float) -> list[Pair]:
    """The definition: every text against every earlier one, the same before the merely alike."""
    found = []
    sets = [grams(text) for text in texts]
    for place, mine in enumerate(sets):
        index = [len(mine & other) / len(mine | other) if mine | other else 0.0 for other in sets[:place]]
        alike = [other for other, value in enumerate(index) if value >= threshold and value > 0]
        if alike:
            first = next((other for other in alike if index[other] == 1), alike[0])
            found.append(Pair(first, place, index[first]))
    return found


@st.composite
def variants(draw: st.DrawFn) -> list[str]:
    """A text and copies of it with a few characters changed, among others."""
    base = draw(st.text("abcdefghijklmnop", max_size=120))
    texts = []
    for _ in range(draw(st.integers(2, 6))):
        chars = list(base)
        for _ in range(draw(st.integers(0, 6))):
            if chars:
                chars[draw(st.integers(0, len(chars) - 1))] = draw(st.sampled_from("abcxyz"))
        texts.append("".join(chars))
    return texts


@given(
    st.lists(st.text("abc", max_size=12), max_size=12) | variants(), st.sampled_from([0.5, 0.7, 0.85, 1.0])
)
def test_the_join_finds_what_all_pairs_find(texts: list[str], threshold: float) -> None:
    assert near_duplicates(texts, threshold=threshold) == all_pairs(texts, threshold)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ＡＢＣ　１２３", "abc123"),
        ("能退吗？！", "能退吗"),
        ("能\u200b退\ufeff吗", "能退吗"),
        ("Straße", "strasse"),
        ("￥3,999 元～", "3999元"),
        ("？…—", ""),
        ("e\u0301", "é"),
    ],
    ids=ascii,
)
def test_texts_are_compared_without_what_does_not_change_their_sense(text: str, folded: str) -> None:
    assert plain(text) == folded


def test_the_index_is_that_of_jaccard() -> None:
    """Of 7 + 7 bigrams 6 are shared: 6 / 8."""
    assert near_duplicates(["abcdefgh", "abcdefgx"], threshold=0.75) == [Pair(0, 1, 0.75)]
    assert near_duplicates(["abcdefgh", "abcdefgx"], threshold=0.76) == []


@pytest.mark.parametrize("bigrams", [20, 40, 60, 100])
@pytest.mark.parametrize("percent", [55, 60, 75, 85, 95])
def test_a_pair_at_the_very_threshold_is_found(bigrams: int, percent: int) -> None:
    """The second text is the beginning of the first: so many of its bigrams, and no other."""
    chars = "".join(chr(0x4E00 + place) for place in range(bigrams + 1))
    part = chars[: bigrams * percent // 100 + 1]
    assert near_duplicates([chars, part], threshold=percent / 100) == [Pair(0, 1, percent / 100)]
    assert near_duplicates([chars, part[:-1]], threshold=percent / 100) == []


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["？", "！"], ["退", "换"]], ids=str)
def test_nothing_is_like_nothing(texts: list[str]) -> None:
    assert near_duplicates(texts) == []


def test_one_character_is_like_itself() -> None:
    assert near_duplicates(["退", "换", "退？"]) == [Pair(0, 2, 1.0)]


def test_ten_thousand_times_the_same_is_quick() -> None:
    start = time.process_time()
    pairs = near_duplicates(["买了两周的耳机能退吗"] * 10_000)
    assert len(pairs) == 9_999
    assert {pair.first for pair in pairs} == {0}
    assert time.process_time() - start < 30


def test_texts_of_one_template_cost_bounded_work() -> None:
    start = time.process_time()
    near_duplicates(
        [f"你好我想问一下我上周在你们店里买的手机订单号是{n * 7919:08d}现在到哪里了" for n in range(3_000)]
    )
    assert time.process_time() - start < 20
