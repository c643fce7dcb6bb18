"""The rules of each record, asked; their verdicts, and what they come to, written into it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence

import numpy as np

from evalkit.contracts import EvalRecord, Turn, Verdict
from evalkit.engines.rules.binding import Models, Rule, check_rules, placed, rules_of
from evalkit.errors import UsageError
from evalkit.questions.dialogs import exchanges
from evalkit.records import Records, RecordsLike
from evalkit.rules.logic import decide

__all__ = ["judge_rules", "with_verdicts"]

_BY_EVIDENCE = {"intent_classification"}
"""Rules that can do without the answer."""

_DESCRIPTION = "expectation.behavior"
"""The rule that only a judge can ask: where there is none it describes the case and decides nothing."""

_LONGEST = 300


async def judge_rules(records: RecordsLike, models: Models = Models()) -> Records:  # noqa: B008 - immutable
    """The records with the verdicts of their rules, asked anew.

    A record without rules or expectation stays as it is. Without a judge the `behavior` of an expectation is no
    rule but a description. Undecided is a rule whose model is not there, whose answer channel failed, or that
    failed itself (`rule_error`): one such rule stops nothing. Raises UsageError as `check_rules`.
    """
    table = Records.of(records)
    check_rules(_distinct(table))
    rows = await asyncio.gather(*(_judged(record, models) for record in table))
    return Records(rows, superseded=table.superseded, torn=table.torn)


def with_verdicts(records: RecordsLike) -> Records:
    """The records with verdicts: those that they have, else those that need no model.

    What the verdicts come to is decided anew. Raises UsageError as `check_rules`.
    """
    table = Records.of(records)
    held = table.given("verdicts") | table.given("rules") | table.given("expectation")
    found = {row: table[row] for row in np.flatnonzero(held).tolist()}
    new = [row for row, record in found.items() if _is_new(record)]
    judged = asyncio.run(judge_rules([found[row] for row in new])) if new else ()
    decided = {row: _decided(record, record.verdicts) for row, record in found.items()}
    return table.replaced(decided | dict(zip(new, judged, strict=True)))


def _is_new(record: EvalRecord) -> bool:
    """Whether there are rules to ask, and no verdict yet."""
    return not record.verdicts and bool(record.rules or record.expectation)


def _distinct(records: Iterable[EvalRecord]) -> list[EvalRecord]:
    """One record a case: repeats have the same rules."""
    return list({record.sample_id: record for record in records}.values())


async def _judged(record: EvalRecord, models: Models) -> EvalRecord:
    dialog = exchanges(record)
    rules = [rule for rule in rules_of(record) if models.judge is not None or rule.name != _DESCRIPTION]
    verdicts = [await _verdict(record, dialog, rule, models) for rule in rules]
    return _decided(record, verdicts)


def _decided(record: EvalRecord, verdicts: Sequence[Verdict]) -> EvalRecord:
    """The record with its verdicts, and what they come to."""
    if not verdicts:
        return record
    decision = decide(verdicts, logic=record.rule_logic, threshold=record.rule_pass_threshold)
    told = {"rules_passed": decision.passed, "rules_decided_by": ", ".join(decision.decided_by)}
    return record.model_copy(update={"verdicts": tuple(verdicts), **told})


async def _verdict(record: EvalRecord, dialog: Sequence[Turn], rule: Rule, models: Models) -> Verdict:
    if record.answer_status != "ok":
        if rule.spec.type not in _BY_EVIDENCE:
            return rule.undecided(f"the answer channel ended in {record.answer_status}")
        models = Models()
    lacks = rule.lacks(models)
    if lacks:
        return rule.undecided(f"needs {' and '.join(lacks)}, and there is none")
    return await _asked(record, dialog, rule, models)


async def _asked(record: EvalRecord, dialog: Sequence[Turn], rule: Rule, models: Models) -> Verdict:
    try:
        verdict = rule.bound(models)(record, dialog)
        return rule.told(await verdict if isinstance(verdict, Awaitable) else verdict)
    except UsageError as error:
        raise placed(record, error) from None
    except Exception as error:  # noqa: BLE001 - a stranger's rule, or its model, must not stop the others
        return rule.undecided(f"rule_error: {type(error).__name__}: {error}"[:_LONGEST])
