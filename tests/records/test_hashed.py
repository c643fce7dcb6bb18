"""Texts by their hashes: what stands twice is found, whatever the pieces and however few are sorted at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.records.hashed import Hashed

PIECES = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "Ａ", "é", "e\u0301", "", "c"]), st.booleans()), max_size=6
    ),
    max_size=5,
)


def test_nothing_stands_twice_in_nothing() -> None:
    assert len(Hashed().twice()) == 0


@given(PIECES, st.integers(1, 4))
def test_what_stands_twice_is_found_with_its_places_and_marks(
    pieces: list[list[tuple[str, bool]]], at_once: int
) -> None:
    hashed = Hashed(at_once=at_once)
    for piece in pieces:
        hashed.add([text for text, _ in piece], np.array([mark for _, mark in piece], dtype=np.bool_))
    every = [each for piece in pieces for each in piece]
    counts = Counter(text for text, _ in every)
    rows, marks = hashed.of(hashed.twice())
    wanted = [(row, mark) for row, (text, mark) in enumerate(every) if counts[text] > 1]
    assert [*zip(rows.tolist(), marks.tolist(), strict=True)] == wanted
    assert len(hashed) == len(every)


@pytest.mark.parametrize("at_once", [100, 1 << 20])
def test_many_are_told_apart_on_file(at_once: int) -> None:
    hashed = Hashed(at_once=at_once)
    for start in range(0, 5_000, 500):
        hashed.add([f"case-{number}" for number in range(start, start + 500)])
    assert len(hashed.twice()) == 0
    hashed.add(["case-17", "case-4999"])
    assert hashed.of(hashed.twice())[0].tolist() == [17, 4_999, 5_000, 5_001]
