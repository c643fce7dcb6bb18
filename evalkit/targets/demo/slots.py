"""Pieces of information in a message: patterns for what has a form, the words around it for what has none."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from evalkit.targets.demo.dates import moment
from evalkit.targets.demo.products import Products, same_product
from evalkit.targets.demo.words import folded

__all__ = ["Reader", "chosen"]

_ORDER_ID = re.compile(r"(?<![a-z0-9])e\s?(\d{10})(?!\d)")
_BARE_ORDER_ID = re.compile(r"(?<!\d)(20\d{8})(?!\d)")
_PHONE = re.compile(r"(?<!\d)1[3-9]\d(?:[ -]?\d{4}){2}(?!\d)")
_CLAUSE = re.compile(r"[^,，。；;！!？?\n]+")
_PIECE = re.compile(r"[^,，。；;、！!？?\s]+")

_SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛"
    "闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤常温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴"
)
_NAME_AFTER = re.compile(
    r"(?:我叫|我是|(?:姓名|名字|联系人)(?:应该)?(?:是|为|叫|改成|改为|换成|改)?|叫我|称呼我?|本人)[:： ]*([\u4e00-\u9fff]{2,4}|[a-z][a-z ]{1,20})"
)
_SURNAME_AFTER = re.compile(r"我?姓([\u4e00-\u9fff])(?![\u4e00-\u9fff]*名)(?:先生|女士|小姐)?")
_NOT_A_NAME = re.compile(
    r"吧|吗|呢|了|的|好|可以|手机|耳机|电脑|地址|电话|上午|下午|晚上|星河|维修|退货|预约|请|问|时|都行|高兴|方便"
)

_PLACE = re.compile(
    r"省|市|区|县|镇|乡|村|路|街|道|巷|弄|号|小区|栋|幢|单元|室|楼|大厦|公寓|花园|苑|广场|校区|园"
)
_ADDRESS_LEAD = re.compile(
    r"^.*?(?:地址(?:是|在|为|改成|改为|换成)?|住在|我住|家在|我家在|上门到|送到|来到|搬到)[:： ]*"
)
_NOT_AN_ADDRESS = re.compile(
    r"一号|几号|门店|上午|下午|晚上|(?<![\d路街道巷弄])\d{1,2}号(?![楼院线门馆店座栋室])"
)
_MIN_ADDRESS = 5

_FAULT = re.compile(
    r"碎|坏|裂|黑屏|花屏|蓝屏|白屏|闪屏|不亮|不开机|开不了机|无法|不能|没法|充不|不充电|没声|无声|没反应|不转|不动|不出|不显示|不工作|不制冷"
    r"|卡顿|卡纸|卡死|死机|重启|进水|漏|发热|发烫|过热|异响|噪音|掉线|断连|断线|连不上|失灵|失效|故障|松动|脱落|鼓包|掉电|不准|报错|错误码|乱码|模糊|条纹|没信号|不响|续航|出问题|e-?\d{2}"
)
_FAULT_LEAD = re.compile(
    r"^(?:我想|我要|想要?|请?帮我|麻烦|我家?的?|家里的?|这个|它|就是|故障(?:是|为)?|问题是|主要是|好像|突然|今天|昨天|最近|现在)+"
)
_REASON = re.compile(
    r"不想要|不喜欢|不合适|买错|买重|买多|拍错|后悔|用不上|用不着|不需要|不好用|不满意|质量|瑕疵|破损|发错|少件|颜色|太[大小重贵慢]|尺寸|降价|不舒服|不好|不行|太差"
)
_REASON_AFTER = re.compile(r"(?:因为|由于|原因(?:是|为)?|理由(?:是|为)?)[:：,， ]*([^,，。；;！!？?\n]+)")
_ORDINAL = re.compile(
    r"(?P<last>最后)|第(?P<nth>[一二三四五六七八九1-9])(?!\d)|^[选要是就 ]*(?P<alone>[1-9])[号个笔单吧。]*$"
)
_POLITE = re.compile(
    r"^(?:(?:嗯+|好的?|哦|那|就|请|您好|你好)[,，、 ]+|(?:应该)?(?:是|叫|为|改成|改为|换成))+|[吧啊呢哦呀]?[。.!！~]*$"
)
_EMPTY_TALK = re.compile(
    r"(确认|确定|好的?|是的?|对的?|嗯+|可以|行|没错|ok|谢谢|感谢|你好|您好|在吗|不知道|不清楚)[了吧啊的呢。!！~]*",
    re.IGNORECASE,
)
_FREE = ("fault", "reason", "address", "product")
_MIN_FREE, _MAX_FREE = 2, 60


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads slot values out of messages, knowing the shop's products and its day."""

    products: Products
    today: date

    def read(self, text: str, wanted: Collection[str], *, asked: str | None = None) -> dict[str, str]:
        """The values of the `wanted` slots that `text` has; the slot `asked` for may be the whole of it.

        A time may be only a day or only a part of it, written `2026-08-27` or `上午`.
        """
        found = {name: _FINDERS[name](self, text) for name in wanted}
        values = {name: value for name, value in found.items() if value}
        if "name" in wanted and "name" not in values:
            values |= _name_in_list(text, alone=asked == "name" and not values)
        if asked in wanted and asked not in values and not values:
            values |= _whole(text, asked or "")
        return values


