"""Each task from end to end, through the agent, over the package's shop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalkit.targets.demo.agent import Reply
from evalkit.targets.demo.conversations import Conversation

Say = Callable[..., list[Reply]]

BOOKING = (
    "我想预约维修，扫地机器人不转了",
    "我叫王建国",
    "13800010002",
    "北京市朝阳区建国路88号3单元502",
)


def called(replies: list[Reply]) -> list[str]:
    return [call.name for reply in replies for call in reply.calls]


def slots(reply: Reply) -> dict[str, str]:
    assert reply.state is not None
    return dict(reply.state["filledSlots"])


def done(reply: Reply) -> list[str]:
    assert reply.state is not None
    return list(reply.state["doneSteps"])


def test_an_order_is_reported_with_its_shipment(say: Say) -> None:
    (reply,) = say("帮我查一下订单E2026082401")
    assert [(call.name, dict(call.arguments)) for call in reply.calls] == [
        ("get_order", {"order_id": "E2026082401"}),
        ("track_shipment", {"order_id": "E2026082401"}),
    ]
    assert "已发货" in reply.text
    assert "YC6082507790" in reply.text
    assert reply.state == {
        "task": "order_query",
        "filledSlots": {"order_id": "E2026082401"},
        "doneSteps": ["identify_order", "report_status"],
    }


def test_an_unknown_order_is_told_and_can_be_corrected(say: Say) -> None:
    unknown, corrected = say("帮我查一下订单E2026999999", "写错了，是E2026082501")
    assert unknown.calls[0].error is not None
    assert "没有查到" in unknown.text
    assert "report_status" not in done(unknown)
    assert "待发货" in corrected.text
    assert slots(corrected) == {"order_id": "E2026082501"}


def test_one_of_several_orders_of_a_phone_is_picked(say: Say) -> None:
    replies = say("我的订单到哪了", "13800010001", "第二个")
    assert called(replies) == ["find_orders", "get_order"]
    assert all(
        f"E20{number}" in replies[1].text for number in ("26082501", "26081801", "26070901", "25031201")
    )
    assert slots(replies[2])["order_id"] == "E2026081801"
    assert "已签收" in replies[2].text


def test_a_phone_without_orders_is_told(say: Say) -> None:
    replies = say("查一下我的订单", "13900000000")
    assert "名下没有订单" in replies[1].text
    assert done(replies[1]) == []


def test_a_repair_is_booked_after_a_yes(say: Say, talk: Conversation) -> None:
    replies = say(*BOOKING, "明天下午", "确认")
    assert called(replies) == ["check_warranty", "list_repair_slots", "create_repair_booking"]
    assert "2026-08-27 下午" in replies[4].text
    assert talk.store.rows("select * from bookings")[0]["date"] == "2026-08-27"
    assert done(replies[4]) == ["identify_product", "collect_contact", "check_slots"]
    assert done(replies[5]) == ["identify_product", "collect_contact", "check_slots", "confirm", "book"]
    assert slots(replies[5]) == {
        "product": "扫地机器人",
        "fault": "不转了",
        "name": "王建国",
        "phone": "13800010002",
        "address": "北京市朝阳区建国路88号3单元502",
        "appointment_time": "2026-08-27 下午",
    }


def test_nothing_is_booked_before_the_yes(say: Say, talk: Conversation) -> None:
    say(*BOOKING, "明天下午", "不对")
    assert talk.store.rows("select * from bookings") == []


def test_slots_are_asked_for_in_their_order(say: Say) -> None:
    replies = say("我要预约维修", "打印机", "卡纸", "何静", "13800010009", "上海市浦东新区世纪大道100号")
    asked = ["哪款产品", "什么故障", "怎么称呼", "手机号", "上门地址", "哪天上门"]
    assert all(words in reply.text for words, reply in zip(asked, replies, strict=True))


def test_a_correction_while_reading_back_is_checked_and_booked(say: Say, talk: Conversation) -> None:
    replies = say(*BOOKING, "明天下午", "不对，是后天下午", "对，确认")
    assert slots(replies[5])["appointment_time"] == "2026-08-28 下午"
    assert [
        call.arguments for reply in replies for call in reply.calls if call.name == "list_repair_slots"
    ] == [
        {"date": "2026-08-27"},
        {"date": "2026-08-28"},
    ]
    assert talk.store.rows("select date, period from bookings") == [{"date": "2026-08-28", "period": "下午"}]


def test_a_full_time_is_told_with_what_is_free(say: Say) -> None:
    replies = say(*BOOKING, "明天晚上", "上午吧")
    assert "2026-08-27晚上已约满" in replies[4].text
    assert "上午、下午" in replies[4].text
    assert "appointment_time" not in slots(replies[4])
    assert slots(replies[5])["appointment_time"] == "2026-08-27 上午"


def test_a_day_out_of_range_is_told(say: Say) -> None:
    replies = say(*BOOKING, "9月20号上午")
    assert "不在可约范围内" in replies[4].text
    assert "check_slots" not in done(replies[4])


def test_what_was_denied_is_not_taken(say: Say) -> None:
    assert slots(say(*BOOKING, "不要明天，31号上午")[4])["appointment_time"] == "2026-08-31 上午"


def test_a_product_without_visits_is_told_and_not_booked(say: Say, talk: Conversation) -> None:
    """POLICY_WARRANTY_007: nobody comes for earphones, watches and bands."""
    replies = say("预约维修，我的耳机没声音", "陈思雨", "13800010001")
    assert "不支持上门维修" in replies[2].text
    assert talk.store.rows("select * from bookings") == []


def test_a_phone_without_such_a_product_is_told(say: Say) -> None:
    reply = say("预约维修，打印机卡纸", "何静", "13800010002")[2]
    assert reply.calls[0].error is not None
    assert "没有购买打印机的记录" in reply.text


def test_giving_up_books_nothing(say: Say, talk: Conversation) -> None:
    replies = say(*BOOKING, "算了，不修了")
    assert "没有提交任何申请" in replies[4].text
    assert talk.dialog is not None
    assert not talk.dialog.open
    assert talk.store.rows("select * from bookings") == []


def test_a_refusal_is_answered_once_and_then_ends_the_task(say: Say) -> None:
    replies = say("预约维修，打印机卡纸", "何静", "手机号不方便给", "真的不想给")
    assert "缺少它就无法办理" in replies[2].text
    assert "没有提交任何申请" in replies[3].text
    assert "phone" not in slots(replies[3])


def test_a_question_in_passing_is_answered_and_the_task_goes_on(say: Say) -> None:
    replies = say("预约维修，打印机卡纸", "过保了维修要收多少钱？", "何静")
    assert replies[1].hits
    assert "请问联系人怎么称呼" in replies[1].text
    assert slots(replies[2])["name"] == "何静"


def test_another_task_takes_over(say: Say) -> None:
    replies = say("我要申请退货", "算了，先帮我查一下订单E2026082501到哪了")
    assert "退货申请先停下" in replies[1].text
    assert replies[1].state is not None
    assert replies[1].state["task"] == "order_query"
    assert "待发货" in replies[1].text


def test_an_order_goes_back_after_a_yes(say: Say, talk: Conversation) -> None:
    replies = say("我要退货，订单号E2026082102", "不喜欢这个颜色", "13800010004", "确认")
    assert called(replies) == ["get_order", "check_return_eligibility", "create_return"]
    assert done(replies[2]) == ["identify_order", "check_eligibility"]
    assert done(replies[3]) == ["identify_order", "check_eligibility", "confirm", "create_return"]
    assert talk.store.rows("select order_id, reason from returns") == [
        {"order_id": "E2026082102", "reason": "不喜欢这个颜色"}
    ]


@pytest.mark.parametrize(
    ("order_id", "why"),
    [
        ("E2026071401", "超过7天"),
        ("E2026082501", "还没有发货"),
        ("E2026082401", "配送途中"),
        ("E2026999999", "没有查到"),
    ],
)
def test_an_order_that_cannot_go_back_is_told(say: Say, talk: Conversation, order_id: str, why: str) -> None:
    (reply,) = say(f"我要申请退货，订单号{order_id}")
    assert why in reply.text
    assert talk.store.rows("select * from returns") == []


def test_a_wrong_phone_is_told_and_asked_for_again(say: Say, talk: Conversation) -> None:
    replies = say("我要退货，订单E2026082102，买错了，手机13800010001", "确认", "13800010004", "确认")
    assert "不一致" in replies[1].text
    assert "create_return" not in done(replies[1])
    assert done(replies[3])[-2:] == ["confirm", "create_return"]
    assert len(talk.store.rows("select * from returns")) == 1


def test_a_tool_that_refuses_at_the_end_is_told(say: Say, talk: Conversation) -> None:
    replies = say("我要退货，订单E2026081801，音质不好，手机13800010001", "确认")
    assert "没有提交成功" in replies[1].text
    assert "质量问题" in replies[1].text
    assert talk.store.rows("select * from returns") == []


def test_no_failure_of_a_tool_is_silent(say: Say) -> None:
    """Whatever a tool refuses stands in the reply of that turn."""
    scripts = [
        ("帮我查一下订单E2026999999", "13900000000"),
        ("我要申请退货，订单号E2026999999",),
        ("我要退货，订单E2026082102，买错了，手机13800010001", "确认"),
        (*BOOKING, "9月20号上午"),
        ("算了",),
        ("预约维修，打印机卡纸", "何静", "13900000000"),
    ]
    failures = 0
    for script in scripts:
        for reply in say(*script):
            for call in reply.calls:
                if call.error:
                    failures += 1
                    assert call.error.message in reply.text
    assert failures >= 5


def test_an_order_found_before_can_be_sent_back_without_its_number(say: Say) -> None:
    replies = say("帮我查一下订单E2026082102", "那我要申请退货")
    assert slots(replies[1])["order_id"] == "E2026082102"
    assert "check_eligibility" in done(replies[1])


def test_conversations_do_not_share_books(shop, agent) -> None:
    from evalkit.targets.demo.conversations import Conversations
    from evalkit.targets.demo.store import Store

    talks = Conversations(Store(shop.knowledge.shop))
    speaker = agent()
    wish = ("我要退货，订单E2026082102，买错了，手机13800010004", "确认")
    for number in ("1", "2"):
        texts = [speaker.reply(talks.open("admin", number), message).text for message in wish]
        assert "已提交" in texts[1]


def test_shared_books_are_one(shop, agent) -> None:
    from evalkit.targets.demo.conversations import Conversations
    from evalkit.targets.demo.store import Store

    talks = Conversations(Store(shop.knowledge.shop), shared=True)
    speaker = agent()
    wish = ("我要退货，订单E2026082102，买错了，手机13800010004", "确认")
    first, second = (
        [speaker.reply(talks.open("admin", number), message).text for message in wish]
        for number in ("1", "2")
    )
    assert "已提交" in first[1]
    assert "已经提交过退货申请" in second[0]
