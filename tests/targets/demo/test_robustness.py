"""Whatever is said in whatever order, the agent has an answer, and the books stay in order."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.targets.demo.agent import Agent
from evalkit.targets.demo.conversations import Conversations
from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.slots import Reader
from evalkit.targets.demo.store import Store
from evalkit.targets.demo.understanding import Model, Understanding

PIECES = st.sampled_from(
    [
        "我要预约维修", "我要申请退货", "帮我查一下订单", "E2026082401", "E2026999999", "E2026082102", "13800010001",
        "13800010004", "13900000000", "第二个", "最后一个", "明天上午", "8月30号", "晚上", "9月20号", "31号上午", "2月30号", "确认",
        "不对", "算了", "不想给", "保修多久？", "打印机卡纸", "耳机没声音", "王建国", "北京市朝阳区建国路88号", "买错了", "左耳没声音",
        "你好", "谢谢", "那手机呢？", "1", "退换货咨询", "不是明天，是后天", "地址写错了，应该是文三路22号", "？", "，",
    ]
)  # fmt: skip
MESSAGES = st.lists(
    st.one_of(PIECES, st.lists(PIECES, max_size=4).map("，".join), st.text(max_size=30)), max_size=9
)


@settings(max_examples=120, deadline=None)
@given(messages=MESSAGES)
def test_no_conversation_breaks_it(shop: Model, messages: list[str]) -> None:
    seed = Store(shop.knowledge.shop)
    agent = Agent(Understanding(shop, Faults()), Reader(shop.products, seed.clock.date()))
    talks = Conversations(seed)
    talk = talks.open("u", "1")
    for message in messages:
        reply = agent.reply(talk, message)
        assert reply.text.strip()
        for call in reply.calls:
            assert call.error is None or call.error.message in reply.text
    booked = talk.store.rows("select date, period from bookings")
    taken = sum(slot["left"] for slot in seed.rows("select left from slots")) - sum(
        slot["left"] for slot in talk.store.rows("select left from slots")
    )
    assert taken == len(booked)
    assert all(slot["left"] >= 0 for slot in talk.store.rows("select left from slots"))
    time = (talk.dialog.slots if talk.dialog else {}).get("appointment_time", "2026-08-27 上午")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d (上午|下午|晚上)", time)
    talks.close()
