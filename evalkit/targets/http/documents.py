"""Documents, as the answer's stream or a lookup names them, under the names of an observation."""

from __future__ import annotations

from typing import Any, Literal

from evalkit.net.wire import storable
from evalkit.targets.http.paths import select
from evalkit.targets.http.rules import Documents

__all__ = ["DocIds", "DocumentLog", "intents", "listed", "stem"]

DocIds = Literal["name", "id"]
"""What a document is called by: its file name without the extension, where it has one, or its id."""


def stem(name: str) -> str:
    """A file name without its last extension."""
    before, dot, extension = name.rpartition(".")
    return before if dot and before and extension.isalnum() else name


def listed(value: Any) -> list[Any]:
    """A list as it is, of an object its values; ValueError for anything else."""
    if isinstance(value, dict):
        return list(value.values())
    if not isinstance(value, list):
        raise ValueError(f"found {type(value).__name__}, wanted a list")  # noqa: TRY004 - a bad value of the target
    return value


def intents(value: Any) -> dict[str, Any]:
    """A predicted intent, or a list of one for each sub-question, under the names of an observation."""
    found = value if isinstance(value, list) else [value]
    if not all(intent is None or isinstance(intent, str) for intent in found):
        raise ValueError("found an intent that is no text")
    return {
        "intent_pred": next(filter(None, found), None),
        "intent_pred_all": tuple(found) if isinstance(value, list) else (),
    }


class DocumentLog:
    """What was said of documents so far: nothing, unless `told`."""

    def __init__(self, doc_ids: DocIds) -> None:
        self.told = False
        self._doc_ids = doc_ids
        self._rows: list[dict[str, str | None]] = []

    def take(self, rule: Documents, data: Any) -> int | None:
        """Take in what the rule finds; how many documents that were, None where nothing was said of any."""
        found = storable(select(rule.each, data))
        if found is None:
            return None
        rows = [self._row(rule, item) for item in listed(found) if item is not None]
        self.told = True
        self._rows = [*(self._rows if rule.mode == "append" else []), *rows]
        return len(rows)

    def observed(self) -> dict[str, Any]:
        """Documents and pieces each once, in the order of first sight; texts with the document of each."""
        if not self.told:
            return {}
        found: dict[str, Any] = {"retrieved_doc_ids": self._once("doc")}
        if any(row["chunk"] for row in self._rows):
            found["retrieved_chunk_ids"] = self._once("chunk")
        texts = [row for row in self._rows if row["text"] is not None]
        if texts:
            found["retrieved_contexts"] = tuple(row["text"] for row in texts)
            found["retrieved_context_doc_ids"] = tuple(row["doc"] for row in texts)
        return found

    def _once(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for row in self._rows if (value := row[name])))

    def _row(self, rule: Documents, item: Any) -> dict[str, str | None]:
        name, known = _word(select(rule.name, item)), _word(select(rule.id, item))
        named = stem(name) if name else None
        return {
            "doc": named or known if self._doc_ids == "name" else known or named,
            "chunk": _word(select(rule.chunk, item)),
            "text": _word(select(rule.text, item)),
        }


def _word(value: Any) -> str | None:
    """A text or a whole number as text, null where there is none."""
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"found {type(value).__name__} in a document, wanted text")  # noqa: TRY004 - as above
    return str(value)
