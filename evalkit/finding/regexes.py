"""Regular expressions that cannot hang: RE2, whose time is linear in the text whatever the pattern."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from evalkit.errors import UsageError

__all__ = ["compiled", "searchable"]


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str, *, ignore_case: bool = False) -> Any:
    """The pattern, ready to `search` and `finditer` texts.

    UsageError where RE2 is not installed, or refuses it: it knows no look-around and no back-references.
    """
    try:
        re2 = importlib.import_module("re2")
    except ImportError:
        raise UsageError(
            f"regular expression {pattern!r}: RE2 is not installed; pip install 'evalkit[rules]'."
        ) from None
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else "a lone surrogate"
        raise UsageError(
            f"regular expression {pattern!r}: found {why}, wanted RE2 syntax "
            "(https://github.com/google/re2/wiki/Syntax): no look-around, no back-references."
        ) from None


def searchable(text: str) -> str:
    """The text as RE2 can read it, of the same length: what is half a character becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")
