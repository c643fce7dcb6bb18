"""Material that is too long: refused, or judged by its beginning and end with a mark that says so; never cut in silence."""

from __future__ import annotations

from evalkit.contracts import Question

__all__ = ["fitted"]

_GAP = "\n……（此处省略 {cut} 个字符）……\n"
_GAP_CHARS = 40


def fitted(question: Question, most: int, *, overflow: str) -> Question | None:
    """The question with at most `most` characters of material.

    Where it has more: null, or with `overflow` `head_tail` the longest texts cut in their middles.
    """
    sizes = {role: len(text) for role, text in question.material.items()}
    if sum(sizes.values()) <= most:
        return question
    if overflow != "head_tail":
        return None
    level = _level(list(sizes.values()), most)
    return question.model_copy(
        update={"material": {role: _cut(text, level) for role, text in question.material.items()}}
    )


def _level(sizes: list[int], most: int) -> int:
    """The length to cut each longer text to, so that all together fit: short ones stay whole."""
    left, level = most, 0
    for place, size in enumerate(sorted(sizes)):
        level = left // (len(sizes) - place)
        if size > level:
            break
        left -= size
    return level


def _cut(text: str, level: int) -> str:
    if len(text) <= level:
        return text
    keep = max(level - _GAP_CHARS, 0)
    head, tail = (keep + 1) // 2, keep // 2
    return text[:head] + _GAP.format(cut=len(text) - keep) + text[len(text) - tail :]
