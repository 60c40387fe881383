"""Server-sent events: the past by its own index, the present by the feed, and no longer than the key opens."""

from collections.abc import AsyncIterator
from typing import Any

from tests.unit.runtime.things import Counted, Store, in_virtual_time
from toolbus_runtime.feed import Feed
from toolbus_runtime.http.sse import KEEP_ALIVE_S, PAGE, Wanted, event_stream
from toolbus_runtime.store.port import Append, NewEvent


class Log(Store):
    """A store that tells which events it was made to read."""

    def __init__(self) -> None:
        super().__init__()
        self.touched = 0

    async def add(self, correlation_id: str, tenant: str = "acme", times: int = 1) -> None:
        """So many events are recorded, each in a stream of its own."""
        for _ in range(times):
            place = len(self.events) + 1
            event = NewEvent("thing.counted.v1", Counted().model_dump_json())
            await self.append(
                [Append(tenant, "thing", f"{tenant}/thing/{place}", 0, (event,), f"c{place}", correlation_id, "{}")]
            )

    async def read(self, **asked: Any) -> Any:
        """Read, and count."""
        found = await super().read(**asked)
        self.touched += len(found)
        return found


class Key:
    """A key that may be revoked."""

    is_valid = True

    async def still(self) -> bool:
        """Whether it still opens anything."""
        return self.is_valid


def told(log: Log, feed: Feed, key: Key, after: int = 0) -> AsyncIterator[bytes]:
    """What a client hears of acme's execution `mine`."""
    lines: Any = event_stream(feed, log, after, Wanted("acme", "mine"), may_go_on=key.still).body_iterator
    found: AsyncIterator[bytes] = lines
    return found


async def ids(lines: AsyncIterator[bytes], count: int) -> list[int]:
    """The ids of the next events."""
    return [int((await anext(lines)).split(b"\n")[0].removeprefix(b"id: ")) for _ in range(count)]


def test_the_past_is_read_without_walking_through_the_log_of_everybody() -> None:
    """However long the log is, what is read of it is what is told; the present follows without a gap."""

    async def scenario() -> None:
        log = Log()
        await log.add("mine", times=PAGE + 1)
        await log.add("theirs", times=50)
        await log.add("mine", tenant="other", times=50)
        feed = Feed(log)
        lines = told(log, feed, Key())
        assert await anext(lines) == b"retry: 500\n\n"
        assert await ids(lines, PAGE + 1) == list(range(1, PAGE + 2))
        assert log.touched == PAGE + 1
        await log.add("mine")
        feed.offer(log.events[-1:])
        assert await ids(lines, 1) == [PAGE + 102]

    in_virtual_time(scenario())


def test_a_stream_ends_with_its_key() -> None:
    """A key that is revoked meanwhile opens nothing more: neither the next event nor the next sign of life."""

    async def scenario() -> None:
        log, key = Log(), Key()
        await log.add("mine")
        feed = Feed(log)
        lines, silent = told(log, feed, key), told(log, feed, key, after=1)
        assert await anext(silent) == b"retry: 500\n\n"
        assert await anext(silent) == b": still here\n\n"
        assert await anext(lines) == b"retry: 500\n\n"
        assert await ids(lines, 1) == [1]
        key.is_valid = False
        await log.add("mine")
        feed.offer(log.events[-1:])
        assert [line async for line in lines] == []
        assert [line async for line in silent] == []

    in_virtual_time(scenario())


def test_a_silent_stream_shows_that_it_lives() -> None:
    """A comment every quarter of a minute keeps the connection, whatever stands between."""

    async def scenario() -> None:
        log = Log()
        lines = told(log, Feed(log), Key())
        assert await anext(lines) == b"retry: 500\n\n"
        assert [await anext(lines) for _ in range(2)] == [b": still here\n\n"] * 2
        assert KEEP_ALIVE_S < 30  # what common proxies wait

    in_virtual_time(scenario())


def test_a_stream_ends_when_the_store_is_away() -> None:
    """The client comes back with the last id that it saw."""

    async def scenario() -> None:
        log = Log()
        log.is_away = True
        assert [line async for line in told(log, Feed(log), Key())] == [b"retry: 500\n\n"]

    in_virtual_time(scenario())
