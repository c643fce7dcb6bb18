"""The check of an eval set: everything wrong with it, everything odd about it, and what is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from evalkit.cases.advice import advice
from evalkit.cases.eval_set import EvalSet
from evalkit.cases.labels import natural
from evalkit.cases.loading import read_cases, repeated_ids
from evalkit.cases.requirements import breaches
from evalkit.cases.taxonomy import Taxonomy, load_catalogue
from evalkit.contracts import Case
from evalkit.errors import Fault, NoInput
from evalkit.reading import LineCounts, Reading

__all__ = ["Check", "SummaryRow", "check", "parents_beside"]

LIMIT = 100
Further: TypeAlias = Callable[[Case], Iterable[tuple[str, str, str]]]
"""What else is wrong with a case: for each thing the field, what was found, and what was wanted."""

_NOTHING = (None, "")
_FLAGS = {True: "true", False: "false"}


class SummaryRow(NamedTuple):
    """How many cases have a label in a dimension; the label is null for those that have none."""

    dimension: str
    label: str | None
    cases: int


@dataclass(frozen=True, slots=True)
class Check:
    """What was found in an eval set, by line.

    `faults` must be mended and `warnings` had better be; both are cut at the check's limit, `n_faults` and
    `n_warnings` count all. `summary` counts the cases whose lines hold. `lines` counts the lines, null where cases
    stand in one JSON document.
    """

    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    summary: tuple[SummaryRow, ...]
    n_faults: int
    n_warnings: int
    lines: LineCounts | None


def check(
    path: Path,
    *,
    taxonomy: Path | None = None,
    catalogue: Path | None = None,
    further: Further | None = None,
    limit: int = LIMIT,
) -> Check:
    """Everything wrong with the eval set at `path`, up to `limit` faults and as many warnings.

    Labels are held against the taxonomy, document ids against the catalogue: the given files, else
    `taxonomy.json` and `catalogue.jsonl` beside the eval set where there are such; what `further` finds in a
    case is a fault of its line. Raises NoInput where a
    named file is missing or the eval set is empty, BadData where the taxonomy or the catalogue does not hold.
    """
    reading = read_cases(path)
    if not reading.items and not reading.faults:
        raise NoInput(f"{path}: found no case, wanted at least one line.")
    tree = taxonomy or _beside(path, "taxonomy.json")
    shelf = catalogue or _beside(path, "catalogue.jsonl")
    given = EvalSet(
        str(path),
        reading.items,
        reading.numbers,
        Taxonomy.load(tree) if tree else None,
        load_catalogue(shelf) if shelf else None,
    )
    faults = _by_line(
        [*reading.faults, *repeated_ids(path, reading), *breaches(given), *_further(given, further)]
    )
    warnings = _by_line(advice(given))
    summary = tuple(_summary(given))
    shown = tuple(faults[:limit]), tuple(warnings[:limit])
    return Check(*shown, summary, len(faults), len(warnings), _lines(path, reading))


def _lines(path: Path, reading: Reading[Case]) -> LineCounts | None:
    """How many lines hold a case, how many do not; an eval set has no torn line, for a cut one is bad."""
    if path.suffix == ".json":
        return None
    ok, bad = len(reading.items), len({fault.line for fault in reading.faults})
    return LineCounts(ok + bad + reading.blank, ok, bad, reading.blank, 0)


def _further(given: EvalSet, look: Further | None) -> Iterator[Fault]:
    for place, case in given.rows():
        yield from (given.fault(place, *told) for told in (look(case) if look else ()))


def parents_beside(path: Path) -> dict[str, str]:
    """The first-level label of each second-level one, from `taxonomy.json` beside the eval set; else none."""
    tree = _beside(path, "taxonomy.json")
    return Taxonomy.load(tree).parents if tree else {}


def _beside(path: Path, name: str) -> Path | None:
    place = path.with_name(name)
    return place if place.is_file() else None


def _by_line(faults: Iterable[Fault]) -> list[Fault]:
    return sorted(faults, key=lambda fault: fault.line)


def _summary(given: EvalSet) -> Iterator[SummaryRow]:
    cases = given.cases
    yield SummaryRow("cases", "all", len(cases))
    yield SummaryRow("cases", "dialogs", sum(bool(case.messages) for case in cases))
    yield SummaryRow("cases", "with documents", sum(bool(case.reference_doc_ids) for case in cases))
    for dimension in ("intent_l1", "intent_l2", "requires_rag", "difficulty", "trap_type"):
        counts = Counter(dict.fromkeys(given.labels(dimension), 0))
        values = [getattr(case, dimension) for case in cases]
        counts.update(_FLAGS.get(value, value) for value in values if value not in _NOTHING)
        yield from (SummaryRow(dimension, label, counts[label]) for label in sorted(counts, key=natural))
        unlabelled = sum(value in _NOTHING for value in values)
        if unlabelled:
            yield SummaryRow(dimension, None, unlabelled)
