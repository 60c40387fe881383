"""Reading a stream backward: nothing is left out, nothing comes twice, and it costs about what is shown."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbus_runtime.bus.backward import PAGE_BYTES, WINDOW_BYTES, Backward
from toolbus_runtime.bus.lookups import Lookups
from toolbus_runtime.bus.replies import Reply

NOBODY = {"error": {"code": 404, "err_code": 10037, "description": "no message found"}}


@dataclass
class Stream(Lookups):
    """A stream in memory: its messages by sequence, each with its subject and how large it is."""

    messages: dict[int, tuple[str, int]] = field(default_factory=dict)
    asked: int = 0
    read_bytes: int = 0

    async def request(
        self, subject: str, data: bytes, *, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """What JetStream answers to MSG.GET."""
        assert (subject, headers) == ("$JS.API.STREAM.MSG.GET.DEAD", None)
        assert timeout_s > 0
        query = orjson.loads(data)
        found = sorted(self._wanted(query), reverse="last_by_subj" in query)
        self.asked += 1
        return Reply(orjson.dumps(self._told(found[0]) if found else NOBODY), {})

    def _wanted(self, query: Mapping[str, Any]) -> list[int]:
        pattern = query.get("last_by_subj") or query["next_by_subj"]
        first = query.get("seq", 0)
        return [one for one, (subject, _) in self.messages.items() if one >= first and fnmatchcase(subject, pattern)]

    def _told(self, sequence: int) -> dict[str, Any]:
        subject, size = self.messages[sequence]
        self.read_bytes += size
        data = base64.b64encode(bytes(size)).decode()
        message = {"subject": subject, "seq": sequence, "data": data, "time": "2026-01-02T00:00:00Z"}
        return {"message": message}


def stream(owners: Sequence[str], size: int = 1) -> Stream:
    """A stream in which the message at each sequence belongs to this owner; an empty name is a deleted message."""
    return Stream({n: (f"dead.{owner}.x", size) for n, owner in enumerate(owners, 1) if owner})


async def pages(found: Stream, owner: str, limit: int) -> list[tuple[int, ...]]:
    """Every page of an owner's messages, as sequences."""
    backward = Backward(found, "DEAD", f"dead.{owner}.*", lambda message: message.sequence)
    page = await backward.read(limit)
    read = [page.items]
    while page.before is not None:
        page = await backward.read(limit, page.before)
        read.append(page.items)
    return read


@given(owners=st.lists(st.sampled_from(["", "a", "b", "c"]), max_size=60), limit=st.integers(1, 7))
def test_every_message_comes_once_and_the_newest_first(owners: list[str], limit: int) -> None:
    """Whoever else has messages there and whatever was deleted: the pages hold exactly one's own, in order."""
    for owner in ("a", "b"):
        read = asyncio.run(pages(stream(owners), owner, limit))
        assert [one for page in read for one in page] == [
            n for n in range(len(owners), 0, -1) if owners[n - 1] == owner
        ]
        assert all(0 < len(page) <= limit for page in read if len(read) > 1)
        assert len(read) <= max(1, -(-sum(map(len, read)) // limit))


@pytest.mark.parametrize(
    ("owners", "limit", "at_most"),
    [
        (["a"] * 5000, 50, 60),  # only one's own
        (["a", "b", "c"] * 1000, 50, 110),  # a third is one's own
        (["a"] * 5 + ["b"] * 5000, 50, 15),  # far away
        (["a"] * 2000 + [""] * 2000 + ["a"], 50, 500),  # a crowd behind a gap: a few windows are read in vain
        (["b"] * 100 + ["a"] + ["b"] * 5000, 1, 15),  # one alone
    ],
    ids=["alone", "mixed", "far", "crowd", "single"],
)
async def test_a_page_costs_about_what_it_shows(owners: list[str], limit: int, at_most: int) -> None:
    """However long the stream is."""
    found = stream(owners)
    page = await Backward(found, "DEAD", "dead.a.*", lambda message: message.sequence).read(limit)
    assert page.items == tuple([n for n, owner in enumerate(owners, 1) if owner == "a"][: -limit - 1 : -1])
    assert found.asked <= at_most


async def test_large_messages_make_short_pages() -> None:
    """A page ends at its bound of bytes, no window reads more than its own, and the next page goes on."""
    found = stream(["a", "b"] * 100, 1024 * 1024)
    backward = Backward(found, "DEAD", "dead.a.*", lambda message: message.sequence)
    page = await backward.read(500)
    assert PAGE_BYTES <= len(page.items) * 1024 * 1024 <= PAGE_BYTES + WINDOW_BYTES
    assert page.before == page.items[-1]
    assert found.read_bytes <= 3 * PAGE_BYTES
    following = await backward.read(500, page.before)
    assert following.items[0] == page.before - 2


async def test_a_message_over_every_bound_is_still_read() -> None:
    """Alone on its page."""
    assert await pages(stream(["a", "a"], PAGE_BYTES + 1), "a", 50) == [(2,), (1,)]


async def test_nothing_is_an_empty_page() -> None:
    """Of a subject without messages, of an empty stream, and before the first message."""
    backward = Backward(stream(["b", "a"]), "DEAD", "dead.a.*", lambda message: message.sequence)
    assert await backward.read(5, 2) == ((), None)
    assert await backward.read(5, 0) == ((), None)
    assert await pages(stream(["b"]), "a", 5) == [()]
    assert await pages(stream([]), "a", 5) == [()]
