"""Storing secrets: sealed into the table, told to the executors, never shown again."""

import asyncio
from datetime import datetime

import structlog

from toolbus_contracts.errors import BusRefused, NotFound, Unavailable
from toolbus_contracts.secrets import PutSecret, SealedSecret, SecretView
from toolbus_integrations.adapters.secrets import SecretTable
from toolbus_integrations.secrets_publishing import Publishing
from toolbus_runtime.sealing import KeyRing, seal

log = structlog.get_logger(__name__)
PUBLISH_S = 2.0  # a bus that hangs keeps nobody waiting longer


class Secrets:
    """The secrets of all tenants, for those who store them. Raises `Unavailable` when the database is away."""

    def __init__(self, table: SecretTable, keys: KeyRing, publishing: Publishing) -> None:
        self._table = table
        self._keys = keys
        self._publishing = publishing

    async def put(self, tenant: str, name: str, secret: PutSecret, now: datetime) -> SecretView:
        """
        The secret has its next generation, and the executors use it from now on, or as soon as the bus is there.

        Raises:
            Unavailable: there is no master key.
        """
        key = self._keys.current()

        def sealed(generation: int) -> SealedSecret:
            return seal(key, tenant, secret, name=name, generation=generation)

        stored = await self._table.put(tenant, name, sealed, now)
        log.info("secret.stored", tenant=tenant, secret=name, generation=stored.secret.generation)
        await self._tell(tenant, name)
        return stored.view()

    async def remove(self, tenant: str, name: str, now: datetime) -> SecretView:
        """
        There is no such secret any more; what it was.

        Raises:
            NotFound: there was none.
        """
        removed = await self._table.remove(tenant, name, now)
        if removed is None:
            raise NotFound(f"there is no secret {name}")
        log.info("secret.removed", tenant=tenant, secret=name, generation=removed.secret.generation)
        await self._tell(tenant, name)
        return removed.view()

    async def listed(self, tenant: str, *, offset: int, limit: int) -> list[SecretView]:
        """A tenant's secrets by name: everything but their values."""
        return [stored.view() for stored in await self._table.listed(tenant, offset=offset, limit=limit)]

    async def _tell(self, tenant: str, name: str) -> None:
        """What is committed stands: a bus that is away is told later."""
        try:
            async with asyncio.timeout(PUBLISH_S):
                await self._publishing.publish(tenant, name)
        except (Unavailable, BusRefused, TimeoutError) as error:
            log.warning("secret.untold", tenant=tenant, secret=name, reason=str(error))
            self._publishing.publish_soon()
