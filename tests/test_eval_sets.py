"""The demo shop's eval sets: valid, covering, labelled with known names, and apart from what trains the shop.

Counts in eval_sets/DATASHEET.md are rendered here from the files; a failing test prints the table it wants.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

import pytest

from evalkit.contracts import Case, StepSpec

ROOT = Path(__file__).parent.parent
SETS = ROOT / "eval_sets"
SHOP = ROOT / "evalkit" / "targets" / "demo" / "data"

LEAST = {"eval_set_v1.jsonl": 20, "eval_set_v1_all.jsonl": 220, "dialogs_v1.jsonl": 44}
"""Cases that each file must have at least; the smoke set has exactly its number."""

TRAPS = (
    "near_intent",
    "ambiguous",
    "out_of_scope",
    "typo",
    "mixed_language",
    "long_question",
    "two_questions",
)
DIFFICULTIES = ("easy", "medium", "hard")

TASKS = {
    "S5_订单查询": {
        "slots": ("order_id", "phone"),
        "steps": ("identify_order", "report_status"),
        "tools": {
            "find_orders": {"phone"},
            "get_order": {"order_id"},
            "track_shipment": {"order_id"},
        },
    },
    "S17_预约维修": {
        "slots": ("product", "fault", "name", "phone", "address", "appointment_time"),
        "steps": ("identify_product", "collect_contact", "check_slots", "confirm", "book"),
        "tools": {
            "check_warranty": {"product", "phone"},
            "list_repair_slots": {"date"},
            "create_repair_booking": {"product", "fault", "name", "phone", "address", "date", "period"},
        },
    },
    "S18_申请退货": {
        "slots": ("order_id", "reason", "phone"),
        "steps": ("identify_order", "check_eligibility", "confirm", "create_return"),
        "tools": {
            "get_order": {"order_id"},
            "check_return_eligibility": {"order_id"},
            "create_return": {"order_id", "reason", "phone"},
        },
    },
}
"""The three tasks as the shop publishes them: slots, steps in order, tools with their argument names."""

TOO_LIKE = 0.8
"""From this character-bigram Jaccard on, a question counts as one that the shop was trained on."""


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cases(name: str) -> list[Case]:
    return [Case.model_validate_json(line) for line in (SETS / name).read_bytes().splitlines()]


def where(checked: Iterable[Case], wrong: Callable[[Case], object]) -> list[str]:
    """Ids of the cases for which `wrong` holds: what a failing test should print."""
    return [case.sample_id for case in checked if wrong(case)]


SMOKE, SINGLE, DIALOGS = (cases(name) for name in LEAST)
EVERY = [*SINGLE, *DIALOGS]
TAXONOMY = {row["intent_l2"]: row for row in json.loads((SETS / "taxonomy.json").read_text(encoding="utf-8"))}
CATALOGUE = {row["doc_id"] for row in rows(SETS / "catalogue.jsonl")}
ORDERS = {
    order["order_id"]: order
    for order in json.loads((SHOP / "shop.json").read_text(encoding="utf-8"))["orders"]
}
SLOTS_LEFT = {
    (slot["date"], slot["period"]): slot["left"]
    for slot in json.loads((SHOP / "shop.json").read_text(encoding="utf-8"))["repair_slots"]
}


@pytest.mark.parametrize("name", LEAST)
def test_each_line_is_a_case_without_unknown_fields(name: str) -> None:
    """An unknown field would be kept in silence, so a misspelt one would never be seen."""
    assert not where(cases(name), lambda case: case.model_extra)


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_files_have_enough_cases(name: str, least: int) -> None:
    assert len(cases(name)) >= least


def test_the_smoke_set_is_twenty_cases_of_the_whole_set() -> None:
    whole = rows(SETS / "eval_set_v1_all.jsonl")
    smoke = rows(SETS / "eval_set_v1.jsonl")
    assert len(smoke) == LEAST["eval_set_v1.jsonl"]
    assert [row["sample_id"] for row in smoke if row not in whole] == []


@pytest.mark.parametrize("checked", [SMOKE, EVERY], ids=["smoke", "all and dialogs"])
def test_sample_ids_are_unique(checked: list[Case]) -> None:
    assert [key for key, n in Counter(case.sample_id for case in checked).items() if n > 1] == []


def test_labels_are_those_of_the_taxonomy_and_agree() -> None:
    def wrong(case: Case) -> bool:
        leaf = TAXONOMY.get(case.intent_l2 or "")
        return leaf is None or (leaf["intent_l1"], leaf["requires_rag"]) != (
            case.intent_l1,
            case.requires_rag,
        )

    assert not where(EVERY, wrong)


def test_every_leaf_has_six_cases() -> None:
    n = Counter(case.intent_l2 for case in SINGLE)
    assert {leaf: n[leaf] for leaf in TAXONOMY if n[leaf] < 6} == {}


def test_the_smoke_set_covers_many_leaves_all_difficulties_and_both_kinds() -> None:
    assert len({case.intent_l2 for case in SMOKE}) >= 16
    assert {case.difficulty for case in SMOKE} == set(DIFFICULTIES)
    assert {case.requires_rag for case in SMOKE} == {True, False}


def test_both_kinds_and_all_difficulties_are_well_represented() -> None:
    assert min(Counter(case.requires_rag for case in SINGLE).values()) >= len(SINGLE) / 5
    assert {case.difficulty for case in EVERY} == set(DIFFICULTIES)
    assert min(Counter(case.difficulty for case in SINGLE).values()) >= len(SINGLE) / 5


def test_every_trap_type_has_eight_cases() -> None:
    n = Counter(case.trap_type for case in SINGLE if case.trap_type)
    assert set(n) == set(TRAPS)
    assert {trap: n[trap] for trap in TRAPS if n[trap] < 8} == {}


def test_gold_documents_are_in_the_catalogue_and_never_both_must_and_nice() -> None:
    def wrong(case: Case) -> bool:
        must, nice = case.reference_doc_ids, case.reference_doc_ids_nice
        return bool({*must, *nice} - CATALOGUE) or len({*must, *nice}) != len(must) + len(nice)

    assert not where(EVERY, wrong)


def test_what_requires_documents_names_them_unless_it_is_out_of_scope() -> None:
    def wrong(case: Case) -> bool:
        wanted = bool(case.requires_rag) and case.trap_type != "out_of_scope"
        return wanted != bool(case.reference_doc_ids)

    assert not where(SINGLE, wrong)


def test_every_document_is_wanted_by_some_case() -> None:
    """No part of the catalogue is a blind spot for `hit@k`."""
    assert sorted(CATALOGUE - {doc for case in SINGLE for doc in case.reference_doc_ids}) == []


def test_single_questions_have_a_reference_and_fit_the_targets_limit_of_500_characters() -> None:
    assert not where(SINGLE, lambda case: not case.query or len(case.query) > 500 or not case.reference)
    assert not where(SINGLE, lambda case: case.messages)


def test_long_questions_are_long() -> None:
    assert not where(SINGLE, lambda case: (case.trap_type == "long_question") != (len(case.query) >= 75))


def test_cases_are_asked_at_the_shops_clock() -> None:
    """So that "tomorrow" has one meaning, whatever the day of the run."""
    clock = json.loads((SHOP / "shop.json").read_text(encoding="utf-8"))["clock"]
    assert {case.asked_at for case in EVERY} == {datetime.fromisoformat(clock)}


# Dialogs


def test_dialogs_have_several_turns_and_say_what_is_right() -> None:
    def wrong(case: Case) -> bool:
        said = case.expectation is not None and case.expectation.behavior
        return len(case.messages) < 2 or case.expected_turns != len(case.messages) or not said

    assert not where(DIALOGS, wrong)


def test_dialogs_are_of_the_three_tasks() -> None:
    assert {case.intent_l2 for case in DIALOGS} == set(TASKS)


def test_slot_names_are_those_of_the_task() -> None:
    def wrong(case: Case) -> bool:
        names = [slot.name for slot in case.required_slots]
        known = TASKS[str(case.intent_l2)]["slots"]
        return not set(names) <= set(known) or len(set(names)) != len(names)

    assert not where(DIALOGS, wrong)


def test_slots_have_a_value_a_type_and_no_alias_twice() -> None:
    def wrong(case: Case) -> bool:
        slots = case.required_slots
        return any(
            not slot.value or not slot.type or len({slot.value, *slot.aliases}) <= len(slot.aliases)
            for slot in slots
        )

    assert not where(DIALOGS, wrong)


SHAPES = {
    "phone": r"1\d{10}",
    "order_id": r"E\d{10}",
    "appointment": r"2026-\d\d-\d\d (上午|下午|晚上)",
}


def test_slot_values_have_their_normal_form() -> None:
    wrong = [
        (case.sample_id, slot.value)
        for case in DIALOGS
        for slot in case.required_slots
        if not re.fullmatch(SHAPES.get(str(slot.type), ".+"), str(slot.value))
    ]
    assert wrong == []


def test_the_user_says_what_free_text_slots_hold() -> None:
    """A gold value that was never said could not be filled by any agent."""
    wrong = [
        (case.sample_id, slot.name)
        for case in DIALOGS
        for slot in case.required_slots
        if slot.name in {"product", "fault", "name", "address", "reason"}
        and not any(str(form) in "\n".join(case.messages) for form in (slot.value, *slot.aliases))
    ]
    assert wrong == []


def test_steps_are_those_of_the_task_in_its_order() -> None:
    def wrong(case: Case) -> bool:
        names = [step.name for step in case.required_steps]
        known = TASKS[str(case.intent_l2)]["steps"]
        return names != [name for name in known if name in names]

    assert not where(DIALOGS, wrong)


def test_after_names_steps_that_come_earlier_and_each_step_can_be_found() -> None:
    def wrong(steps: tuple[StepSpec, ...]) -> bool:
        names = [step.name for step in steps]
        return any(
            not set(step.after) <= set(names[:n]) or not (step.tool or step.keywords)
            for n, step in enumerate(steps)
        )

    assert not where(DIALOGS, lambda case: wrong(case.required_steps))


def test_tools_and_their_arguments_are_those_of_the_task() -> None:
    def wrong(case: Case) -> bool:
        tools = TASKS[str(case.intent_l2)]["tools"]
        calls = [(call.name, set(call.arguments)) for call in case.expected_tools or ()]
        by_step = {step.tool for step in case.required_steps if step.tool}
        return any(tools.get(name) != given for name, given in calls) or not by_step <= {n for n, _ in calls}

    assert not where(DIALOGS, wrong)


def test_expected_tools_are_always_given_so_that_none_means_none_may_be_called() -> None:
    assert not where(DIALOGS, lambda case: case.expected_tools is None)
    assert where(DIALOGS, lambda case: case.expected_tools == ())


def test_writing_calls_hold_exactly_the_final_slot_values() -> None:
    def wrong(case: Case) -> bool:
        final = {slot.name: slot.value for slot in case.required_slots}
        date, _, period = str(final.pop("appointment_time", "")).partition(" ")
        writes = [call for call in case.expected_tools or () if call.name.startswith("create_")]
        wanted = {**final, "date": date, "period": period} if date else final
        return len(writes) > 1 or any(call.arguments != wanted for call in writes)

    assert not where(DIALOGS, wrong)


def test_a_task_that_ends_in_its_last_step_writes_and_no_other_does() -> None:
    def wrong(case: Case) -> bool:
        done = any(step.name in {"book", "create_return"} for step in case.required_steps)
        return done != any(call.name.startswith("create_") for call in case.expected_tools or ())

    assert not where(DIALOGS, wrong)


def test_unknown_orders_are_unknown_and_all_others_are_the_shops() -> None:
    def wrong(case: Case) -> bool:
        asked = {call.arguments["order_id"] for call in case.expected_tools or () if call.name == "get_order"}
        return bool(asked - set(ORDERS)) != ("unknown_order" in case.tags)

    assert not where(DIALOGS, wrong)


def test_all_bookings_together_fit_the_calendar() -> None:
    """Else a target that keeps its bookings from case to case would be right or wrong by the order of cases."""
    booked = Counter(
        (call.arguments["date"], call.arguments["period"])
        for case in DIALOGS
        for call in case.expected_tools or ()
        if call.name == "create_repair_booking"
    )
    assert {time: n for time, n in booked.items() if n > SLOTS_LEFT.get(time, 0)} == {}


# Apart from the training set, and from each other


def normal(text: str) -> str:
    """NFKC, casefolded, without punctuation, symbols and spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] not in "PSZC")


