"""The page over a desk of ours that keeps its waits in memory."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from toolbus_approvals.inbox.parts import Change, Inbox
from toolbus_approvals.inbox.routes import router
from toolbus_approvals.inbox.sessions import Seals
from toolbus_contracts.calls import CallError, SettleDoubt
from toolbus_contracts.digests import digest
from toolbus_contracts.errors import Conflict, NotFound
from toolbus_contracts.keys import Actor, Key, Scope
from toolbus_contracts.tools import Approval, AskUser, Terms, ToolDefinition
from toolbus_contracts.values import Json
from toolbus_contracts.waits import (
    AnswerWait,
    AnyWaitEvent,
    ApproveWait,
    CompleteCall,
    DecisionRecorded,
    DenyWait,
    Spoken,
    Wait,
    WaitClosed,
    WaitEdited,
    WaitKind,
    WaitOpened,
    WaitOutcome,
    evolve_wait,
)
from toolbus_runtime.http.application import application
from toolbus_runtime.http.auth import Token, new_token, secret_hash

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TENANT = "acme"
REFUND = ToolDefinition.model_validate(
    {
        "name": "refund",
        "contract": {"effect": "dangerous", "idempotency": "required"},
        "api_call": {
            "method": "POST",
            "url": "https://pay.example.com/refunds/{charge}",
            "headers": {"authorization": "secret://pay_key"},
            "params_schema": {"type": "object", "properties": {"charge": {"type": "string"}}},
        },
    }
)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        """The time."""
        return self.now

    def pass_by(self, time: timedelta) -> None:
        """Let time go by."""
        self.now += time


class Desk:
    """Waits in memory; what is said is kept as the real desk keeps it, without its rules on who may speak."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.waits: dict[str, Wait] = {}
        self.said: list[tuple[str, Any, Spoken]] = []
        self.settled: list[SettleDoubt] = []
        self.changed: asyncio.Queue[Sequence[Change]] | None = None

    def add(self, kind: WaitKind = "approval", *, number: int | None = None, **more: Any) -> Wait:
        """Open a wait."""
        at = number if number is not None else len(self.waits) + 1
        arguments: Json = more.pop("arguments", {"charge": "ch_1", "amount": 12})
        opened = WaitOpened(
            wait_id=f"wait_{at:032x}",
            call_id=f"call_{at:032x}",
            wait_kind=kind,
            execution_id=f"exec_{at:032x}",
            tool=more.pop("tool", "refund"),
            tool_scope="tenant",
            tool_version=3,
            definition_hash=REFUND.definition_hash(),
            terms=more.pop("terms", REFUND.terms()),
            arguments=arguments,
            digest=digest({"call": at, "arguments": arguments}),
            requester=more.pop("requester", Actor(subject="service:crm", via="http", on_behalf_of="user:kim")),
            expires_at=more.pop("expires_at", None if kind == "doubt" else self.clock.now + timedelta(hours=20)),
            at=self.clock.now - timedelta(minutes=5),
            approval=more.pop("approval", Approval(may_edit=True) if kind == "approval" else None),
            labels=more.pop("labels", {}),
            **more,
        )
        return self._record(opened)

    def _record(self, *events: AnyWaitEvent) -> Wait:
        wait = self.waits.get(events[0].wait_id)
        for event in events:
            wait = evolve_wait(wait, event)
        assert wait is not None
        self.waits[wait.id] = wait
        if self.changed is not None:
            self.changed.put_nowait([Change(wait.id)])
        return wait

    def close(self, wait: Wait, outcome: WaitOutcome, by: str = "user:ana", note: str = "") -> Wait:
        """Close a wait."""
        return self._record(
            WaitClosed(
                wait_id=wait.id,
                call_id=wait.call_id,
                wait_kind=wait.kind,
                outcome=outcome,
                digest=wait.digest,
                by=(by,),
                note=note,
                at=self.clock.now,
            )
        )

    async def wait(self, tenant: str, wait_id: str) -> Wait:
        """A wait."""
        if tenant != TENANT or wait_id not in self.waits:
            raise NotFound(f"there is no wait {wait_id}")
        return self.waits[wait_id]

    async def _fitting(self, tenant: str, wait_id: str, digest: str) -> Wait:
        wait = await self.wait(tenant, wait_id)
        if wait.closed is not None:
            raise Conflict("wait_closed", f"the wait is over: {wait.closed.outcome}")
        if wait.digest != digest:
            raise Conflict("digest_mismatch", "this is not what the wait stands for now")
        return wait

    async def approve(self, tenant: str, wait_id: str, command: ApproveWait, who: Spoken) -> Wait:
        """Agree."""
        wait = await self._fitting(tenant, wait_id, command.digest)
        self.said.append((wait_id, command, who))
        if command.arguments is not None:
            return self.edit(wait, command.arguments, command.note, who)
        recorded = DecisionRecorded(
            wait_id=wait_id,
            decision="approve",
            digest=command.digest,
            subject=who.subject,
            key_id=who.key_id,
            note=command.note,
            at=who.at,
        )
        wait = self._record(recorded)
        quorum = wait.approval.quorum if wait.approval else 1
        return self.close(wait, "approved", who.subject) if len(wait.decisions) >= quorum else wait

    def edit(self, wait: Wait, arguments: Json, note: str, who: Spoken | None = None) -> Wait:
        """Change the arguments of a wait."""
        edited = WaitEdited(
            wait_id=wait.id,
            arguments=arguments,
            digest=digest({"call": wait.id, "arguments": arguments}),
            subject=who.subject if who else "user:bo",
            key_id=who.key_id if who else None,
            note=note,
            at=self.clock.now,
        )
        return self._record(edited)

    async def deny(self, tenant: str, wait_id: str, command: DenyWait, who: Spoken) -> Wait:
        """Say no."""
        wait = await self._fitting(tenant, wait_id, command.digest)
        self.said.append((wait_id, command, who))
        return self.close(wait, "denied", who.subject, command.note)

    async def answer(self, tenant: str, wait_id: str, command: AnswerWait, who: Spoken) -> Wait:
        """Supply values."""
        wait = await self._fitting(tenant, wait_id, command.digest)
        self.said.append((wait_id, command, who))
        return self.close(wait, "answered", who.subject)

    async def complete(self, tenant: str, call_id: str, command: CompleteCall, who: Spoken) -> Wait:
        """Say what a function came to."""
        wait = await self.wait(tenant, call_id.replace("call_", "wait_"))
        self.said.append((wait.id, command, who))
        return self.close(wait, "failed" if command.error else "completed", who.subject)

    async def settle(self, tenant: str, command: SettleDoubt, key: Key) -> None:
        """Settle a doubt."""
        wait = await self.wait(tenant, command.call_id.replace("call_", "wait_"))
        self.settled.append(command)
        self.close(wait, "withdrawn", key.subject, command.note)


