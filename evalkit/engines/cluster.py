"""The same function over many items on a dask cluster: what a lost worker had is done again by the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from evalkit.errors import EvalkitError, Incomplete, UsageError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Cluster", "connected"]

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Cluster:
    """A dask cluster, through its `client`; `tell` hears how far it is."""

    client: Client
    tell: Callable[[str], object] = str

    def reduced(
        self,
        function: Callable[[_Item], _Found],
        plus: Callable[[_Found, _Found], _Found],
        items: Sequence[_Item],
    ) -> _Found:
        """What the function gives for all items, added up in their order, as a tree on the workers.

        An item that fails, or that kills its workers, ends it: Incomplete naming it; errors of this package come
        as they are.
        """
        given = self.client.scatter(function, broadcast=True)
        parts = self.client.map(_do, items, function=given, pure=False)
        total = _tree(self.client, plus, parts)
        _wait(parts, items, tell=self.tell)
        found: _Found = total.result()
        return found


def _do(item: Any, *, function: Callable[[Any], Any]) -> Any:
    return function(item)


def _tree(client: Client, plus: Callable[[Any, Any], Any], futures: Sequence[Any]) -> Any:
    """The sum of all, neighbours first."""
    while len(futures) > 1:
        pairs = zip(futures[::2], futures[1::2], strict=False)
        odd = futures[-1:] if len(futures) % 2 else []
        futures = [*(client.submit(plus, first, second, pure=False) for first, second in pairs), *odd]
    return futures[0]


def _wait(
    parts: Sequence[Any],
    items: Sequence[_Item],
    *,
    tell: Callable[[str], object],
) -> None:
    """Tell of each item that is done; raises for the first that failed."""
    from distributed import as_completed  # noqa: PLC0415 - an extra

    for done, future in enumerate(as_completed(parts), start=1):
        error = future.exception()
        if isinstance(error, EvalkitError):
            raise error
        if error is not None:
            item = items[parts.index(future)]
            raise Incomplete(
                f"{item}: found {type(error).__name__} ({error}), wanted its scores; look at these lines, "
                "or give the workers more memory."
            ) from error
        tell(f"{done} of {len(parts)} parts")


@contextmanager
def connected(
    *, scheduler: str | None = None, workers: int = 2, tell: Callable[[str], object] = str
) -> Iterator[Cluster]:
    """The cluster of the `scheduler` (`tcp://host:port`), else one on this machine with so many `workers`, until the block ends.

    UsageError without the extra or the scheduler.
    """
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(
            "--engine dask: found no dask, wanted the extra: pip install 'evalkit[dask]'."
        ) from None
    with ExitStack() as stack:
        if scheduler is None:
            local = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,  # what fails is told once, by us
            )
            yield Cluster(stack.enter_context(Client(stack.enter_context(local))), tell)
            return
        try:
            client = Client(scheduler, timeout="30s")
        except (OSError, ValueError) as error:
            raise UsageError(
                f"--scheduler {scheduler}: found no scheduler there ({error}), wanted tcp://host:port."
            ) from None
        yield Cluster(stack.enter_context(client), tell)
