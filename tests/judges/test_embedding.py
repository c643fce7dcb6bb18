"""Vectors come in the order of their texts, are asked for once, and are refused where they cannot be used."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import Incomplete
from evalkit.judges.cache import Cache
from evalkit.judges.embedding import embed


def entries(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"index": place, "embedding": [len(text), 1.0]} for place, text in enumerate(body["input"])]


def ask(model: Any, server: Any, texts: list[str], cache: Cache) -> list[list[float]]:
    async def main() -> list[list[float]]:
        async with server(model.url) as endpoint:
            return await embed(texts, server=endpoint, cache=cache)

    return asyncio.run(main())


def test_vectors_are_ordered_by_their_index_and_kept(
    model: Any, server: Any, wire: Any, tmp_path: Path
) -> None:
    said = model(lambda body: wire["json"]({"data": entries(body)[::-1]}))
    cache = Cache(tmp_path)
    assert ask(said, server, ["一", "二二", "一"], cache) == [[1, 1.0], [2, 1.0], [1, 1.0]]
    assert said.bodies[0]["input"] == ["一", "二二"]
    assert ask(said, server, ["二二", "三三三"], cache) == [[2, 1.0], [3, 1.0]]
    assert said.bodies[1]["input"] == ["三三三"]


def test_no_texts_are_no_call(model: Any, server: Any, wire: Any) -> None:
    said = model(lambda _: wire["json"]({}))
    assert ask(said, server, [], Cache()) == []
    assert said.bodies == []


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [{"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": []}],
        [{"index": 0, "embedding": [0.0, 0.0]}],
        [{"index": 0, "embedding": ["1"]}],
        [{"index": 0, "embedding": [True]}],
        [{"index": 0, "embedding": [1.0]}] * 2,
        [1],
    ],
)
def test_vectors_that_cannot_be_used_are_refused(
    data: Any, model: Any, server: Any, wire: Any, tmp_path: Path
) -> None:
    said = model(lambda _: wire["json"]({"data": data}))
    with pytest.raises(Incomplete, match="found no 1 vectors"):
        ask(said, server, ["一"], Cache(tmp_path))
    assert not list(tmp_path.rglob("*.json"))


def test_vectors_of_several_lengths_are_refused(model: Any, server: Any, wire: Any) -> None:
    data = [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]
    with pytest.raises(Incomplete, match="several lengths"):
        ask(model(lambda _: wire["json"]({"data": data})), server, ["一", "二"], Cache())
