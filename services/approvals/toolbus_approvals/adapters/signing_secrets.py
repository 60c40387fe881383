"""The secrets of webhooks: put away sealed, and opened only to sign."""

import base64
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from toolbus_approvals.adapters.vault import Vault
from toolbus_approvals.adapters.webhook_tables import webhook_secrets
from toolbus_approvals.core.signing import public_key
from toolbus_approvals.core.webhooks import NewSecret
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.webhooks import HMAC_PREFIX, SigningSecret, scheme_of
from toolbus_runtime.commands import new_id
from toolbus_runtime.projections import whole
from toolbus_runtime.store.database import DATABASE_ERRORS

SECRET_BYTES = 32
MAX_OPENED = 1024


def new_secret() -> str:
    """Make a secret: `whsec_` and 32 random bytes."""
    return HMAC_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


class SealedRow(NamedTuple):
    """A secret as it rests."""

    tenant: str
    webhook: str
    secret_id: str
    sealed: bytes


class SigningSecrets:
    """
    Reads and writes of the table; secrets that were opened stay in memory, a thousand of them.

    Raises `Unavailable` when the database is away, or the vault has no key or another one.
    """

    def __init__(self, engine: AsyncEngine, vault: Vault) -> None:
        self._engine = engine
        self._vault = vault
        self._opened: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def put(self, tenant: str, webhook: str, secret: str, now: datetime) -> NewSecret:
        """Put a secret away under a new id. Until an event names the id nothing is signed with it."""
        secret_id = new_id("secret")
        sealed = self._vault.seal(secret, belongs_to=_belongs_to(tenant, webhook, secret_id))
        row = {"tenant": tenant, "secret_id": secret_id, "webhook": webhook, "sealed": sealed, "created_at": now}

        async def write() -> None:
            async with self._engine.begin() as connection:
                await connection.execute(webhook_secrets.insert(), row)

        try:
            await whole(write())
        except DATABASE_ERRORS as error:
            raise _away(error) from error
        return NewSecret(secret_id, scheme_of(secret), public_key(secret))

    async def open(self, tenant: str, webhook: str, wanted: Sequence[SigningSecret]) -> list[str]:
        """The values of secrets, in the order given."""
        return [await self._open(tenant, webhook, secret.id) for secret in wanted]

    async def is_current(self, tenant: str, webhook: str, wanted: Sequence[SigningSecret], secret: str) -> bool:
        """Whether this is the newest of these secrets."""
        newest = await self.open(tenant, webhook, wanted[:1])
        return bool(newest) and hmac.compare_digest(newest[0].encode(), secret.encode())

    async def _open(self, tenant: str, webhook: str, secret_id: str) -> str:
        known = self._opened.get((tenant, secret_id))
        if known is None:
            sealed = await self._sealed(tenant, secret_id)
            known = self._vault.open(sealed, belongs_to=_belongs_to(tenant, webhook, secret_id))
            self._opened[tenant, secret_id] = known
        self._opened.move_to_end((tenant, secret_id))
        if len(self._opened) > MAX_OPENED:
            self._opened.popitem(last=False)
        return known

    async def _sealed(self, tenant: str, secret_id: str) -> bytes:
        wanted = select(webhook_secrets.c.sealed).where(
            webhook_secrets.c.tenant == tenant, webhook_secrets.c.secret_id == secret_id
        )
        engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")

        async def read() -> bytes | None:
            async with engine.connect() as connection:
                return (await connection.execute(wanted)).scalar_one_or_none()

        try:
            found = await whole(read())
        except DATABASE_ERRORS as error:
            raise _away(error) from error
        if found is None:
            raise Unavailable(f"secret {secret_id} is not in the database")
        return bytes(found)


async def forget_secrets(connection: AsyncConnection, tenant: str, secret_ids: Collection[str]) -> None:
    """Secrets that sign nothing any more are gone."""
    if secret_ids:
        await connection.execute(
            delete(webhook_secrets).where(
                webhook_secrets.c.tenant == tenant, webhook_secrets.c.secret_id.in_(secret_ids)
            )
        )


def owner(row: SealedRow) -> str:
    """What a secret belongs to; it is authenticated with it."""
    return _belongs_to(row.tenant, row.webhook, row.secret_id)


def _belongs_to(tenant: str, webhook: str, secret_id: str) -> str:
    return f"webhook\n{tenant}\n{webhook}\n{secret_id}"


def _away(error: Exception) -> Unavailable:
    return Unavailable(f"database: {type(error).__name__}")
