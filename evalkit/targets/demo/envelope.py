"""The JSON around every plain answer: business errors travel under HTTP 200, told by `code`."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

__all__ = ["Refused", "failure", "success"]

CLIENT_ERROR = "A000001"
SERVER_ERROR = "B000001"


class Refused(Exception):
    """A request that cannot be served: the code and the message of its envelope."""

    def __init__(self, message: str, *, code: str = CLIENT_ERROR) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def success(data: Any = None) -> JSONResponse:
    """The envelope of what went well; it carries no message."""
    return _envelope("0", None, data)


def failure(message: str, *, code: str = SERVER_ERROR) -> JSONResponse:
    """The envelope of what went wrong, under HTTP 200 all the same."""
    return _envelope(code, message, None)


def _envelope(code: str, message: str | None, data: Any) -> JSONResponse:
    return JSONResponse(
        {"code": code, "message": message, "data": data, "requestId": None, "success": code == "0"}
    )