def likeness(one: str, other: str) -> float:
    """Jaccard index of the character bigrams; texts of one character have none and are alike only if equal."""
    if one == other:
        return 1.0
    ours, theirs = ({text[n : n + 2] for n in range(len(text) - 1)} for text in (one, other))
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 0.0


@pytest.mark.parametrize(
    ("one", "other", "like"),
    [
        pytest.param("退 货！", "退货", 1.0, id="punctuation and space do not part"),
        pytest.param("ＡＢ", "ab", 1.0, id="width and case do not part"),
        pytest.param("abcd", "bcde", 2 / 4, id="two of four bigrams: ab bc cd de"),
        pytest.param("好", "行", 0.0, id="single characters"),
    ],
)
def test_likeness_by_hand(one: str, other: str, like: float) -> None:
    assert likeness(normal(one), normal(other)) == like


def clashes(questions: list[tuple[str, str]], others: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    folded = [(key, text, normal(text)) for key, text in others]
    return [
        (key, text, other)
        for key, text in questions
        for place, other, form in folded
        if place != key and likeness(normal(text), form) >= TOO_LIKE
    ]


def test_no_question_is_a_training_utterance_of_the_shop() -> None:
    """First turns of dialogs count as questions: they are what tells the task."""
    trained = [(f"line {n}", row["text"]) for n, row in enumerate(rows(SHOP / "utterances.jsonl"), 1)]
    asked = [(case.sample_id, case.user_turns[0]) for case in EVERY]
    assert clashes(asked, trained) == []


def test_no_two_single_questions_are_alike() -> None:
    asked = [(case.sample_id, case.query) for case in SINGLE]
    assert clashes(asked, asked) == []


# The datasheet

FILES = {"eval_set_v1_all.jsonl": SINGLE, "eval_set_v1.jsonl": SMOKE, "dialogs_v1.jsonl": DIALOGS}


def table(head: tuple[str, ...], body: Iterable[tuple[object, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *body]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def sizes() -> str:
    body = [
        (
            f"`{name}`",
            len(checked),
            *(sum(case.difficulty == level for case in checked) for level in DIFFICULTIES),
            sum(case.requires_rag is True for case in checked),
            sum(case.requires_rag is False for case in checked),
            sum(case.trap_type is not None for case in checked),
        )
        for name, checked in FILES.items()
    ]
    return table(("file", "cases", *DIFFICULTIES, "requires_rag", "no retrieval", "with a trap"), body)


def leaves() -> str:
    body = [
        (leaf, *(sum(case.intent_l2 == leaf for case in checked) for checked in FILES.values()))
        for leaf in TAXONOMY
    ]
    return table(("leaf", "all", "smoke", "dialogs"), body)


def traps(checked: list[Case]) -> str:
    n = Counter(case.trap_type for case in checked if case.trap_type)
    return table(("trap_type", "cases"), sorted(n.items(), key=lambda item: (-item[1], item[0])))


def gold() -> str:
    must = Counter(len(case.reference_doc_ids) for case in SINGLE)
    nice = Counter(len(case.reference_doc_ids_nice) for case in SINGLE)
    return table(("documents a case", "as must", "as nice"), [(n, must[n], nice[n]) for n in range(4)])


def dialog_shape() -> str:
    def row(leaf: str) -> tuple[object, ...]:
        own = [case for case in DIALOGS if case.intent_l2 == leaf]
        return (
            leaf,
            len(own),
            sum(len(case.messages) for case in own),
            sum(len(case.required_slots) for case in own),
            sum(len(case.required_steps) for case in own),
            sum(len(case.expected_tools or ()) for case in own),
            sum(not case.expected_tools for case in own),
        )

    head = (
        "task",
        "cases",
        "user turns",
        "required slots",
        "required steps",
        "expected calls",
        "no call at all",
    )
    return table(head, [row(leaf) for leaf in TASKS])


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(sizes(), id="sizes"),
        pytest.param(leaves(), id="leaves"),
        pytest.param(traps(SINGLE), id="traps"),
        pytest.param(traps(DIALOGS), id="traps of the dialogs"),
        pytest.param(gold(), id="gold documents"),
        pytest.param(dialog_shape(), id="dialogs"),
    ],
)
def test_the_datasheet_counts_right(wanted: str) -> None:
    sheet = (SETS / "DATASHEET.md").read_text(encoding="utf-8")
    assert wanted in sheet, f"eval_sets/DATASHEET.md wants this table:\n\n{wanted}\n"


def test_gold_counts_are_all_in_the_table() -> None:
    assert max(len(case.reference_doc_ids) for case in SINGLE) <= 3
    assert max(len(case.reference_doc_ids_nice) for case in SINGLE) <= 3
