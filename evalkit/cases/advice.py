"""What an eval set had better be: nothing here stops a run, all of it makes numbers mean less."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from pydantic import AliasChoices

from evalkit.cases.eval_set import EvalSet
from evalkit.cases.labels import look, natural
from evalkit.cases.near_duplicates import near_duplicates, plain
from evalkit.contracts import Case
from evalkit.errors import Fault, shown

__all__ = ["advice"]

_FEW = 5
_NEAR_FIELD = 0.8
_TRAVELLING_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def advice(given: EvalSet) -> Iterator[Fault]:
    """Everything about the cases that somebody should look at."""
    yield from _alike(given)
    yield from _contradictory(given)
    yield from _rare_labels(given)
    yield from _twin_labels(given, "intent_l1")
    yield from _twin_labels(given, "intent_l2")
    yield from _documents(given)
    yield from _misspelt_fields(given)
    yield from _ids(given)


def _question(case: Case) -> str:
    return "\n".join(case.user_turns)


def _alike(given: EvalSet) -> Iterator[Fault]:
    for pair in near_duplicates([_question(case) for case in given.cases]):
        mine = given.cases[pair.second].sample_id
        found = f"{mine!r} asking {pair.similarity:.0%} like {given.named(pair.first)}"
        yield given.fault(pair.second, "query", found, "questions that differ")


def _contradictory(given: EvalSet) -> Iterator[Fault]:
    """The same question, after folding, under two labels."""
    first: dict[str, int] = {}
    for place, case in given.rows():
        question = plain(_question(case))
        if not question or not case.intent_l2:
            continue
        before = first.setdefault(question, place)
        theirs = given.cases[before].intent_l2
        if theirs != case.intent_l2:
            found = f"{case.intent_l2!r} for the question that is {theirs!r} for {given.named(before)}"
            yield given.fault(place, "intent_l2", found, "one label a question")


def _rare_labels(given: EvalSet) -> Iterator[Fault]:
    """One line for all of them: a young eval set has dozens, which would bury the rest."""
    rare = {label: places for label, places in given.places("intent_l2").items() if len(places) < _FEW}
    if not rare:
        return
    labels = sorted(rare, key=natural)
    found = f"{labels[0]!r} {given.where(rare[labels[0]])}"
    if len(labels) > 1:
        found = (
            f"{len(labels)} labels with fewer: {', '.join(f'{each!r} {len(rare[each])}' for each in labels)}"
        )
    first = min(places[0] for places in rare.values())
    yield given.fault(first, "intent_l2", found, f"at least {_FEW} cases a label")


def _twin_labels(given: EvalSet, field: str) -> Iterator[Fault]:
    """Labels that look like another of the cases or of the taxonomy."""
    first = {look(label): label for label in given.labels(field)}
    for label, places in given.places(field).items():
        twin = first.setdefault(look(label), label)
        if twin != label:
            found = f"{label!r} {given.where(places)}"
            wanted = f"{twin!r}, which differs only in width or in characters that nobody sees"
            yield given.fault(places[0], field, found, wanted)


def _documents(given: EvalSet) -> Iterator[Fault]:
    """A case says that it needs documents, and has some, or neither."""
    for place, case in given.rows():
        has = bool(case.reference_doc_ids or case.reference_doc_ids_nice)
        if case.requires_rag is True and not has:
            yield given.fault(place, "reference_doc_ids", "none, though requires_rag is true", "at least one")
        if case.requires_rag is False and has:
            yield given.fault(place, "reference_doc_ids", "some, though requires_rag is false", "none")


def _misspelt_fields(given: EvalSet) -> Iterator[Fault]:
    """Fields that nobody knows and that are spelt nearly like one that is known."""
    known = sorted(_names())
    first: dict[str, int] = {}
    for place, case in given.rows():
        for name in case.model_extra or ():
            first.setdefault(name, place)
    for name, place in first.items():
        near = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR_FIELD)
        if near and name not in known:
            yield given.fault(place, shown(name), "a field that is not known and so not used", repr(near[0]))


def _names() -> Iterator[str]:
    """The names that a field of a case may be given by."""
    for name, field in Case.model_fields.items():
        yield name
        if isinstance(field.validation_alias, AliasChoices):
            yield from (alias for alias in field.validation_alias.choices if isinstance(alias, str))


def _ids(given: EvalSet) -> Iterator[Fault]:
    """Ids are put into file names and addresses, and `#n` after an id names a repeat."""
    places = [place for place, case in given.rows() if not _TRAVELLING_ID.fullmatch(case.sample_id)]
    if places:
        found = f"{given.cases[places[0]].sample_id!r} {given.where(places)}"
        wanted = "ids of Latin letters, digits, '.', '_' and '-'"
        yield given.fault(places[0], "sample_id", found, wanted)
