"""What has no form of its own, told by the words around it: names of people, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from evalkit.finding.typed.contacts import phones
from evalkit.finding.typed.readings import Reading, apart, each

__all__ = ["addresses", "persons"]

_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛"
    "闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤常温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴"
)
_DOUBLE = "欧阳|司马|上官|诸葛|东方|皇甫|尉迟|公孙|慕容|令狐|司徒|夏侯"
_HAN = r"[\u4e00-\u9fff]"
_STOP = r"(?![先小老]?[生姐师]|什么|多少|订单|手机|电话|地址|客服|用户|会员|顾客|谁|啥)"
_NAMED = re.compile(
    r"(?:我叫|叫我|(?:姓名|名字|联系人|收件人|收货人|预订人|称呼)(?:应该|就)?(?:是|为|叫|写|填|改成|改为|换成)?[:： ]*|本人)"
    rf"(?P<name>{_STOP}(?:{_DOUBLE}|{_HAN}){_HAN}{{1,3}}?(?=$|[^\u4e00-\u9fff]|吧|的|电话|手机|地址|住|先生|女士|小姐|联系|想|要|在|，|、))"
)
_I_AM = re.compile(
    rf"我(?:就)?是(?P<name>(?:{_DOUBLE}|[{_SURNAMES}]){_HAN}{{1,2}})(?=$|[^\u4e00-\u9fff]|先生|女士|小姐|，)"
)
_TITLED = re.compile(rf"(?P<name>(?:{_DOUBLE}|[{_SURNAMES}]){_HAN}{{0,2}}?(?:先生|女士|小姐|老师))")
_PIECE = re.compile(
    rf"(?:^|(?<=[\s,，、;；:：是]))(?P<name>(?:{_DOUBLE}|[{_SURNAMES}]){_HAN}{{1,2}})(?=$|[\s,，、;；。.!！\d])"
)
_NO_NAME = re.compile(
    r"吧|吗|呢|了|的|好|可以|手机|耳机|电脑|地址|电话|上午|下午|晚上|维修|退货|预约|请|问|时|都行|高兴|方便|马上|周[一二三四五六日天末]|什么|怎么|任何|安排|安全|"
    r"向您|单号|白色|金色|黄色|常见|关于|程序|温度|方式|方便|文字|牛奶|石头|文件|包装|包邮|万[一元]|高[档兴]|单独|符合|北京|上海|广州|江苏|宁波|南京|安徽|金额|余额"
)
_ENGLISH = re.compile(
    r"(?:\bname(?:'s| is| on the account is|:)\s*|\bthis is\s|\bcall me\s|\bi am\s|\bi'm\s)(?P<name>[a-z][a-z'’-]+(?:\s[a-z]\.?)?\s[a-z][a-z'’-]+)(?=$|[^\w\s]|\s(?:and|with|my|but)\b)"
)
_ALONE = re.compile(r"\W*(?P<name>[a-z][a-z'’-]+(?:\s[a-z][a-z'’-]+){1,2})\W*")
_NO_ENGLISH = re.compile(
    r"\b(?:thanks?|thank|you|good|hello|hi|hey|yes|no|ok|okay|sure|great|please|bye|night|morning|day|that|it|is|was|the|my|i|a|an|to|not|for|nice|sounds|will|have|just|let|me|know|looking|"
    r"worries|and|in|of|on|with|need|want|this|are|can|do|how|what|who|when|where|all|at|by|be|of course|perfect|never|mind|one|moment|take|care|well|done|very|much|right|correct|account|order|issue|trying|going|having|sorry|"
    r"happy|glad|interested|wondering|calling)\b"
)

_MARKS = re.compile(
    r"省|市|区|县|旗|镇|乡|村|路|街|道|巷|弄|胡同|\d号|[一二三四五六七八九十]号|小区|栋|幢|单元|室|楼|大厦|公寓|花园|苑|广场|校区|园|口$|院"
)
_CLAUSE = re.compile(r"[^,，。；;！!？?\n]+")
_LEAD = re.compile(
    r"^.*?(?:地址(?:应该|就)?(?:是|在|为|改成|改为|换成|改到)?|地点(?:是|在)?|住在|我住|家在|位于|上门到|送到|寄到|发到|来到|搬到|改到|就在|在)(?:在|是)?[:： ]*"
)
_TAIL = re.compile(r"(?:[的]?(?:酒店|餐馆|景点)?(?:哦|呢|啊|呀|吧|哈|这里|这边|附近|那里)|[\"'”’\s~]+)+$")
_NO_HOUSE = re.compile(
    r"几号|一号线|上午|下午|晚上|月\d+号|哪|[我你您找吗想吃请嘛呢]|推荐|附近|周边|有什么|评分|价格|预约|修|退"
)
_STREET = r"(?:street|st|avenue|ave|road|rd|lane|ln|boulevard|blvd|drive|dr|way|court|ct|place|pl|square|terrace|parkway|gardens|gate|yard|row|crescent|close|hill)"
_FOREIGN = re.compile(
    rf"(?<![\w.])\d{{1,5}}[a-z]?\s(?:[a-z0-9'.]+\s){{0,4}}?{_STREET}\b\.?(?:,?\s+(?!and\b|with\b|it\b|is\b|in\b|the\b)[a-z]+(?:\s[a-z]+){{0,2}}?,?\s[a-z]{{2}}\s\d{{5}})?"
)
_MIN_ADDRESS, _MAX_ADDRESS = 5, 60


def persons(text: str, _today: date | None) -> Iterator[Reading]:
    """The names of people in a plain text: after words such as 我叫 or name is, with a title, or alone in a piece."""
    patterns = (_NAMED, _I_AM, _TITLED, _PIECE, _ENGLISH)
    found = [
        Reading(*match.span("name"), _name(match["name"]))
        for pattern in patterns
        for match in pattern.finditer(text)
        if not _NO_NAME.search(match["name"]) and not _NO_ENGLISH.search(match["name"])
    ]
    alone = _ALONE.fullmatch(text)
    if alone and not _NO_ENGLISH.search(alone["name"]):
        found.append(Reading(*alone.span("name"), _name(alone["name"])))
    yield from apart(found)


def _name(text: str) -> str:
    return " ".join(text.split())


def addresses(text: str, today: date | None) -> Iterator[Reading]:
    """The postal addresses in a plain text: clauses with enough of 市, 区, 路 or 号, or 12 Main Street.

    Written without spaces.
    """
    taken = list(phones(text, today))
    for clause in _CLAUSE.finditer(text):
        start, end = _ends(clause, [phone.start for phone in taken])
        place = text[start:end]
        marks = set(_MARKS.findall(_NO_HOUSE.sub("", place)))
        enough = len(marks) >= 1 + ("地址" not in text[clause.start() : start])
        if _MIN_ADDRESS <= len(place) <= _MAX_ADDRESS and enough and not _NO_HOUSE.search(place):
            yield Reading(start, end, re.sub(r"\s", "", place))
    yield from each(_FOREIGN, text, lambda match: re.sub(r"[\s,.]", "", match[0]))


def _ends(clause: re.Match[str], phones_at: list[int]) -> tuple[int, int]:
    """A clause without the words that lead to the address, and what follows it."""
    said = clause[0]
    lead = _LEAD.match(said)
    start = lead.end() if lead else len(said) - len(said.lstrip())
    cut = min(
        (place - clause.start() for place in phones_at if clause.start() + start < place < clause.end()),
        default=len(said),
    )
    said = re.sub(r"(?:电话|手机|联系)[^\d]*$", "", said[:cut]).rstrip()
    tail = _TAIL.search(said)
    return clause.start() + start, clause.start() + (
        tail.start() if tail and tail.start() > start else len(said)
    )
