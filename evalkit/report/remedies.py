"""For each kind of cause: which samples it could befall, what to say, and what to do about it.

The advice is fixed text; only what was seen has words from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evalkit.report.causes import Cause
from evalkit.report.evidence import Evidence, broad, never_or, never_retrieved, of_intents, overlap, simply
from evalkit.report.sheet import Rows, Sheet

__all__ = ["RISKS", "Remedy", "remedy"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """How a kind of cause is told and mended.

    `title` says what was seen, `advice` what to do. It could befall the samples that `metric` counts
    (`recall` stands for the metric of retrieval; empty: all) and that have one of the words of the
    cause's subject (only its first where `only_first`) by the name `words`, or none of them where `others`; without
    `words`, and where a cause is spread over many subjects (`spread`), all. No sample has two words of a subject.
    """

    advice: str
    title: Callable[[Evidence], str]
    metric: str = ""
    words: str = ""
    only_first: bool = False
    others: bool = False
    spread: bool = False

    def wanted(self, cause: Cause) -> tuple[str, ...] | None:
        """The words that tell the samples that it could befall; null where all are such."""
        if not self.words or (self.spread and len(cause.subject) != 1):
            return None
        return cause.subject[:1] if self.only_first else cause.subject

    def at_risk(self, sheet: Sheet, cause: Cause) -> Rows:
        """Where among these samples (n,) the cause could have struck."""
        counted, wanted = sheet.at_risk(self.metric), self.wanted(cause)
        if wanted is None:
            return counted
        hit = sheet.having(self.words, wanted)
        return counted & (~hit if self.others else hit)


def remedy(kind: str) -> Remedy:
    """The remedy of a kind of cause; a kind that nobody has written one for is told by its name."""
    return _REMEDIES.get(kind, _UNKNOWN)


_REMEDIES: Mapping[str, Remedy] = {
    "channel_error": Remedy(
        "Mend the service or its limits first: what did not answer cannot be right. Asking again, more "
        "slowly, tells whether load is the cause.",
        simply("the {} channel failed with {}"),
        words="channel",
        only_first=True,
    ),
    "intents_overlap": Remedy(
        "Sharpen both descriptions where they meet and add few-shot examples from both sides of the border; "
        "where people cannot tell them apart either, merge the intents or mend the labels.",
        overlap,
        metric="intent_top1",
        words="label",
    ),
    "intent_taken_for": Remedy(
        "Say in the description of the right intent what sets it apart, and add few-shot examples like these.",
        lambda seen: f"{seen.cause.subject[0]} is taken for {seen.cause.subject[1]}: {seen.portion}",
        metric="intent_top1",
        words="label",
        only_first=True,
    ),
    "broad_intent": Remedy(
        "Narrow the description of this intent: say what does not belong to it.",
        broad,
        metric="intent_top1",
        words="label",
        others=True,
    ),
    "abstention": Remedy(
        "Lower the threshold below which no intent is given, or add examples for the intents that are missed.",
        simply("no intent was given"),
        metric="intent_top1",
    ),
    "document_never_retrieved": Remedy(
        "See whether the document is in the index at all, then how it is cut and titled.",
        never_retrieved,
        metric="recall",
        words="documents",
        spread=True,
    ),
    "weak_retrieval": Remedy(
        "The documents are in the index, and other questions find them: look at the rewriting of the query, "
        "at synonyms, and at how many documents are kept.",
        of_intents("retrieval misses documents of"),
        metric="recall",
        words="label",
        spread=True,
    ),
    "empty_retrieval": Remedy(
        "Nothing came back at all: look at filters, at the score threshold, and at the route of the intent.",
        of_intents("nothing is retrieved for"),
        metric="recall",
        words="label",
        spread=True,
    ),
    "over_retrieval": Remedy(
        "Route these intents past retrieval: small talk and tasks need no documents.",
        simply("documents are retrieved where none are needed"),
        metric="over_retrieval",
    ),
    "slot_not_filled": Remedy(
        "Ask for the slot, or teach the extractor the ways in which people say it.",
        never_or("slot {} is never filled", "slot {} is not filled"),
        metric="slot_completion",
        words="slots",
    ),
    "wrong_value": Remedy(
        "See how the value is normalised: dates, numbers, units, and what the user corrected later.",
        never_or("slot {} never has its right value", "slot {} has not its right value"),
        metric="slot_value_accuracy",
        words="slots",
    ),
    "step_not_done": Remedy(
        "Put the step into the instructions of the task, with what must come before it.",
        never_or("step {} is never done in its order", "step {} is not done in its order"),
        metric="step_completion",
        words="steps",
    ),
    "tool_not_called": Remedy(
        "Say in the tool's description when it is to be called.",
        never_or("tool {} is never called", "tool {} is not called"),
        metric="tool_f1",
        words="tools",
    ),
    "needless_tool": Remedy(
        "Say in the tool's description when it is not to be called.",
        simply("tool {} is called where it should not be"),
        metric="tool_f1",
    ),
    "wrong_argument": Remedy(
        "Describe the argument's format and where its value comes from; validate before the call.",
        never_or("argument {} is never right", "argument {} is wrong"),
        metric="argument_accuracy",
        words="arguments",
    ),
    "fallback_answer": Remedy(
        "The answer says that nothing was found: hold what was retrieved against what reached the prompt.",
        simply("the fallback answer was given though documents were needed"),
        metric="fallback_when_required",
    ),
    "rule_failed": Remedy(
        "Read a few of these answers beside the rule: mend the answer where the rule is right, else the rule.",
        simply("the rule {} does not hold"),
        words="rules",
    ),
    "rules_too_low": Remedy(
        "Each rule holds and their weighed score is too low: look at which of them score least, and at the "
        "threshold.",
        simply("the rules together score under their threshold"),
    ),
    "empty_answer": Remedy(
        "Look for filters, token limits and streams that end early.",
        simply("the answer is empty"),
    ),
}

_UNKNOWN = Remedy(
    "Look at these samples.",
    lambda seen: f"{seen.cause.kind.replace('_', ' ')}: {seen.portion}{seen.labels}",
)

RISKS = sorted(
    {(each.metric, words) for each in [*_REMEDIES.values(), _UNKNOWN] for words in (each.words, "")}
)
"""By which metric and which names, none among them, the samples that causes could befall are told."""
