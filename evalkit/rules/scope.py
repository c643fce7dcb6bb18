"""What of a dialog a rule looks at, and which of several verdicts then stands for the dialog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from evalkit.contracts import Turn, Verdict

__all__ = ["DialogScope", "ReplyScope", "over_replies", "replies", "strongest"]

ReplyScope: TypeAlias = Literal["last_turn", "any_turn", "every_agent_turn", "full_dialog"]
"""For rules about replies: the last one; one is enough; each must do; all of them as one text."""

DialogScope: TypeAlias = Literal["last_turn", "full_dialog"]
"""For rules about exchanges: the last one, or all of them, with what the user said."""

_RANKS = {False: 0, None: 1, True: 2}


def replies(dialog: Sequence[Turn], scope: ReplyScope) -> list[str]:
    """The texts that `scope` names: one a turn, or all of them as one; none where nothing was said."""
    if scope == "full_dialog" and dialog:
        return ["\n".join(turn.reply for turn in dialog)]
    return [turn.reply for turn in (dialog[-1:] if scope == "last_turn" else dialog)]


def over_replies(
    dialog: Sequence[Turn], scope: ReplyScope, check: Callable[[str], Verdict], *, rule: str
) -> Verdict:
    """The verdict of `check` over the replies that `scope` names; a dialog without a turn is undecided."""
    verdicts = [check(reply) for reply in replies(dialog, scope)]
    if not verdicts:
        return Verdict(rule=rule, passed=None, reason="nothing was said", scope=scope)
    if scope == "full_dialog":
        return verdicts[0]
    first = len(dialog) - len(verdicts)
    return strongest([_of_turn(verdict, first + place) for place, verdict in enumerate(verdicts)], scope)


def _of_turn(verdict: Verdict, turn: int) -> Verdict:
    return verdict.model_copy(update={"detail": {**verdict.detail, "turn": turn}})


def strongest(verdicts: Iterable[Verdict], scope: ReplyScope) -> Verdict:
    """The verdict that stands for all: the best for `any_turn`, else the worst; the first of equals.

    Undecided is better than failed and worse than passed.
    """
    pick = max if scope == "any_turn" else min
    return pick(verdicts, key=lambda verdict: (_RANKS[verdict.passed], verdict.score or 0.0))
