"""The check of an eval set: each thing wrong is named where it stands, and nothing else is."""

from __future__ import annotations

import json
import random
import time
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases import Check, SummaryRow, check, parents_beside
from evalkit.errors import BadData, NoInput

Held = Callable[..., Check]

TAXONOMY = [
    {
        "intent_l1": "售后",
        "intent_l2": "S14_退换货咨询",
        "name": "退换货",
        "description": "",
        "requires_rag": True,
    },
    {
        "intent_l1": "售后",
        "intent_l2": "S15_保修维修",
        "name": "保修",
        "description": "",
        "requires_rag": True,
    },
    {"intent_l1": "闲聊", "intent_l2": "CHAT_问候", "name": "问候", "description": "", "requires_rag": False},
]
CATALOGUE = [
    {"doc_id": "POLICY_RETURN_002", "title": "退换货政策", "kind": "policy"},
    {"doc_id": "FAQ_RET_001", "title": "退货常见问题", "kind": "faq"},
]


def case(sample: object, **fields: Any) -> dict[str, Any]:
    """A case with nothing wrong with it, whose question is its own."""
    return {
        "sample_id": sample,
        "query": f"第{sample}个问题：{'甲乙丙丁戊己庚辛壬癸'[zlib.crc32(str(sample).encode()) % 10] * 3}",
    } | fields


