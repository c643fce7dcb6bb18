"""What is denied, taken back or only asked: a value in such a place is mentioned, not given."""

from __future__ import annotations

import re

__all__ = ["affirms", "asks", "confirms", "corrects", "negated", "taken_back"]

_WINDOW = 20
_NEAR = 16
_QUOTES = r"[\"'“‘「『《〈(\[【\s]*"
_CHINESE = (
    r"(?:(?<![要])不|(?<![淹沉出埋])没有?|并?(?<![除莫])非|毫?无|未|(?<![特分区个性级类识辨差告])别|勿|除了|而非)"
    r"(?:是|要|能够?|会|可以?|用|必|需要?|想要?|再|应该?|该|许|准|得|支持|提供|属于|算|喜欢|爱|选|去|在|叫|姓|寄到?|送到?|发到?|约|住)?"
    r"(?:很|太|指|说|我的?|这个|那个)?"
)
_ENGLISH = (
    r"(?:\b(?:not|no|never|without|cannot|except|rather than|instead of)|n['’]t)\s"
    r"(?:(?:want|need|like|for|in|on|at|to|is|be|support|offer|an?|the|any)\s){0,3}|\bnon-"
)
_DENIAL = re.compile(rf"(?:{_CHINESE}|{_ENGLISH}){_QUOTES}$")
_CORRECTION = re.compile(
    r"不对|不是|错了|弄错|搞错|记错|写错|说错|口误|更正|纠正|改(?:成|为|到|约|一下|下)|换(?:成|到|个|为)|换了|应该是|算了"
    r"|\bactually\b|\bi mean\b|\bi meant\b|\bsorry\b|\bcorrection\b|\bwait\b|\binstead\b|\bchange (?:it|that)\b|\bmake (?:it|that)\b|\bnot\b|^no\b"
)
_TAKEN_BACK = re.compile(
    r"^[^。！？!?\n，,]{0,6}[，,、。.\s…—-]*(?:哦|啊|呃|嗯|哎|哎呀|等等|等一下)?[，,、\s]*"
    r"(?:不对|不是(?![吗吧])|错了|弄错了|说错了|记错了|写错了|口误|算了|更正|(?:oh )?(?:no|wait|sorry)\b[ ,]+(?:wait|sorry|i mean|actually|that'?s wrong|it'?s|make)|i mean\b|actually\b)"
)
_AFFIRMATION = re.compile(
    r"^\W*(?:嗯|恩|是的?(?!不)|对|没错|好|可以|行|确认|正确|确定|ok|okay|yes|yeah|yep|yup|sure|correct|right|that'?s right|great|perfect|sounds good)(?!吗|不)"
)
_CONFIRMATION = re.compile(
    r"[您你]的|确认|核对|登记|预约|改[为成到]|收到|记[下录]|\byour?\b|\bconfirm|\bbook|\bso\b|\bgot\b|\bchanged\b"
)
_ENDS = re.compile(r"[。！？!?\n；;]")
_CHOICE = re.compile(r"还是|哪|几|是否|\bor\b|\bwhich\b|\bwhat\b|例如|比如|such as|e\.g\.")
_ASKS = re.compile(r"[吗么呢]\s*$")
_ASKS_IN_ENGLISH = re.compile(r"^\s*(?:is|are|do|does|did|would|will|can|could|should|shall)\b")
_CLAUSE = re.compile(r"[^。！？!?\n；;，,]*")


def negated(text: str, start: int) -> bool:
    """Whether what begins at `start` is denied by the words right before it: 不是红色, 不要红色, not red.

    Two denials cancel each other, and a question of the form 是不是 denies nothing.
    """
    denials, end = 0, start
    while match := _DENIAL.search(text, max(0, end - _WINDOW), end):
        if _is_question(text, match.start()):
            break
        denials, end = denials + 1, match.start()
    return denials % 2 == 1


def _is_question(text: str, place: int) -> bool:
    """Whether the denial at that place is the middle of a question: 是不是, 有没有, 能不能."""
    return 0 < place < len(text) - 1 and text[place - 1] == text[place + 1]


def taken_back(text: str, end: int) -> bool:
    """Whether what ends at `end` is taken back right after: 红色，不对，蓝色; the 5th, sorry, the 6th.

    Something has to be said instead: 红色不对吗 takes nothing back.
    """
    match = _TAKEN_BACK.search(text[end : end + 40])
    return match is not None and len(text) > end + match.end() + 1


def corrects(text: str, start: int) -> bool:
    """Whether what begins at `start` comes after words that correct something: 改成, 不是A是B, actually."""
    return _CORRECTION.search(text[max(0, start - _NEAR) : start]) is not None


def affirms(text: str) -> bool:
    """Whether an answer begins by saying yes."""
    return _AFFIRMATION.search(text) is not None


def confirms(text: str, start: int) -> bool:
    """Whether the sentence of what begins at `start` confirms something to the user: 您的, 已预约, your."""
    before = [match.end() for match in _ENDS.finditer(text, 0, start)]
    return _CONFIRMATION.search(text, before[-1] if before else 0, start) is not None


def asks(text: str, start: int, end: int) -> bool:
    """Whether what stands there is only asked about or offered for choice, not said."""
    before = [match.end() for match in _ENDS.finditer(text, 0, start)]
    after = _ENDS.search(text, end)
    sentence = text[before[-1] if before else 0 : after.start() if after else len(text)]
    clause = _CLAUSE.match(text, end)
    asked = bool(clause and _ASKS.search(clause[0]))
    if after is None or after[0] not in "?？":
        return asked
    return asked or bool(_CHOICE.search(sentence) or _ASKS_IN_ENGLISH.search(sentence))
