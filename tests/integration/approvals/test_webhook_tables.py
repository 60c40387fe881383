"""The tables of webhooks: what the history creates is what the code knows; looking for what is due uses the index."""

import asyncio
from datetime import UTC, datetime

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from tests.integration.approvals.cancelling import keeps_no_connection
from toolbus_approvals.adapters.deliveries import Deliveries, Result, add
from toolbus_approvals.adapters.webhook_tables import metadata
from toolbus_approvals.core.messages import NewDelivery
from toolbus_runtime.store.database import make_engine

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def new(number: int, lane: str) -> NewDelivery:
    """A message in a lane."""
    return NewDelivery(
        id=f"msg_{number}",
        tenant="acme",
        webhook="crm",
        lane=lane,
        type="call.succeeded",
        position=number,
        url=None,
        at=NOW,
    )


async def test_the_history_leads_to_the_tables_the_code_knows(database_url: str) -> None:
    """What the revisions create and what the code says differ in nothing."""

    def differences(connection: Connection) -> list[object]:
        options = {"include_name": lambda name, kind, _: kind != "table" or name in metadata.tables}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))

    engine = make_engine(database_url)
    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()


async def test_a_message_is_made_once(database_url: str) -> None:
    """A second time it is there already, and stays as it is."""
    engine = make_engine(database_url)
    for status in ("pending", "held"):
        async with engine.begin() as connection:
            await add(connection, [(new(1, "a"), status)])
    ((view, _),) = await Deliveries(engine).listed("acme", "crm", status=None, before=None, limit=10)
    assert view.status == "pending"
    await engine.dispose()


async def test_lanes_are_found_without_reading_what_is_in_them(sqlite_url: str) -> None:
    """Ten thousand messages in one lane cost no more than one: every look goes along the index."""
    engine = make_engine(sqlite_url)
    made = [(new(number, "dead" if number else "alive"), "pending") for number in range(10_000)]
    async with engine.begin() as connection:
        await add(connection, made)  # type: ignore[arg-type]  # a list of pairs
        plan = await connection.execute(
            text("EXPLAIN QUERY PLAN SELECT min(lane) FROM webhook_deliveries WHERE next_at IS NOT NULL AND lane > 'a'")
        )
        assert "webhook_deliveries_due" in str(plan.all())
    deliveries = Deliveries(engine)
    assert await deliveries.due_lanes() == [("alive", NOW), ("dead", NOW)]
    due = await deliveries.due("dead", NOW, limit=2, without={2, 3})
    assert [delivery.number for delivery in due] == [4, 5]
    await engine.dispose()


async def test_whoever_is_stopped_gives_the_connection_back(database_url: str) -> None:
    """A look or a record that is cancelled in the middle keeps neither a connection nor a lock."""
    engine = make_engine(database_url)
    async with engine.begin() as connection:
        await add(connection, [(new(1, "a"), "pending")])
    deliveries = Deliveries(engine)
    (due,) = await deliveries.due("a", NOW, limit=1, without=())
    result = Result(due, "pending", NOW, NOW, 500, "it answered 500")
    await keeps_no_connection(
        engine,
        lambda: (deliveries.due_lanes(), deliveries.record([result]), deliveries.prune(NOW)),
        steps=30,
    )
    async with asyncio.timeout(2):
        await deliveries.prune(NOW)
    await engine.dispose()
