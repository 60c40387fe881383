"""The table of secrets on both databases: generations, removals, races, rotation of the master key."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, update
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.approvals.away import without_a_database
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.secrets import PutSecret, RemovedSecret, SealedSecret
from toolbus_integrations.adapters.secrets import SecretTable
from toolbus_integrations.adapters.tables import metadata, secrets
from toolbus_integrations.secrets_rotation import Rotation
from toolbus_runtime.sealing import KeyRing, open_sealed, seal
from toolbus_runtime.store.database import make_engine

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD, NEW = f"old {'o' * 40}", f"new {'n' * 40}"


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    """An engine on a fresh database of each kind."""
    made = make_engine(database_url)
    yield made
    await made.dispose()


async def stored(table: SecretTable, value: str, name: str = "pay", *, keys: str = OLD, tenant: str = "acme") -> int:
    """The generation under which this value was stored."""
    ring, secret = KeyRing(keys), PutSecret(value=value, hosts=("api.example.com",), tools=("refund",))
    found = await table.put(
        tenant, name, lambda number: seal(ring.current(), tenant, secret, name=name, generation=number), NOW
    )
    return found.secret.generation


async def value_of(table: SecretTable, name: str = "pay", keys: str = OLD, *, tenant: str = "acme") -> str:
    """What is stored, opened."""
    found = await table.get(tenant, name)
    assert found is not None
    assert isinstance(found.secret, SealedSecret)
    return open_sealed(KeyRing(keys), tenant, found.secret)


async def test_the_table_is_what_the_migration_makes(engine: AsyncEngine) -> None:
    """Names, types and keys."""

    def differences(connection: Connection) -> list[object]:
        options = {"include_name": lambda name, kind, _: kind != "table" or name in metadata.tables}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))

    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_a_generation_is_never_given_twice(engine: AsyncEngine) -> None:
    """Not even over a removal; each tenant counts for itself."""
    table = SecretTable(engine)
    assert await table.get("acme", "pay") is None
    assert await table.remove("acme", "pay", NOW) is None
    assert [await stored(table, "first"), await stored(table, "second")] == [1, 2]
    assert await stored(table, "theirs", tenant="other") == 1
    later = NOW + timedelta(seconds=1)
    removed = await table.remove("acme", "pay", later)
    assert removed is not None
    assert (removed.secret.generation, removed.view().hosts) == (2, ("api.example.com",))
    found = await table.get("acme", "pay")
    assert found is not None
    assert (found.secret, found.stored_at) == (RemovedSecret(name="pay", generation=2), later)
    assert await table.remove("acme", "pay", later) is None
    assert await stored(table, "three") == 3
    assert await value_of(table) == "three"
    assert await value_of(table, tenant="other") == "theirs"


async def test_writers_at_the_same_time_make_a_generation_each(engine: AsyncEngine) -> None:
    """The first ones too, and a removal among them loses none; the last generation is what stands."""
    table = SecretTable(engine)
    found = await asyncio.gather(*(stored(table, f"value {number}") for number in range(8)))
    assert sorted(found) == list(range(1, 9))
    assert await value_of(table) == f"value {found.index(8)}"
    removing = asyncio.ensure_future(table.remove("acme", "pay", NOW))
    assert sorted(await asyncio.gather(*(stored(table, "again") for _ in range(4)))) == [9, 10, 11, 12]
    assert await removing is not None


async def test_lists_and_pages_are_ordered_and_leave_nothing_out(engine: AsyncEngine) -> None:
    """A tenant sees its own, without what was removed; what keeps the stream sees every row."""
    table = SecretTable(engine)
    for name in ("b", "a", "c", "a.b"):
        await stored(table, f"value {name}", name=name)
    await stored(table, "theirs", tenant="other")
    await table.remove("acme", "c", NOW)
    assert [row.secret.name for row in await table.listed("acme", offset=0, limit=2)] == ["a", "a.b"]
    assert [row.secret.name for row in await table.listed("acme", offset=2, limit=2)] == ["b"]
    places: list[tuple[str, str]] = []
    while page := await table.page(places[-1] if places else ("", ""), limit=2):
        places += [row.place for row in page]
    assert places == [("acme", "a"), ("acme", "a.b"), ("acme", "b"), ("acme", "c"), ("other", "pay")]


async def test_no_value_lies_in_the_table(engine: AsyncEngine) -> None:
    """A row that was copied to another name does not open there."""
    table = SecretTable(engine)
    await stored(table, "canary-of-the-table")
    await stored(table, "other", name="low")
    (row,) = [row for row in await table.page() if row.secret.name == "pay"]
    assert isinstance(row.secret, SealedSecret)
    assert "canary-of-the-table" not in row.secret.model_dump_json()
    async with engine.begin() as connection:
        swap = update(secrets).where(secrets.c.name == "low").values(sealed=row.secret.sealed)
        await connection.execute(swap)
    with pytest.raises(Unavailable, match="does not open"):
        await value_of(table, "low")


async def rotated(table: SecretTable, keys: str) -> list[str | None]:
    """What a rotation says of each secret."""
    return [said async for said in Rotation(table, KeyRing(keys)).run()]


async def test_a_rotation_seals_everything_anew_and_keeps_generations(engine: AsyncEngine) -> None:
    """It may be broken off and goes on with what is left; removed ones and those of the current key are not touched."""
    table = SecretTable(engine)
    for number in range(5):
        await stored(table, f"value {number}", name=f"s{number}")
    await stored(table, "newer", name="s1")
    await table.remove("acme", "s4", NOW)
    await stored(table, "of the new key", name="s5", keys=NEW)
    both = f"{NEW},{OLD}"
    assert await Rotation(table, KeyRing(both)).count() == 4
    async for said in Rotation(table, KeyRing(both)).run():
        assert said is None
        break
    assert await Rotation(table, KeyRing(both)).count() == 3
    assert await rotated(table, both) == [None] * 3
    assert await rotated(table, both) == []
    assert [await value_of(table, f"s{number}", NEW) for number in range(4)] == [
        "value 0",
        "newer",
        "value 2",
        "value 3",
    ]
    found = await table.get("acme", "s1")
    assert found is not None
    assert found.secret.generation == 2
    assert found.view().tools == ("refund",)


async def test_a_rotation_tells_what_does_not_open_and_goes_on(engine: AsyncEngine) -> None:
    """A key that was thrown away too early costs the secrets that it sealed, and no others."""
    table = SecretTable(engine)
    await stored(table, "lost", name="a", keys=f"gone {'g' * 40}")
    await stored(table, "kept", name="b")
    (lost, kept) = await rotated(table, f"{NEW},{OLD}")
    assert lost is not None
    assert "acme" in lost
    assert "gone" in lost
    assert kept is None
    assert await value_of(table, "b", NEW) == "kept"


async def test_a_secret_that_is_stored_during_a_rotation_stays_as_stored(engine: AsyncEngine) -> None:
    """Sealing anew compares with what was read."""
    table = SecretTable(engine)
    await stored(table, "before")
    before = await table.get("acme", "pay")
    assert before is not None
    assert isinstance(before.secret, SealedSecret)
    await stored(table, "after", keys=NEW)
    assert not await table.reseal("acme", before.secret, before.secret.model_copy(update={"key_id": "x"}))
    assert await value_of(table, keys=NEW) == "after"


async def test_without_the_database_it_is_unavailable() -> None:
    """The error names no parameter of the statement."""
    async with without_a_database() as nowhere:
        table = SecretTable(nowhere)
        with pytest.raises(Unavailable, match=r"^database: \w+$"):
            await stored(table, "canary")
        with pytest.raises(Unavailable):
            await table.listed("acme", offset=0, limit=1)
