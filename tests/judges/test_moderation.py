"""Harm by category; an endpoint that does not answer has not said that a text is clean."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evalkit.contracts import Judgement
from evalkit.judges.budget import Budget
from evalkit.judges.cache import Cache
from evalkit.judges.moderation import moderate


def ask(model: Any, server: Any, *, cache: Cache | None = None, **config: Any) -> Judgement:
    async def main() -> Judgement:
        async with server(model.url, **config) as endpoint:
            return await moderate("某段文字", server=endpoint, cache=cache or Cache())

    return asyncio.run(main())


def test_categories_are_items_and_kept(model: Any, server: Any, wire: Any, tmp_path: Path) -> None:
    result = {"flagged": True, "categories": {"violence": True, "hate": False}, "category_scores": {}}
    said = model(lambda _: wire["json"]({"results": [result]}))
    first = ask(said, server, cache=Cache(tmp_path))
    again = ask(said, server, cache=Cache(tmp_path))
    assert (first.label, first.score, first.reason) == ("flagged", None, "violence")
    assert first.detail["items"] == {"violence": True, "hate": False}
    assert (again.cached, len(said.bodies)) == (True, 1)


@pytest.mark.parametrize(
    "reply",
    [{}, {"results": []}, {"results": [{"flagged": False}]}, {"results": [{"flagged": 0, "categories": {}}]},
     {"results": [{"flagged": False, "categories": {"hate": "no"}}]}, {"results": [{"flagged": False, "categories": []}]}],
)  # fmt: skip
def test_what_is_no_answer_is_not_clean(reply: Any, model: Any, server: Any, wire: Any) -> None:
    judgement = ask(model(lambda _: wire["json"](reply)), server)
    assert (judgement.status, judgement.label) == ("judge_error", None)


def test_failures_are_told_in_the_status(model: Any, server: Any, wire: Any) -> None:
    said = model(lambda _: wire["json"]({}, status_code=500))
    assert ask(said, server).detail["error"]["http_status"] == 500
    assert ask(said, server, budget=Budget(max_calls=0)).status == "over_budget"
