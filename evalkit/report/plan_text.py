"""What `evalkit plan` prints: which cases to write next."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from evalkit.report.figures import NOTHING
from evalkit.report.gains import points
from evalkit.report.plan import Plan, PlanRow
from evalkit.report.rich_tables import label, table
from evalkit.report.wording import times

__all__ = ["plan_view"]

_MEASURED = (
    "by what the run answered; the plan of an eval set alone takes each intent as right half the time, "
    "which is the most it can need"
)
_ASSUMED = (
    "without answers each intent is taken as right half the time, which is the most it can need; "
    "the plan of a run goes by its answers"
)


def plan_view(plan: Plan, *, limit: int) -> RenderableType:
    """The plan, with at most `limit` intents, and what the set can show now."""
    return Group(
        Text(f"{times(plan.missing, 'case')} to write for intervals of {points(plan.width)} points", "bold"),
        Text(f"{times(plan.cases, 'case')} there; {_shown(plan)}", "dim"),
        Text(_MEASURED if plan.measured else _ASSUMED, "dim"),
        *_rows(plan, limit),
    )


def _shown(plan: Plan) -> str:
    if plan.detectable is None:
        return "together they cannot show any difference between two runs"
    return f"together they show a difference of {points(plan.detectable)} points or more between two runs"


def _rows(plan: Plan, limit: int) -> Iterator[RenderableType]:
    if not plan.rows:
        yield Text("No case has an intent.", "yellow")
        return
    grid = table(
        "intent", "cases>", "right>", "width now>", "wanted>", "to write>", "shows>", "confused with", ">"
    )
    for row in plan.rows[:limit]:
        grid.add_row(*_row(row))
    yield grid
    if len(plan.rows) > limit:
        yield Text(f"and {len(plan.rows) - limit} more intents", "dim")
    yield Text("shows: the smallest difference, in points, that these cases show 4 times in 5", "dim")


def _row(row: PlanRow) -> tuple[Text | str, ...]:
    return (
        label(row.intent_l2),
        str(row.cases),
        NOTHING if row.right is None else f"{row.right:g}",
        points(row.width),
        str(row.wanted),
        str(row.missing),
        NOTHING if row.detectable is None else points(row.detectable),
        label(row.neighbour or ""),
        str(row.confused) if row.neighbour else "",
    )
