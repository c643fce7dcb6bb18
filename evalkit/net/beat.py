"""A process that only tells the time: whoever reads its beats late is too busy to stamp anything.

Run as a script with the number of an inherited socket and the seconds between two beats, it writes the moment of
each as eight bytes, until nobody reads any more. It imports next to nothing, so that it starts in an instant.
"""

import socket
import struct
import sys
import time

__all__ = ["BEAT", "beat"]

BEAT = struct.Struct("=d")
"""One beat: seconds of `time.perf_counter`, which all processes of a machine share."""


def beat(out: socket.socket, period_s: float) -> None:
    """Write a beat each `period_s` seconds, until the other side is gone."""
    due = time.perf_counter()
    while True:
        due = max(due + period_s, time.perf_counter())
        time.sleep(due - time.perf_counter() if due > time.perf_counter() else 0)
        try:
            out.sendall(BEAT.pack(time.perf_counter()))
        except OSError:
            return


if __name__ == "__main__":
    beat(socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2]))
