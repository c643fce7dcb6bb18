"""What was seen of a cause, and how to say it in one sentence.

The words of the sentence are ours, the labels, documents, slots and tools in it come from outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evalkit.report.causes import Cause
from evalkit.report.figures import share
from evalkit.report.wording import times

__all__ = ["Evidence", "broad", "never_or", "never_retrieved", "of_intents", "overlap", "simply"]

SHOWN = 3
NO_LABEL = "samples without intent"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of a cause: it is charged with `n` samples, by intent, among `at_risk` that it could befall."""

    cause: Cause
    n: int
    by_label: Mapping[str | None, int]
    at_risk: int

    @property
    def portion(self) -> str:
        """The samples that went wrong among those that could."""
        return f"{share(self.n, self.at_risk)} samples"

    @property
    def labels(self) -> str:
        """The intents that it befalls most: `, most of S3 (4), S1 (2)`; empty where none has a label."""
        counts = Counter({label: n for label, n in self.by_label.items() if label})
        named = [f"{label} ({n})" for label, n in counts.most_common(SHOWN)]
        return f", most of {', '.join(named)}" if named else ""


def simply(what: str) -> Callable[[Evidence], str]:
    """The words with the subject in their places, the samples, and the intents that it befalls most."""
    return lambda seen: f"{what.format(*seen.cause.subject)}: {seen.portion}{seen.labels}"


def of_intents(what: str) -> Callable[[Evidence], str]:
    """The words of one intent by its name, of several by their number."""

    def title(seen: Evidence) -> str:
        labels = seen.cause.subject
        if len(labels) == 1:
            return f"{what} {labels[0] or NO_LABEL}: {seen.portion}"
        return f"{what} {times(len(labels), 'intent')}: {seen.portion}{seen.labels}"

    return title


def never_retrieved(seen: Evidence) -> str:
    """The documents that no sample of the run got."""
    documents = seen.cause.subject
    if len(documents) == 1:
        return f"document {documents[0]} is never retrieved: {seen.portion} that need it"
    more = f" and {len(documents) - SHOWN} more" if len(documents) > SHOWN else ""
    listed = ", ".join(documents[:SHOWN]) + more
    return f"{times(len(documents), 'document')} are never retrieved ({listed}): {seen.portion}"


def overlap(seen: Evidence) -> str:
    """Two intents that are taken for each other, with how often each is."""
    first, second = seen.cause.subject
    ways = [seen.by_label.get(label, 0) for label in (first, second)]
    return f"{first} and {second} are taken for each other: {ways[0]} and {ways[1]} of {times(seen.at_risk, 'sample')}"


def broad(seen: Evidence) -> str:
    """One intent that many others are taken for."""
    return f"{times(len(seen.by_label), 'other intent')} are taken for {seen.cause.subject[0]}: {seen.portion}{seen.labels}"


def never_or(never: str, sometimes: str) -> Callable[[Evidence], str]:
    """One sentence where it always went wrong, another where it went wrong at times."""

    def title(seen: Evidence) -> str:
        words = never if seen.n == seen.at_risk else sometimes
        return f"{words.format(seen.cause.subject[0])}: {seen.portion}"

    return title
