"""`evalkit demo`: the embedded shop, served until Ctrl-C."""

from __future__ import annotations

import click

__all__ = ["demo"]


@click.command()
@click.option(
    "--port", type=int, default=9090, show_default=True, help="Port on loopback; 0 takes a free one."
)
def demo(*, port: int) -> None:
    """Serve the embedded electronics shop on loopback, as a Ragent service.

    \b
    evalkit demo
    RAGENT_BASE_URL=http://127.0.0.1:9090/api/ragent evalkit eval … --target ragent
    """
    from evalkit.targets.demo.server import serve_forever  # noqa: PLC0415 - heavy imports wait

    serve_forever(port=port)
