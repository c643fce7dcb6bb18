"""What an eval set must hold: where it does not, what is measured with it means nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from evalkit.cases.eval_set import EvalSet
from evalkit.cases.labels import look
from evalkit.contracts import Case
from evalkit.errors import Fault, shown

__all__ = ["breaches"]


def breaches(given: EvalSet) -> Iterator[Fault]:
    """Everything that the cases must hold and do not, apart from what each line is by itself."""
    yield from _silent(given)
    yield from _parents(given)
    yield from _unknown_labels(given, "intent_l1")
    yield from _unknown_labels(given, "intent_l2")
    yield from _unknown_documents(given, "reference_doc_ids")
    yield from _unknown_documents(given, "reference_doc_ids_nice")
    yield from _steps(given)


def _silent(given: EvalSet) -> Iterator[Fault]:
    for place, case in given.rows():
        if not any(turn.strip() for turn in case.user_turns):
            yield given.fault(place, "query", "neither a query nor messages", "one of them")


def _parents(given: EvalSet) -> Iterator[Fault]:
    """A second-level label has one parent: the taxonomy's, else the one that it has first."""
    first: dict[str, tuple[str, str]] = {}
    if given.taxonomy:
        first = {label: (parent, "the taxonomy") for label, parent in given.taxonomy.parents.items()}
    for place, case in given.rows():
        if not case.intent_l1 or not case.intent_l2:
            continue
        parent, source = first.setdefault(case.intent_l2, (case.intent_l1, given.named(place)))
        if parent != case.intent_l1:
            wanted = f"{parent!r}, the parent of {case.intent_l2!r} for {source}"
            yield given.fault(place, "intent_l1", shown(case.intent_l1), wanted)


def _unknown_labels(given: EvalSet, field: str) -> Iterator[Fault]:
    if not given.taxonomy:
        return
    known = given.labels(field)
    for label, places in given.places(field).items():
        if label not in known:
            found = f"{label!r} {given.where(places)}"
            yield given.fault(places[0], field, found, f"a label of the taxonomy{_hint(label, known)}")


def _hint(label: str, known: list[str]) -> str:
    """The label that was probably meant."""
    twin = next((other for other in known if look(other) == look(label)), None)
    if twin is not None:
        return f"; {twin!r} differs from it only in width or in characters that nobody sees"
    near = difflib.get_close_matches(label, known, n=1)
    return f"; the nearest is {near[0]!r}" if near else ""


def _unknown_documents(given: EvalSet, field: str) -> Iterator[Fault]:
    if given.documents is None:
        return
    for document, places in given.places(field).items():
        if document not in given.documents:
            found = f"{document!r} {given.where(places)}"
            yield given.fault(places[0], field, found, "a document of the catalogue")


def _steps(given: EvalSet) -> Iterator[Fault]:
    """Each step comes after steps that are there, and can be reached."""
    for place, case in given.rows():
        known = {step.name for step in case.required_steps}
        for index, step in enumerate(case.required_steps):
            for name in sorted(set(step.after) - known):
                field = f"required_steps[{index}].after"
                yield given.fault(place, field, repr(name), f"one of the steps {shown(sorted(known))}")
        circle = _circle(case)
        if circle:
            yield given.fault(place, "required_steps", f"the circle {circle}", "steps with a first one")


def _circle(case: Case) -> str:
    """The steps that wait for each other, if any do."""
    try:
        TopologicalSorter({step.name: step.after for step in case.required_steps}).prepare()
    except CycleError as error:
        return " → ".join(repr(name) for name in error.args[1])
    return ""
