"""What the routes need, given to each of them by the application."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Request

from toolbus_contracts.keys import Key, Scope
from toolbus_dispatcher.adapters.queries import Queries
from toolbus_dispatcher.describing import Describing
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.intake import Intake
from toolbus_dispatcher.lifecycle import Lifecycle
from toolbus_dispatcher.redriving import Redriving
from toolbus_dispatcher.resources import Resources
from toolbus_dispatcher.storing import Storing
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.feed import Feed
from toolbus_runtime.http.auth import Caller, require
from toolbus_runtime.store.port import EventStore
from toolbus_runtime.watching import CallWatch


@dataclass(frozen=True)
class Services:
    """The parts of the dispatcher that HTTP speaks to."""

    store: EventStore
    batcher: Batcher
    intake: Intake
    lifecycle: Lifecycle
    holding: Holding
    resources: Resources
    describing: Describing
    storing: Storing
    watch: CallWatch
    queries: Queries
    feed: Feed
    redriving: Redriving


async def services(request: Request) -> Services:
    """The parts behind this application (async: FastAPI would run a plain function in a thread)."""
    found: Services = request.app.state.services
    return found


Wired = Annotated[Services, Depends(services)]


def caller(scope: Scope | None) -> object:
    """A dependency: the caller, whose key has this scope."""

    async def authenticated(request: Request, parts: Wired) -> Caller:
        async def find_key(tenant: str, key_id: str) -> Key | None:
            return await parts.resources.key(tenant, key_id)

        return await require(scope, find_key)(request)

    authenticated.scope = scope  # type: ignore[attr-defined]  # read by the generated reference
    return Depends(authenticated)


def still_valid(parts: Services, who: Caller) -> Callable[[], Awaitable[bool]]:
    """Whether the caller's key still opens anything: for answers that last longer than a moment."""

    async def ask() -> bool:
        key = await parts.resources.key(who.tenant, who.key.key_id)
        return key is not None and key.is_valid(datetime.now(UTC))

    return ask
