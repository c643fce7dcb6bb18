"""What a user does with a message inside a task: agree, deny, refuse, give up, correct."""

from __future__ import annotations

import re

__all__ = ["agrees", "cancels", "denies", "meant", "refuses"]

_CANCELS = re.compile(
    r"算了|不(修|退|约|预约|办|弄|查|申请|需要|想修|想退|想约|想办|想查)了|不用(了|修|退|约|查|办)|先不|暂时不|暂不|放弃"
    r"|取消(吧|了|预约|申请|退货|维修|这次|掉|一下)|^(我要|帮我|那就|还是)?取消[。!！]?$|到此为止"
)
_REFUSES = re.compile(
    r"不(想|愿意?|方便|便|能)(给|说|提供|透露|告诉|留|报|讲)|不(给|说|提供|透露|告诉|留)你?[。!！]?$|不方便|不愿意"
    r"|(必须|一定要|非得|非要|为什么要|干嘛要|凭什么要?).{0,6}(给|说|提供|填|留|手机|电话|地址|姓名|名字|隐私)|保密|涉及隐私"
)
_AGREES = re.compile(
    r"^(嗯+|都对|是的?|对的?|好的?|行的?|可以|没错|没问题|正确|确认|确定|同意|ok|okay|yes|就这样|就这么|提交|办吧|预约吧|退吧|约吧)"
    r"|(没错|没问题|确认|提交吧?|就这样|可以的?|都对|信息正确)[了吧啊的。!！~]*$"
)
_DENIES = re.compile(
    r"不对|不是|不行|不可以|不正确|不确认|不同意|错了|有误|写错|搞错|弄错|等等|等一下|先别|别提交|^不[,，。]?$|^no\b|要改|改一?下"
)
_AFFIRMED_NEGATION = re.compile(r"没错|没问题|不用改|不改了|没有(问题|错)")

_FALSE_START = re.compile(
    r".*(?:哦不|啊不|呃不|不不|说错了?|打错了?|写错了?|记错了?|更正(?:一下)?|不对)[,，。、:：!！ ]*"
)
_NEGATED = re.compile(
    r"(?:不是|不要|别(?:约|选)?|不想要|不选|不约)(?P<what>[^,，。；;、是要换改]{1,20})[,，。；;、 ]*"
    r"|[^,，。；;、]{1,12}(?:不行|没空|不方便|不合适|来不及|有事|不在家)[了的]?[,，。；;、 ]*"
)


def cancels(text: str) -> bool:
    """Whether the user gives the task up."""
    return bool(_CANCELS.search(text))


def refuses(text: str) -> bool:
    """Whether the user will not give what was asked for."""
    return bool(_REFUSES.search(text))


def agrees(text: str) -> bool:
    """Whether the user says yes to what was read back."""
    said = text.strip().casefold()
    return bool(_AGREES.search(said)) and not denies(said)


def denies(text: str) -> bool:
    """Whether the user says no to what was read back, or that something in it is wrong."""
    return bool(_DENIES.search(_AFFIRMED_NEGATION.sub("", text.strip().casefold())))


def meant(text: str) -> str:
    """`text` without what it takes back: false starts (`明天，哦不，后天`), and what it says it is not."""
    kept = _FALSE_START.sub("", text, count=1) or text
    return _NEGATED.sub("", kept) or kept
