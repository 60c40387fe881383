"""What every event store promises about appending: memory, SQLite and PostgreSQL."""

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import DBAPIError

from tests.store_samples import broken_links, sample, whole_log
from toolbus_contracts.envelope import GENESIS, StoredEvent
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store import tables
from toolbus_runtime.store.admission import Result
from toolbus_runtime.store.database import make_engine, open_store
from toolbus_runtime.store.memory import MemoryStore
from toolbus_runtime.store.port import Appended, Duplicate, EventStore, Moved


@pytest.fixture
async def second_store(store: EventStore, store_url: str) -> AsyncIterator[EventStore]:
    """Another instance on the same log, as another process has it."""
    if store_url == "memory":
        yield store
    else:
        opened = open_store(store_url)
        yield opened
        await opened.close()


async def test_an_append_returns_the_events_as_they_are_stored(store: EventStore) -> None:
    """Positions, versions, ordinals and hashes are filled in, and reading gives the same events back."""
    before = await store.now()
    (found,) = await store.append([sample("c1", "call.requested.v1", "call.dispatched.v1", data='{"a": 1}')])
    assert isinstance(found, Appended)
    first, second = found.events
    assert (first.position, first.version, first.ordinal, first.previous_hash) == (1, 1, 0, GENESIS)
    assert (second.position, second.version, second.ordinal, second.previous_hash) == (2, 2, 1, first.hash)
    assert (first.tenant, first.category, first.stream, first.subject_id) == ("acme", "call", "acme/call/c1", "c1")
    assert (first.kind, first.data, first.traceparent) == ("call.requested.v1", '{"a": 1}', None)
    assert len(first.id) == 32
    assert first.id < second.id
    assert before <= first.recorded_at <= await store.now()
    assert await store.read() == [first, second]
    assert await store.head() == 2


async def test_a_stream_that_moved_is_left_alone(store: EventStore) -> None:
    """An append decided on another version stores nothing, whether the stream is ahead or behind."""
    await store.append([sample("c1")])
    results = await store.append([sample("c1", cause="late"), sample("c2", version=3)])
    assert results == [Moved("acme/call/c1"), Moved("acme/call/c2")]
    assert await store.head() == 1


async def test_a_guard_must_have_the_version_it_had(store: EventStore) -> None:
    """A decision that rests on another stream is stored only while that stream stands where it stood."""
    tool = "acme/tool/t1"
    await store.append([sample("t1", category="tool")])
    results = await store.append(
        [
            sample("c1", guards=((tool, 1), ("acme/manifest/none", 0))),
            sample("c2", guards=((tool, 0),)),
            sample("t1", category="tool", version=1),
            sample("c3", guards=((tool, 1),)),
        ]
    )
    assert [result.outcome for result in results] == ["appended", "moved", "appended", "moved"]
    assert results[1] == results[3] == Moved(tool)


async def test_the_same_command_twice_adds_nothing(store: EventStore) -> None:
    """A causation id that is stored makes a duplicate, whatever version or stream it names now."""
    one = sample("c1", "call.requested.v1", "call.refused.v1", cause="k")
    await store.append([one])
    assert await store.append([one, sample("c2", cause="k")]) == [Duplicate("acme/call/c1")] * 2
    results = await store.append([sample("c3", cause="m"), sample("c4", cause="m"), sample("c1", cause="k")])
    assert results[1:] == [Duplicate("acme/call/c3"), Duplicate("acme/call/c1")]
    assert await store.head() == 3


async def test_a_command_that_moved_was_not_stored_and_may_come_again(store: EventStore) -> None:
    """Only what was stored makes a duplicate: the command decided afresh goes through."""
    await store.append([sample("c1")])
    results = await store.append([sample("c1", cause="k")]) + await store.append([sample("c1", cause="k", version=1)])
    assert [result.outcome for result in results] == ["moved", "appended"]


async def test_what_was_decided_upon_a_neighbour_drops_out_with_it(store: EventStore) -> None:
    """Somebody else may have given the very version that a later append expects: it was decided on another state."""
    await store.append([sample("c1")])
    guarded = sample("c2", guards=(("acme/call/c1", 1),))
    results = await store.append([sample("c1", cause="late"), sample("c1", version=1), guarded, sample("c3")])
    assert [result.outcome for result in results] == ["moved", "moved", "moved", "appended"]
    repeated = sample("c1", cause="cause of call/c1@0")
    results = await store.append([repeated, sample("c1", version=1), sample("c2")])
    assert [result.outcome for result in results] == ["duplicate", "moved", "appended"]


