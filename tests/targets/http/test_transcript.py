"""Texts put together in each mode, with thoughts between tags, however the pieces are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.targets.http.transcript import Transcript


def said(*pieces: tuple[str, str], tags: bool = False) -> Transcript:
    """The transcript after texts in their modes, one a second."""
    transcript = Transcript(think_tags=tags)
    for at, (mode, text) in enumerate(pieces):
        transcript.say(text, float(at), mode)  # type: ignore[arg-type]
    transcript.end(99.0)
    return transcript


@pytest.mark.parametrize(
    ("pieces", "text", "texts_at", "flags"),
    [
        pytest.param([("append", ""), ("append", "哈"), ("append", "哈")], "哈哈", [1, 2], [], id="append"),
        pytest.param([("cumulative", "可"), ("cumulative", "可以")], "可以", [0, 1], [], id="cumulative"),
        pytest.param(
            [("cumulative", "可"), ("cumulative", "可")], "可", [0], [], id="cumulative-nothing-new"
        ),
        pytest.param(
            [("cumulative", "可"), ("cumulative", "不行")], "不行", [0, 1], ["rewritten"], id="rewritten"
        ),
        pytest.param([("append", "坏"), ("replace", "好")], "好", [0, 1], [], id="replace"),
        pytest.param(
            [("append", "可"), ("append", "以"), ("final_repeat", "可以")], "可以", [0, 1], [], id="repeat"
        ),
        pytest.param([("final_repeat", "可以")], "可以", [0], [], id="repeat-of-nothing-is-the-text"),
        pytest.param([("append", "可"), ("final_repeat", "不")], "可", [0], ["final_differs"], id="differs"),
        pytest.param([("append", "\ud83d"), ("append", "\ude00")], "😀", [0, 1], [], id="half-a-pair-each"),
    ],
)
def test_modes(pieces: list[tuple[str, str]], text: str, texts_at: list[float], flags: list[str]) -> None:
    transcript = said(*pieces)
    assert (transcript.text, transcript.texts_at, transcript.flags) == (text, texts_at, flags)


def test_a_reset_drops_what_was_said_since_the_mark() -> None:
    transcript = said(("append", "一"))
    transcript.mark()
    transcript.say("二", 1, "append")
    transcript.reset()
    transcript.say("三", 2, "append")
    assert transcript.text == "一三"
    assert transcript.texts_at == [0, 1, 2], "what the user saw was seen"


WHOLE = "<think>想<一>想</thin</think>\n\n可以 <b>退</b>。"


@given(st.lists(st.integers(0, len(WHOLE)), max_size=8), st.sampled_from(["append", "cumulative"]))
def test_tags_cut_anywhere_part_thoughts_from_text(cuts: list[int], mode: str) -> None:
    ends = sorted({*cuts, len(WHOLE)})
    starts = [0, *ends[:-1]] if mode == "append" else [0] * len(ends)
    transcript = said(*((mode, WHOLE[start:end]) for start, end in zip(starts, ends, strict=True)), tags=True)
    assert (transcript.text, transcript.thinking) == ("可以 <b>退</b>。", "想<一>想</thin")


def test_what_might_have_been_a_tag_is_text_at_the_end() -> None:
    assert said(("append", "a <thi"), tags=True).text == "a <thi"


@given(st.lists(st.text(alphabet="<>think/ab", max_size=6), max_size=8))
def test_without_tags_every_piece_is_text(pieces: list[str]) -> None:
    assert said(*(("append", piece) for piece in pieces)).text == "".join(pieces)
