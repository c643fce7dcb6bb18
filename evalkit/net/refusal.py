"""Responses that are not what was asked for: an error status, a redirect, a page or an envelope."""

from __future__ import annotations

import contextlib
from http import HTTPStatus

import httpx

from evalkit.contracts import ChannelError
from evalkit.net.capture import chunks
from evalkit.net.transport import WireError
from evalkit.net.wire import decoded, excerpt, storable

__all__ = ["Refused", "expect", "refused"]

_MOST = 1 << 16  # enough of an unexpected body to read its code and message


class Refused(Exception):
    """A response that cannot be used; `error` says why and keeps the beginning of its body."""

    def __init__(self, error: ChannelError) -> None:
        super().__init__(error.message)
        self.error = error


def refused(
    response: httpx.Response, kind: str, message: str, *, body: bytes, code: str | None = None
) -> Refused:
    """The refusal of `response` for that reason."""
    error = ChannelError(
        kind=kind, message=message, http_status=response.status_code, code=code, body=excerpt(body) or None
    )
    return Refused(error)


async def expect(response: httpx.Response, *content_types: str) -> None:
    """Go on if `response` is a success of one of the content types, else raise Refused."""
    found = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.is_success and found in content_types:
        return
    body = await _head(response)
    code, told = _envelope(body)
    kind = _kind(response.status_code, enveloped=code is not None)
    message = f"{_found(response, kind)}, wanted {' or '.join(content_types)}. {told}".strip()
    raise refused(response, kind, message, body=body, code=code)


def _kind(status: int, *, enveloped: bool) -> str:
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return "envelope" if enveloped else "bad_content_type"
    redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
    return "redirect" if redirect else "http_status"


def _found(response: httpx.Response, kind: str) -> str:
    if kind == "redirect":
        target = response.headers.get("location", "nowhere")
        return f"found HTTP {response.status_code} to {target} (redirects are not followed)"
    if kind == "http_status":
        return f"found HTTP {response.status_code}"
    return f"found content-type {response.headers.get('content-type', 'none')!r}"


async def _head(response: httpx.Response) -> bytes:
    """The beginning of a body that was not asked for, as far as it can be read."""
    body = bytearray()
    with contextlib.suppress(WireError, httpx.HTTPError):
        async for data, _ in chunks(response, max_bytes=_MOST):
            body += data
    return bytes(body)


def _envelope(body: bytes) -> tuple[str | None, str]:
    """Code and message where the body is an envelope with a code."""
    try:
        value = storable(decoded(body))
    except ValueError:
        return None, ""
    if not isinstance(value, dict) or "code" not in value:
        return None, ""
    return str(value["code"]), str(value.get("message") or value.get("msg") or "")
