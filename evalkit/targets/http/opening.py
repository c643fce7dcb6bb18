"""A description made a target: its parameters as a signature, its keys found, its client open while it is used."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, get_args

from evalkit.errors import UsageError, shown
from evalkit.kinds import Ask
from evalkit.net.keys import checked_reference, mask_of, resolved
from evalkit.net.limits import check_address, check_limits
from evalkit.net.transport import client
from evalkit.targets.http.asking import Asking, Options
from evalkit.targets.http.documents import DocIds
from evalkit.targets.http.spec import TargetSpec

__all__ = ["COMMON", "target"]

COMMON: dict[str, tuple[Any, str]] = {
    "extra_body": ({}, "a JSON object whose keys are put into the body of each answer request"),
    "evidence": (True, "ask the evidence channel, where there is one"),
    "doc_ids": ("name", "what documents are called by: `name`, the file name without extension, or `id`"),
    "first_event_deadline_s": (30, "wall-clock limit of the wait for the first event"),
    "total_deadline_s": (120, "wall-clock limit of one exchange"),
    "retries": (2, "further attempts after broken connections, 5xx and 429; every attempt is recorded"),
    "concurrency": (8, "the connections kept open"),
    "use_env_proxy": (False, "honour the proxy variables of the environment"),
}
"""The parameters that every such target has, each with its default and meaning."""

_TYPES: dict[str, Any] = {
    "base_url": str,
    "evidence": bool,
    "doc_ids": DocIds,
    "first_event_deadline_s": float,
    "total_deadline_s": float,
    "retries": int,
    "concurrency": int,
    "use_env_proxy": bool,
}
"""What the values of parameters must be, where that does not depend on the service."""


def target(name: str, spec: TargetSpec) -> Callable[..., AbstractAsyncContextManager[Ask]]:
    """The target of that description: called with its parameters, an async context manager that yields `Ask`.

    It has nothing to share but the service behind it, so several processes may open it (`apart`).
    Opening it raises UsageError where a parameter or a key does not hold.
    """

    @asynccontextmanager
    async def opened(**given: Any) -> AsyncIterator[Ask]:
        settings = {each: parameter.default for each, parameter in parameters.items()} | given
        check_limits(f"target {name}", settings)
        async with _asking(name, spec, settings) as ask:
            yield ask

    def settle(given: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing; UsageError where what would be told of the target holds a secret."""
        if given.get("base_url"):
            check_address(f"target {name}", given["base_url"])
        for each in spec.secrets:
            if given.get(each):
                checked_reference(str(given[each]), place=f"target {name}: {each}")
        return {}

    parameters = {each.name: each for each in _signature(spec)}
    opened.__name__ = opened.__qualname__ = name
    opened.__doc__ = spec.about
    vars(opened).update(
        __signature__=inspect.Signature(list(parameters.values())),
        settle=settle,
        apart=True,
        over_http=True,
        description_sha256=_sha256(spec),
    )
    return opened


@asynccontextmanager
async def _asking(name: str, spec: TargetSpec, settings: Mapping[str, Any]) -> AsyncIterator[Ask]:
    """The target with every parameter settled, its client open until the block ends."""
    values, keys = _values(name, spec, settings)
    options = _options(name, settings)
    async with client(
        base_url=str(values.get("base_url") or ""),
        concurrency=settings["concurrency"],
        use_env_proxy=settings["use_env_proxy"],
    ) as opened:
        yield Asking(spec=spec, client=opened, options=options, values=values, mask=mask_of(*keys))


def _sha256(spec: TargetSpec) -> str:
    """What tells one description from another; it holds references to keys, never a key."""
    return hashlib.sha256(spec.model_dump_json(exclude_defaults=True).encode("utf-8", "replace")).hexdigest()


def _signature(spec: TargetSpec) -> list[inspect.Parameter]:
    """Needed parameters first, then the others, the keys, and what all such targets have."""
    own = sorted(spec.parameters.items(), key=lambda item: not item[1].needed)
    defaults: dict[str, Any] = {
        name: inspect.Parameter.empty if found.needed else found.default for name, found in own
    }
    defaults |= spec.secrets | {
        name: default for name, (default, _) in COMMON.items() if name not in spec.parameters
    }
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=_TYPES.get(name, inspect.Parameter.empty),
        )
        for name, default in defaults.items()
    ]


def _values(
    name: str, spec: TargetSpec, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What templates may name, and which of it is secret; a key without reference is null."""
    values = {each: settings[each] for each in spec.parameters}
    if "base_url" in values:
        check_address(f"target {name}", values["base_url"])
    keys = {
        each: resolved(str(settings[each]) or None, place=f"target {name}: {each}") or None
        for each in spec.secrets
    }
    return {**values, **keys}, tuple(filter(None, keys.values()))


def _options(name: str, settings: Mapping[str, Any]) -> Options:
    if settings["doc_ids"] not in get_args(DocIds):
        raise UsageError(f"target {name}: doc_ids: found {shown(settings['doc_ids'])}, wanted name or id.")
    if not isinstance(settings["extra_body"], dict):
        raise UsageError(f"target {name}: extra_body: found no object, wanted one as JSON.")
    return Options(**{each: settings[each] for each in Options.__dataclass_fields__})