def chosen(text: str, orders: Sequence[Mapping[str, Any]], products: Products) -> dict[str, str]:
    """The one of the listed `orders` that `text` picks, by its place in the list or by its product."""
    place = _ORDINAL.search(folded(text))
    if place and place["last"]:
        return {"order_id": orders[-1]["order_id"]} if orders else {}
    if place:
        number = "一二三四五六七八九123456789".index(place["nth"] or place["alone"]) % 9
        return {"order_id": orders[number]["order_id"]} if number < len(orders) else {}
    product = products.named(text)
    picked = same_product(product, orders) if product else None
    return {"order_id": picked["order_id"]} if picked else {}


def _order_id(_reader: Reader, text: str) -> str | None:
    said = folded(text)
    match = _ORDER_ID.search(said) or _BARE_ORDER_ID.search(said)
    return f"E{match[1]}" if match else None


def _phone(_reader: Reader, text: str) -> str | None:
    match = _PHONE.search(folded(text))
    return re.sub(r"\D", "", match[0]) if match else None


def _product(reader: Reader, text: str) -> str | None:
    return reader.products.named(text)


def _time(reader: Reader, text: str) -> str | None:
    said = moment(_PHONE.sub(" ", _ORDER_ID.sub(" ", folded(text))), reader.today)
    return " ".join(part for part in (said.day.isoformat() if said.day else "", said.period or "") if part)


def _name(_reader: Reader, text: str) -> str | None:
    said = folded(text)
    match = _NAME_AFTER.search(said)
    if match and not _NOT_A_NAME.search(match[1]):
        return match[1].strip()
    surname = _SURNAME_AFTER.search(said)
    return surname[1] if surname else None


def _address(_reader: Reader, text: str) -> str | None:
    for clause in _CLAUSE.findall(_PHONE.sub("，", text)):
        place = _POLITE.sub("", _ADDRESS_LEAD.sub("", clause.strip()))
        marks = len(set(_PLACE.findall(_NOT_AN_ADDRESS.sub("", place))))
        if len(place) >= _MIN_ADDRESS and marks >= 1 + (place == clause.strip()):
            return place
    return None


def _fault(reader: Reader, text: str) -> str | None:
    for clause in _CLAUSE.findall(text):
        if _FAULT.search(folded(clause)):
            return _FAULT_LEAD.sub("", reader.products.after_name(clause.strip())).strip() or None
    return None


def _reason(_reader: Reader, text: str) -> str | None:
    match = _REASON_AFTER.search(text)
    if match:
        return match[1].strip()
    clauses = (clause.strip() for clause in _CLAUSE.findall(text))
    return next((clause for clause in clauses if _REASON.search(clause) or _FAULT.search(clause)), None)


_FINDERS: dict[str, Callable[[Reader, str], str | None]] = {
    "order_id": _order_id,
    "phone": _phone,
    "product": _product,
    "appointment_time": _time,
    "name": _name,
    "address": _address,
    "fault": _fault,
    "reason": _reason,
}


def _name_in_list(text: str, *, alone: bool) -> dict[str, str]:
    """A name among other pieces (`王强，13812345678`), or a name alone where a name was asked for."""
    pieces = [_POLITE.sub("", piece) for piece in _PIECE.findall(_PHONE.sub("，", text))]
    for piece in pieces:
        short = re.fullmatch(r"[\u4e00-\u9fff]{2,4}", piece) and not _NOT_A_NAME.search(piece)
        if short and piece[0] in _SURNAMES and (alone or _PHONE.search(text)):
            return {"name": piece}
    whole = pieces[0] if alone and len(pieces) == 1 else ""
    named = re.fullmatch(r"[\u4e00-\u9fffA-Za-z·]{2,12}", whole) and not _NOT_A_NAME.search(whole)
    return {"name": whole} if named else {}


def _whole(text: str, asked: str) -> dict[str, str]:
    """The message itself as the answer to an open question."""
    said = _POLITE.sub("", _POLITE.sub("", text.strip()))
    fits = _MIN_FREE <= len(said) <= _MAX_FREE and not _EMPTY_TALK.fullmatch(said)
    return {asked: said} if asked in _FREE and fits else {}
