"""Forms: what lines of a run look like, learned from lines that the models accepted, to read the next ones by.

A form is one regular expression for all lines with the same keys in the same order. Whatever it matches, the
models accept, and its groups are the columns: a line is parsed, checked and taken apart in one go. A line that
no form matches is read by `decode` and the models, as if there were no forms. They only save time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.contracts import EvalRecord
from evalkit.reading import decode
from evalkit.records.annotations import ANY, branches, fields_by_key
from evalkit.records.fields import CALLS, COLUMNS, GIVEN, PARTS, SIZED, call_column, size_column
from evalkit.records.known import Known
from evalkit.records.patterns import NULL, Times, key_pattern, pattern

__all__ = ["Forms"]

_STYLES = ((", ", ": "), (",", ":"))
_MOST_FORMS = 16
_MOST_SHAPES = 8
_OFTEN = 16
_NOTHING = (NULL, r"\[\]", r"\{\}")
"""The shapes of a field that holds nothing."""


class _Expression(NamedTuple):
    """What is compiled, and the column that each of its groups holds."""

    source: str
    columns: tuple[str, ...] = ()


class _Slot:
    """One key of a form: the shapes that its values were seen in."""

    def __init__(self, key: str, style: tuple[str, str]) -> None:
        known = fields_by_key(EvalRecord).get(key)
        self.key, self._style = key, style
        self.name = known.name if known else key
        own = known.name if known else ""  # another's key may be called as a column of ours
        self._column = call_column(CALLS[own]) if own in CALLS else own
        self.turns_call = False
        self._kind: Any = known.kind if known else ANY
        self._default: Any = known.default if known else None
        self._shapes: dict[_Expression, None] = {}
        self._same: str | None = None
        self._lessons = 0

    def _shape(self, value: Any) -> _Expression | None:
        """What values like this one look like; None where that cannot be said."""
        comma, colon = self._style
        if value is None:  # elsewhere null stands for a default that no column would show
            return _Expression(NULL) if self._default in (None, (), {}) else None
        if self.name in PARTS and isinstance(value, dict):
            return _parted(self.name, self._kind, value, self._style)
        if self.name in GIVEN and value in ([], {}):
            is_something = value == {} and self._default is None  # a model, all of it left out
            return None if is_something else _Expression(re.escape(json.dumps(value)))
        if self.name in SIZED and len(value) > 1:
            return None
        times: Times = "one" if self.name in SIZED else "some" if self.name in GIVEN else "any"
        source = pattern(self._kind, value, comma=comma, colon=colon, times=times)
        return _Expression(source) if source else None

    def takes(self, value: Any) -> bool:
        """Whether values like this one are of the slot from now on; false where that cannot be said.

        One that has parts with columns of their own looks the same always.
        """
        shape = self._shape(value)
        if shape is None:
            return False
        if shape not in self._shapes:
            parted = [known for known in self._shapes if known.columns]
            if len(self._shapes) >= _MOST_SHAPES or (shape.columns and parted):
                return False
            self._shapes[shape] = None
        self.turns_call |= self.name == "dialog" and any(turn.get("tool_calls") for turn in value or ())
        text = _written(value, self._style)
        self._same = text if not self._lessons or text == self._same else None
        self._lessons += 1
        return True

    def expression(self) -> _Expression:
        """All that was seen, with groups for the columns.

        What was the same again and again is taken for the only value, until a line says otherwise.
        """
        if self._same and self._lessons >= _OFTEN and "\\" not in self._same:
            return _Expression(re.escape(self._same))
        empty = [shape.source for shape in self._shapes if shape.source in _NOTHING]
        full = [shape.source for shape in self._shapes if shape.source not in _NOTHING]
        columns = tuple(column for shape in self._shapes for column in shape.columns)
        if self.name in GIVEN and empty and len(self._shapes) > 1:
            known = "|".join([f"({'|'.join(empty)})", *full])
            return _Expression(f"(?:{known})", (size_column(self.name),))
        if self._column in COLUMNS and (full or len(empty) > 1):
            return _Expression(f"({'|'.join([*empty, *full])})", (self._column,))
        return _Expression(f"(?:{'|'.join([*empty, *full])})", columns)


def _parted(field: str, kind: Any, value: Mapping[str, Any], style: tuple[str, str]) -> _Expression | None:
    """An object some of whose members are columns of their own."""
    comma, colon = style
    known = fields_by_key(next(branch for branch in branches(kind) if isinstance(branch, type)))
    members, columns = [], []
    for key, item in value.items():
        name, member = known[key][:2] if key in known else (key, ANY)
        source = pattern(member, item, comma=comma, colon=colon)
        if source is None:
            return None
        column = f"{field}.{name}"
        if column in COLUMNS:
            columns.append(column)
            source = f"({source})"
        members.append(key_pattern(key, colon) + source)
    if len(set(columns)) < len(columns):
        return None
    return _Expression(r"\{" + comma.join(members) + r"\}", tuple(columns))


class _Form:
    """One way to write a record: its keys in order, and every kind of value that each was seen with."""

    def __init__(self, keys: Iterable[str], style: tuple[str, str]) -> None:
        """The form of lines with these keys in this order."""
        self._style = style
        self._slots = [_Slot(key, style) for key in keys]
        self._sample: EvalRecord | None = None

    def teach(self, value: Mapping[str, Any], record: EvalRecord) -> None:
        """Take in a line with these keys, whose record that is, unless its values cannot be said."""
        taken = [slot.takes(item) for slot, item in zip(self._slots, value.values(), strict=True)]
        if self._sample is None and all(taken):
            self._sample = record  # what has no group is in all lines as in this one

    def compiled(self) -> Known | None:
        """The form as it is known by now, with groups for the columns; None before it took a line."""
        if self._sample is None:
            return None
        comma, colon = self._style
        parts = [(slot.key, slot.expression()) for slot in self._slots]
        source = comma.join(key_pattern(key, colon) + expression.source for key, expression in parts)
        columns = tuple(column for _, expression in parts for column in expression.columns)
        expression = re.compile((r"^\{" + source + r"\}\n").encode(), re.MULTILINE)
        turns_call = any(slot.turns_call for slot in self._slots)
        return Known(expression, columns, comma, self._sample, turns_call)


class Forms:
    """The forms of the lines of one file, each with its expression; the one that matched last comes first."""

    def __init__(self) -> None:
        """No form is known yet."""
        self._forms: dict[tuple[Any, ...], _Form] = {}
        self.known: list[Known] = []

    def learn(self, lines: Iterable[tuple[bytes, EvalRecord]]) -> None:
        """Take in lines that were accepted as these records."""
        for raw, record in lines:
            value = decode(raw)
            style = _style(raw, value)
            key = (style, *value)
            if style is None or not _is_plain(value):
                continue
            if key not in self._forms and len(self._forms) < _MOST_FORMS:
                self._forms[key] = _Form(value, style)
            if key in self._forms:
                self._forms[key].teach(value, record)
        compiled = [form.compiled() for form in self._forms.values()]
        self.known = [form for form in compiled if form is not None]

    def prefer(self, forms: Sequence[Known]) -> None:
        """Let these forms be the first, in this order."""
        self.known = [*forms, *(form for form in self.known if form not in forms)]


def _style(raw: bytes, value: Mapping[str, Any]) -> tuple[str, str] | None:
    """How the line separates its parts, where it is written as a writer of JSON would write it."""
    text = raw.decode("utf-8")
    return next((style for style in _STYLES if _written(value, style) == text), None)


def _written(value: Mapping[str, Any], style: tuple[str, str]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=style)


def _is_plain(value: Mapping[str, Any]) -> bool:
    """Whether each field is filled by one key."""
    known = fields_by_key(EvalRecord)
    filled = [known[key].name if key in known else key for key in value]
    return len(set(filled)) == len(filled)
