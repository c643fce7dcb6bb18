"""The worker process: `python -m evalkit.runner.working SOCKET`, started by the process that holds the run's file.

It asks what it is told to and sends back the lines. It ends when the other side of the socket does, however that
came about, so that no worker outlives its run.
"""

from __future__ import annotations

import asyncio
import socket
import sys

from evalkit.contracts import Case
from evalkit.errors import EvalkitError
from evalkit.net.gate import share
from evalkit.net.keys import mask_of
from evalkit.net.masking import KNOWN
from evalkit.registry import Spec, bind
from evalkit.runner.asking import opened
from evalkit.runner.pipes import receive, send
from evalkit.runner.plan import Sample
from evalkit.runner.putting import Desk
from evalkit.runner.selfcheck import self_checked
from evalkit.runner.worker import Order

__all__ = ["main"]


async def main(number: int) -> None:
    """Serve the socket of that number until its other side ends."""
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=number))
    told = await receive(reader)
    if told is None:
        return
    order = Order(**told["order"])
    share(order.gate, told["seat"])
    mask_of()
    try:
        target = bind("target", Spec(order.target, order.params), concurrency=order.concurrency)
        async with opened(target) as ask, self_checked() as check:
            send(writer, {"ready": True, "secrets": KNOWN.forms})
            await _serve(reader, writer, Desk(ask, check, order.run_id))
            send(writer, {"check": check.told()})
    except EvalkitError as error:
        send(writer, {"refused": KNOWN.text(str(error))})
    writer.close()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, desk: Desk) -> None:
    """Ask whatever is sent, all at once; what is under way when the other side ends is dropped."""
    tasks: set[asyncio.Task[None]] = set()

    async def one(sample: Sample, due: float | None, *, kept: bool) -> None:
        line = b""
        if kept:
            _, line = await desk.put(sample, due)
        else:
            await desk.warm(sample)
        send(writer, {"key": sample.key, "line": line.decode()})

    while (message := await receive(reader)) is not None:
        sample = Sample(Case.model_validate(message["case"]), message["repeat"], message["key"])
        task = asyncio.create_task(one(sample, message["due"], kept=message["kept"]))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
