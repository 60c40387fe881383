"""What the routes need, given to each of them by the application."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Request

from toolbus_approvals.adapters.deliveries import Deliveries
from toolbus_approvals.adapters.queries import Queries
from toolbus_approvals.aggregates import KEY
from toolbus_approvals.completing import Completing
from toolbus_approvals.desk import Desk
from toolbus_approvals.leasing import Leasing
from toolbus_approvals.outgoing import Outgoing
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_approvals.webhooks import Webhooks
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.keys import Key, Scope
from toolbus_contracts.waits import Spoken
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.feed import Feed
from toolbus_runtime.http.auth import Caller, require
from toolbus_runtime.store.port import EventStore


@dataclass(frozen=True)
class Services:
    """The parts of the approvals service that HTTP speaks to."""

    desk: Desk
    leasing: Leasing
    completing: Completing
    webhooks: Webhooks
    deliveries: Deliveries
    outgoing: Outgoing
    batcher: Batcher
    queries: Queries
    feed: Feed
    store: EventStore
    settings: ApprovalsSettings

    async def key(self, tenant: str, key_id: str) -> Key | None:
        """A key as this process knows it; revocations elsewhere arrive by the feed."""
        stream = stream_name(tenant, KEY, key_id)
        key: Key | None = (await self.batcher.states.known({stream}))[stream]
        return key


async def services(request: Request) -> Services:
    """The parts behind this application (async: FastAPI would run a plain function in a thread)."""
    found: Services = request.app.state.services
    return found


Wired = Annotated[Services, Depends(services)]


def caller(scope: Scope | None) -> object:
    """A dependency: the caller, whose key has this scope."""

    async def authenticated(request: Request, parts: Wired) -> Caller:
        return await require(scope, parts.key)(request)

    authenticated.scope = scope  # type: ignore[attr-defined]  # read by the generated reference
    return Depends(authenticated)


def spoken(who: Caller) -> Spoken:
    """The caller as one who says something about a wait, now."""
    key = who.key
    return Spoken(subject=key.subject, roles=key.roles, key_id=key.key_id, via="http", at=datetime.now(UTC))