class Page:
    """The page's application with everything that it needs, and keys to it."""

    def __init__(self, *, may_settle: bool = True) -> None:
        self.clock = Clock()
        self.desk = Desk(self.clock)
        self.keys: dict[str, Key] = {}
        self.payloads: dict[str, bytes] = {}
        self.seals = Seals(b"a key for tests alone, 32 bytes..")
        self.app = application([], None, {}, ())  # as the service has it
        self.app.include_router(router)
        self.app.state.inbox = Inbox(
            desk=self.desk,
            open_waits=self._open,
            definition=self._definition,
            payload=self._payload,
            changes=self._changes,
            find_key=self._find_key,
            seals=self.seals,
            user_agent="toolbus/test",
            settle=self.desk.settle if may_settle else None,
            clock=self.clock,
        )

    def key(self, *scopes: Scope, subject: str = "user:ana", tools: tuple[str, ...] | None = None) -> Token:
        """Make a key."""
        token = new_token(TENANT, f"key_{len(self.keys) + 1:032x}")
        self.keys[token.key_id] = Key(
            key_id=token.key_id,
            tenant=TENANT,
            subject=subject,
            roles=("finance",),
            scopes=scopes or ("approve",),
            tools=tools,
            expires_at=None,
            secret_hash=secret_hash(token.secret),
            created_at=NOW,
        )
        return token

    def revoke(self, token: Token) -> None:
        """End a key."""
        self.keys[token.key_id] = self.keys[token.key_id].model_copy(update={"revoked_at": self.clock.now})

    async def _find_key(self, tenant: str, key_id: str) -> Key | None:
        return self.keys.get(key_id) if tenant == TENANT else None

    async def _open(self, key: Key, *, before: int | None, limit: int) -> tuple[Sequence[Wait], int | None]:
        found = [
            (place, wait)
            for place, wait in enumerate(self.desk.waits.values(), 1)
            if key.tenant == TENANT and wait.is_open and key.may_call(wait.tool) and place < (before or place + 1)
        ]
        page = found[::-1][:limit]
        return [wait for _, wait in page], page[-1][0] if len(page) == limit else None

    async def _definition(self, tenant: str, wait: Wait) -> ToolDefinition | None:
        return REFUND if tenant == TENANT and wait.tool == "refund" else None

    async def _payload(self, tenant: str, digest: str) -> bytes | None:
        return self.payloads.get(digest) if tenant == TENANT else None

    async def _changes(self, tenant: str) -> AsyncIterator[Sequence[Change]]:
        assert tenant == TENANT
        changed: asyncio.Queue[Sequence[Change]] = asyncio.Queue()
        self.desk.changed = changed
        yield []
        while True:
            yield await changed.get()


ASKED = AskUser(
    fields={
        "amount": {"type": "integer", "title": "Amount", "minimum": 1, "description": "in cents"},
        "reason": {"type": "string"},
        "kind": {"enum": ["full", "part", 3]},
        "notify": {"type": "boolean"},
        "extra": {"type": "object"},
    },
    required=("amount", "kind"),
    message="How much, and why?",
)
LOST = CallError(
    code="connection_lost", message="the connection broke after sending", effect_happened="unknown", retryable=False
)
EXTERNAL = Terms(effect="external")
