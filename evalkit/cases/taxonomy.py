"""What an eval set is held against: the tree of intents and the catalogue of documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import AliasChoices, Field

from evalkit.contracts.values import DocId, Frozen
from evalkit.errors import BadData, Fault, shown
from evalkit.reading import document, fit, read

__all__ = ["Document", "Intent", "Taxonomy", "load_catalogue"]


class Intent(Frozen):
    """A leaf of the tree of intents."""

    intent_l1: str = Field(min_length=1)
    """The label of the first level."""
    intent_l2: str = Field(min_length=1)
    """The label of the second level, unique in the tree."""
    name: str | None = None
    """The intent in few words."""
    description: str | None = None
    """What belongs to it and what does not."""
    requires_rag: bool | None = None
    """Whether its questions need documents."""


class Document(Frozen):
    """A document that a case may refer to."""

    doc_id: DocId = Field(validation_alias=AliasChoices("doc_id", "id"))
    """The document's id; also read from `id`."""
    title: str | None = None
    """Its title."""
    kind: str | None = None
    """What sort of document it is: product, policy, FAQ, …"""


@dataclass(frozen=True)
class Taxonomy:
    """The tree of intents, leaf by leaf."""

    intents: tuple[Intent, ...]

    @classmethod
    def load(cls, path: Path) -> Self:
        """The taxonomy in a JSON file that is a list of intents.

        Raises NoInput where there is no file, BadData naming every entry that does not hold and every
        second-level label that stands twice.
        """
        entries = document(path)
        if not isinstance(entries, list):
            raise BadData([Fault(str(path), 1, "file", shown(entries), "a list of intents")])
        found = [_intent(path, place, entry) for place, entry in enumerate(entries)]
        intents = [item for item in found if isinstance(item, Intent)]
        faults = [fault for item in found if isinstance(item, list) for fault in item]
        faults.extend(_repeated_labels(path, intents))
        if faults:
            raise BadData(faults)
        return cls(tuple(intents))

    @cached_property
    def parents(self) -> dict[str, str]:
        """The first-level label of each second-level label."""
        return {intent.intent_l2: intent.intent_l1 for intent in self.intents}


def load_catalogue(path: Path) -> frozenset[str]:
    """The ids of the documents in a JSONL catalogue; NoInput, or BadData naming every bad line."""
    reading = read(path, Document)
    if reading.faults:
        raise BadData(reading.faults)
    return frozenset(item.doc_id for item in reading.items)


def _intent(path: Path, place: int, entry: Any) -> Intent | list[Fault]:
    item = fit(entry, Intent, path=str(path), line=1)
    if isinstance(item, Intent):
        return item
    return [replace(fault, field=f"[{place}].{fault.field}".removesuffix(".line")) for fault in item]


def _repeated_labels(path: Path, intents: list[Intent]) -> Iterator[Fault]:
    parents: dict[str, str] = {}
    for intent in intents:
        if intent.intent_l2 in parents:
            found = f"{intent.intent_l2!r} under {parents[intent.intent_l2]!r} and {intent.intent_l1!r}"
            yield Fault(str(path), 1, "intent_l2", found, "each label once")
        parents.setdefault(intent.intent_l2, intent.intent_l1)
