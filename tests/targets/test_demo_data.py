"""The demo shop's data files are whole, agree with each other, and with what the eval sets say of them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "evalkit" / "targets" / "demo" / "data"
SETS = ROOT / "eval_sets"

PREFIX = {
    "POLICY": "policy",
    "FAQ": "faq",
    "PROD": "product",
    "GUIDE": "guide",
    "MANUAL": "manual",
    "ERR": "error_code",
}
TASKS = {"S5_订单查询": "order_query", "S17_预约维修": "repair_booking", "S18_申请退货": "return_request"}
REQUIRED = {
    "S1_选购推荐",
    "S2_商品详情",
    "S3_对比选购",
    "S14_退换货咨询",
    "S15_保修维修",
    "S16_会员退订",
    *TASKS,
}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


DOCS = lines(DATA / "corpus.jsonl")
LEAVES = read(DATA / "intents.json")
UTTERANCES = lines(DATA / "utterances.jsonl")
SHOP = read(DATA / "shop.json")
KB = {leaf["intent_l2"] for leaf in LEAVES if leaf["kind"] == "KB"}
BY_LEAF = {leaf["intent_l2"]: leaf for leaf in LEAVES}


def bare(text: str) -> str:
    """The text as a reader hears it: width, case, blanks and punctuation do not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", "", folded)