async def test_tenants_share_no_causation_ids(store: EventStore) -> None:
    """Two tenants may name their commands alike."""
    results = await store.append([sample("c1", cause="k"), sample("c1", cause="k", tenant="globex")])
    assert [result.outcome for result in results] == ["appended", "appended"]
    again = await store.append([sample("c9", cause="k", tenant="globex"), sample("c9", cause="k", tenant="initech")])
    assert again[0] == Duplicate("globex/call/c1")
    assert again[1].outcome == "appended"


async def test_neighbours_of_what_drops_out_are_stored_without_a_gap(store: EventStore) -> None:
    """Moved and repeated appends leave no hole in the positions of the others."""
    await store.append([sample("c1", cause="k")])
    results = await store.append([sample("c2"), sample("c1", cause="late"), sample("c3", cause="k"), sample("c4")])
    assert [result.outcome for result in results] == ["appended", "moved", "duplicate", "appended"]
    assert [event.subject_id for event in await store.read()] == ["c1", "c2", "c4"]
    assert broken_links(await whole_log(store)) == []


async def test_a_command_that_was_stored_elsewhere_stops_no_neighbour(store: EventStore) -> None:
    """It fits its new stream: only its cause tells that it was stored before."""
    await store.append([sample("c1", cause="k")])
    results = await store.append([sample("c2"), sample("c3", cause="k"), sample("c4", "a.v1", "b.v1")])
    assert [result.outcome for result in results] == ["appended", "duplicate", "appended"]
    assert results[1] == Duplicate("acme/call/c1")
    assert [event.subject_id for event in await store.read()] == ["c1", "c2", "c4", "c4"]
    assert broken_links(await whole_log(store)) == []


async def test_several_appends_to_one_stream_count_one_after_the_other(store: EventStore) -> None:
    """Inside a batch each append sees the versions that the ones before it made."""
    results = await store.append(
        [sample("c1", "a.v1", "b.v1"), sample("c1", "c.v1", version=2), sample("c1", version=2, cause="late")]
    )
    assert [result.outcome for result in results] == ["appended", "appended", "moved"]
    assert [event.kind for event in (await store.load({"acme/call/c1": 0}))["acme/call/c1"]] == ["a.v1", "b.v1", "c.v1"]
    assert broken_links(await whole_log(store)) == []


async def test_an_append_without_events_stores_nothing(store: EventStore) -> None:
    """No appends and no events are fine; the version is judged all the same."""
    nothing = sample("c1")._replace(events=())
    assert await store.append([]) == []
    assert await store.append([nothing, nothing._replace(expected_version=4)]) == [Appended(()), Moved("acme/call/c1")]
    assert await store.head() == 0


async def test_text_comes_back_byte_for_byte(store: EventStore) -> None:
    """Escapes, spaces, scripts and a mebibyte are kept as they were hashed."""
    texts = [
        r'{"a":"\u0000\ud83d\ude00 \\ \" / 😀 ß 漢 \u00e9é"}',
        "{ \t\r\n}",
        '{"\N{RIGHT-TO-LEFT OVERRIDE}":"\x7f"}',
    ]
    texts.append('"' + "ä€😀x" * 104_858 + '"')
    await store.append([sample(f'ü "{number}"\\', data=data) for number, data in enumerate(texts)])
    events = await whole_log(store)
    assert [event.data for event in events] == texts
    assert len(texts[-1].encode()) > 2**20
    assert broken_links(events) == []
    assert await store.load({event.stream: 0 for event in events}) == {event.stream: [event] for event in events}


async def test_tampering_shows(store: EventStore) -> None:
    """Whatever is changed, left out, or put in another order breaks the chain where it was changed."""
    await store.append([sample("c1", "a.v1", "b.v1", "c.v1"), sample("c2")])
    events = await whole_log(store)
    assert broken_links(events) == []
    second = events[1]
    for changed in (
        second._replace(data='{"a":2}'),
        second._replace(actor="{}"),
        second._replace(tenant="globex"),
        second._replace(recorded_at=second.recorded_at + timedelta(microseconds=1)),
    ):
        assert 2 in broken_links([events[0], changed, *events[2:]])
    assert broken_links([events[0], *events[2:]])
    assert broken_links([events[1], events[0], *events[2:]])


