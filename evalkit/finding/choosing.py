"""Which of many mentions is a slot's value: whose words stand nearest, and among those the last.

Where several slots are of one type (arrival and departure, the hotel's phone and the restaurant's), each
mention belongs to the slots whose own words, of their name and description, were said nearest before it.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from evalkit.contracts import SlotSpec
from evalkit.finding.literals import any_of
from evalkit.finding.mentions import Mention
from evalkit.finding.said import Said, plain

__all__ = ["Nearness", "Scored", "as_range", "cues", "last_valid", "role_of"]

Scored: TypeAlias = Sequence[tuple[float, Mention]]
"""Mentions with the nearness of a slot's words, in order."""

_FADING = 0.6
_REACH = 8
_CLOSE = 24
_FAR = 400
_MOST = 64
_ENOUGH = 0.75
_UNIT_BONUS = 1.0
_OF_DESCRIPTION = 0.4
_RECENT = 0.1
_SENTENCE = re.compile(r"[^。;；!?！？\n]*")
_FILLER_WORDS = (
    "the a an of for to or and is if it this that which what from with by on number name value date time type id "
    "user customer find"
)
_FILLERS = frozenset(_FILLER_WORDS.split())
_BEGIN = re.compile(r"begin|start|from|check_?in\b|arriv|depart|入住|开始|出发|起始")
_END = re.compile(r"\bend|return|until|check_?out|leav|离店|退房|结束|返回|到达")
_SAID = {
    "begin": ("from", "start", "starting", "从", "自", "入住"),
    "end": ("until", "till", "end", "ending", "through", "离店", "退房"),
}
_ALIKE_WORDS = (
    "adults adult guests guest people person persons party travelers passengers 人 人数 客人 大人 成人",
    "phone mobile cell 电话 手机 号码",
    "price cost 价格 价钱 价位 多少钱",
)
_ALIKE = tuple(frozenset(words.split()) for words in _ALIKE_WORDS)
"""Words of one meaning: a slot named by one of them is meant by all."""


class Nearness:
    """How near the words of a slot stand before a place of the dialog."""

    def __init__(self, texts: Sequence[Said], slots: Iterable[SlotSpec]) -> None:
        """Over everything that was said, in order; a word that several slots of a type share tells less."""
        self._texts = texts
        self._places = {id(text): place for place, text in enumerate(texts)}
        cued = [(slot, cues(slot)) for slot in slots]
        shared = Counter((slot.type, word) for slot, words in cued for word in words)
        self._weights = {
            slot.name: [(word, weight / shared[slot.type, word]) for word, weight in words.items()]
            for slot, words in cued
        }
        self._things = _things(cued)

    def score(self, slot: SlotSpec, mention: Mention) -> float:
        """The sum over the slot's words, each the less the farther from the mention it was said.

        Words of its clause count on both sides, words said before it in the whole dialog. A unit that the
        slot is named by, the 分 of 评分, counts too.
        """
        place = self._places[id(mention.said)]
        words = sum(
            weight * self._word(word, slot, (place, mention)) for word, weight in self._weights[slot.name]
        )
        return words + (_UNIT_BONUS if _unit(mention) in plain(slot.name).text else 0)

    def _word(self, word: str, slot: SlotSpec, at: tuple[int, Mention]) -> float:
        place, mention = at
        text = mention.said.plain
        patterns = self._patterns(word, slot)
        back = max(0, mention.start - _FAR)
        here = _last(patterns, text[back : mention.start])
        behind = _first(patterns, _SENTENCE.match(text, mention.end)[0])  # type: ignore[index] # it matches nothing too
        near = [mention.start - back - here] if here is not None else []
        near += [behind] if behind is not None else []
        if near:
            return 1 + 1 / (1 + min(near) / _CLOSE)
        for back, before in enumerate(reversed(self._texts[max(0, place - _REACH) : place]), start=1):
            if _has(patterns if before.source == "user" else patterns[:1], before.plain):
                return float(_FADING**back)
        return 0.0

    def _patterns(self, word: str, slot: SlotSpec) -> tuple[re.Pattern[str], ...]:
        """How a word is said: itself or, but for a slot that is such a thing, the name of a thing of that kind."""
        return (_cue(word), *(() if slot.values else self._things.get(word, ())))


