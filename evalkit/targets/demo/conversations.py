"""What is remembered of a conversation: the last question, an open choice, the task at hand, and its books.

Each conversation has the shop's books to itself as they were in the morning, so that what one case does never
changes the answer of another; with `shared=True` all work on one set.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from evalkit.targets.demo.dialogs import Dialog
from evalkit.targets.demo.store import Store
from evalkit.targets.demo.understanding import Part

__all__ = ["Conversation", "Conversations"]


@dataclass(slots=True)
class Conversation:
    """One user's conversation; `seed` are the books that it starts from."""

    seed: Store
    shared: bool = False
    turns: int = 0
    previous: str | None = None
    choice: Part | None = None
    dialog: Dialog | None = None
    own: Store | None = None

    @property
    def store(self) -> Store:
        """The books that this conversation works on."""
        if self.shared:
            return self.seed
        self.own = self.own or self.seed.copy()
        return self.own

    def close(self) -> None:
        """Throw its books away."""
        if self.own:
            self.own.close()


class Conversations:
    """The latest conversations by user and id; beyond `limit` the longest unused one is forgotten."""

    def __init__(self, seed: Store, *, shared: bool = False, limit: int = 2000) -> None:
        self.seed = seed
        self._shared = shared
        self._limit = limit
        self._known: OrderedDict[tuple[str, str], Conversation] = OrderedDict()

    def open(self, user: str, conversation_id: str) -> Conversation:
        """That conversation, a new one where it is unknown."""
        key = (user, conversation_id)
        if key not in self._known:
            self._known[key] = Conversation(self.seed, self._shared)
        self._known.move_to_end(key)
        while len(self._known) > self._limit:
            self._known.popitem(last=False)[1].close()
        return self._known[key]

    def close(self) -> None:
        """Forget all of them."""
        while self._known:
            self._known.popitem()[1].close()
        self.seed.close()
