"""`evalkit demo`: the embedded shop, served until Ctrl-C."""

from __future__ import annotations

import click

__all__ = ["demo"]


@click.command()
@click.option(
    "--port", type=int, default=9090, show_default=True, help="Port on loopback; 0 takes a free one."
)
@click.option(
    "--fault", multiple=True, metavar="NAME=VALUE", help="Known-bad behaviour, e.g. cut=0.2; repeatable."
)
def demo(*, port: int, fault: tuple[str, ...]) -> None:
    """Serve the embedded electronics shop on loopback, as a Ragent service.

    \b
    evalkit demo
    evalkit demo --fault reject=0.1 --fault slow_first_token_ms=800
    RAGENT_BASE_URL=http://127.0.0.1:9090/api/ragent evalkit eval … --target ragent
    """
    from evalkit.targets.demo import Faults, serve_forever  # noqa: PLC0415 - heavy imports wait

    serve_forever(port=port, faults=Faults.switched_on(fault), say=click.echo)
