"""A server to ask: an answer stream whose events have the server's own stamps, and an evidence endpoint.

`GET /answer` is the stream (`evalkit.net.timed`), `GET /evidence` a JSON body.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager

from evalkit.net.timed import Timed, serve, timed

EVIDENCE = b'{"documents": ["POLICY_RETURN_001", "POLICY_PRICE_002"], "intent": "S14"}'
EVIDENCE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Replica(Timed):
    def answer(self, path: bytes, received_at: float) -> None:
        if path.startswith(b"/evidence"):
            self.transport.write(EVIDENCE_HEAD % len(EVIDENCE) + EVIDENCE)
        else:
            super().answer(path, received_at)


def replica(first_ms: float, gap_ms: float, events: int) -> AbstractContextManager[str]:
    """The address of a replica in a process of its own."""
    return timed(first_ms, gap_ms, events, script=__file__)


if __name__ == "__main__":
    asyncio.run(serve(Replica, float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
