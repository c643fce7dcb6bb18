"""`python -m evalkit.targets.demo`: the demo shop's server, alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evalkit.errors import EvalkitError
from evalkit.targets.demo.faults import ENVIRONMENT, Faults
from evalkit.targets.demo.knowledge import DATA
from evalkit.targets.demo.settings import Limits, Pacing
from evalkit.targets.demo.standalone import serve_forever


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; the exit code."""
    given = _parser().parse_args(arguments)
    try:
        serve_forever(
            host=given.host,
            port=given.port,
            faults=Faults.switched_on(given.fault),
            pacing=Pacing(chunk_chars=given.chunk_chars, chunk_ms=given.chunk_ms, think_ms=given.think_ms),
            limits=Limits(
                max_concurrent=given.max_concurrent,
                max_wait_ms=given.max_wait_ms,
                one_stream_per_user=given.one_stream_per_user,
            ),
            users=dict(user.split(":", 1) for user in given.user) or None,
            data=given.data,
            parent_pid=given.parent_pid,
        )
    except EvalkitError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    pace, limits = Pacing(), Limits()
    parser = argparse.ArgumentParser(
        prog="python -m evalkit.targets.demo",
        description="Serve the demo shop, wire-compatible with Ragent 1.1.",
        epilog="example: python -m evalkit.targets.demo --port 9090 --fault cut=0.2 --fault slow_first_token_ms=800",
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    add("--port", type=int, default=9090, help="port to listen on, 0 for a free one (%(default)s)")
    add(
        "--fault",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"known-bad behaviour; also in {ENVIRONMENT}",
    )
    add("--user", action="append", default=[], metavar="NAME:PASSWORD", help="who may log in (admin:admin)")
    add("--chunk-chars", type=int, default=pace.chunk_chars, help="characters a delta (%(default)s)")
    add("--chunk-ms", type=float, default=pace.chunk_ms, help="pause after each delta (%(default)s)")
    add("--think-ms", type=float, default=pace.think_ms, help="pause before the first delta (%(default)s)")
    add("--max-concurrent", type=int, default=limits.max_concurrent, help="streams at once (%(default)s)")
    add("--max-wait-ms", type=float, default=limits.max_wait_ms, help="longest wait for a turn (%(default)s)")
    add("--one-stream-per-user", action="store_true", help="as the agent engine of the real system")
    add("--data", type=Path, default=DATA, help="folder of the shop")
    add("--parent-pid", type=int, help="end with that process, and say the address as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
