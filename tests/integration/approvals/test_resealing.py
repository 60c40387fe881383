"""Rotating master keys over the secrets of webhooks, on both databases."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.approvals.away import without_a_database
from toolbus_approvals.adapters.resealing import Resealing
from toolbus_approvals.adapters.signing_secrets import SigningSecrets
from toolbus_approvals.adapters.vault import Vault
from toolbus_approvals.adapters.webhook_tables import webhook_secrets
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.webhooks import SigningSecret
from toolbus_runtime.sealing import KeyRing
from toolbus_runtime.store.database import make_engine

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD, NEW, GONE = "o" * 40, "n" * 40, "g" * 40
WHSEC = "whsec_" + "A" * 40 + "==="


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """An engine on a fresh database of each kind."""
    made = make_engine(database_url)
    yield made
    await made.dispose()


async def put(engine: AsyncEngine, key: str, webhook: str = "crm") -> SigningSecret:
    """A secret that was put away under this key."""
    made = await SigningSecrets(engine, Vault(KeyRing(key))).put("acme", webhook, WHSEC, NOW)
    return SigningSecret(id=made.id, scheme=made.scheme, public_key=made.public_key, since=NOW)


async def opened(engine: AsyncEngine, key: str, secret: SigningSecret, webhook: str = "crm") -> list[str]:
    """What this key alone opens."""
    return await SigningSecrets(engine, Vault(KeyRing(key))).open("acme", webhook, [secret])


async def test_secrets_of_webhooks_are_sealed_with_the_current_key(engine: AsyncEngine) -> None:
    """Each once; it may be broken off; what no key opens is told, and stops nothing."""
    secrets = [await put(engine, OLD) for _ in range(3)]
    newer = await put(engine, NEW)
    lost = await put(engine, GONE, "erp")
    resealing = Resealing(engine, Vault(KeyRing(f"{NEW},{OLD}")))
    assert await resealing.count() == 4
    async for said in resealing.run():
        assert said is None
        break
    assert await resealing.count() == 3
    told = [said async for said in resealing.run()]
    assert told[:2] == [None, None]
    assert told[2] is not None
    assert told[2].startswith("acme: webhook erp: ")
    assert await resealing.count() == 1
    for secret in (*secrets, newer):
        assert await opened(engine, NEW, secret) == [WHSEC]
    assert await opened(engine, GONE, lost, "erp") == [WHSEC]


async def test_a_secret_that_is_deleted_meanwhile_stays_so(engine: AsyncEngine) -> None:
    """What was read of it is not written back."""
    for _ in range(2):
        await put(engine, OLD)
    resealing = Resealing(engine, Vault(KeyRing(f"{NEW},{OLD}")))
    async for _ in resealing.run():
        async with engine.begin() as connection:
            await connection.execute(delete(webhook_secrets))
    assert await resealing.count() == 0


async def test_without_the_database_it_is_unavailable() -> None:
    """Nothing is counted as done."""
    async with without_a_database() as nowhere:
        with pytest.raises(Unavailable, match=r"^database"):
            await Resealing(nowhere, Vault(KeyRing(NEW))).count()
