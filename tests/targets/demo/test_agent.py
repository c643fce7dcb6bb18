"""What the agent says outside of tasks."""

from __future__ import annotations

from collections.abc import Callable

from evalkit.targets.demo.agent import Agent, Reply
from evalkit.targets.demo.answers import NOTHING_FOUND
from evalkit.targets.demo.conversations import Conversation, Conversations
from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.store import Store
from evalkit.targets.demo.understanding import Model, Part, Understanding

Say = Callable[..., list[Reply]]


def test_a_question_is_answered_from_the_documents_it_names(say: Say) -> None:
    (reply,) = say("耳机拆封后还能退吗")
    cited = {hit.chunk.title for hit in reply.hits}
    assert reply.text.startswith("根据《")
    assert reply.text.partition("》")[0].removeprefix("根据《") in cited


def test_a_system_leaf_replies_without_documents(say: Say, shop: Model) -> None:
    (reply,) = say("你好")
    assert reply.hits == ()
    assert reply.text == shop.knowledge.leaf("C1_闲聊问候").reply


def test_what_nobody_knows_is_said_not_to_be_found(say: Say) -> None:
    (reply,) = say("量子力学的基本假设是什么")
    assert (reply.text, reply.hits) == (NOTHING_FOUND, ())


def test_two_questions_get_two_answers(say: Say) -> None:
    (reply,) = say("怎么开专用发票？会员怎么退订？")
    intents = {hit.chunk.doc_id.split("_")[1] for hit in reply.hits}
    assert {"INVOICE", "UNSUB"} <= intents or {"INV", "UNSUB"} <= intents
    assert "\n" in reply.text


def test_a_short_question_refers_to_the_one_before(say: Say) -> None:
    assert any("手机" in reply.thinking for reply in say("耳机拆封后还能退吗", "那手机呢？")[1:])


def test_the_thinking_names_intent_and_documents(say: Say) -> None:
    (reply,) = say("耳机拆封后还能退吗")
    assert "退换货咨询" in reply.thinking
    assert "《" in reply.thinking


def test_two_leaves_about_as_likely_are_asked_back_and_then_answered(
    say: Say, shop: Model, talk: Conversation
) -> None:
    names = [leaf.name for leaf in shop.knowledge.leaves if leaf.kind == "KB"]
    understanding = Understanding(shop, Faults())
    mixed = (f"{one}{other}" for one in names for other in names if one != other)
    question = next(text for text in mixed if understanding.parts(text)[0].ambiguous)
    (asked,) = say(question)
    assert "请问您想了解的是哪一个" in asked.text
    assert asked.hits == ()
    assert talk.choice is not None
    wanted = talk.choice.leaves[1]
    (answered,) = say("第二个")
    assert talk.choice is None
    assert wanted.name in answered.thinking
    assert question in answered.thinking


def test_ambiguity_is_two_scores_close_together(tiny: Model) -> None:
    leaves = tiny.knowledge.leaves[:2]
    assert Part("", leaves, (0.45, 0.40)).ambiguous
    assert not Part("", leaves, (0.60, 0.36)).ambiguous
    assert not Part("", leaves[:1], (0.50,)).ambiguous


def test_a_hallucinated_tool_is_claimed_and_called(agent: Callable[..., Agent], talk: Conversation) -> None:
    reply = agent(hallucinate_tool=1.0).reply(talk, "你好")
    assert [call.name for call in reply.calls] == ["grant_compensation"]
    assert "补偿券" in reply.text


def test_only_so_many_conversations_are_kept(shop: Model) -> None:
    talks = Conversations(Store(shop.knowledge.shop), limit=2)
    first = talks.open("u", "1")
    talks.open("u", "2")
    assert talks.open("u", "1") is first
    talks.open("u", "3")
    talks.open("u", "2")
    assert talks.open("u", "1") is not first
