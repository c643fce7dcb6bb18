"""The texts of one answer as they come: pieces put together in their mode, thoughts kept apart.

When a text arrived is kept even where the text is dropped later: the user saw it.
"""

from __future__ import annotations

from evalkit.net.wire import joined
from evalkit.targets.http.rules import Mode

__all__ = ["Transcript"]

_OPEN, _CLOSE = "<think>", "</think>"


class Transcript:
    """Answer and thoughts so far; `texts_at` and `thoughts_at` are the arrivals of their non-empty pieces."""

    def __init__(self, *, think_tags: bool = False) -> None:
        self.texts_at: list[float] = []
        self.thoughts_at: list[float] = []
        self.flags: list[str] = []
        self._tags = _Tags() if think_tags else None
        self._said, self._thought = _Raw(), _Raw()
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._marked = 0

    @property
    def text(self) -> str:
        """The answer so far, halves of surrogate pairs put together."""
        return joined(self._texts).text

    @property
    def thinking(self) -> str | None:
        """The thoughts so far; None where there were none."""
        return joined(self._thoughts).text if self._thoughts else None

    def say(self, text: str, at: float, mode: Mode) -> str:
        """Take in a text of the answer; gives what of it is new."""
        if mode == "replace" or (mode == "cumulative" and not self._said.goes_on(text)):
            self.flags += ["rewritten"] if mode == "cumulative" else []
            self.reset()
        new = self._said.new(text, mode)
        self._differs(self._said, text, mode)
        for thought, piece in self._tags.split(new) if self._tags else [(False, new)]:
            self._put(piece, at, thought=thought)
        return new

    def think(self, text: str, at: float, mode: Mode) -> str:
        """Take in a text of the thoughts; gives what of it is new."""
        if mode == "replace":
            self._thoughts.clear()
            self._thought = _Raw()
        new = self._thought.new(text, mode)
        self._put(new, at, thought=True)
        return new

    def mark(self) -> None:
        """Let what was said so far stand."""
        self._marked, self._said = len(self._texts), _Raw()

    def reset(self) -> None:
        """Drop what was said since the last mark."""
        del self._texts[self._marked :]
        self._said, self._tags = _Raw(), _Tags() if self._tags else None

    def end(self, at: float) -> None:
        """Take what was held back as the beginning of a tag for what it is."""
        if self._tags:
            self._put(self._tags.held, at, thought=self._tags.thinking)
        if joined(self._texts).lone_surrogate or joined(self._thoughts).lone_surrogate:
            self.flags.append("lone_surrogate")

    def _put(self, piece: str, at: float, *, thought: bool) -> None:
        if piece:
            (self._thoughts if thought else self._texts).append(piece)
            (self.thoughts_at if thought else self.texts_at).append(at)

    def _differs(self, raw: _Raw, text: str, mode: Mode) -> None:
        if mode == "final_repeat" and text and not raw.so_far.endswith(text):
            self.flags.append("final_differs")


class _Raw:
    """The pieces of one text as they came, before tags are looked at."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._whole = ""

    @property
    def so_far(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def goes_on(self, text: str) -> bool:
        """Whether a cumulative text is the one before and more."""
        return text.startswith(self._whole)

    def new(self, text: str, mode: Mode) -> str:
        """What of the text was not said before."""
        if mode == "final_repeat" and self.so_far:
            return ""
        if mode == "cumulative":
            known = len(self._whole) if self.goes_on(text) else 0
            self._whole = text
            text = text[known:]
        self._pieces.append(text)
        return text


class _Tags:
    """Text with thoughts between tags, fed in pieces cut anywhere."""

    def __init__(self) -> None:
        self.thinking = False
        self.held = ""
        self._after_thoughts = False

    def split(self, piece: str) -> list[tuple[bool, str]]:
        """The parts of what has come, each with whether it is thought; white space after thoughts is none."""
        parts: list[tuple[bool, str]] = []
        self.held += piece
        while True:
            tag = _CLOSE if self.thinking else _OPEN
            before, found, after = self.held.partition(tag)
            keep = "" if found else _beginning(before, tag)
            parts.append((self.thinking, self._trimmed(before.removesuffix(keep) if keep else before)))
            self.held = after if found else keep
            if not found:
                return parts
            self._after_thoughts = self.thinking
            self.thinking = not self.thinking

    def _trimmed(self, text: str) -> str:
        if self._after_thoughts and not self.thinking:
            text = text.lstrip()
            self._after_thoughts = not text
        return text


def _beginning(text: str, tag: str) -> str:
    """The end of the text that may be the beginning of the tag."""
    return next((tag[:size] for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), "")
