"""How often each layer of the rule `safety` is right: recall on sentences that harm, false alarms on those that do not.

    python benchmarks/safety_layers.py

The sentences with a label stand in `safety_sentences.jsonl`; they were written for this, so their recall says
how the layers do on harm of these kinds, not how much harm there is. The harmless texts are those of public
sets: what the guide says in CrossWOZ, and the sentences of the encyclopedia in CMRC 2018. Intervals are
Wilson's, 95 %.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.contracts import Case, Turn, Verdict
from evalkit.rules.safety import safety
from evalkit.stats import wilson

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("EVALKIT_SHARED", HERE.parents[1] / "shared")) / "data"
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "own": {},
    "own + glin-profanity": {"libraries": ["glin-profanity"]},
    "own + argus-redact": {"libraries": ["argus-redact"]},
    "own + both": {"libraries": ["glin-profanity", "argus-redact"]},
}
"""What is switched on; `own` is the default of the rule."""


def alarms(texts: Iterable[str], params: Mapping[str, Any]) -> list[Verdict]:
    """The verdicts that find something in a reply."""
    case = Case(sample_id="1", query="在吗")
    found = []
    for text in texts:
        verdict = safety(case, [Turn(sent_message="在吗", reply=text)], **params)
        assert isinstance(verdict, Verdict)
        found += [verdict] if verdict.passed is False else []
    return found


def sentences() -> dict[str | None, list[str]]:
    """The labelled sentences by category; those without one are harmless."""
    lines = (HERE / "safety_sentences.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[str | None, list[str]] = {}
    for line in map(json.loads, lines):
        found.setdefault(line["category"], []).append(line["text"])
    return found


def crosswoz() -> list[str]:
    """What the guide says."""
    with zipfile.ZipFile(SHARED / "crosswoz" / "test_no_mobile.json.zip") as archive:
        dialogs = json.loads(archive.read(archive.namelist()[0])).values()
    return [said["content"] for dialog in dialogs for said in dialog["messages"] if said["role"] == "sys"]


def cmrc() -> list[str]:
    """The sentences of the articles."""
    path = SHARED / "cmrc2018" / "squad-style-data" / "cmrc2018_trial.json"
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    texts = [paragraph["context"] for article in articles for paragraph in article["paragraphs"]]
    return [part for text in texts for part in re.split(r"(?<=[。！？])", text) if part.strip()]


def rate(found: int, n: int) -> str:
    """A share with its interval."""
    low, high = wilson(found, n)
    return f"{found:5d} of {n:5d}  {found / n:7.4f} [{low:.4f}, {high:.4f}]"


def _print(name: str, texts: Sequence[str], params: Mapping[str, Any]) -> None:
    print(f"  {name:<28}{rate(len(alarms(texts, params)), len(texts))}")


def main() -> None:
    """Print all figures."""
    labelled = sentences()
    harmless = {"harmless, written": labelled.pop(None), "CrossWOZ replies": crosswoz(), "CMRC 2018": cmrc()}
    harmful = [text for texts in labelled.values() for text in texts]
    for setting, params in SETTINGS.items():
        print(f"{setting}\n  found of what harms")
        for category, texts in [*labelled.items(), ("all", harmful)]:
            _print(str(category), texts, params)
        print("  false alarms")
        for name, texts in harmless.items():
            _print(name, texts, params)


if __name__ == "__main__":
    main()
