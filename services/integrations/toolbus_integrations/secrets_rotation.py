"""Rotating master keys: whatever another key sealed is sealed with the current one; generations stay."""

from collections.abc import AsyncIterator

from toolbus_contracts.errors import Unavailable
from toolbus_contracts.secrets import PutSecret, SealedSecret
from toolbus_integrations.adapters.secrets import SecretTable, StoredSecret
from toolbus_runtime.sealing import KeyRing, open_sealed, seal


class Rotation:
    """One rotation; it may be broken off anywhere, and goes on with what is left."""

    def __init__(self, table: SecretTable, keys: KeyRing) -> None:
        self._table = table
        self._keys = keys

    async def count(self) -> int:
        """How many secrets are sealed with another key than the current one."""
        return await self._table.count_sealed_otherwise(self._keys.current().id)

    async def run(self) -> AsyncIterator[str | None]:
        """
        Seal them one by one, each in a transaction of its own; for each: what was wrong with it, or none.

        Raises:
            Unavailable: the database is away, or there is no key.
        """
        current = self._keys.current()
        after = ("", "")
        while page := await self._table.page(after):
            for stored in page:
                if isinstance(stored.secret, SealedSecret) and stored.secret.key_id != current.id:
                    yield await self._reseal(stored, stored.secret)
            after = page[-1].place

    async def _reseal(self, stored: StoredSecret, old: SealedSecret) -> str | None:
        try:
            value = open_sealed(self._keys, stored.tenant, old)
        except Unavailable as error:
            return f"{stored.tenant}: {error.message}"
        secret = PutSecret(value=value, hosts=old.hosts, tools=old.tools)
        new = seal(self._keys.current(), stored.tenant, secret, name=old.name, generation=old.generation)
        await self._table.reseal(stored.tenant, old, new)  # stored anew meanwhile: then the current key sealed it
        return None
