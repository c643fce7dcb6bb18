"""Which of many mentions is a slot's value: whose words stand nearest, and among those the last.

Where several slots are of one type (arrival and departure, the hotel's phone and the restaurant's), each
mention belongs to the slots whose own words, of their name and description, were said nearest before it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from evalkit.contracts import SlotSpec
from evalkit.finding.mentions import Mention
from evalkit.finding.said import Said, plain

__all__ = ["Nearness", "cues", "last_valid"]

_FADING = 0.6
_REACH = 8
_CLOSE = 24
_ENOUGH = 0.75
_FILLERS = frozenset(
    "the a an of for to or and is if it this that which what from with by on number name value date time type id user customer 的 是".split()
)
_OPPOSITES = (
    (frozenset("begin start from in arrival checkin depart departure 入住 开始 出发 起始 从".split()), frozenset("from start starting beginning 从 自 入住 开始 出发".split())),
    (frozenset("end out return until checkout leaving 离店 退房 结束 返回 到达".split()), frozenset("to until till through end ending out 到 至 离店 退房 结束 返回".split())),
)  # fmt: skip


class Nearness:
    """How near the words of a slot stand before a place of the dialog."""

    def __init__(self, texts: Sequence[Said]) -> None:
        """Over everything that was said, in order."""
        self._texts = texts
        self._places = {id(text): place for place, text in enumerate(texts)}

    def score(self, slot: SlotSpec, mention: Mention) -> float:
        """The sum over the slot's words, each the less the farther before the mention it was last said."""
        place = self._places[id(mention.said)]
        return sum(self._word(word, place, mention) for word in cues(slot))

    def _word(self, word: str, place: int, mention: Mention) -> float:
        here = _last(word, mention.said.plain[: mention.start])
        if here is not None:
            return 1 + 1 / (1 + (mention.start - here) / _CLOSE)
        for back, text in enumerate(reversed(self._texts[max(0, place - _REACH) : place]), start=1):
            if _last(word, text.plain) is not None:
                return float(_FADING**back)
        after = mention.said.plain[mention.end : mention.end + _CLOSE // 2]
        return 0.5 if _last(word, after) is not None else 0.0


@functools.lru_cache(maxsize=4096)
def _cue(word: str) -> re.Pattern[str]:
    edge = r"\b" if word.isascii() else ""
    plural = "s?" if word.isascii() else ""
    return re.compile(edge + re.escape(word) + plural + edge)


@functools.lru_cache(maxsize=16384)
def _last(word: str, text: str) -> int | None:
    """Where the last such word of a text ends."""
    found = None
    for match in _cue(word).finditer(text):
        found = match.end()
    return found


def cues(slot: SlotSpec) -> tuple[str, ...]:
    """The words that lead to a slot: those of its name and description, and of begin and end."""
    return _cues(slot.name, slot.description or "")


@functools.lru_cache(maxsize=4096)
def _cues(name: str, description: str) -> tuple[str, ...]:
    pieces = re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]+", plain(f"{name} {description}").text.replace("的", " ").replace("_", " "))
    words = {piece for piece in pieces if piece not in _FILLERS and not piece.isdigit()}
    for names, said in _OPPOSITES:
        if words & names or any(len(one) > 1 and one in piece for one in names for piece in pieces if not piece.isascii()):
            words |= said
    return tuple(sorted(words))


def last_valid(found: Sequence[tuple[float, Mention]]) -> Mention | None:
    """The mention that stands: the last correction, else the last of those whose score is near the best."""
    if not found:
        return None
    best = max(score for score, _ in found)
    near = [mention for score, mention in found if score >= _ENOUGH * best]
    return near[-1]