def _things(cued: Iterable[tuple[SlotSpec, Mapping[str, float]]]) -> dict[str, list[re.Pattern[str]]]:
    """Which values are things of which kind: those of a slot 景点的名称 are each a 景点."""
    found: dict[str, list[re.Pattern[str]]] = {}
    for slot, words in cued:
        for word in words if slot.values and slot.type == "enum" else ():
            found.setdefault(word, []).append(any_of(slot.values))
    return found


def _unit(mention: Mention) -> str:
    """The character that a number is counted in; a mark that is in no name where there is none."""
    tail = mention.said.plain[mention.start : mention.end + 1].lstrip("0123456789.-~到至 ")
    return tail[0] if tail and "\u4e00" <= tail[0] <= "\u9fff" and mention.value[-1:].isdigit() else "\n"


@functools.lru_cache(maxsize=4096)
def _cue(word: str) -> re.Pattern[str]:
    """A word, or one that means the same; what is only near such a thing, 周边酒店, is not meant."""
    alike = next((words for words in _ALIKE if word in words), {word})
    latin = "|".join(re.escape(one) for one in sorted(alike) if one.isascii())
    han = "|".join(re.escape(one) for one in sorted(alike) if not one.isascii())
    both = (
        rf"\b(?:{latin})s?\b" if latin else "",
        rf"(?<!周边)(?<!附近)(?<!周边的)(?<!附近的)(?:{han})" if han else "",
    )
    return re.compile("|".join(part for part in both if part))


def _last(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    """Where the last match of any in a text ends."""
    return max((match.end() for pattern in patterns for match in pattern.finditer(text)), default=None)


@functools.lru_cache(maxsize=1024)
def _has(patterns: tuple[re.Pattern[str], ...], text: str) -> bool:
    """Whether any matches in a text."""
    return any(pattern.search(text) for pattern in patterns)


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    """Where the first match of any in a text begins."""
    return min((match.start() for pattern in patterns if (match := pattern.search(text))), default=None)


def cues(slot: SlotSpec) -> Mapping[str, float]:
    """The words that lead to a slot, with their weights: those of its name, less those of its description."""
    return _cues(slot.name, slot.description or "")


@functools.lru_cache(maxsize=4096)
def _cues(name: str, description: str) -> dict[str, float]:
    named, told = _words(name), _words(description)
    role = role_of(name, description)
    named |= {*_SAID[role]} if role else set()
    weights = dict.fromkeys(sorted(told), _OF_DESCRIPTION) | dict.fromkeys(sorted(named), 1.0)
    spare = [
        word for alike in _ALIKE for word in sorted(alike & weights.keys(), key=weights.__getitem__)[:-1]
    ]
    return {word: weight for word, weight in weights.items() if word not in spare}


def _words(text: str) -> set[str]:
    said = plain(text).text.replace("的", " ").replace("_", " ")
    pieces = re.findall(r"[a-z]+|[\u4e00-\u9fff]+", said)
    return {piece for piece in pieces if piece not in _FILLERS}


def role_of(name: str, description: str | None) -> Literal["begin", "end"] | None:
    """Whether a slot names the begin or the end of something; null where neither or both."""
    text = plain(f"{name} {description or ''}").text
    begins, ends = _BEGIN.search(text), _END.search(text)
    return None if bool(begins) == bool(ends) else "begin" if begins else "end"


def as_range(first: Scored, last: Scored) -> tuple[Mention, Mention] | None:
    """The begin and the end that fit best: the begin is before the end; null where no two do."""
    pairs = (
        (one[0] + other[0] + _RECENT * (place + after), place, after, one[1], other[1])
        for place, one in enumerate(first[-_MOST:])
        for after, other in enumerate(last[-_MOST:])
        if one[1].value < other[1].value
    )
    best = max(pairs, key=lambda pair: pair[:3], default=None)
    return best and best[3:]


def last_valid(found: Scored) -> Mention | None:
    """The mention that stands: the last of those whose score is near the best, but for a later correction."""
    if not found:
        return None
    best = max(score for score, _ in found)
    places = [place for place, (score, _) in enumerate(found) if score >= _ENOUGH * best]
    later = [mention for _, mention in found[places[-1] + 1 :] if mention.correcting]
    return later[-1] if later else found[places[-1]][1]