async def test_concurrent_appenders_leave_no_gap(store: EventStore, second_store: EventStore) -> None:
    """Two instances append at once: positions are 1, 2, 3…, and what was returned is what is stored."""

    async def appender(of: EventStore, name: str) -> list[Result]:
        results = []
        for number in range(20):
            results += await of.append([sample(f"{name}-{number}-{many}", "a.v1", "b.v1") for many in range(3)])
        return results

    several = [appender(of, f"{at}") for at, of in enumerate([store, second_store, store, second_store])]
    results = [result for found in await asyncio.gather(*several) for result in found]
    events = await whole_log(store)
    assert broken_links(events) == []
    assert len(events) == 4 * 20 * 3 * 2
    appended = [event for result in results if isinstance(result, Appended) for event in result.events]
    assert sorted(appended, key=_position) == events


async def test_of_racing_appends_to_one_stream_one_wins(store: EventStore, second_store: EventStore) -> None:
    """Decisions on the same version cannot both be stored; the same command from both is stored once."""
    for number in range(10):
        racing = [
            of.append([sample("c1", version=number, cause=f"{number} {at}"), sample(f"x{number}", cause=f"k{number}")])
            for at, of in enumerate([store, second_store])
        ]
        first, second = await asyncio.gather(*racing)
        assert sorted([first[0].outcome, second[0].outcome]) == ["appended", "moved"]
        assert sorted([first[1].outcome, second[1].outcome]) == ["appended", "duplicate"]


async def test_appending_processes_leave_no_gap(database_url: str) -> None:
    """Several processes append to one database: nothing is lost and there is no gap."""
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.appender", database_url, name, "40", stdout=-1
        )
        for name in ("one", "two", "three")
    ]
    printed = [(await process.communicate())[0] for process in processes]
    store = open_store(database_url)
    events = await whole_log(store)
    await store.close()
    assert broken_links(events) == []
    assert sorted(int(line) for lines in printed for line in lines.split()) == list(range(2, 241, 2))


async def test_events_cannot_be_changed_or_removed(database_url: str) -> None:
    """The database itself refuses UPDATE, DELETE, TRUNCATE and replacing, to whoever asks."""
    store = open_store(database_url)
    await store.append([sample("c1"), sample("c2")])
    before = await whole_log(store)
    engine = make_engine(database_url)
    statements = ["UPDATE events SET data = '{}'", "DELETE FROM events", "DELETE FROM events WHERE position = 99"]
    if engine.dialect.name == "sqlite":
        same = ", ".join("'x'" if column == "data" else column for column in tables.EVENT_COLUMNS)
        statements[2] = f"INSERT OR REPLACE INTO events SELECT {same} FROM events WHERE position = 1"  # noqa: S608 -- names of columns
    else:
        statements.append("TRUNCATE events")
    for statement in statements:
        with pytest.raises(DBAPIError, match="append-only"):
            async with engine.begin() as connection:
                await connection.execute(text(statement))
    await engine.dispose()
    assert await whole_log(store) == before
    await store.close()


async def test_time_never_runs_backwards_in_a_database(database_url: str) -> None:
    """When the newest event lies in the future (the clock was set back), the next one is not before it."""
    future = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=1)
    engine = make_engine(database_url)
    store = open_store(database_url)
    async with engine.begin() as connection:
        await connection.execute(insert(tables.events).values(_row_at(future)))
    await engine.dispose()
    (found,) = await store.append([sample("c2")])
    await store.close()
    assert isinstance(found, Appended)
    assert found.events[0].recorded_at == future


async def test_time_never_runs_backwards_in_memory() -> None:
    """The memory store keeps the same promise when its clock is set back."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    times = iter([noon, noon - timedelta(hours=1), noon + timedelta(hours=1)])
    store = MemoryStore(clock=lambda: next(times))
    for number in range(3):
        await store.append([sample(f"c{number}")])
    assert [event.recorded_at for event in store.events] == [noon, noon, noon + timedelta(hours=1)]


async def test_a_closed_store_is_unavailable(database_url: str) -> None:
    """After close nothing works any more, and it says so in our own words."""
    store = open_store(database_url)
    await store.append([sample("c1")])
    await store.close()
    await store.close()
    with pytest.raises(Unavailable):
        await store.append([sample("c2")])
    with pytest.raises(Unavailable):
        await store.head()


def _position(event: StoredEvent) -> int:
    return event.position


def _row_at(moment: datetime) -> dict[str, object]:
    texts = {column: column for column in tables.EVENT_COLUMNS}
    return texts | {"position": 1, "version": 1, "ordinal": 0, "recorded_at": moment}
