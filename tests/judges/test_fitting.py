"""Material is whole, or refused, or cut where everybody can see it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Question
from evalkit.judges.fitting import fitted


def question(*texts: str) -> Question:
    return Question(name="q", task="t", material={str(place): text for place, text in enumerate(texts)})


@given(st.lists(st.text(max_size=400), max_size=5), st.integers(300, 600))
def test_what_is_cut_fits_and_what_fits_is_whole(texts: list[str], most: int) -> None:
    whole = question(*texts)
    cut = fitted(whole, most, overflow="head_tail")
    assert cut is not None
    assert sum(map(len, cut.material.values())) <= most
    assert (cut == whole) == (sum(map(len, texts)) <= most)
    assert (fitted(whole, most, overflow="error") is None) == (cut != whole)


def test_short_texts_stay_whole_and_long_ones_keep_both_ends() -> None:
    cut = fitted(question("短", "甲" + "乙" * 5000 + "丙"), 500, overflow="head_tail")
    assert cut is not None
    assert cut.material["0"] == "短"
    long = cut.material["1"]
    assert (long[0], long[-1]) == ("甲", "丙")
    assert "此处省略" in long
