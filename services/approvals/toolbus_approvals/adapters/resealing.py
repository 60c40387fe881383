"""Rotating master keys: the secrets of webhooks that another key sealed are sealed with the current one."""

from collections.abc import AsyncIterator

from sqlalchemy import and_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_approvals.adapters.signing_secrets import SealedRow, owner
from toolbus_approvals.adapters.vault import Vault
from toolbus_approvals.adapters.webhook_tables import webhook_secrets as rows
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.projections import whole
from toolbus_runtime.store.database import DATABASE_ERRORS

PAGE = 500


class Resealing:
    """One rotation; it may be broken off anywhere, and goes on with what is left."""

    def __init__(self, engine: AsyncEngine, vault: Vault) -> None:
        self._engine = engine
        self._vault = vault

    async def count(self) -> int:
        """How many secrets are sealed with another key than the current one."""
        return len([row async for row in self._sealed_otherwise()])

    async def run(self) -> AsyncIterator[str | None]:
        """
        Seal them one by one, each in a transaction of its own; for each: what was wrong with it, or none.

        Raises:
            Unavailable: the database is away, or there is no key.
        """
        async for row in self._sealed_otherwise():
            try:
                text = self._vault.open(row.sealed, belongs_to=owner(row))
            except Unavailable as error:
                yield f"{row.tenant}: webhook {row.webhook}: {error.message}"
                continue
            await self._replace(row, self._vault.seal(text, belongs_to=owner(row)))
            yield None

    async def _sealed_otherwise(self) -> AsyncIterator[SealedRow]:
        after = ("", "")
        while page := await self._page(after):
            for row in page:
                if not self._vault.is_current(row.sealed, belongs_to=owner(row)):
                    yield row
            after = (page[-1].tenant, page[-1].secret_id)

    async def _page(self, after: tuple[str, str]) -> list[SealedRow]:
        place = tuple_(rows.c.tenant, rows.c.secret_id)
        columns = (rows.c[name] for name in SealedRow._fields)
        wanted = select(*columns).where(place > after).order_by(rows.c.tenant, rows.c.secret_id).limit(PAGE)

        async def read() -> list[SealedRow]:
            async with self._engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
                found = await connection.execute(wanted)
                return [SealedRow(row.tenant, row.webhook, row.secret_id, bytes(row.sealed)) for row in found]

        try:
            return await whole(read())
        except DATABASE_ERRORS as error:
            raise Unavailable(f"database: {type(error).__name__}") from error

    async def _replace(self, row: SealedRow, sealed: bytes) -> None:
        """A secret that is gone meanwhile stays gone."""
        is_same = and_(rows.c.tenant == row.tenant, rows.c.secret_id == row.secret_id)

        async def write() -> None:
            async with self._engine.begin() as connection:
                await connection.execute(update(rows).where(is_same).values(sealed=sealed))

        try:
            await whole(write())
        except DATABASE_ERRORS as error:
            raise Unavailable(f"database: {type(error).__name__}") from error
