"""How well slots are found in dialogs whose gold state is known: precision, recall, F1, error of completion.

    python benchmarks/slot_finding.py [crosswoz|sgd|abcd] [--limit N] [--skip N] [--wrong N]

Two questions are asked of the finder, with only the texts to look at:

- known: the reference value is given (and its type). Was it said? Asked of each dialog as a whole and of its
  first half, where part of the values is still to come, and of a decoy: the value of the next dialog.
- open: only the slot's name, type and, for lists, the catalogue of values is given. What is the value?

What each data set gives is said at its reader. Deterministic; no sampling unless --limit is given.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import sys
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalkit.contracts import EvalRecord, SlotSpec, Turn
from evalkit.finding import Finding, found, is_value

SHARED = Path(os.environ.get("EVALKIT_SHARED", Path(__file__).parents[1].parent / "shared")) / "data"


@dataclass
class Gold:
    """One slot of one dialog: how it is asked for, and whether its value was said."""

    kind: str
    known: SlotSpec
    open: SlotSpec | None
    said: bool


@dataclass
class Dialog:
    """A dialog or its first half, and the slots asked of it; `decoys` hold values that were not said."""

    id: str
    turns: list[Turn]
    golds: list[Gold]
    decoys: list[Gold] = field(default_factory=list)
    asked_at: datetime | None = None

    def record(self, slots: list[SlotSpec]) -> EvalRecord:
        return EvalRecord(sample_id=self.id, dialog=self.turns, required_slots=slots, asked_at=self.asked_at)


# CrossWOZ: 496 Chinese dialogs between tourist and guide. Gold: the user's state after each user message.

CROSSWOZ_TYPES = {
    "电话": "phone",
    "评分": "number",
    "价格": "money",
    "人均消费": "money",
    "门票": "money",
    "地址": "address",
}
CROSSWOZ_LISTED = ("名称", "酒店类型", "推荐菜", "出发地", "目的地")


def crosswoz(limit: int | None) -> Iterator[Dialog]:
    """Given for `known`: the value, one slot an item of a list, or of several phone numbers; for 酒店设施 the facility's name; the type.

    Left out: values that stand for nothing (empty, 无, 否). Given for `open`: name and type; for 名称, 酒店类型,
    推荐菜, 出发地 and 目的地 the values that the whole set knows of that slot. Only slots of which the dialog has
    one value are asked openly.
    """
    with zipfile.ZipFile(SHARED / "crosswoz/test_no_mobile.json.zip") as archive:
        data = json.loads(archive.read("test.json"))
    dialogs = list(data.items())
    listed = crosswoz_values(data)
    others = dialogs[1:] + dialogs[:1]
    for (name, dialog), (_, other) in itertools.islice(zip(dialogs, others, strict=True), limit):
        messages = dialog["messages"]
        users = [place for place, message in enumerate(messages) if message["role"] == "usr"]
        for part, place in (("half", users[len(users) // 2]), ("whole", len(messages) - 1)):
            state = messages[place]["user_state"] if part == "half" else dialog["final_goal"]
            golds = list(crosswoz_golds(dialog["final_goal"], state, listed))
            texts = [message["content"] for message in messages[: place + 1]]
            turns = [Turn(sent_message=user, reply=reply) for user, reply in pairs(texts)]
            decoys = list(crosswoz_decoys(messages, dialog, other, listed)) if part == "whole" else []
            yield Dialog(f"{name}-{part}", turns, golds, decoys)


def crosswoz_values(data: dict[str, Any]) -> dict[tuple[str, str], tuple[str, ...]]:
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    for dialog in data.values():
        for _, domain, slot, value, _ in dialog["final_goal"]:
            if slot in CROSSWOZ_LISTED:
                values[domain, slot] |= {*value} if isinstance(value, list) else {value} - {""}
    return {key: tuple(sorted(found)) for key, found in values.items()}


def crosswoz_golds(
    goal: list[Any], state: list[Any], listed: dict[tuple[str, str], tuple[str, ...]]
) -> Iterator[Gold]:
    then = {(one, domain, slot): (value, done) for one, domain, slot, value, done in state}
    single = Counter((domain, slot) for _, domain, slot, _, _ in goal)
    for one, domain, slot, value, _ in goal:
        before, done = then.get((one, domain, slot), ("", False))
        for item, name in items(slot, value):
            said = bool(done) and item in [known for known, _ in items(slot, before)]
            kind = CROSSWOZ_TYPES.get(slot)
            asked = SlotSpec(name=f"{domain}-{slot}-{one}-{name}", value=item, type=kind)
            openly = None
            if (
                single[domain, slot] == 1
                and len(items(slot, value)) == 1
                and (kind or slot in CROSSWOZ_LISTED)
            ):
                openly = SlotSpec(
                    name=f"{domain}的{slot}", type=kind or "enum", values=listed.get((domain, slot), ())
                )
            yield Gold(slot.split("-")[0], asked, openly, said)


def items(slot: str, value: object) -> list[tuple[str, str]]:
    """The texts that stand for a value, each with a name of its own."""
    if slot.startswith("酒店设施-"):
        return [(slot.removeprefix("酒店设施-"), "")] if value == "是" else []
    if slot == "电话" and isinstance(value, str):
        value = re.split(r"[\s,，]+", value)
    values = value if isinstance(value, list) else [value]
    return [(text, text) for text in values if text not in ("", "无")]


def crosswoz_decoys(
    messages: list[Any], dialog: dict[str, Any], other: dict[str, Any], listed: dict[Any, Any]
) -> Iterator[Gold]:
    acts = {(act[1], act[2], act[3]) for message in messages for act in message["dialog_act"]}
    domains = {(domain, slot) for _, domain, slot, _, _ in dialog["final_goal"]}
    for gold in crosswoz_golds(other["final_goal"], other["final_goal"], listed):
        domain, slot = gold.known.name.split("-")[:2]
        if (
            (domain, slot) in domains
            and (domain, slot, gold.known.value) not in acts
            and gold.kind != "酒店设施"
        ):
            yield Gold(gold.kind, gold.known, None, said=False)


# SGD: 51 English dialogs that look for a house. Gold: the state after each user message.

SGD_TYPES = {
    "check_in_date": "date",
    "check_out_date": "date",
    "number_of_adults": "number",
    "rating": "number",
}


def sgd(limit: int | None) -> Iterator[Dialog]:
    """Given for `known`: the state's writings of the value, and the type; `asked_at` 2019-03-01, the set's day;
    a rating also as bound (4.0 or higher), since the state has none.

    Left out: has_laundry_service, whose values True and False are not said. Given for `open`: name, description
    of the schema, type, the schema's numbers of adults, the cities that the service's results name.
    """
    place = SHARED / "sgd/test"
    data = json.loads((place / "dialogues_011.json").read_text(encoding="utf-8"))
    schema = json.loads((place / "schema.json").read_text(encoding="utf-8"))
    described = {
        slot["name"]: slot for one in schema if one["service_name"] == "Hotels_2" for slot in one["slots"]
    }
    frames = [turn["frames"][0] for dialog in data for turn in dialog["turns"]]
    cities = {result["where_to"] for frame in frames for result in frame.get("service_results", [])}
    listed = {"where_to": tuple(sorted(cities)), "number_of_adults": ("1", "2", "3", "4", "5")}
    finals = [sgd_state(dialog["turns"]) for dialog in data]
    for number, dialog in itertools.islice(enumerate(data), limit):
        turns = dialog["turns"]
        users = [at for at, turn in enumerate(turns) if turn["speaker"] == "USER"]
        for part, end in (("half", users[len(users) // 2]), ("whole", len(turns) - 1)):
            then = sgd_state(turns[: end + 1])
            golds = [
                sgd_gold(described[slot], values, then, listed)
                for slot, values in sorted(finals[number].items())
            ]
            texts = [turn["utterance"] for turn in turns[: end + 1]]
            pairs_of = [Turn(sent_message=user, reply=reply) for user, reply in pairs(texts)]
            decoys = list(sgd_decoys(turns, finals[number], finals[(number + 1) % len(finals)], described))
            yield Dialog(
                f"{dialog['dialogue_id']}-{part}", pairs_of, golds, decoys if part == "whole" else [],
                datetime(2019, 3, 1, tzinfo=UTC),
            )  # fmt: skip


def sgd_state(turns: list[Any]) -> dict[str, list[str]]:
    states = [turn["frames"][0]["state"]["slot_values"] for turn in turns if turn["speaker"] == "USER"]
    return {
        slot: values
        for slot, values in states[-1].items()
        if slot != "has_laundry_service" and values != ["dontcare"]
    }


def sgd_gold(
    about: dict[str, Any], values: list[str], then: dict[str, list[str]], listed: dict[str, Any]
) -> Gold:
    slot = about["name"]
    kind = SGD_TYPES.get(slot)
    bounds = [f"at least {value}" for value in values] if slot == "rating" else []
    known = SlotSpec(name=slot, value=values[0], aliases=[*values[1:], *bounds], type=kind)
    openly = SlotSpec(
        name=slot, description=about["description"], type=kind or "enum", values=listed.get(slot, ())
    )
    return Gold(slot, known, openly, said=bool({*values} & {*then.get(slot, [])}))


def sgd_decoys(
    turns: list[Any], ours: dict[str, list[str]], theirs: dict[str, list[str]], described: Any
) -> Iterator[Gold]:
    said = {
        (action["slot"], value)
        for turn in turns
        for action in turn["frames"][0]["actions"]
        for value in [*action["values"], *action["canonical_values"]]
    }
    for slot in sorted({*ours} & {*theirs}):
        if not any((slot, value) in said for value in theirs[slot]) and not {*ours[slot]} & {*theirs[slot]}:
            yield Gold(slot, sgd_gold(described[slot], theirs[slot], {}, {}).known, None, said=False)


# ABCD: the 3 sample dialogs of a shop's service. Gold: what the agent's actions were given.

ABCD_SLOTS = {
    "pull-up-account": ("customer_name",),
    "validate-purchase": ("username", "email", "order_id"),
    "enter-details": ("phone",),
}
ABCD_TYPES = {"customer_name": "person", "email": "email", "order_id": "order_id", "phone": "phone"}


def abcd(limit: int | None) -> Iterator[Dialog]:
    """Given for `known`: the value of the action, and the type. Given for `open`: name and type; for the user
    name the pattern of the shop's user names, letters and then digits. Decoys: the other customers' data.

    Left out: notify-team and select-faq, whose values the agent chooses and nobody says.
    """
    data = json.loads((SHARED / "abcd/data/abcd_sample.json").read_text(encoding="utf-8"))
    for number, dialog in itertools.islice(enumerate(data), limit):
        values = abcd_values(dialog)
        people = [one["scenario"] for place, one in enumerate(data) if place != number]
        golds = [abcd_gold(slot, value) for slot, value in values.items()]
        decoys = [
            Gold(gold.kind, gold.known, None, said=False)
            for one in people
            for slot, value in (one["personal"] | one["order"]).items()
            if slot in (*ABCD_TYPES, "username")
            for gold in [abcd_gold(slot, value)]
        ]
        yield Dialog(f"{dialog['convo_id']}-whole", list(abcd_turns(dialog)), golds, decoys)


def abcd_values(dialog: dict[str, Any]) -> dict[str, str]:
    actions = [turn["targets"] for turn in dialog["delexed"] if turn["speaker"] == "action"]
    return {
        slot: value
        for _, _, action, given, *_ in actions
        for slot, value in zip(ABCD_SLOTS.get(action, ()), given, strict=False)
    }


def abcd_gold(slot: str, value: str) -> Gold:
    kind = ABCD_TYPES.get(slot)
    openly = SlotSpec(name=slot, type=kind, pattern=None if kind else r"\b[a-z]+\d+\b")
    return Gold(slot, SlotSpec(name=slot, value=value, type=kind), openly, said=True)


def abcd_turns(dialog: dict[str, Any]) -> Iterator[Turn]:
    spoken = [(speaker, text) for speaker, text in dialog["original"] if speaker != "action"]
    runs = [
        (speaker, "\n".join(text for _, text in run))
        for speaker, run in itertools.groupby(spoken, key=lambda one: one[0])
    ]
    texts = ["", *(text for _, text in runs)] if runs[0][0] == "agent" else [text for _, text in runs]
    for user, reply in pairs(texts):
        yield Turn(sent_message=user, reply=reply)


# The measure


def pairs(texts: list[str]) -> Iterator[tuple[str, str]]:
    yield from itertools.zip_longest(texts[::2], texts[1::2], fillvalue="")


class Score:
    """Counts of one kind of slot: right, wrong (filled with another value, or where none was said), missing."""

    def __init__(self) -> None:
        """Nothing counted."""
        self.right = self.wrong = self.missing = self.n = 0

    def add(self, *, said: bool, filled: bool, right: bool) -> None:
        self.n += 1
        self.right += right and said
        self.wrong += filled and not (right and said)
        self.missing += said and not right

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.wrong, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missing, 1)

    @property
    def f1(self) -> float:
        return 2 * self.right / max(2 * self.right + self.wrong + self.missing, 1)


@dataclass
class Measured:
    """What a data set shows: scores by question and kind of slot, errors of completion by part."""

    known: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    open: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    errors: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: list[str] = field(default_factory=list)

    def total(self, question: str) -> Score:
        whole = Score()
        for score in getattr(self, question).values():
            for name in ("right", "wrong", "missing", "n"):
                setattr(whole, name, getattr(whole, name) + getattr(score, name))
        return whole


def skipped(dialogs: Iterator[Dialog], number: int) -> Iterator[Dialog]:
    """Without the first dialogs; the parts of one dialog have one id."""
    by_dialog = itertools.groupby(dialogs, key=lambda dialog: dialog.id.rpartition("-")[0])
    for _, parts in itertools.islice(((name, list(parts)) for name, parts in by_dialog), number, None):
        yield from parts


def measure(dialogs: Iterator[Dialog]) -> Measured:
    """Every dialog put to the finder."""
    result = Measured()
    for dialog in dialogs:
        _known(dialog, result)
        _open(dialog, result)
    return result


def _known(dialog: Dialog, result: Measured) -> None:
    """Each slot by itself, so that decoys and values do not compete."""
    hits = 0
    for gold in (*dialog.golds, *dialog.decoys):
        record = dialog.record([gold.known])
        finding = _findings(record).get(gold.known.name)
        right = finding is not None and is_value(finding, gold.known, record)
        hits += right and gold not in dialog.decoys
        result.known[gold.kind].add(said=gold.said, filled=right, right=right)
        if right != gold.said:
            result.faults.append(
                f"known {dialog.id} {gold.known.name}: {gold.known.value!r} said={gold.said} {finding}"
            )
    if dialog.golds:
        wanted = sum(gold.said for gold in dialog.golds) / len(dialog.golds)
        result.errors[dialog.id.rpartition("-")[2]].append(hits / len(dialog.golds) - wanted)


def _open(dialog: Dialog, result: Measured) -> None:
    """All slots at once, as a case requires them."""
    golds = {gold.open.name: gold for gold in dialog.golds if gold.open}
    record = dialog.record([gold.open for gold in golds.values() if gold.open])
    findings = _findings(record)
    for name, gold in golds.items():
        finding = findings.get(name)
        right = finding is not None and is_value(finding, gold.known, record)
        result.open[gold.kind].add(said=gold.said, filled=finding is not None, right=right)
        if right != gold.said or (finding and not right):
            result.faults.append(f"open {dialog.id} {name}: {gold.known.value!r} said={gold.said} {finding}")


def _findings(record: EvalRecord) -> dict[str, Finding]:
    return {finding.slot: finding for finding in found(record, trust="texts") or ()}


READERS: dict[str, Callable[[int | None], Iterator[Dialog]]] = {
    "crosswoz": crosswoz,
    "sgd": sgd,
    "abcd": abcd,
}


def show(name: str, result: Measured, n: int) -> None:
    """The tables of one data set."""
    print(f"\n{name}: {n} dialogs")
    print(f"  {'question':9}{'slot':20}{'n':>7}{'precision':>11}{'recall':>9}{'F1':>9}")
    for question in ("known", "open"):
        rows = [("all", result.total(question)), *sorted(getattr(result, question).items())]
        for kind, score in rows:
            width = 20 - sum(ord(character) > 0x2E80 for character in kind)
            print(
                f"  {question:9}{kind:{width}}{score.n:7}{score.precision:11.3f}{score.recall:9.3f}{score.f1:9.3f}"
            )
    for part, errors in result.errors.items():
        size = sum(map(abs, errors)) / len(errors)
        print(
            f"  completion against gold, {part}: mean error {size:.3f}, bias {sum(errors) / len(errors):+.3f}, n {len(errors)}"
        )


def main() -> None:
    """Measure the sets named, all by default."""
    parser = argparse.ArgumentParser(description="Slot finding against gold.")
    parser.add_argument("sets", nargs="*", help="crosswoz, sgd, abcd; all by default")
    parser.add_argument("--limit", type=int, help="only the first dialogs of each set")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first dialogs of each set")
    parser.add_argument("--wrong", type=int, default=0, help="show so many differences from gold")
    given = parser.parse_args()
    for name in given.sets or READERS:
        begun = time.perf_counter()
        result = measure(skipped(READERS[name](given.limit), given.skip))
        show(name, result, sum(map(len, result.errors.values())) // max(len(result.errors), 1))
        print("\n".join(result.faults[: given.wrong]))
        print(f"{time.perf_counter() - begun:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