def repeated(values: list[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


@pytest.mark.parametrize(
    ("rows", "fields"),
    [
        pytest.param(DOCS, {"doc_id", "title", "kind", "intents", "text"}, id="corpus"),
        pytest.param(UTTERANCES, {"intent", "text"}, id="utterances"),
        pytest.param(
            LEAVES,
            {"intent_l1", "intent_l2", "name", "description", "kind", "task", "reply"},
            id="intents",
        ),
    ],
)
def test_rows_have_exactly_their_fields_and_none_is_blank(
    rows: list[dict[str, Any]], fields: set[str]
) -> None:
    for row in rows:
        assert set(row) == fields
        assert all(value.strip() == value != "" for value in row.values() if isinstance(value, str)), row


def test_there_is_enough_of_everything() -> None:
    assert len(DOCS) >= 80
    assert len(LEAVES) >= 24
    counts = Counter(row["intent"] for row in UTTERANCES)
    assert {leaf: counts[leaf] for leaf in BY_LEAF if counts[leaf] < 12} == {}


def test_ids_are_unique() -> None:
    assert repeated([doc["doc_id"] for doc in DOCS]) == []
    assert repeated([leaf["intent_l2"] for leaf in LEAVES]) == []
    assert repeated([order["order_id"] for order in SHOP["orders"]]) == []


def test_document_codes_tell_the_kind() -> None:
    for doc in DOCS:
        found = re.fullmatch(r"([A-Z]+)_[A-Z]+_\d{3}", doc["doc_id"])
        assert found, doc["doc_id"]
        assert PREFIX[found[1]] == doc["kind"]


def test_no_two_documents_share_a_title_or_a_paragraph() -> None:
    assert repeated([bare(doc["title"]) for doc in DOCS]) == []
    assert repeated([bare(part) for doc in DOCS for part in doc["text"].split("\n\n")]) == []


def test_documents_have_the_length_of_a_help_page_and_no_empty_chunk() -> None:
    for doc in DOCS:
        assert 100 <= len(doc["text"]) <= 450, doc["doc_id"]
        assert all(part.strip() for part in doc["text"].split("\n\n")), doc["doc_id"]


def test_documents_name_leaves_that_retrieve() -> None:
    for doc in DOCS:
        assert doc["intents"], doc["doc_id"]
        assert set(doc["intents"]) <= KB, doc["doc_id"]


def test_every_leaf_that_retrieves_has_two_documents() -> None:
    counts = Counter(leaf for doc in DOCS for leaf in doc["intents"])
    assert {leaf: counts[leaf] for leaf in KB if counts[leaf] < 2} == {}


def test_leaves_are_well_formed() -> None:
    assert set(BY_LEAF) >= REQUIRED
    level = {"S": "SUPPORT", "F": "FEEDBACK", "C": "CHAT"}
    for leaf in LEAVES:
        assert re.fullmatch(r"[SFC]\d+_.+", leaf["intent_l2"])
        assert leaf["intent_l1"] == level[leaf["intent_l2"][0]]
        assert leaf["intent_l2"].split("_", 1)[1] == leaf["name"]


def test_only_task_leaves_have_a_task_and_only_system_leaves_a_fixed_reply() -> None:
    assert {leaf["intent_l2"]: leaf["task"] for leaf in LEAVES if leaf["task"]} == TASKS
    assert {leaf["intent_l2"] for leaf in LEAVES if leaf["kind"] == "MCP"} == set(TASKS)
    for leaf in LEAVES:
        assert (leaf["reply"] is not None) == (leaf["kind"] == "SYSTEM") == (leaf["intent_l1"] != "SUPPORT")


def test_no_utterance_is_said_twice_even_with_other_punctuation() -> None:
    assert repeated([bare(row["text"]) for row in UTTERANCES]) == []


def test_utterances_name_known_leaves() -> None:
    assert {row["intent"] for row in UTTERANCES} == set(BY_LEAF)


def test_orders_cover_all_statuses_and_their_times_fit_the_status() -> None:
    stamps = {
        "待发货": (False, False),
        "已取消": (False, False),
        "已发货": (True, False),
        "已签收": (True, True),
    }
    assert len(SHOP["orders"]) >= 16
    assert {order["status"] for order in SHOP["orders"]} == set(stamps)
    for order in SHOP["orders"]:
        assert re.fullmatch(r"E\d{10}", order["order_id"])
        assert re.fullmatch(r"1\d{10}", order["phone"])
        shipped, signed = order["shipped_at"], order["signed_at"]
        assert (shipped is not None, signed is not None) == stamps[order["status"]], order["order_id"]
        assert (order["carrier"] is None) == (order["tracking_no"] is None) == (shipped is None)


def test_orders_move_forward_in_time_and_not_beyond_the_shop_clock() -> None:
    for order in SHOP["orders"]:
        known = (order["ordered_at"], order["shipped_at"], order["signed_at"], SHOP["clock"])
        times = [datetime.fromisoformat(value) for value in known if value]
        assert all(time.tzinfo for time in times)
        assert times == sorted(times), order["order_id"]
        assert order["order_id"][1:9] == order["ordered_at"][:10].replace("-", "")


def test_some_phones_have_several_orders() -> None:
    phones = Counter(order["phone"] for order in SHOP["orders"])
    assert sum(count > 1 for count in phones.values()) >= 2


def test_each_order_is_for_a_product_of_the_corpus_at_its_price() -> None:
    """A model is the first words of the order's product; its page states the price paid."""
    pages = [doc for doc in DOCS if doc["kind"] == "product"]
    for order in SHOP["orders"]:
        model = re.sub(r"\s*\d+GB\+.*$", "", order["product"]).removeprefix("星河").strip()
        # The stylus is sold in two generations which share one page.
        model = re.sub(r"^手写笔 \d 代$", "手写笔", model)
        titles = [doc for doc in pages if model in doc["title"]]
        assert any(f"{order['price']}元" in doc["text"] for doc in titles), order["product"]


def test_repair_slots_are_unique_ahead_of_the_clock_and_some_are_full() -> None:
    slots = SHOP["repair_slots"]
    assert repeated([f"{slot['date']} {slot['period']}" for slot in slots]) == []
    assert {slot["period"] for slot in slots} == {"上午", "下午", "晚上"}
    assert all(slot["date"] >= SHOP["clock"][:10] for slot in slots)
    assert {slot["left"] > 0 for slot in slots} == {True, False}


def test_taxonomy_of_the_eval_sets_is_the_intent_tree() -> None:
    want = [
        {
            "intent_l1": leaf["intent_l1"],
            "intent_l2": leaf["intent_l2"],
            "name": leaf["name"],
            "description": leaf["description"],
            "requires_rag": leaf["kind"] == "KB",
        }
        for leaf in LEAVES
    ]
    assert read(SETS / "taxonomy.json") == want


def test_catalogue_of_the_eval_sets_is_the_corpus() -> None:
    want = [{key: doc[key] for key in ("doc_id", "title", "kind")} for doc in DOCS]
    assert lines(SETS / "catalogue.jsonl") == want


def test_orders_stand_on_both_sides_of_the_return_period() -> None:
    """POLICY_RETURN_001: seven days from the day after signing."""
    today = datetime.fromisoformat(SHOP["clock"]).date()
    signed = [
        datetime.fromisoformat(order["signed_at"]).date() for order in SHOP["orders"] if order["signed_at"]
    ]
    assert {(today - day).days for day in signed} >= {3, 7, 10, 40}
    earphones = {
        order["opened"] for order in SHOP["orders"] if order["category"] == "耳机" and order["signed_at"]
    }
    assert earphones == {True, False}


def test_the_page_about_the_shop_counts_right() -> None:
    page = (ROOT / "docs" / "demo-shop.md").read_text(encoding="utf-8")
    documents = Counter(leaf for doc in DOCS for leaf in doc["intents"])
    utterances = Counter(row["intent"] for row in UTTERANCES)
    for name, leaf in BY_LEAF.items():
        assert f"| {name} | {leaf['kind']} | {documents[name]} | {utterances[name]} |" in page
    for kind, count in Counter(doc["kind"] for doc in DOCS).items():
        assert re.search(rf"^\| {kind} \| `[A-Z]+_…` \| {count} \|", page, re.MULTILINE), kind
