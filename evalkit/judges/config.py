"""The judges that a configuration names, and how they are asked: tables of `evalkit.toml`, unknown keys refused."""

from __future__ import annotations

import urllib.parse
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from evalkit.errors import UnknownName, UsageError, shown
from evalkit.judges.budget import Prices
from evalkit.net.keys import checked_reference
from evalkit.reading.configuration import held, tables
from evalkit.registry import names

__all__ = ["JudgeConfig", "Role", "choose", "measures", "read"]

Role = Literal["judge", "embedding", "moderation"]
"""What a model is for: to answer questions, to turn texts into vectors, to name harms."""


class JudgeConfig(BaseModel):
    """One model behind one endpoint, and how it is asked; prices are of one currency, the one of --max-cost."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    role: Role = "judge"
    """What the model is for."""
    base_url: str
    """The endpoint, up to and with its `/v1`."""
    model: str = Field(min_length=1)
    """The model; a dated snapshot stays comparable, an alias may change under the same name."""
    key: str | None = None
    """Where the key is: env:NAME or file:PATH."""
    embedding: str | None = None
    """Of a judge: the embedding model, another table of [judges], for metrics that compare meanings."""
    moderation: str | None = None
    """Of a judge: the moderation model, another table of [judges], for rules that take one."""
    concurrency: int = Field(default=4, ge=1, le=256)
    """Requests in flight at once."""
    retries: int = Field(default=6, ge=0, le=20)
    """How often a request is sent again after a 429, a 5xx or a broken connection."""
    deadline_s: float = Field(default=120, gt=0)
    """The longest wait for one reply, in seconds."""
    structured: bool = True
    """Whether to ask for structured output; an endpoint that refuses it is asked without."""
    parameters: dict[str, JsonValue] = {"temperature": 0, "seed": 0, "max_tokens": 1024}
    """Sent with each question, in place of temperature 0, seed 0, max_tokens 1024; repeats add to the seed."""
    reason_chars: int | None = Field(default=None, ge=1)
    """Bounds each text of a verdict by `maxLength` of the schema, where the server honours it."""
    context_chars: int = Field(default=24_000, ge=500)
    """The longest material of one question, in characters."""
    overflow: Literal["error", "head_tail"] = "error"
    """What becomes of longer material: no verdict, or only its beginning and end are judged."""
    mask_personal: bool = False
    """Whether phone, identity and card numbers and mail names are masked before anything is sent."""
    price_per_call: float = Field(default=0, ge=0)
    """Price of a call."""
    price_per_1k_prompt: float = Field(default=0, ge=0)
    """Price of 1,000 tokens in."""
    price_per_1k_completion: float = Field(default=0, ge=0)
    """Price of 1,000 tokens out."""

    @property
    def prices(self) -> Prices:
        """What the endpoint charges."""
        return Prices(self.price_per_call, self.price_per_1k_prompt, self.price_per_1k_completion)


def read(path: Path) -> dict[str, JudgeConfig]:
    """The judges of the configuration by name; NoInput, or UsageError naming the key that does not hold."""
    return {name: _judge(table, f"{path}: [judges.{name}]") for name, table in tables(path, "judges").items()}


def measures(path: Path) -> dict[str, dict[str, Any]]:
    """The parameters of measures by name, as the tables [measures.NAME] give them; NoInput without the file.

    UnknownName for a measure that nobody knows, UsageError for what is no table.
    """
    found = tables(path, "measures")
    for name, table in found.items():
        if name not in names("measure"):
            raise UnknownName("measure", name, names("measure"))
        if not isinstance(table, dict):
            raise UsageError(
                f"{path} measures.{name}: found {shown(table)}, wanted a table [measures.{name}]."
            )
    return found


def choose(judges: dict[str, JudgeConfig], name: str, *, role: Role) -> JudgeConfig:
    """The judge of that name and role; UnknownName lists those there are."""
    if name not in judges or judges[name].role != role:
        raise UnknownName(role, name, [known for known, found in judges.items() if found.role == role])
    return judges[name]


def _judge(table: Any, place: str) -> JudgeConfig:
    found = held(JudgeConfig, table, place=place)
    if found.key is not None:
        checked_reference(found.key, place=f"{place} key")
    parts = urllib.parse.urlsplit(found.base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
        raise UsageError(f"{place} base_url: wanted http(s)://HOST/… without login and query.")
    return found
