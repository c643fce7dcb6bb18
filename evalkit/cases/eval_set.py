"""What is checked: the cases with their lines, and what they are held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalkit.cases.taxonomy import Taxonomy
from evalkit.contracts import Case
from evalkit.errors import Fault

__all__ = ["EvalSet"]

_SHOWN_LINES = 5


@dataclass(frozen=True, slots=True)
class EvalSet:
    """The cases of a file with the numbers of their lines; the taxonomy and the catalogue where there are."""

    path: str
    cases: list[Case]
    numbers: list[int]
    taxonomy: Taxonomy | None = None
    documents: frozenset[str] | None = None

    def fault(self, place: int, field: str, found: str, wanted: str) -> Fault:
        """What is to be said of a field of the case at that place."""
        return Fault(self.path, self.numbers[place], field, found, wanted)

    def named(self, place: int) -> str:
        """The case at that place, by id and line."""
        return f"{self.cases[place].sample_id!r} in line {self.numbers[place]}"

    def rows(self) -> Iterator[tuple[int, Case]]:
        """Each case with its place."""
        return enumerate(self.cases)

    def places(self, field: str) -> dict[str, list[int]]:
        """The places of the cases that have each value of a field of texts, in the order of the file."""
        found: dict[str, list[int]] = {}
        for place, case in enumerate(self.cases):
            value = getattr(case, field)
            for text in dict.fromkeys(value if isinstance(value, tuple) else (value,)):
                if text:
                    found.setdefault(text, []).append(place)
        return found

    def labels(self, field: str) -> list[str]:
        """The taxonomy's labels for `intent_l1` or `intent_l2`; none for other fields, none without it."""
        parents = self.taxonomy.parents if self.taxonomy else {}
        known = {"intent_l1": list(dict.fromkeys(parents.values())), "intent_l2": list(parents)}
        return known.get(field, [])

    def where(self, places: list[int]) -> str:
        """In how many cases, and in which lines."""
        numbers = [str(self.numbers[place]) for place in places[:_SHOWN_LINES]]
        more = ", …" if len(places) > _SHOWN_LINES else ""
        cases = "1 case, line" if len(places) == 1 else f"{len(places)} cases, lines"
        return f"in {cases} {', '.join(numbers)}{more}"
