"""Calibration: what a client's times are worth, told by streams whose send times are known."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from click.testing import CliRunner

from evalkit.cli import commands
from evalkit.net.exchange import Arrival, Exchange
from evalkit.net.sse import Event
from evalkit.net.stamps import Stamps
from evalkit.runner.calibrating import Calibration, calibrate, calibration
from evalkit.runner.selfcheck import SelfCheck


def seen(*, client_s: float, server_s: float) -> Exchange:
    """An answer whose first event the server sent that long after the request, and the client read then."""
    told = json.dumps({"received_at": 7.0, "sent_at": 7.0 + server_s, "text": "好"})
    return Exchange(
        stamps=Stamps(sent_at=100.0), events=[Arrival(Event("message", told, ""), 100.0 + client_s)]
    )


def test_an_error_is_the_clients_time_minus_the_servers_and_quantiles_are_nearest_ranks() -> None:
    """Golden values by hand: errors of 1 … 100 ms; the 50th and the 99th of them."""
    exchanges = [seen(client_s=0.2 + n / 1000, server_s=0.2) for n in range(1, 101)]
    found = calibration(100, [*exchanges, Exchange()], SelfCheck())
    assert (found.streams, found.n, found.failed) == (100, 100, 1)
    assert (found.error_p50_ms, found.error_p99_ms) == (50.0, 99.0)
    assert (found.delay_p99_ms, found.client_saturated) == (None, True)


@pytest.mark.parametrize(("late_ms", "saturated"), [(9, None), (11, True)])
def test_an_error_beyond_ten_ms_flags_whatever_the_check_has_seen(
    late_ms: int,
    saturated: bool | None,  # noqa: FBT001
) -> None:
    """Limit: 10 ms, which is 5 % of 200 ms; without beats nothing more is said."""
    found = calibration(1, [seen(client_s=0.2 + late_ms / 1000, server_s=0.2)], SelfCheck())
    assert found.client_saturated is saturated


def test_nothing_answered_is_no_error_of_zero() -> None:
    found = calibration(3, [], SelfCheck())
    assert (found.n, found.error_p50_ms, found.error_p99_ms, found.client_saturated) == (0, None, None, True)


def test_the_verdict_on_twenty_streams_follows_from_their_figures() -> None:
    """On a quiet machine it is that they are stamped; what else the machine does may make it another, or none."""
    found = asyncio.run(calibrate(20, seconds=3))
    assert found.failed == 0
    assert found.n >= 20
    assert found.error_p50_ms is not None
    assert found.error_p99_ms is not None
    assert found.delay_p99_ms is not None
    assert 0 <= found.error_p50_ms <= found.error_p99_ms
    assert found.client_saturated in (None, found.error_p99_ms > 10 or found.delay_p99_ms > 10)


def test_a_busy_loop_is_flagged() -> None:
    async def main() -> Calibration:
        async def block() -> None:
            while True:
                await asyncio.sleep(0.05)
                time.sleep(0.2)  # noqa: ASYNC251 - the block

        blocking = asyncio.create_task(block())
        found = await calibrate(4, seconds=3)
        blocking.cancel()
        return found

    found = asyncio.run(main())
    assert found.client_saturated is True
    assert (found.delay_p99_ms or 0) > 50


def test_the_command_has_a_line_for_each_number_of_streams_and_ends_by_the_verdicts() -> None:
    done = CliRunner().invoke(commands, ["calibrate", "--streams", "1", "--streams", "3", "--seconds", "3"])
    lines = done.output.splitlines()
    assert [line.split()[0] for line in lines] == ["streams", "1", "3"]
    assert done.exit_code == (0 if all(line.endswith(" ok") for line in lines[1:]) else 3)


def test_the_command_as_json() -> None:
    done = CliRunner().invoke(commands, ["calibrate", "--streams", "2", "--seconds", "3", "--json"])
    (found,) = json.loads(done.output)
    assert list(found) == list(Calibration._fields)
    assert (found["streams"], found["failed"]) == (2, 0)
    assert found["n"] >= 4
