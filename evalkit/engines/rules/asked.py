"""Rules that ask a model, as something that a judge can be put to: their verdicts stand beside the run.

A rule that could not ask because the endpoint failed or the budget ended leaves no verdicts at all, so that
the next try asks again.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.engines.rules.binding import Models, rules_of
from evalkit.engines.rules.running import judge_rules
from evalkit.errors import Incomplete
from evalkit.kinds import Embed, Judge, Moderate

__all__ = ["asked_rules"]

_LASTING = {"unusable", "too_long", "refused"}


class _Watched:
    """The models as they are asked, and the first failure that another try may not meet."""

    def __init__(self, judge: Judge, embed: Embed | None, moderate: Moderate | None) -> None:
        self._judge, self._embed, self._moderate = judge, embed, moderate
        self.failure: Judgement | None = None
        self.error: Incomplete | None = None
        self.said: list[Judgement] = []

    @property
    def models(self) -> Models:
        return Models(
            self.judge, self.embed if self._embed else None, self.moderate if self._moderate else None
        )

    async def judge(self, question: Question) -> Judgement:
        return self._seen(await self._judge(question))

    async def moderate(self, text: str) -> Judgement:
        assert self._moderate is not None  # noqa: S101 - handed out only where there is one
        return self._seen(await self._moderate(text))

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        assert self._embed is not None  # noqa: S101 - handed out only where there is one
        try:
            return await self._embed(texts)
        except Incomplete as error:
            self.error = error
            raise

    def _seen(self, said: Judgement) -> Judgement:
        self.said.append(said)
        error = said.detail.get("error")
        lasting = isinstance(error, dict) and error.get("kind") in _LASTING
        if said.status == "over_budget" or (said.status == "judge_error" and not lasting):
            self.failure = said
        return said


async def asked_rules(
    record: EvalRecord, *, judge: Judge, embed: Embed | None = None, moderate: Moderate | None = None
) -> Judgement | None:
    """The verdicts of all rules of the record in `detail["verdicts"]`; no score.

    Applies to records of which some rule can ask a model. A failure of the endpoint is given on instead.
    """
    if record.answer_status != "ok" or not any(rule.asks for rule in rules_of(record)):
        return None
    watched = _Watched(judge, embed, moderate)
    (found,) = await judge_rules([record], watched.models)
    if watched.error is not None:
        raise watched.error
    if watched.failure is not None:
        return watched.failure
    last = watched.said[-1] if watched.said else Judgement()
    return Judgement(
        reason=", ".join(verdict.rule for verdict in found.verdicts),
        detail={"verdicts": [verdict.model_dump(mode="json") for verdict in found.verdicts]},
        judge=last.judge,
        cached=bool(watched.said) and all(said.cached for said in watched.said),
    )
