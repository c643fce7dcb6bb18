"""Which cases of an eval set a run asks."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence

from evalkit.contracts import Case
from evalkit.errors import NoInput, UsageError

__all__ = ["select"]


def select(
    cases: Sequence[Case], *, start: int = 0, limit: int | None = None, keep: Iterable[str] = ()
) -> list[Case]:
    """The cases that pass every filter, without the first `start` of them, at most `limit`.

    A filter is `FIELD=VALUE`: the field equals the value, or has it among its own where it is a list
    (`tags`). Several filters on one field keep what passes any of them. `true` and `false` are flags, an
    empty value is a field that was not given. UsageError for a field that no case has, NoInput where
    nothing is left.
    """
    if start < 0 or (limit is not None and limit < 1):
        raise UsageError(f"found --start {start} --limit {limit}, wanted --start from 0, --limit from 1.")
    filters = _filters(keep, _fields(cases))
    chosen = [
        case
        for case in cases
        if all(wanted & _texts(getattr(case, field, None)) for field, wanted in filters.items())
    ]
    chosen = chosen[start:][:limit]
    if not chosen:
        raise NoInput(
            f"selection: found no case among {len(cases)} that passes "
            f"{' '.join(f'--filter {each}' for each in keep) or 'no filter'} --start {start}, "
            "wanted at least one."
        )
    return chosen


def _fields(cases: Iterable[Case]) -> set[str]:
    """The fields that a case can have, and those that one of these has besides."""
    return set(Case.model_fields).union(*(case.model_extra or () for case in cases))


def _filters(keep: Iterable[str], fields: set[str]) -> Mapping[str, set[str]]:
    """The values wanted of each field."""
    pairs = [_pair(text, fields) for text in keep]
    return {
        field: {value for _, value in group}
        for field, group in itertools.groupby(sorted(pairs), key=lambda pair: pair[0])
    }


def _pair(text: str, fields: set[str]) -> tuple[str, str]:
    field, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--filter: found {text!r}, wanted FIELD=VALUE, such as intent_l1=support.")
    if field not in fields:
        near = difflib.get_close_matches(field, fields, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"--filter: found the field {field!r}, wanted one of: {', '.join(sorted(fields))}.{hint}"
        )
    return field, value


def _texts(value: object) -> set[str]:
    """What a field says, as one would type it."""
    if isinstance(value, (tuple, list)):
        return {text for item in value for text in _texts(item)} or {""}
    if isinstance(value, bool):
        return {"true" if value else "false"}
    return {"" if value is None else str(value)}
