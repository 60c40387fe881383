"""The approvals service on a real database and without a bus: calls are put into the store by hand."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from tests.nats_fixtures import until
from tests.ports import free_port
from tests.unit.dispatcher.making import define
from toolbus_approvals.aggregates import CALL, TOOL
from toolbus_approvals.app import Approvals
from toolbus_approvals.commanding import Streams
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_contracts.calls import CallRequested, WaitAsked
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import Approval, Terms, ToolDefined, tool_stream_id
from toolbus_contracts.waits import Spoken, Wait
from toolbus_runtime.store.database import open_store
from toolbus_runtime.store.port import Append, NewEvent

TENANT = "acme"
DIGEST = "sha256:" + "1" * 64
REQUESTER = Actor(subject="agent:bot", key_id="key_0", via="http")


def person(name: str, *roles: str) -> Spoken:
    """Somebody who speaks now."""
    return Spoken(subject=f"user:{name}", roles=roles, at=datetime.now(UTC))


async def define_refund(database_url: str) -> None:
    """The tool `refund` is there, as the calls of `Service` name it."""
    defined = ToolDefined(scope="tenant", version=1, definition=define(), definition_hash=DIGEST, at=datetime.now(UTC))
    subject_id = tool_stream_id("tenant", "refund")
    store = open_store(database_url)
    await store.append(
        [
            Append(
                tenant=TENANT,
                category=TOOL,
                stream=stream_name(TENANT, TOOL, subject_id),
                expected_version=0,
                events=(NewEvent(defined.kind, defined.model_dump_json()),),
                causation_id="define refund",
                correlation_id=subject_id,
                actor=REQUESTER.model_dump_json(),
            )
        ]
    )
    await store.close()


class Service:
    """One service, with its store open to the test."""

    def __init__(self, approvals: Approvals) -> None:
        self.approvals = approvals
        self.desk = approvals.desk
        self._streams = Streams(approvals.batcher)

    async def say(self, call_id: str, *events: BaseModel) -> None:
        """These events are in the stream of a call."""

        def rule(*_: object) -> Sequence[BaseModel]:
            return events

        await self._streams.submit(TENANT, CALL, call_id, rule)

    async def noise(self) -> None:
        """Something happened that this service has no use for."""
        requested = _requested("other", Approval())
        await self.say(requested.call_id, requested)

    async def call(self, *, expires_s: float = 60.0, tool: str = "refund", **approval: Any) -> tuple[str, str]:
        """A call that stands still for an approval: its id, and that of its wait."""
        policy = Approval.model_validate({"expires_s": expires_s, **approval})
        requested = _requested(tool, policy)
        asked = WaitAsked(
            call_id=requested.call_id,
            wait_id=wait_id_for_call(requested.call_id, 1),
            wait_kind="approval",
            number=1,
            digest=DIGEST,
            expires_at=requested.at + timedelta(seconds=policy.expires_s),
            at=requested.at,
        )
        await self.say(requested.call_id, requested, asked)
        return requested.call_id, asked.wait_id

    async def until_closed(self, wait_id: str) -> Wait:
        """The wait, once it is over."""

        async def is_closed() -> bool:
            try:
                return not (await self.desk.wait(TENANT, wait_id)).is_open
            except Unavailable:
                return False

        await until(is_closed, within_s=30.0)
        return await self.desk.wait(TENANT, wait_id)

    async def events(self, *categories: str) -> list[tuple[str, str]]:
        """Subject and kind of every event of these categories."""
        found = await self.approvals.store.read(categories=categories, limit=10_000)
        return [(event.subject_id, event.kind) for event in found]


def _requested(tool: str, policy: Approval) -> CallRequested:
    return CallRequested(
        call_id=f"call_{uuid4().hex}",
        execution_id=f"exec_{uuid4().hex}",
        is_bare=True,
        tool=tool,
        tool_scope="tenant",
        tool_version=1,
        tool_type="api_call",
        definition_hash=DIGEST,
        terms=Terms(effect="dangerous", idempotency="none", is_asserted=True, provenance="definition"),
        timeout_s=10.0,
        approval=policy,
        arguments={"amount": 7},
        fingerprint="",
        idempotency_key=None,
        external_id=None,
        actor=REQUESTER,
        deadline_at=None,
        priority=5,
        labels={},
        at=datetime.now(UTC),
    )


@asynccontextmanager
async def running(database_url: str, *, leads: bool = True) -> AsyncIterator[Service]:
    """A service that runs; without `leads` only what is asked of it happens."""
    nats_url = f"nats://127.0.0.1:{free_port()}"
    approvals = Approvals(ApprovalsSettings(database_url=database_url, nats_url=nats_url))
    stop = asyncio.Event()
    if leads:
        work = asyncio.create_task(approvals.run(stop, is_served=False))
    else:
        work = asyncio.create_task(_decide_only(approvals, stop))
    try:
        yield Service(approvals)
    finally:
        stop.set()
        await work


async def _decide_only(approvals: Approvals, stop: asyncio.Event) -> None:
    deciding = asyncio.create_task(approvals.batcher.run())
    await stop.wait()
    deciding.cancel()
    await asyncio.gather(deciding, return_exceptions=True)
    await approvals.store.close()
    await approvals.engine.dispose()
