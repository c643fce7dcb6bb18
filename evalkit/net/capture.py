"""Exchanges on tape: what was asked and what came back, with every arrival; played back, they come again.

Exchanges go through `send`, `chunks` and `ended`. Without a tape these are the transport's own. A `Recording`
notes what passes; a `Playing` gives it again without a network, errors and silences too, so that whatever reads
exchanges cannot tell the difference. A tape holds for the task that it was put in, and for those made from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextvars import ContextVar

import httpx

from evalkit.net import transport
from evalkit.net.taken import Taken, stood_in
from evalkit.net.transport import Stamped, Stamps, WireError

__all__ = ["Playing", "Recording", "again", "chunks", "ended", "on", "playing", "send"]

_MOST = 16 << 20
_KEY = "taken"


class Recording:
    """A tape that notes the exchanges, in the order in which they began."""

    def __init__(self) -> None:
        self.taken: list[Taken] = []

    async def send(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """The client's response, noted."""
        taken = Taken(
            request.method, str(request.url), [list(item) for item in request.headers.multi_items()]
        )
        self.taken.append(taken)
        request.extensions[_KEY] = taken
        with _noted(taken):
            response = await client.send(request, stream=True)
        taken.status = response.status_code
        taken.reply_headers = [list(item) for item in response.headers.multi_items()]
        response.extensions[_KEY] = taken
        return response

    async def chunks(self, response: httpx.Response, max_bytes: int) -> AsyncIterator[Stamped]:
        """The pieces of the transport, noted."""
        taken: Taken = response.extensions[_KEY]
        with _noted(taken):
            async for piece in transport.chunks(response, max_bytes=max_bytes):
                taken.pieces.append(piece)
                yield piece
            taken.end = "whole"

    def ended(self, request: httpx.Request, stamps: Stamps) -> float:
        """Now, unless the end was stamped; noted."""
        ended_at = stamps.ended_at or time.perf_counter()
        if taken := request.extensions.get(_KEY):
            taken.ended_at = ended_at
            taken.stamps = {each.name: getattr(stamps, each.name) for each in dataclasses.fields(stamps)}
        return ended_at


@contextlib.contextmanager
def _noted(taken: Taken) -> Iterator[None]:
    try:
        yield
    except asyncio.CancelledError:
        taken.end = "cut"
        raise
    except (WireError, httpx.HTTPError, httpx.InvalidURL) as error:
        taken.end, taken.error = "error", [type(error).__name__, getattr(error, "kind", ""), str(error)]
        raise


class Playing:
    """A tape that gives back what was recorded.

    Requests find their exchange by method and address, in the order of the recording; one whose address is
    another each time (a new id in it) finds the next that nobody asked for.
    """

    def __init__(self, taken: Sequence[Taken]) -> None:
        self.left = list(taken)

    async def send(self, _client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """The response that came then."""
        taken = self._next(request)
        request.extensions[_KEY] = taken
        for name, at in taken.stamps.items():
            setattr(request.extensions["stamps"], name, at)
        await asyncio.sleep(0)
        if taken.status is None:
            await _ending(taken)
        return httpx.Response(
            taken.status or 0,
            headers=[(name, value) for name, value in taken.reply_headers],
            request=request,
            extensions={_KEY: taken},
        )

    async def chunks(self, response: httpx.Response, _max_bytes: int) -> AsyncIterator[Stamped]:
        """The pieces that came then, without the waits between them."""
        taken: Taken = response.extensions[_KEY]
        for piece in taken.pieces:
            yield piece
        await _ending(taken)

    def ended(self, request: httpx.Request, stamps: Stamps) -> float:
        """When it ended then."""
        taken: Taken | None = request.extensions.get(_KEY)
        return (stamps.ended_at or 0.0) if taken is None else taken.ended_at

    def _next(self, request: httpx.Request) -> Taken:
        if not self.left:
            raise WireError("not_captured", "the capture has no further exchange of this sample.")
        wanted = (request.method, _path(stood_in(str(request.url))))
        same = [taken for taken in self.left if (taken.method, _path(taken.url)) == wanted]
        found = same[0] if same else self.left[0]
        self.left.remove(found)
        return found


def _path(url: str) -> str:
    """An address without its host: an embedded service has another port each time."""
    return url.partition("://")[2].partition("/")[2]


async def _ending(taken: Taken) -> None:
    """End as it did then: well, with its error, or never, until a deadline comes."""
    if taken.end == "cut":
        await asyncio.get_running_loop().create_future()
    if taken.error:
        name, kind, message = taken.error
        kinds = {"InvalidURL": httpx.InvalidURL}
        raise (
            WireError(kind, message)
            if kind
            else kinds.get(name, getattr(httpx, name, httpx.ReadError))(message)
        )


_tape: ContextVar[Recording | Playing | None] = ContextVar("tape", default=None)


@contextlib.contextmanager
def on(tape: Recording | Playing) -> Iterator[None]:
    """Let the exchanges of this block go over the tape."""
    token = _tape.set(tape)
    try:
        yield
    finally:
        _tape.reset(token)


def playing() -> bool:
    """Whether exchanges are played back here, so that nobody needs a key, a login or a server."""
    return isinstance(_tape.get(), Playing)


async def send(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    """The response to the request, its body still to be read with `chunks`."""
    tape = _tape.get()
    return await (client.send(request, stream=True) if tape is None else tape.send(client, request))


def chunks(response: httpx.Response, *, max_bytes: int = _MOST) -> AsyncIterator[Stamped]:
    """The body of a response that `send` gave, piece by piece with arrivals, as `transport.chunks`."""
    tape = _tape.get()
    if tape is None or _KEY not in response.extensions:
        return transport.chunks(response, max_bytes=max_bytes)
    return tape.chunks(response, max_bytes)


def again(*, if_: bool) -> bool:
    """Whether something is asked again: `if_` so; where it is played back, if it was asked again then."""
    tape = _tape.get()
    return bool(tape.left) if isinstance(tape, Playing) else if_


def ended(request: httpx.Request, stamps: Stamps) -> float:
    """When the exchange ended: as stamped, else now."""
    tape = _tape.get()
    return stamps.ended_at or time.perf_counter() if tape is None else tape.ended(request, stamps)
