"""What every event store promises about reading, payloads, leases and checkpoints: memory, SQLite and PostgreSQL."""

from datetime import UTC, timedelta

from tests.nats_fixtures import until
from tests.store_samples import sample
from toolbus_runtime.store.port import Checkpoint, EventStore


async def test_many_streams_load_at_once_each_from_its_own_version(store: EventStore) -> None:
    """Every stream asked for is answered, in version order, after the version given; unknown ones are empty."""
    await store.append([sample("c1", "a.v1"), sample("c2", "a.v1", "b.v1"), sample("c3")])
    await store.append([sample("c1", "b.v1", "c.v1", version=1), sample("c2", "c.v1", version=2)])
    wanted = {"acme/call/c1": 0, "acme/call/c2": 2, "acme/call/c3": 1, "acme/call/c4": 0}
    found = await store.load(wanted)
    assert {stream: [event.kind for event in events] for stream, events in found.items()} == {
        "acme/call/c1": ["a.v1", "b.v1", "c.v1"],
        "acme/call/c2": ["c.v1"],
        "acme/call/c3": [],
        "acme/call/c4": [],
    }
    assert await store.load({}) == {}


async def test_read_narrows_by_what_is_given(store: EventStore) -> None:
    """Tenant, categories, kinds, correlation and stream each narrow, together too, always in position order."""
    for number in range(3):
        await store.append(
            [
                sample(f"c{number}", "call.a.v1", "call.b.v1"),
                sample(f"w{number}", "wait.a.v1", category="wait", correlation="exec_2"),
                sample(f"g{number}", "call.a.v1", tenant="globex", correlation=f"exec_{number}"),
                sample(f"t{number}", "tool.a.v1", category="tool"),
            ]
        )

    async def positions(**narrowed: object) -> list[int]:
        return [event.position for event in await store.read(**narrowed)]  # type: ignore[arg-type]

    assert await positions() == list(range(1, 16))
    assert await positions(after=13) == [14, 15]
    assert await positions(after=15) == []
    assert await positions(after=3, limit=2) == [4, 5]
    assert await positions(tenant="globex") == [4, 9, 14]
    assert await positions(categories=["wait"]) == [3, 8, 13]
    assert await positions(categories=["tool", "wait", "none"]) == [3, 5, 8, 10, 13, 15]
    assert await positions(categories=["tool", "wait", "wait"], after=3, limit=2) == [5, 8]
    assert await positions(categories=["call", "tool"], tenant="globex", after=4) == [9, 14]
    assert await positions(kinds=["call.b.v1", "tool.a.v1"], limit=3) == [2, 5, 7]
    assert await positions(categories=["call", "wait"], kinds=["call.b.v1", "wait.a.v1"]) == [2, 3, 7, 8, 12, 13]
    assert await positions(correlation_id="exec_2") == [3, 8, 13, 14]
    assert await positions(correlation_id="exec_2", tenant="acme", categories=["wait", "call"]) == [3, 8, 13]
    assert await positions(stream="acme/call/c1", kinds=["call.b.v1"]) == [7]
    assert await positions(stream="globex/call/g1", tenant="acme") == []


async def test_payloads_belong_to_a_tenant(store: EventStore) -> None:
    """A tenant finds its own large values and nobody else's; the first body under a digest stays."""
    body = bytes(range(256)) * 4096
    await store.put_payloads("acme", {"sha256:1": body, "sha256:2": b""})
    await store.put_payloads("acme", {"sha256:1": b"other", "sha256:3": b"new"})
    await store.put_payloads("acme", {})
    assert await store.get_payload("acme", "sha256:1") == body
    assert await store.get_payload("acme", "sha256:2") == b""
    assert await store.get_payload("acme", "sha256:3") == b"new"
    assert await store.get_payload("globex", "sha256:1") is None
    await store.put_payloads("globex", {"sha256:1": b"mine"})
    assert await store.get_payload("acme", "sha256:1") == body
    assert await store.get_payload("globex", "sha256:1") == b"mine"


async def test_a_lease_has_one_holder(store: EventStore) -> None:
    """The holder renews, others wait until it is given back; leases of other names are free."""
    assert await store.hold_lease("relay", "one", 60)
    assert await store.hold_lease("relay", "one", 60)
    assert not await store.hold_lease("relay", "two", 60)
    assert await store.hold_lease("sweeper", "two", 60)
    await store.release_lease("relay", "two")
    assert not await store.hold_lease("relay", "two", 60)
    await store.release_lease("relay", "one")
    assert await store.hold_lease("relay", "two", 60)


async def test_a_lease_that_ran_out_is_taken_by_another(store: EventStore) -> None:
    """After its time the lease goes to whoever asks, and the first holder has to wait in turn."""
    assert await store.hold_lease("relay", "one", 0.05)
    await until(lambda: store.hold_lease("relay", "two", 60))
    assert not await store.hold_lease("relay", "one", 60)


async def test_a_lease_from_a_clock_that_was_set_back_holds_nobody_up(store: EventStore) -> None:
    """It lies further ahead than a lease can: whoever asks takes it, as if it had run out."""
    assert await store.hold_lease("relay", "one", 86400)  # what a clock a day ahead would have written
    assert await store.hold_lease("relay", "two", 3)
    assert not await store.hold_lease("relay", "one", 3)


async def test_a_checkpoint_is_kept_and_moved_either_way(store: EventStore) -> None:
    """A new reader begins at 0; position and note are kept as given, backwards too (a relay that re-feeds)."""
    assert await store.load_checkpoint("p") == Checkpoint(0)
    for kept in (Checkpoint(7, '{"é": 1}'), Checkpoint(9), Checkpoint(3, '{"again":true}')):
        assert await store.save_checkpoint("p", kept)
        assert await store.load_checkpoint("p") == kept
    assert await store.load_checkpoint("q") == Checkpoint(0)


async def test_a_checkpoint_is_fenced_by_its_lease(store: EventStore) -> None:
    """A reader whose lease went to another, ran out, or was given back cannot overwrite the place."""
    assert not await store.save_checkpoint("p", Checkpoint(1), lease=("relay", "one"))
    await store.hold_lease("relay", "one", 0.05)
    await until(lambda: store.hold_lease("relay", "two", 60))
    assert await store.save_checkpoint("p", Checkpoint(5), lease=("relay", "two"))
    assert not await store.save_checkpoint("p", Checkpoint(4), lease=("relay", "one"))
    assert await store.load_checkpoint("p") == Checkpoint(5)
    await store.release_lease("relay", "two")
    assert not await store.save_checkpoint("p", Checkpoint(6), lease=("relay", "two"))
    assert await store.load_checkpoint("p") == Checkpoint(5)


async def test_a_lease_that_ran_out_fences_although_nobody_took_it(store: EventStore) -> None:
    """Holding means now: a paused reader may not save on a lease whose time is over."""
    await store.hold_lease("relay", "one", 0.05)
    number = 0

    async def is_fenced() -> bool:
        nonlocal number
        number += 1
        return not await store.save_checkpoint("p", Checkpoint(number), lease=("relay", "one"))

    await until(is_fenced)
    assert await store.load_checkpoint("p") == Checkpoint(number - 1)


async def test_the_clock_is_aware_and_utc(store: EventStore) -> None:
    """The database's clock tells UTC and does not stand still."""
    first = await store.now()
    assert first.utcoffset() == timedelta(0)
    assert first.tzinfo is not None
    assert first.astimezone(UTC) <= await store.now()
