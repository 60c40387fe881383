"""What the routes need, given to each of them by the application."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from toolbus_contracts.keys import Key, Scope
from toolbus_integrations.catalogue import Catalogue
from toolbus_integrations.mcp.parts import Mcp
from toolbus_integrations.secrets import Secrets
from toolbus_integrations.settings import IntegrationsSettings
from toolbus_runtime.http.auth import Caller, require
from toolbus_runtime.states import States

KEY = "key"


@dataclass(frozen=True)
class Services:
    """The parts of the integrations service that HTTP speaks to."""

    states: States
    catalogue: Catalogue
    secrets: Secrets
    mcp: Mcp
    settings: IntegrationsSettings

    async def key(self, tenant: str, key_id: str) -> Key | None:
        """A key as it stands in the store now: this service follows no events."""
        found: Key | None = await self.states.read(tenant, KEY, key_id)
        return found


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
