"""What judges said of a run, one line each beside its records, and how the lines find their records again.

A line holds for the content that was judged: once a sample is asked anew and answers something else, what was
said of the old answer is no longer said of the sample.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from evalkit.contracts import EvalRecord, Judgement
from evalkit.contracts.values import Frozen
from evalkit.errors import BadData
from evalkit.reading import read, stem
from evalkit.records import Records

__all__ = [
    "Joining",
    "Judged",
    "JudgedKey",
    "content_of",
    "joined",
    "judged_path",
    "newest",
    "of_repeats",
    "read_judged",
]

_FIELDS = {
    "rules",
    "expectation",
    "intent_pred_all",
    "query",
    "messages",
    "response",
    "dialog",
    "reference",
    "retrieved_contexts",
    "intent_l2",
    "required_slots",
    "required_steps",
    "answer_status",
    "evidence_status",
}


class JudgedKey(NamedTuple):
    """What makes a line the same as another: said of the same content, of the same sample, in the same way."""

    sample: str
    metric: str
    judge: str
    setup: str
    repeat: int
    content: str


class Judged(Frozen):
    """One line of `runs/<run_id>.judged.jsonl`; RULES names the metric that is the verdicts of the case's rules."""

    RULES: ClassVar[str] = "rules"

    sample: str
    """The sample's key: `sample_id`, with `#n` for the n-th repeat of the case."""
    metric: str
    """What was judged."""
    judge: str
    """The model, and the version of all that it is told and sent; `+…` is the hash of what was set for the metric."""
    setup: str = ""
    """The hash of what else was asked with: labels, the other run."""
    repeat: int = Field(default=0, ge=0)
    """Which repeat of the judging this is, from 0."""
    content: str
    """The hash of the part of the record that was judged."""
    judgement: Judgement
    """What was said."""

    @property
    def key(self) -> JudgedKey:
        """What makes the line the same as another."""
        return JudgedKey(self.sample, self.metric, self.judge, self.setup, self.repeat, self.content)


def judged_path(records: Path) -> Path:
    """Where the judgements of a run live, beside its records."""
    return records.with_name(f"{stem(records)}.judged.jsonl")


def content_of(record: EvalRecord) -> str:
    """The SHA-256, in hexadecimal digits, of all that any judge looks at in a record."""
    text = json.dumps(record.model_dump(mode="json", include=_FIELDS), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_judged(path: Path) -> list[Judged]:
    """The lines of the file, none where there is no file; BadData naming every line that does not hold."""
    if not path.is_file():
        return []
    reading = read(path, Judged, torn_tail=True)
    if reading.faults:
        raise BadData(reading.faults)
    return list(reading.items)


def newest(lines: Iterable[Judged]) -> dict[JudgedKey, Judged]:
    """The last line of each key, in the order of first appearance."""
    return {line.key: line for line in lines}


class Joining:
    """What was said of a run, ready to be joined to its records, all of them or a part."""

    def __init__(self, lines: Iterable[Judged]) -> None:
        """The lines of a run; of those with one key the last counts."""
        kept = list(newest(lines).values())
        self._last = {line.metric: line.judge for line in kept}
        self._by_sample: dict[str, list[Judged]] = defaultdict(list)
        for line in kept:
            self._by_sample[line.sample].append(line)

    def to(self, records: Records) -> Records:
        """The records with what was said of them; as `joined`."""
        if not self._by_sample:
            return records
        rows = {row: self._by_sample[key] for row, key in enumerate(records.keys) if key in self._by_sample}
        changes = {row: _with_judgements(records[row], said, self._last) for row, said in rows.items()}
        return records.replaced(changes)


def joined(records: Records, lines: Iterable[Judged]) -> Records:
    """The records with what was said of them in `judgements`, by metric; repeats are put together.

    Where several judges judged a metric, the one that wrote last has its plain name, the others stand under
    `metric@judge`. Lines about other content than the record has are left out, as are those of a judge that
    was since asked with something else.
    """
    return Joining(lines).to(records)


def _with_judgements(record: EvalRecord, lines: Sequence[Judged], last: Mapping[str, str]) -> EvalRecord:
    content = content_of(record)
    setups = {(line.metric, line.judge): line.setup for line in lines}
    said: dict[str, list[Judgement]] = defaultdict(list)
    for line in lines:
        if line.content == content and line.setup == setups[line.metric, line.judge]:
            plain = last[line.metric] == line.judge
            said[line.metric if plain else f"{line.metric}@{line.judge}"].append(line.judgement)
    judgements = {name: of_repeats(repeats) for name, repeats in said.items()}
    told: dict[str, Any] = {"judgements": {**record.judgements, **judgements}}
    by_rules = judgements.get(Judged.RULES)
    if by_rules is not None and by_rules.status == "ok":
        told["verdicts"] = EvalRecord.model_validate(
            {"sample_id": record.sample_id, "verdicts": by_rules.detail.get("verdicts")}
        ).verdicts
    return record.model_copy(update=told)


def of_repeats(repeats: Sequence[Judgement]) -> Judgement:
    """One judgement of the repeats of one question: the mean score, the label of the majority.

    Repeats without a verdict do not count; without any verdict it is the last of them. `detail["repeats"]` has
    every score, or label where there are labels.
    """
    if len(repeats) == 1:
        return repeats[0]
    good = [said for said in repeats if said.status == "ok"]
    if not good:
        return repeats[-1]
    scores = [said.score for said in good if said.score is not None]
    labels = [said.label for said in good if said.label is not None]
    told: list[Any] = [said.label if labels else said.score for said in good]
    return good[-1].model_copy(
        update={
            "score": sum(scores) / len(scores) if scores else None,
            "label": _majority(labels),
            "detail": {**good[-1].detail, "repeats": told, "repeats_failed": len(repeats) - len(good)},
        }
    )


def _majority(labels: Sequence[str]) -> str | None:
    """The label of more than half; null where there is none."""
    top = Counter(labels).most_common(1)
    return top[0][0] if top and 2 * top[0][1] > len(labels) else None
