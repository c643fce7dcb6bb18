"""A case put to a declarative target: its turns one after the other, then the lookup of its evidence.

A try of the answer channel is a whole dialog in a new conversation. A dialog stops at the first turn that does
not end well.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from evalkit.contracts import Case, ChannelError, Observation
from evalkit.net.exchange import Exchange, fetch, stream
from evalkit.net.framing import EVENT_STREAM, Framing, Lines
from evalkit.net.gate import Gate
from evalkit.net.masking import Mask
from evalkit.net.retry import persevere
from evalkit.net.sse import Decoder
from evalkit.targets.channels import Dialog, Evidence, observation
from evalkit.targets.http.documents import DocIds
from evalkit.targets.http.frames import Frame, read_reply
from evalkit.targets.http.lookup import looked_up
from evalkit.targets.http.spec import AnswerSpec, RequestSpec, TargetSpec
from evalkit.targets.http.templates import address, filled, placeholders

__all__ = ["Asking", "Options", "Watch"]

Watch = Callable[[Exchange, list[Frame]], None]
"""What is told of each exchange of the answer channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a target is asked, whatever it is."""

    first_event_deadline_s: float
    total_deadline_s: float
    retries: int
    evidence: bool
    doc_ids: DocIds
    extra_body: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Asking:
    """An open target, called with a case; `values` are its parameters and secrets, by name."""

    spec: TargetSpec
    client: httpx.AsyncClient
    options: Options
    values: Mapping[str, Any] = field(repr=False)
    mask: Mask = field(repr=False)
    watch: Watch | None = None
    gate: Gate = field(default_factory=Gate)

    async def __call__(self, case: Case) -> Observation:
        """What the target answered, and on what evidence; never raises for a failed channel."""
        retries, gate = self.options.retries, self.gate
        dialogs = await persevere(lambda: self._dialog(case), retries=retries, gate=gate)
        findings: list[Evidence] = []
        if self.options.evidence and self.spec.evidence:
            ids = dialogs[-1].replies[0].ids
            findings = await persevere(lambda: self._evidence(case, ids), retries=retries, gate=gate)
        source = self.spec.evidence.source if self.spec.evidence else "side_channel"
        return self.mask.observation(self._whole(observation(dialogs, findings, source=source)))

    def _whole(self, seen: Observation) -> Observation:
        """Of documents that an answer would have told, a failed answer says nothing: its error is theirs too."""
        told = any(rule.documents for rule in self.spec.answer.events)
        lost = told and seen.evidence_status == "skipped" and seen.answer_status != "ok"
        if not lost:
            return seen
        return seen.model_copy(update={"evidence_status": "error", "evidence_error": seen.answer_error})

    async def _dialog(self, case: Case) -> Dialog:
        dialog = Dialog(tells_tools=any(rule.tools for rule in self.spec.answer.events))
        history: list[tuple[str, str]] = []
        fixed = {**self.values, **_of(case), "dialog_id": uuid.uuid4().hex}
        ids: dict[str, str] = {}
        for turn, query in enumerate(case.user_turns):
            values = {**fixed, **self._carried(history, query), **ids, "query": query, "turn": turn + 1}
            seen = await self._answer(values)
            reply, frames = read_reply(seen, self.spec.answer, self.options.doc_ids)
            dialog.add(query, reply)
            if self.watch:
                self.watch(seen, frames)
            if reply.status != "ok":
                break
            ids |= reply.ids
            history += [("user", query), (self.spec.answer.assistant, reply.text)]
        return dialog

    def _carried(self, history: list[tuple[str, str]], query: str) -> dict[str, Any]:
        """What a request may say of the conversation before it; ids are null until the target told them."""
        answer = self.spec.answer
        system = filled(answer.system, self.values) if answer.system else None
        spoken = [*([("system", str(system))] if system else []), *history]
        unknown = dict.fromkeys(name for rule in answer.events for name in rule.ids)
        return {
            "conversation_id": None,
            **unknown,
            "history": _messages(answer, spoken),
            "messages": _messages(answer, [*spoken, ("user", query)]),
        }

    async def _evidence(self, case: Case, ids: Mapping[str, str]) -> Evidence:
        spec = self.spec.evidence
        assert spec is not None  # noqa: S101 - asked only where there is one
        query = case.user_turns[0]
        values = {**self.values, **_of(case), **self._carried([], query), "query": query, "turn": 1, **ids}
        values.setdefault("dialog_id", None)

        async def once() -> Exchange:
            return await self._sent(spec, values, self._fetch)

        return await looked_up(spec, once, self.options.doc_ids)

    async def _answer(self, values: Mapping[str, Any]) -> Exchange:
        one_reply = self.spec.answer.framing == "json"
        return await self._sent(
            self.spec.answer,
            values,
            self._fetch if one_reply else self._stream,
            extra=self.options.extra_body,
        )

    async def _sent(
        self,
        spec: RequestSpec,
        values: Mapping[str, Any],
        send: Callable[[httpx.Request], Any],
        *,
        extra: Mapping[str, Any] | None = None,
    ) -> Exchange:
        try:
            request = self._request(spec, values, extra or {})
        except (httpx.InvalidURL, UnicodeEncodeError, ValueError) as why:
            return Exchange(error=ChannelError(kind="bad_request", message=f"{type(why).__name__}: {why}"))
        seen: Exchange = await send(request)
        return seen

    def _request(
        self, spec: RequestSpec, values: Mapping[str, Any], extra: Mapping[str, Any]
    ) -> httpx.Request:
        body = filled(spec.body, values)
        if extra and isinstance(body, dict):
            body |= extra
        return self.client.build_request(
            spec.method,
            address(spec.url, values),
            params={name: _written(value) for name, value in filled(spec.query, values).items()} or None,
            headers=_headers(spec.headers, values),
            json=body,
        )

    async def _stream(self, request: httpx.Request) -> Exchange:
        return await stream(
            self.client,
            request,
            first_event_deadline_s=self.options.first_event_deadline_s,
            total_deadline_s=self.options.total_deadline_s,
            framing=_framing(self.spec.answer),
        )

    async def _fetch(self, request: httpx.Request) -> Exchange:
        return await fetch(self.client, request, total_deadline_s=self.options.total_deadline_s)


def _of(case: Case) -> dict[str, Any]:
    """What a template may name of a case."""
    plain = case.model_dump(mode="json")
    return {
        "sample_id": case.sample_id,
        "asked_at": plain["asked_at"],
        **{f"case.{name}": value for name, value in plain.items()},
    }


def _messages(answer: AnswerSpec, spoken: list[tuple[str, str]]) -> list[Any]:
    return [
        filled(answer.message, {"role": role, "content": content, "index": index})
        for index, (role, content) in enumerate(spoken)
    ]


def _headers(template: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    """The headers of which every value is set."""
    return {
        name: str(filled(text, values))
        for name, text in template.items()
        if all(values.get(wanted) not in (None, "") for wanted in placeholders(text))
    }


def _written(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _framing(answer: AnswerSpec) -> Framing:
    """How the response is cut, and the content types that it may have."""
    if answer.framing == "sse":
        types = answer.content_types or EVENT_STREAM.content_types
        return Framing(types, lambda: Decoder(bare_events=answer.bare_events))
    coded = answer.framing == "coded_lines"
    usual = (
        "text/plain",
        "application/x-ndjson",
        "application/jsonl",
        "application/json",
        "text/event-stream",
    )
    return Framing(answer.content_types or usual, lambda: Lines(coded=coded))
