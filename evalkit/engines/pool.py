"""The same function over many items, by several processes; one that dies is replaced, and its items are done again."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from evalkit.errors import Incomplete

__all__ = ["mapped", "reduced"]

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")

_AHEAD = 2
"""How many items each worker has in hand, so that none waits for another and few results do."""

_START = "fork" if sys.platform == "linux" else "forkserver"
"""Workers are forked from this process, so that all share the packages that it has loaded; the libraries of other
systems do not bear that.
"""


def reduced(
    function: Callable[[_Item], _Found],
    plus: Callable[[_Found, _Found], _Found],
    items: Sequence[_Item],
    *,
    workers: int = 1,
    tell: Callable[[str], object] = str,
) -> _Found:
    """What the function gives for all items, added up in their order, neighbours first; as `mapped`."""
    sums: list[tuple[int, _Found]] = []
    for found in mapped(function, items, workers=workers, tell=tell):
        size, whole = 1, found
        while sums and sums[-1][0] == size:  # both of as many items, so that neither is copied often
            size, whole = 2 * size, plus(sums.pop()[1], whole)
        sums.append((size, whole))
    return functools.reduce(lambda later, first: plus(first, later), (each for _, each in reversed(sums)))


def mapped(
    function: Callable[[_Item], _Found],
    items: Sequence[_Item],
    *,
    workers: int,
    tell: Callable[[str], object] = str,
) -> Iterator[_Found]:
    """What the function gives for each item, in the order of the items, whoever was quicker.

    One worker is this process. Where a process dies, `tell` hears of it, and what was in hand is done once more
    by new ones; Incomplete where one dies again over the same items. What the function raises ends it all.
    """
    if workers == 1:
        yield from map(function, items)
        return
    done, died_at = 0, -1
    while done < len(items):
        try:
            for found in _by_pool(function, items[done:], workers):
                yield found
                done += 1
        except BrokenProcessPool:
            if died_at == done:
                raise Incomplete(
                    f"{items[done]}: found a worker dead twice over these or the next parts, wanted it to end; most likely "
                    "memory ran out. Try fewer --workers."
                ) from None
            died_at = done
            tell(f"a worker died; what it had in hand is done again, from {items[done]} on")


def _by_pool(function: Callable[[_Item], _Found], items: Sequence[_Item], workers: int) -> Iterator[_Found]:
    context, waiting = multiprocessing.get_context(_START), deque[Future[Any]]()
    work = pickle.dumps(
        function
    )  # not as it is here: files that it holds open are read from one place by all
    with _unmoved(), ProcessPoolExecutor(workers, context, initializer=_keep, initargs=(work,)) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(_do, item))
                if len(waiting) > _AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _unmoved() -> Iterator[None]:
    """While the block lasts the collector of garbage passes over what is there: it writes to all that it looks at,
    and what a forked process writes to it no longer shares.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


_KEPT: list[Callable[[Any], Any]] = []


def _keep(work: bytes) -> None:
    """The function comes once to each process, its items one by one."""
    _KEPT[:] = [pickle.loads(work)]  # noqa: S301 - our own


def _do(item: Any) -> Any:
    return _KEPT[0](item)
