"""The taxonomy and the catalogue: read strictly, each entry that does not hold is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cases import Intent, Taxonomy, load_catalogue
from evalkit.errors import BadData, NoInput


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test writes its file."""
    return tmp_path / "taxonomy.json"


def test_a_taxonomy_knows_each_label_s_parent(file: Path) -> None:
    file.write_text(
        """[
          {"intent_l1": "售后", "intent_l2": "S14", "name": "退换货", "description": "退", "requires_rag": true},
          {"intent_l1": "售后", "intent_l2": "S15", "owner": "a team"},
          {"intent_l1": "闲聊", "intent_l2": "CHAT"}
        ]""",
        encoding="utf-8",
    )
    tree = Taxonomy.load(file)
    assert tree.parents == {"S14": "售后", "S15": "售后", "CHAT": "闲聊"}
    assert tree.intents[0] == Intent(
        intent_l1="售后", intent_l2="S14", name="退换货", description="退", requires_rag=True
    )
    assert tree.intents[1].model_extra == {"owner": "a team"}


def test_entries_that_do_not_hold_are_named_by_their_place(file: Path) -> None:
    file.write_text(
        '[{"intent_l1":"A","intent_l2":"B"},{"intent_l1":"A"},"x",{"intent_l1":"","intent_l2":"C"},'
        '{"intent_l1":"D","intent_l2":"B"}]',
        encoding="utf-8",
    )
    with pytest.raises(BadData) as error:
        Taxonomy.load(file)
    assert [(fault.field, fault.found) for fault in error.value.faults] == [
        ("[1].intent_l2", "nothing"),
        ("[2]", "'x'"),
        ("[3].intent_l1", "''"),
        ("intent_l2", "'B' under 'A' and 'D'"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"intents":[]}', '{"intents": []}'),
        ("{bad", "Expecting property name"),
        ('[{"a":1,"a":2}]', "the key 'a' twice"),
    ],
    ids=["object", "no JSON", "duplicate key"],
)
def test_a_file_that_is_no_list_is_bad_data(file: Path, text: str, found: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadData) as error:
        Taxonomy.load(file)
    assert error.value.faults[0].found.startswith(found)


def test_a_missing_taxonomy_is_no_input(file: Path) -> None:
    with pytest.raises(NoInput):
        Taxonomy.load(file)


def test_a_catalogue_is_the_set_of_its_ids(file: Path) -> None:
    file.write_text('{"doc_id":"A","title":"甲","kind":"faq"}\n{"id":7}\n{"doc_id":"A"}\n', encoding="utf-8")
    assert load_catalogue(file) == {"A", "7"}


def test_every_bad_line_of_a_catalogue_is_named(file: Path) -> None:
    file.write_text('{"doc_id":""}\n{"doc_id":"A"}\n{}\n', encoding="utf-8")
    with pytest.raises(BadData) as error:
        load_catalogue(file)
    assert [fault.line for fault in error.value.faults] == [1, 3]
