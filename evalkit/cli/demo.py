"""`evalkit demo`: the embedded shop, served until Ctrl-C."""

from __future__ import annotations

import click

from evalkit.cli.options import Number

__all__ = ["demo"]

_PAUSE = Number(0, 3_600_000)


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=9090,
    show_default=True,
    help="Port on loopback; 0 takes a free one.",
)
@click.option("--fault", multiple=True, metavar="NAME=VALUE", help="A known-bad behaviour; repeatable.")
@click.option("--think-ms", type=_PAUSE, help="Pause before the first text.")
@click.option("--chunk-ms", type=_PAUSE, help="Pause after each piece of text.")
def demo(*, port: int, fault: tuple[str, ...], think_ms: float | None, chunk_ms: float | None) -> None:
    """Serve the embedded electronics shop on loopback, as a Ragent service.

    \b
    evalkit demo
    evalkit demo --port 0 --fault cut=0.2 --fault slow_first_token_ms=800

    docs/demo-shop.md lists the faults.
    """
    from evalkit.targets.demo.faults import Faults  # noqa: PLC0415 - heavy imports wait for the command
    from evalkit.targets.demo.settings import Pacing  # noqa: PLC0415
    from evalkit.targets.demo.standalone import serve_forever  # noqa: PLC0415

    usual = Pacing()
    pacing = Pacing(
        think_ms=usual.think_ms if think_ms is None else think_ms,
        chunk_ms=usual.chunk_ms if chunk_ms is None else chunk_ms,
    )
    serve_forever(port=port, faults=Faults.switched_on(fault), pacing=pacing)
