"""Sealed secrets on a real bus: told before the answer, never the older one, made up for after every loss."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.nats_fixtures import ROOT, Connect, until
from toolbus_contracts import subjects
from toolbus_contracts.errors import BusRefused, NotFound, Unavailable
from toolbus_contracts.secrets import PutSecret, RemovedSecret, SealedSecret, read_published
from toolbus_integrations.adapters.secrets import SecretTable
from toolbus_integrations.adapters.tables import secrets as rows
from toolbus_integrations.secrets import Secrets
from toolbus_integrations.secrets_publishing import Publishing
from toolbus_integrations.secrets_rotation import Rotation
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server import EmbeddedNats
from toolbus_runtime.bus.streams import declare, declare_stream
from toolbus_runtime.sealing import KeyRing, open_sealed
from toolbus_runtime.secrets.published import published_generation, published_secret
from toolbus_runtime.store.database import make_engine

NOW = datetime(2026, 3, 1, tzinfo=UTC)
KEYS = KeyRing(f"k1 {'k' * 40}")
SUBJECT = subjects.secret("acme", "pay")


class Rig:
    """One replica of what stores and tells secrets, with its bus."""

    def __init__(self, bus: Bus, engine: AsyncEngine) -> None:
        self.bus = bus
        self.engine = engine
        self.table = SecretTable(engine)
        self.publishing = Publishing(bus, self.table)
        self.secrets = Secrets(self.table, KEYS, self.publishing)

    async def put(self, value: str, name: str = "pay", tenant: str = "acme") -> int:
        """The generation of this value."""
        return (await self.secrets.put(tenant, name, PutSecret(value=value), NOW)).generation


@pytest.fixture
async def engine(sqlite_url: str) -> AsyncIterator[AsyncEngine]:
    """An engine on a fresh database."""
    made = make_engine(sqlite_url)
    yield made
    await made.dispose()


@pytest.fixture
async def rig(declared: Bus, connect: Connect, engine: AsyncEngine) -> Rig:
    """The storing side with the permissions of the integrations service."""
    return Rig(await connect("integrations"), engine)


async def direct(bus: Bus, subject: str = SUBJECT) -> SealedSecret | RemovedSecret | None:
    """What an executor finds by a direct get."""
    reply = await bus.request(f"$JS.API.DIRECT.GET.{subjects.SECRETS}.{subject}", b"", timeout_s=5.0)
    return None if "Status" in reply.headers else read_published(reply.data)


async def opened(bus: Bus, subject: str = SUBJECT) -> tuple[int, str]:
    """Generation and value as an executor finds them."""
    found = await direct(bus, subject)
    assert isinstance(found, SealedSecret)
    return found.generation, open_sealed(KEYS, subjects.secret_of(subject)[0], found)


async def test_what_is_stored_is_told_before_the_answer(rig: Rig, executor_bus: Bus, dispatcher_bus: Bus) -> None:
    """Executors and the dispatcher read it; a removal leaves word of the last generation."""
    assert await direct(executor_bus) is None
    for number in (1, 2, 3):
        assert await rig.put(f"value {number}") == number
        assert await opened(executor_bus) == (number, f"value {number}")
    assert (await rig.secrets.remove("acme", "pay", NOW)).generation == 3
    assert await direct(dispatcher_bus) == RemovedSecret(name="pay", generation=3)
    with pytest.raises(NotFound):
        await rig.secrets.remove("acme", "pay", NOW)
    assert await rig.put("again") == 4
    assert await opened(executor_bus) == (4, "again")
    assert await rig.put("dotted", "pay.eu") == 1
    assert await opened(executor_bus, subjects.secret("acme", "pay.eu")) == (1, "dotted")
    state = await rig.bus.stream_state(subjects.SECRETS)
    assert state is not None
    assert state.messages == 2


async def test_an_older_generation_never_covers_a_newer_one(rig: Rig, connect: Connect, executor_bus: Bus) -> None:
    """Two replicas and many writers at once: what is told at the end is what stands in the table."""
    other = Rig(await connect("integrations"), rig.engine)
    found = await asyncio.gather(*((rig if number % 2 else other).put(f"value {number}") for number in range(20)))
    assert sorted(found) == list(range(1, 21))
    assert await opened(executor_bus) == (20, f"value {found.index(20)}")
    assert await rig.publishing.look() == 0


async def test_a_lost_stream_is_filled_again(rig: Rig, connect: Connect, declared: Bus, executor_bus: Bus) -> None:
    """Secrets, removals and tenants; a second look finds nothing to do."""
    for number in range(5):
        await rig.put(f"value {number}", f"s{number}")
    await rig.put("theirs", tenant="other")
    await rig.secrets.remove("acme", "s4", NOW)
    assert await rig.publishing.look() == 0
    root = await connect(ROOT)
    await root.api(f"STREAM.DELETE.{subjects.SECRETS}")
    with pytest.raises(Unavailable, match="not there"):
        await rig.publishing.look()
    await declare(declared)
    for name in ("s3", "never_stored"):
        with pytest.raises(Unavailable, match="does not hold the secrets yet"):
            await published_secret(executor_bus, "acme", name)
    assert await rig.publishing.look() == 6
    assert await rig.publishing.look() == 0
    assert await published_secret(executor_bus, "acme", "never_stored") is None
    assert await opened(executor_bus, subjects.secret("acme", "s3")) == (1, "value 3")
    assert await opened(executor_bus, subjects.secret("other", "pay")) == (1, "theirs")
    assert await direct(executor_bus, subjects.secret("acme", "s4")) == RemovedSecret(name="s4", generation=1)


async def test_a_folder_of_nats_that_was_lost_makes_no_secret_unknown(
    rig: Rig, nats_server: EmbeddedNats, connect: Connect
) -> None:
    """From the loss until every secret is there again nobody is told that there is none, executors and dispatcher."""
    running = asyncio.create_task(rig.publishing.run())
    asked: dict[str, list[int | str]] = {"api_caller": [], "dispatcher": []}

    async def ask(user: str) -> None:
        bus = await connect(user)

        async def is_over() -> bool:
            for name in ("s19", "pay"):
                try:
                    found: int | str = await published_generation(bus, "acme", name)
                except (Unavailable, BusRefused):
                    found = "away"
                asked[user].append(found)
            return "away" in asked[user] and asked[user][-2:] == [1, 1]

        await until(is_over, within_s=50)

    async def is_marked() -> bool:
        return await rig.bus.last_message(subjects.SECRETS, subjects.SECRETS_FILLED) is not None

    asking: list[asyncio.Task[None]] = []
    try:
        await rig.put("value one")
        for number in range(20):
            await rig.put(f"value {number}", f"s{number}")
        await until(is_marked)
        asking = [asyncio.create_task(ask(user)) for user in asked]
        await until(lambda: all(1 in found for found in asked.values()))
        await nats_server.kill()
        shutil.rmtree(nats_server.folder / "jetstream")
        await until(lambda: all("away" in found for found in asked.values()))
        await nats_server.start()
        await declare(await connect("operator"))
        await asyncio.gather(*asking)
    finally:
        for task in (running, *asking):
            task.cancel()
        await asyncio.gather(running, *asking, return_exceptions=True)
    assert {told for found in asked.values() for told in found} <= {1, "away"}


async def test_what_differs_is_mended(rig: Rig, connect: Connect, executor_bus: Bus) -> None:
    """Older, newer or unreadable messages, and secrets of which the table knows nothing."""
    await rig.put("value one")
    old = await rig.bus.last_message(subjects.SECRETS, SUBJECT)
    assert old is not None
    await rig.put("value two")
    await rig.put("gone", "gone")
    root = await connect(ROOT)
    await root.publish(SUBJECT, old.data)
    await root.publish(subjects.secret("acme", "broken"), b"{")
    async with rig.engine.begin() as connection:
        await connection.execute(delete(rows).where(rows.c.name == "gone"))
    assert await rig.publishing.look() == 3
    assert await opened(executor_bus) == (2, "value two")
    assert await direct(executor_bus, subjects.secret("acme", "gone")) == RemovedSecret(name="gone", generation=1)
    assert await direct(executor_bus, subjects.secret("acme", "broken")) == RemovedSecret(name="broken", generation=1)
    assert await rig.publishing.look() == 0


async def test_what_another_master_key_sealed_is_told_by_the_next_look(rig: Rig, executor_bus: Bus) -> None:
    """Rotating speaks to the database alone; the generation stays."""
    await rig.put("value one")
    both = KeyRing(f"k2 {'n' * 40},k1 {'k' * 40}")
    assert [said async for said in Rotation(rig.table, both).run()] == [None]
    assert await rig.publishing.look() == 1
    found = await direct(executor_bus)
    assert isinstance(found, SealedSecret)
    assert (found.generation, found.key_id) == (1, "k2")
    assert open_sealed(both, "acme", found) == "value one"


async def test_a_bus_that_is_away_keeps_nobody_from_storing(
    rig: Rig, nats_server: EmbeddedNats, connect: Connect
) -> None:
    """It is committed and answered; as soon as the bus is back the executors have it."""
    running = asyncio.create_task(rig.publishing.run())
    try:
        await rig.put("before")
        await nats_server.kill()
        await until(lambda: not rig.bus.is_connected)
        assert await rig.put("meanwhile") == 2
        await nats_server.start()
        executor = await connect("api_caller")

        async def is_told() -> bool:
            try:
                return await opened(executor) == (2, "meanwhile")
            except Unavailable:
                return False

        await until(is_told)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_stream_that_is_lost_while_the_service_runs_is_filled_when_it_is_back(
    rig: Rig, connect: Connect, declared: Bus, executor_bus: Bus
) -> None:
    """Storing goes on without it, and asks for a look."""
    running = asyncio.create_task(rig.publishing.run())
    try:
        await rig.put("value one", "first")
        root = await connect(ROOT)
        await root.api(f"STREAM.DELETE.{subjects.SECRETS}")
        assert await rig.put("value two") == 1
        await declare_stream(declared, subjects.stream(subjects.SECRETS))

        async def is_filled() -> bool:
            state = await rig.bus.stream_state(subjects.SECRETS)
            return state is not None and state.messages == 3  # with the mark

        await until(is_filled)
        assert await opened(executor_bus, subjects.secret("acme", "first")) == (1, "value one")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("user", ["api_caller", "dispatcher", "approvals", "operator", "client_acme"])
async def test_nobody_else_tells_secrets(rig: Rig, connect: Connect, user: str) -> None:
    """The server refuses it; what was stored stands."""
    await rig.put("mine")
    with pytest.raises(BusRefused, match="permissions violation"):
        await (await connect(user)).publish(SUBJECT, b"{}")
    assert await opened(rig.bus) == (1, "mine")


@pytest.mark.parametrize("user", ["approvals", "operator", "client_acme"])
async def test_only_who_uses_secrets_reads_them(rig: Rig, connect: Connect, user: str) -> None:
    """Neither by a direct get, nor from the leader, nor by listening."""
    await rig.put("mine")
    bus = await connect(user)
    for verb in (f"DIRECT.GET.{subjects.SECRETS}.{SUBJECT}", f"STREAM.MSG.GET.{subjects.SECRETS}"):
        with pytest.raises(BusRefused, match="permissions violation"):
            await bus.api(verb, {"last_by_subj": SUBJECT} if "MSG" in verb else None)
    for subject in (SUBJECT, "toolbus.secret.>"):
        with pytest.raises(BusRefused, match="permissions violation"):
            await bus.subscribe(subject, lambda _: None)
