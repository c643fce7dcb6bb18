"""What a judge is asked: rules and measures ask the same, and every word of it is part of the version."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalkit.contracts import EvalRecord, Judgement, Question, SlotSpec, StepSpec, Turn
from evalkit.judges.measures.intent_classification import intent_classification as intent_measure
from evalkit.judges.measures.llm_score import llm_score as score_measure
from evalkit.judges.measures.task_completion import task_completion as completion_measure
from evalkit.questions import wording
from evalkit.questions.dialogs import exchanges
from evalkit.rules.intent_classification import intent_classification as intent_rule
from evalkit.rules.llm_score import llm_score as score_rule
from evalkit.rules.params import Dimension
from evalkit.rules.task_completion import task_completion as completion_rule

SLOTS = [SlotSpec(name="phone", description="联系电话", value="13800138000"), SlotSpec(name="name")]
STEPS = [StepSpec(name="apologise"), StepSpec(name="book", description="登记", after=["apologise"])]
RECORD = EvalRecord(
    sample_id="1",
    answer_status="ok",
    response="好的",
    intent_l2="booking",
    required_slots=SLOTS,
    required_steps=STEPS,
    dialog=[
        Turn(sent_message="预约维修", reply="请问电话？"),
        Turn(sent_message="13800138000", reply="好的"),
    ],
)
DIMENSIONS = {"tone": "有礼貌"}
LABELS = {"booking": "预约", "other": "其他"}


class Heard:
    """A judge that keeps what it was asked, and says yes to all but what it is told to deny."""

    def __init__(self, *, denies: tuple[str, ...] = ()) -> None:
        self.asked: list[Question] = []
        self.denies = denies

    async def __call__(self, question: Question) -> Judgement:
        self.asked.append(question)
        items = {name: name not in self.denies for name in question.items}
        label = next(iter(question.labels), None)
        return Judgement(label=label, score=0.8, detail={"items": items, "dimensions": {"tone": 8}})


def test_rule_and_measure_ask_the_same_about_completion() -> None:
    heard = Heard()
    asyncio.run(completion_measure(RECORD, judge=heard))
    asyncio.run(completion_rule(RECORD, exchanges(RECORD), mode="hybrid", judge=heard))  # type: ignore[arg-type]
    assert heard.asked[0] == heard.asked[1]
    assert heard.asked[0].items["slot:phone"] == "用户给出了信息“联系电话”，且其值为 13800138000"


def test_rule_and_measure_ask_the_same_about_the_intent() -> None:
    heard = Heard()
    asyncio.run(intent_measure(RECORD, judge=heard, labels=LABELS))
    asyncio.run(intent_rule(RECORD, RECORD.dialog, intent_taxonomy=LABELS, judge=heard))  # type: ignore[arg-type]
    mine, theirs = heard.asked
    assert theirs.model_copy(update={"items": {}}) == mine, "but for whether it came near"
    assert theirs.items["partial"] == "客服看出了用户要办的大致是“预约”这类事，但弄错了用户具体想要什么"


def test_rule_and_measure_ask_the_same_about_grades() -> None:
    heard = Heard()
    asyncio.run(score_measure(RECORD, judge=heard, dimensions=DIMENSIONS))
    asyncio.run(
        score_rule(
            RECORD,
            RECORD.dialog,
            judge=heard,
            dimensions=[Dimension(name=name, criteria=text) for name, text in DIMENSIONS.items()],
            evaluation_scope="full_dialog",
        )
    )
    assert heard.asked[0] == heard.asked[1]


@pytest.mark.parametrize(
    ("denies", "score", "early"),
    [
        ((), 1.0, None),
        (("step:apologise",), 0.4, {"book": ["apologise"]}),
        (("step:book",), 0.4 + 0.6 * 0.5, None),
        (("slot:name", "step:apologise"), 0.2, {"book": ["apologise"]}),
    ],
    ids=["all", "too early", "half of the steps", "half of the slots"],
)
def test_a_step_counts_after_those_it_waits_for(
    denies: tuple[str, ...], score: float, early: dict[str, Any] | None
) -> None:
    """DEFINITIONS, section 3: a step counts only after the steps it names in `after`; both sides agree."""
    found = asyncio.run(completion_measure(RECORD, judge=Heard(denies=denies)))
    verdict = asyncio.run(
        completion_rule(RECORD, RECORD.dialog, mode="hybrid", judge=Heard(denies=denies))  # type: ignore[arg-type]
    )
    assert found is not None
    assert found.score == pytest.approx(score)
    assert verdict.score == pytest.approx(score)
    assert found.detail.get("violations") == verdict.detail.get("violations") == early


@pytest.mark.parametrize("file", sorted(file.name for file in wording._FILES.iterdir()))
def test_every_file_is_part_of_the_version(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hazard J5: no verdict outlives the words that it was asked with."""
    before = wording.version()
    shutil.copytree(str(wording._FILES), tmp_path / "texts")
    changed = tmp_path / "texts" / file
    changed.write_text(changed.read_text(encoding="utf-8").strip()[:-1] + "；", "utf-8")
    monkeypatch.setattr(wording, "_FILES", tmp_path / "texts")
    wording.version.cache_clear()
    after = wording.version()
    wording.version.cache_clear()
    assert after != before


def test_no_words_for_a_judge_stand_anywhere_else() -> None:
    """Whatever is Chinese in the code of rules and measures is a text that belongs to the files."""
    root = Path(wording.__file__).parents[1]
    texts = [*(root / "judges" / "measures").glob("*.py"), root / "rules" / "llm_score.py"]
    assert not [
        path.name for path in texts if any("\u4e00" <= char <= "\u9fff" for char in path.read_text("utf-8"))
    ]
