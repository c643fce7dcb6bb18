"""The log as a sink of secrets: whatever any library logs at any level, known secrets are blacked out in it."""

from __future__ import annotations

import functools
import logging
import traceback
from collections.abc import Callable

from evalkit.net.masking import KNOWN

__all__ = ["guard"]


@functools.cache
def guard() -> None:
    """From now on no log record of this process holds a known secret: text, arguments, traceback."""
    logging.setLogRecordFactory(functools.partial(_record, logging.getLogRecordFactory()))


def _record(make: Callable[..., logging.LogRecord], *args: object, **more: object) -> logging.LogRecord:
    record = make(*args, **more)
    try:
        said = record.getMessage()
    except Exception:  # noqa: BLE001 - arguments that do not fit are the handler's to complain of, masked
        said = f"{record.msg!r} with arguments {record.args!r}"
    record.msg, record.args = KNOWN.text(said), None
    if record.exc_info and record.exc_info[0] is not None:
        record.exc_text = KNOWN.text("".join(traceback.format_exception(*record.exc_info)).rstrip())
    return record
