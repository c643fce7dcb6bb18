"""Does the reply say what it must, and nothing that it must not? Literally, without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from evalkit.contracts import Case, Turn, Verdict
from evalkit.errors import UsageError
from evalkit.finding.denial import negated
from evalkit.finding.regexes import compiled, searchable
from evalkit.rules.params import Ratio, Words, reaches
from evalkit.rules.scope import ReplyScope, over_replies
from evalkit.rules.words import NORMALIZERS, Normalizer, spans

__all__ = ["keyword_match"]

_RULE = "keyword_match"
_Way = Callable[[str], Iterator[tuple[int, int]]]
_Mention = Literal["said", "negated", "absent"]


class _Wanted(NamedTuple):
    """A keyword: its name in the detail, and the ways of saying it."""

    name: str
    ways: tuple[_Way, ...]


def keyword_match(
    _case: Case,
    dialog: Sequence[Turn],
    *,
    keywords: Words = (),
    min_match_ratio: Ratio = 1.0,
    forbidden: Words = (),
    regex: bool = False,
    negation: bool = True,
    normalizer: Normalizer = "nfkc_casefold",
    evaluation_scope: ReplyScope = "last_turn",
) -> Verdict:
    """Share of the keywords that the reply says; it passes from `min_match_ratio` on, without a forbidden one.

    Keywords are literal, whatever width and case (`normalizer` nfkc_casefold; `exact` takes them as they are),
    and count once however often they are given. A list among them holds alternatives. A keyword that begins
    or ends in a digit stands for a whole number. What is denied (不是红色) is not said, unless `negation` is
    off. With `regex` keywords are RE2 patterns for the text as it is. The score is 0 where a forbidden word is
    said; without keywords it is 1 where none is. Neither: undecided. Source: mission, rule `keyword_match`.
    """
    normal = NORMALIZERS["exact" if regex else normalizer]
    wanted, banned = (_each(words, regex=regex, normal=normal) for words in (keywords, forbidden))

    def check(reply: str) -> Verdict:
        text = searchable(reply) if regex else normal(reply)
        said = {word.name: _mention(word, text, negation=negation) for word in wanted}
        bad = [word.name for word in banned if _mention(word, text, negation=negation) == "said"]
        return _verdict(said, bad, min_match_ratio, evaluation_scope)

    if not wanted and not banned:
        reason = "there is no keyword to look for"
        return Verdict(rule=_RULE, passed=None, reason=reason, scope=evaluation_scope)
    return over_replies(dialog, evaluation_scope, check, rule=_RULE)


def _each(words: Words, *, regex: bool, normal: Callable[[str], str]) -> list[_Wanted]:
    """The keywords, each once: those that come to the same are one."""
    found: dict[frozenset[str], _Wanted] = {}
    for word in words:
        texts = (word,) if isinstance(word, str) else tuple(word)
        plain = [text if regex else normal(text).strip() for text in texts]
        if not all(plain):
            raise UsageError(f"keyword_match: found the keyword {word!r}, wanted one that is not empty.")
        ways = tuple(_pattern(text) if regex else _literal(text) for text in plain)
        found.setdefault(frozenset(plain), _Wanted("|".join(texts), ways))
    return list(found.values())


def _literal(word: str) -> _Way:
    return lambda text: spans(word, text)


def _pattern(pattern: str) -> _Way:
    search = compiled(pattern)
    return lambda text: (match.span() for match in search.finditer(text) if match.span()[0] < match.span()[1])


def _mention(word: _Wanted, text: str, *, negation: bool) -> _Mention:
    found = False
    for way in word.ways:
        for start, _ in way(text):
            if not (negation and negated(text, start)):
                return "said"
            found = True
    return "negated" if found else "absent"


def _verdict(said: dict[str, _Mention], bad: list[str], ratio: float, scope: ReplyScope) -> Verdict:
    matched = [name for name, how in said.items() if how == "said"]
    missing = [name for name, how in said.items() if how != "said"]
    share = len(matched) / len(said) if said else None
    enough = share is None or reaches(share, ratio)
    return Verdict(
        rule=_RULE,
        passed=enough and not bad,
        score=0.0 if bad else 1.0 if share is None else share,
        reason=_reason(missing, bad, len(said)),
        scope=scope,
        detail={
            "matched": [*matched],
            "missing": [*missing],
            "negated": [name for name in missing if said[name] == "negated"],
            "forbidden": [*bad],
            "match_ratio": share,
        },
    )


def _reason(missing: list[str], bad: list[str], n: int) -> str:
    said = [f"says the forbidden {', '.join(bad)}"] if bad else []
    lacks = [f"lacks {len(missing)} of {n}: {', '.join(missing)}"] if missing else []
    return "; ".join(said + lacks) or "says all that it must"
