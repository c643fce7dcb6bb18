"""A case put to Ragent: its dialog on the answer channel, its first question on the evidence channel.

A try of the answer channel is a whole dialog in a new conversation, so that what a broken try left behind in
the target's memory cannot colour the next one. A dialog stops at the first turn that does not end well.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from evalkit.contracts import Case, Observation
from evalkit.net.gate import Gate
from evalkit.net.retry import persevere
from evalkit.targets.channels import Dialog, Evidence, Reply, observation
from evalkit.targets.ragent.answer import read_reply
from evalkit.targets.ragent.evidence import read_evidence
from evalkit.targets.ragent.session import Session

__all__ = ["Asking"]


@dataclass(slots=True)
class Asking:
    """How cases are put: over which session, with which engine, tried again how often."""

    session: Session
    engine: str
    retries: int
    deep_thinking: bool
    evidence: bool
    agent_slots: asyncio.Semaphore
    gate: Gate = field(default_factory=Gate)

    async def ask(self, case: Case) -> Observation:
        """What the target answered, and on what evidence; never raises for a failed channel."""
        dialogs = await persevere(lambda: self._dialog(case), retries=self.retries, gate=self.gate)
        findings = [] if not self.evidence else await self._evidence(case.user_turns[0])
        return self.session.mask.observation(observation(dialogs, findings))

    async def _evidence(self, question: str) -> list[Evidence]:
        async def once() -> Evidence:
            return read_evidence(await self.session.fetch("rag/eval", {"question": question}))

        return await persevere(once, retries=self.retries, gate=self.gate)

    async def _dialog(self, case: Case) -> Dialog:
        if self.engine == "agent" or (self.engine == "auto" and len(case.messages) > 1):
            async with self.agent_slots:
                return await self._converse(case, Dialog(tells_tools=True))
        return await self._converse(case, Dialog(tells_tools=False))

    async def _converse(self, case: Case, dialog: Dialog) -> Dialog:
        engine = "agent/v1" if dialog.tells_tools else "rag/v3"
        fixed = {} if dialog.tells_tools else {"deepThinking": "true" if self.deep_thinking else "false"}
        conversation: dict[str, str] = {}
        for message in case.user_turns:
            reply = read_reply(
                await self.session.stream(f"{engine}/chat", {"question": message, **conversation, **fixed})
            )
            dialog.add(message, reply)
            if reply.status != "ok":
                await self._give_up(engine, reply)
                break
            conversation |= {key: value for key, value in reply.ids.items() if key == "conversationId"}
        return dialog

    async def _give_up(self, engine: str, reply: Reply) -> None:
        """Stop the task of an answer that a deadline cut: it would hold the user's only stream."""
        late = reply.error is not None and reply.error.kind.startswith("deadline.")
        if late and (task_id := reply.ids.get("taskId")):
            await self.session.stop(f"{engine}/stop", task_id)