@pytest.fixture
def held(tmp_path: Path) -> Held:
    """A function that writes lines to a file and checks it."""

    def run(*lines: dict[str, Any] | bytes, **options: Any) -> Check:
        raw = [
            line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode()
            for line in lines
        ]
        path = tmp_path / "set.jsonl"
        path.write_bytes(b"\n".join(raw) + b"\n")
        return check(path, **options)

    return run


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The folder of the eval set, with a taxonomy and a catalogue in it."""
    (tmp_path / "taxonomy.json").write_text(
        json.dumps(TAXONOMY, ensure_ascii=False, indent=2), encoding="utf-8"
    )
    lines = [json.dumps(line, ensure_ascii=False) for line in CATALOGUE]
    (tmp_path / "catalogue.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def told(found: Check) -> list[str]:
    """The faults without the path."""
    return [str(fault).partition(".jsonl:")[2] for fault in found.faults]


def warned(found: Check, field: str | None = None) -> list[str]:
    """The warnings without the path, and without the one about labels of few cases."""
    return [
        str(fault).partition(".jsonl:")[2]
        for fault in found.warnings
        if field in (None, fault.field) and "at least 5 cases" not in fault.wanted
    ]


def test_a_good_set_has_no_faults_and_no_warnings(held: Held, beside: Path) -> None:
    lines = [
        case(
            n,
            query=query,
            intent_l1="售后",
            intent_l2="S14_退换货咨询",
            expected_doc_ids=["POLICY_RETURN_002"],
        )
        for n, query in enumerate(["能退吗", "怎么换货", "退款多久到账", "运费谁出", "拆封了还收吗"])
    ]
    found = held(*lines)
    assert (found.faults, found.warnings, found.n_faults, found.n_warnings) == ((), (), 0, 0)


def test_all_lines_that_do_not_hold_are_named(held: Held) -> None:
    found = held(case(1), b"{bad", {"query": "x"}, case(2, tags="vip", difficulty=3), b"", b"[]")
    assert told(found) == [
        "2:2: line: found Expecting property name enclosed in double quotes, wanted one JSON object",
        "3: sample_id: found nothing, wanted a value",
        "4: difficulty: found 3, wanted a valid string",
        "4: tags: found 'vip', wanted a list",
        "6: line: found a JSON array, wanted a JSON object",
    ]
    assert found.summary[0] == SummaryRow("cases", "all", 1)


def test_each_line_is_counted_once(held: Held, tmp_path: Path) -> None:
    """Lines = ok + rejected + blank + torn, as of a run; a line that is bad in two ways is one line."""
    found = held(case(1), b'{"sample_id":', b"", case(2, tags="vip", rule_logic="none"))
    assert found.lines is not None
    assert found.lines == (4, 1, 2, 1, 0)
    (tmp_path / "set.json").write_text(json.dumps({"cases": [case(1)]}), encoding="utf-8")
    assert check(tmp_path / "set.json").lines is None


def test_a_repeated_id_names_both_lines(held: Held) -> None:
    lines = [case(n) for n in range(1, 901)]
    lines[899] = case(3, query="另一个问题")
    found = held(*lines)
    assert told(found) == ["900: sample_id: found '3' again, as in line 3, wanted each id once"]


def test_a_third_case_of_an_id_names_the_first(held: Held) -> None:
    found = held(case("a"), case("a", query="二"), case("a", query="三"))
    assert [(fault.line, "line 1," in str(fault)) for fault in found.faults] == [(2, True), (3, True)]


@pytest.mark.parametrize(
    ("fields", "silent"),
    [
        ({"query": ""}, True),
        ({"query": " \u3000"}, True),
        ({"query": "", "messages": []}, True),
        ({"query": "", "messages": ["", " "]}, True),
        ({"query": "", "messages": ["你好"]}, False),
        ({"query": "你好"}, False),
    ],
    ids=str,
)
def test_a_case_asks_something(held: Held, fields: dict[str, Any], silent: object) -> None:
    wanted = ["2: query: found neither a query nor messages, wanted one of them"] if silent else []
    assert told(held(case(1), case(2) | fields)) == wanted


def test_a_label_under_two_parents_names_both_lines(held: Held) -> None:
    found = held(
        case("a", intent_l1="售后", intent_l2="S14"),
        case("b", intent_l1="售前", intent_l2="S1"),
        case("c", intent_l1="售前", intent_l2="S14"),
        case("d", intent_l2="S14"),
        case("e", intent_l1="售前"),
    )
    assert told(found) == ["3: intent_l1: found '售前', wanted '售后', the parent of 'S14' for 'a' in line 1"]


def test_the_taxonomy_says_which_parent_is_right(held: Held, beside: Path) -> None:
    found = held(
        case("a", intent_l1="闲聊", intent_l2="S14_退换货咨询"),
        case("b", intent_l1="售后", intent_l2="S14_退换货咨询"),
    )
    assert told(found) == [
        "1: intent_l1: found '闲聊', wanted '售后', the parent of 'S14_退换货咨询' for the taxonomy"
    ]


def test_a_label_that_the_taxonomy_does_not_know_is_named_with_its_count(held: Held, beside: Path) -> None:
    lines = [case(n, intent_l2="S14_退货咨询") for n in range(7)]
    found = held(*lines, case("z", intent_l1="天气", intent_l2="W1"))
    assert told(found) == [
        "1: intent_l2: found 'S14_退货咨询' in 7 cases, lines 1, 2, 3, 4, 5, …, wanted a label of the taxonomy; the nearest is 'S14_退换货咨询'",
        "8: intent_l1: found '天气' in 1 case, line 8, wanted a label of the taxonomy",
        "8: intent_l2: found 'W1' in 1 case, line 8, wanted a label of the taxonomy",
    ]


@pytest.mark.parametrize(
    "label",
    [
        "Ｓ１４＿退换货咨询",
        "S14_退换货咨询\u200b",
        "\ufeffS14_退换货咨询",
        "S14_退换货咨询\u3000",
        " S14_退换货咨询",
    ],
    ids=ascii,
)
def test_a_label_that_only_looks_right_is_wrong_and_told_so(held: Held, beside: Path, label: str) -> None:
    found = held(case(1, intent_l2=label))
    assert [fault.line for fault in found.faults] == [1]
    assert "'S14_退换货咨询' differs from it only in width" in found.faults[0].wanted
    assert [fault.split(",")[-1] for fault in warned(found, "intent_l2")] == [
        " which differs only in width or in characters that nobody sees"
    ]


def test_without_a_taxonomy_labels_are_held_against_each_other(held: Held) -> None:
    found = held(
        case(1, intent_l1="售后", intent_l2="é"), case(2, intent_l1="售后\u200b", intent_l2="e\u0301")
    )
    assert found.n_faults == 0
    assert [(fault.line, fault.field) for fault in found.warnings if "width" in fault.wanted] == [
        (2, "intent_l1"),
        (2, "intent_l2"),
    ]


def test_labels_that_differ_in_case_are_different(held: Held) -> None:
    assert warned(held(case(1, intent_l2="s1"), case(2, intent_l2="S1"))) == []


@pytest.mark.parametrize("field", ["reference_doc_ids", "reference_doc_ids_nice"])
def test_documents_that_the_catalogue_lacks_are_named(held: Held, beside: Path, field: str) -> None:
    found = held(
        case(1, **{field: ["FAQ_RET_001"]}),
        case(2, **{field: ["FAQ_RET_001", "GONE", "GONE"]}),
        case(3, **{field: ["GONE"]}),
    )
    assert told(found) == [
        f"2: {field}: found 'GONE' in 2 cases, lines 2, 3, wanted a document of the catalogue"
    ]


def test_the_parents_of_labels_are_those_of_the_taxonomy_beside(beside: Path) -> None:
    assert parents_beside(beside / "set.jsonl")["CHAT_问候"] == "闲聊"
    assert parents_beside(beside / "elsewhere" / "set.jsonl") == {}


def test_an_empty_catalogue_knows_no_document(held: Held, tmp_path: Path) -> None:
    (tmp_path / "catalogue.jsonl").write_text("\n", encoding="utf-8")
    assert held(case(1, reference_doc_ids=["D"])).n_faults == 1


def test_the_given_taxonomy_and_catalogue_go_before_those_beside(
    held: Held, beside: Path, tmp_path: Path
) -> None:
    tree, shelf = tmp_path / "my.json", tmp_path / "my.jsonl"
    tree.write_text('[{"intent_l1":"A","intent_l2":"B"}]', encoding="utf-8")
    shelf.write_text('{"id":"D"}', encoding="utf-8")
    line = case(1, intent_l1="A", intent_l2="B", reference_doc_ids=["D"])
    assert held(line, taxonomy=tree, catalogue=shelf).n_faults == 0
    assert held(line).n_faults == 3


def test_without_taxonomy_and_catalogue_labels_and_documents_are_free(held: Held) -> None:
    assert held(case(1, intent_l1="A", intent_l2="B", reference_doc_ids=["D"])).n_faults == 0


def test_steps_come_after_steps_that_are_there(held: Held) -> None:
    steps = [{"name": "核实订单"}, {"name": "提交", "after": ["核实订单", "核实手机"]}]
    assert told(held(case(1), case(2, required_steps=steps))) == [
        '2: required_steps[1].after: found \'核实手机\', wanted one of the steps ["提交", "核实订单"]'
    ]


def test_steps_that_wait_for_each_other_are_named(held: Held) -> None:
    after: dict[str, list[str]] = {"a": [], "b": ["a", "d"], "c": ["b"], "d": ["c"]}
    steps = [{"name": name, "after": earlier} for name, earlier in after.items()]
    (fault,) = held(case(1, required_steps=steps)).faults
    names = fault.found.removeprefix("the circle ").replace("'", "").split(" → ")
    assert fault.field == "required_steps"
    assert set(names) == {"b", "c", "d"}
    assert names[0] == names[-1]
    assert all(earlier in after[later] for earlier, later in pairwise(names))


def test_questions_that_are_nearly_the_same_are_named_with_both_lines(held: Held) -> None:
    found = held(
        case("a", query="买了两周的无线蓝牙耳机还能不能退货"),
        case("b", query="怎么开发票"),
        case("c", query="买了两周的无线蓝牙耳机，还能不能退货？？"),
        case("d", query="", messages=["怎么开", "发票"]),
    )
    assert warned(found) == [
        "3: query: found 'c' asking 100% like 'a' in line 1, wanted questions that differ",
        "4: query: found 'd' asking 100% like 'b' in line 2, wanted questions that differ",
    ]


def test_one_question_under_two_labels_is_named_with_both_lines(held: Held) -> None:
    found = held(
        case("a", query="能退吗", intent_l2="S14"),
        case("b", query="能退吗？", intent_l2="S16"),
        case("c", query="能退吗!", intent_l2="S14"),
        case("d", query="能退吗"),
    )
    assert warned(found, "intent_l2") == [
        "2: intent_l2: found 'S16' for the question that is 'S14' for 'a' in line 1, wanted one label a question"
    ]


def test_questions_of_nothing_but_punctuation_are_not_compared(held: Held) -> None:
    found = held(case(1, query="？", intent_l2="A"), case(2, query="!!", intent_l2="B"))
    assert warned(found) == []


@pytest.mark.parametrize(("cases", "rare"), [(4, True), (5, False)])
def test_a_label_needs_five_cases(held: Held, cases: int, rare: object) -> None:
    found = held(
        *[case(n, query=q, intent_l2="S1") for n, q in zip(range(cases), "甲乙丙丁戊", strict=False)]
    )
    told = [str(fault).partition(".jsonl:")[2] for fault in found.warnings]
    shown = "1: intent_l2: found 'S1' in 4 cases, lines 1, 2, 3, 4, wanted at least 5 cases a label"
    assert told == ([shown] if rare else [])


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"requires_rag": True}, "none, though requires_rag is true"),
        ({"requires_rag": True, "reference_doc_ids": ["D"]}, None),
        ({"requires_rag": True, "reference_doc_ids_nice": ["D"]}, None),
        ({"requires_rag": False, "reference_doc_ids": ["D"]}, "some, though requires_rag is false"),
        ({"requires_rag": False}, None),
        ({"reference_doc_ids": ["D"]}, None),
        ({}, None),
    ],
    ids=str,
)
def test_documents_are_there_where_they_are_needed(
    held: Held, fields: dict[str, Any], found: str | None
) -> None:
    warnings = held(case(1), case(2, **fields)).warnings
    assert [(fault.line, fault.found) for fault in warnings] == ([(2, found)] if found else [])


def test_a_field_spelt_nearly_like_one_that_is_known_is_named_once(held: Held) -> None:
    found = held(
        case(1, channel="app"),
        case(2, expected_docs_ids=["D"], id="x"),
        case(3, expected_docs_ids=["D"], **{"intent-l2": "S1"}),
    )
    assert warned(found) == [
        "2: 'expected_docs_ids': found a field that is not known and so not used, wanted 'expected_doc_ids'",
        "3: 'intent-l2': found a field that is not known and so not used, wanted 'intent_l2'",
    ]


def test_ids_that_do_not_travel_are_told_once(held: Held) -> None:
    """`a#1` would be the first repeat of `a`; the others cannot be file names or parts of an address."""
    found = held(*[case(sample) for sample in ("ok-1.x_Y", "a#1", "../x", "退货", "a b", "x" * 129)])
    assert warned(found) == [
        "2: sample_id: found 'a#1' in 5 cases, lines 2, 3, 4, 5, 6, wanted ids of Latin letters, digits, '.', '_' and '-'"
    ]


def test_the_summary_counts_what_is_there_and_what_is_not(held: Held, beside: Path) -> None:
    found = held(
        case(
            1,
            intent_l1="售后",
            intent_l2="S14_退换货咨询",
            requires_rag=True,
            reference_doc_ids=["FAQ_RET_001"],
        ),
        case(
            2,
            intent_l1="闲聊",
            intent_l2="CHAT_问候",
            requires_rag=False,
            difficulty="easy",
            trap_type="typo",
        ),
        case(3, messages=["你好", "退货"], difficulty="hard", intent_l2=""),
    )
    assert found.summary == (
        SummaryRow("cases", "all", 3),
        SummaryRow("cases", "dialogs", 1),
        SummaryRow("cases", "with documents", 1),
        SummaryRow("intent_l1", "售后", 1),
        SummaryRow("intent_l1", "闲聊", 1),
        SummaryRow("intent_l1", None, 1),
        SummaryRow("intent_l2", "CHAT_问候", 1),
        SummaryRow("intent_l2", "S14_退换货咨询", 1),
        SummaryRow("intent_l2", "S15_保修维修", 0),
        SummaryRow("intent_l2", None, 1),
        SummaryRow("requires_rag", "false", 1),
        SummaryRow("requires_rag", "true", 1),
        SummaryRow("requires_rag", None, 1),
        SummaryRow("difficulty", "easy", 1),
        SummaryRow("difficulty", "hard", 1),
        SummaryRow("difficulty", None, 1),
        SummaryRow("trap_type", "typo", 1),
        SummaryRow("trap_type", None, 2),
    )


def test_the_limit_cuts_what_is_kept_and_not_what_is_counted(held: Held) -> None:
    lines = [case(n, query="能退吗", sample_id="a") for n in range(50)]
    found = held(*lines, limit=3)
    assert [fault.line for fault in found.faults] == [2, 3, 4]
    assert len(found.warnings) == 3
    assert (found.n_faults, found.n_warnings) == (49, 49)


def test_faults_stand_in_the_order_of_the_lines(held: Held, beside: Path) -> None:
    found = held(
        case(1, intent_l2="X"), b"{bad", case(1, query=" ", reference_doc_ids=["D"]), case(3, query="")
    )
    assert [fault.line for fault in found.faults] == [1, 2, 3, 3, 3, 4]


@pytest.mark.parametrize("raw", [b"", b"\n \n"], ids=["empty", "blank"])
def test_a_set_without_cases_is_no_input(held: Held, raw: bytes) -> None:
    with pytest.raises(NoInput, match="found no case"):
        held(raw)


def test_a_missing_set_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="found no such file"):
        check(tmp_path / "gone.jsonl")


@pytest.mark.parametrize("option", ["taxonomy", "catalogue"])
def test_a_taxonomy_or_catalogue_that_was_named_must_be_there(
    held: Held, tmp_path: Path, option: str
) -> None:
    with pytest.raises(NoInput, match="found no such file"):
        held(case(1), **{option: tmp_path / "gone"})


def test_a_catalogue_that_does_not_hold_is_bad_data(held: Held, tmp_path: Path) -> None:
    (tmp_path / "catalogue.jsonl").write_text('{"title":"x"}\n', encoding="utf-8")
    with pytest.raises(BadData, match=r"catalogue.jsonl:1: doc_id: found nothing, wanted a value"):
        held(case(1))


def test_ten_thousand_cases_are_checked_in_seconds(held: Held) -> None:
    """About 1 s on an idle core; the bound leaves room for a busy machine."""
    rng = random.Random(3)  # noqa: S311 no secret
    chars = [chr(code) for code in range(0x4E00, 0x4E00 + 300)]
    lines = [
        case(n, query="".join(rng.choices(chars, k=rng.randint(6, 30))), intent_l2=f"S{n % 40}")
        for n in range(10_000)
    ]
    lines[9_999]["query"] = lines[17]["query"] + "？"
    start = time.process_time()
    found = held(*lines)
    assert time.process_time() - start < 20
    assert [(fault.line, fault.found) for fault in found.warnings if fault.field == "query"] == [
        (10_000, "'9999' asking 100% like '17' in line 18")
    ]
