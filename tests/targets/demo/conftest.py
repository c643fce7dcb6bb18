"""A tiny shop for what is learned and found, the shop of the package for what is done in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evalkit.targets.demo.agent import Agent, Reply
from evalkit.targets.demo.conversations import Conversation, Conversations
from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.slots import Reader
from evalkit.targets.demo.store import Store
from evalkit.targets.demo.understanding import Model, Understanding, trained

LEAVES = [
    {"intent_l1": "SUPPORT", "intent_l2": "S1_退货", "name": "退货规则", "description": "退货期限与条件", "kind": "KB"},
    {"intent_l1": "SUPPORT", "intent_l2": "S2_配送", "name": "配送规则", "description": "运费与时效", "kind": "KB"},
    {"intent_l1": "SUPPORT", "intent_l2": "S3_查单", "name": "订单查询", "description": "查自己的订单", "kind": "MCP", "task": "order_query"},
    {"intent_l1": "CHAT", "intent_l2": "C1_问候", "name": "问候", "description": "打招呼", "kind": "SYSTEM", "reply": "您好，我是小星。"},
]  # fmt: skip
UTTERANCES = {
    "S1_退货": [
        "买了不喜欢能退吗",
        "退货要什么条件",
        "七天内可以退货吗",
        "拆开了还能不能退",
        "退货期限是几天",
    ],
    "S2_配送": ["运费多少钱", "几天能送到", "快递费谁出", "配送要多久", "偏远地区送不送"],
    "S3_查单": ["帮我查一下订单", "我的订单到哪了", "查订单状态", "看看我那单发货没", "我的包裹在哪"],
    "C1_问候": ["你好", "在吗", "早上好", "嗨你好呀", "晚上好在不在"],
}
DOCUMENTS = [
    ("POLICY_RETURN_001", "退货规则", "policy", ["S1_退货"], "自签收次日起7天内可以退货。\n\n拆封的耳机不能退货。"),
    ("POLICY_SHIP_001", "配送规则", "policy", ["S2_配送"], "满99元免运费，不满收8元运费。\n\n偏远地区5到8天送到。"),
    ("FAQ_SHIP_001", "运费谁出", "faq", ["S2_配送"], "不满意要退货的，7天内可以寄回，运费顾客出。"),
    ("ERR_ROBOT_012", "扫地机器人错误码 E-12", "error_code", ["S1_退货"], "E-12 表示主刷卡住。清理主刷后重启。"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of the tiny shop."""
    orders = [
        {"order_id": "E2026082001", "phone": "13800000001", "customer": "甲", "product": "星河 X5", "category": "手机",
         "price": 10, "status": "待发货", "ordered_at": "2026-08-20T10:00:00+08:00", "shipped_at": None, "signed_at": None,
         "carrier": None, "tracking_no": None, "opened": False, "warranty_months": 12},
    ]  # fmt: skip
    documents = [
        dict(zip(("doc_id", "title", "kind", "intents", "text"), row, strict=True)) for row in DOCUMENTS
    ]
    said = [{"intent": intent, "text": text} for intent, texts in UTTERANCES.items() for text in texts]
    shop = {"clock": "2026-08-26T10:00:00+08:00", "orders": orders, "repair_slots": []}
    leaves = [{"task": None, "reply": None, **leaf} for leaf in LEAVES]
    _write(tmp_path / "corpus.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in documents))
    _write(tmp_path / "utterances.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in said))
    _write(tmp_path / "intents.json", json.dumps(leaves, ensure_ascii=False))
    _write(tmp_path / "shop.json", json.dumps(shop, ensure_ascii=False))
    return tmp_path


@pytest.fixture
def tiny(folder: Path) -> Model:
    """The model of the tiny shop."""
    return trained(folder)


@pytest.fixture(scope="session")
def shop() -> Model:
    """The model of the package's shop."""
    return trained()


@pytest.fixture
def agent(shop: Model) -> Callable[..., Agent]:
    """The package's agent, with the faults that are named."""

    def make(**faults: float) -> Agent:
        today = Store(shop.knowledge.shop).clock.date()
        return Agent(Understanding(shop, Faults(**faults)), Reader(shop.products, today))

    return make


@pytest.fixture
def talk(shop: Model) -> Conversation:
    """A new conversation in the package's shop."""
    return Conversations(Store(shop.knowledge.shop)).open("admin", "1")


@pytest.fixture
def say(agent: Callable[..., Agent], talk: Conversation) -> Callable[..., list[Reply]]:
    """Say these messages, one after the other; the agent's replies."""
    speaker = agent()
    return lambda *messages: [speaker.reply(talk, message) for message in messages]


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
