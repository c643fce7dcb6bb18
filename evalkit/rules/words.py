"""Words in a text, as people read them: whatever their width, case and spacing, and not where they are denied."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

__all__ = ["NORMALIZERS", "Normalizer", "fold", "negated", "spans"]

Normalizer: TypeAlias = Literal["nfkc_casefold", "exact"]

_CJK = r"[\u2e80-\u9fff\uf900-\ufaff]"
_SPACE_BESIDE_CJK = re.compile(rf"(?<={_CJK})\s+|\s+(?={_CJK})")
_LIST_COMMA = re.compile(r"(?<!\d),|,(?!\d)")
_GROUP = re.compile(r"\d{3}(?!\d)")
_WINDOW = 16
_QUOTES = r"[\"'“‘「『《〈(\[【]*"
_CHINESE = (
    r"(?:(?<![要])不|(?<![淹沉出埋])没有?|并?(?<![除莫])非|毫?无|未|(?<![特分区个性级类识辨差告])别|勿)"
    r"(?:是|要|能够?|会|可以?|用|必|需要?|想|再|应该?|该|许|准|得|支持|提供|属于|算)?(?:很|太|指|说)?"
)
_ENGLISH = r"(?:\b(?:not|no|never|without|cannot)|n['’]t)\s(?:(?:an?|the|any|be|support|offer)\s)?|\bnon-"
_DENIAL = re.compile(rf"(?:{_CHINESE}|{_ENGLISH}){_QUOTES}$")


def fold(text: str) -> str:
    """The text in compatibility form, without case, invisible characters, and spaces beside Chinese ones.

    All commas become `，` but those between digits, so that 88，100 is two numbers and 88,100 is one.
    """
    plain = "，".join(_caseless(part) for part in text.split("，"))
    if not plain.isascii():
        plain = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return _SPACE_BESIDE_CJK.sub("", _LIST_COMMA.sub("，", plain))


def _caseless(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _as_it_is(text: str) -> str:
    return text


NORMALIZERS: dict[Normalizer, Callable[[str], str]] = {"nfkc_casefold": fold, "exact": _as_it_is}
"""How texts are made alike before they are compared."""


def spans(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the word stands in the text, both normalised, as [start, end).

    Where it begins or ends in a digit it stands for a whole number: it is no part of a longer one, nor of a
    decimal (`13` is not in `13.5`, nor `500` in `1,500`).
    """
    before = r"(?<!\d)(?<!\d[.])" if word[:1].isdigit() else ""
    before += r"(?<!\d,)" if _GROUP.match(word) else ""
    after = r"(?!\d|\.\d|,\d{3}(?!\d))" if word[-1:].isdigit() else ""
    for match in re.finditer(before + re.escape(word) + after, text):
        yield match.span()


def negated(text: str, start: int) -> bool:
    """Whether what begins at `start` is denied by the words right before it: 不是红色, 不支持退货, not red.

    Two denials cancel each other, and a question of the form 是不是 denies nothing.
    """
    denials, end = 0, start
    while match := _DENIAL.search(text, max(0, end - _WINDOW), end):
        if _asks(text, match.start()):
            break
        denials, end = denials + 1, match.start()
    return denials % 2 == 1


def _asks(text: str, place: int) -> bool:
    """Whether the denial at that place is the middle of a question: 是不是, 有没有, 能不能."""
    return 0 < place < len(text) - 1 and text[place - 1] == text[place + 1]
