"""When nothing is broken any more: wait until everything stands, and look whether it is shown as it is."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import get_args

import httpx
import orjson

from tests.chaos.evidence import Accepted, Event
from tests.chaos.history import History, histories
from tests.chaos.people import People
from tests.chaos.place import Place
from tests.chaos.standing import loose_ends, wait_histories
from tests.nats_fixtures import until
from toolbus_contracts.calls import CallStatus
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import ToolbusError

PAGE = 500
ORPHANS = "toolbus_orphans"
BUSY_STREAMS = ("COMMANDS", "WORK", "INTERNAL")


class Quiet:
    """
    Follows the log by itself, so it is used only when no fault can take the database from under it.

    Each `until_…` tells whether it came to that within the time.
    """

    def __init__(self, place: Place, people: People) -> None:
        self.events: list[Event] = []
        self.waits: list[Event] = []
        self.shown: dict[str, str] = {}
        self.open_shown: frozenset[str] | None = None
        self.orphans = 0
        self._place = place
        self._people = people
        self._ledger = place.world.ledger
        self._call_of: dict[str, str] = {}

    async def read(self) -> None:
        """What was stored since the last time is among the events of calls, or of waits."""
        known = len(self._ledger.log)
        await self._ledger.refresh()
        for stored in self._ledger.log[known:]:
            if stored.category == "call":
                self.events.append(_event(stored, stored.subject_id))
            elif stored.category == "wait":
                told = orjson.loads(stored.data).get("call_id")
                self.waits.append(_event(stored, self._call_of.setdefault(stored.subject_id, told)))

    async def until_all_stand(self, accepted: Sequence[Accepted], within_s: float) -> bool:
        """Every call, known to a client or not, ended or waits visibly, for somebody who will leave it so."""

        async def all_stand() -> bool:
            await self.read()
            found = histories(self.events)
            return (
                all(one.call_id in found for one in accepted)
                and all(one.stands and self._is_left(one) for one in found.values())
                and not any(loose_ends(found, wait_histories(self.waits)))
            )

        return await _came_true(all_stand, within_s)

    def _is_left(self, history: History) -> bool:
        """Whether nobody will say anything of a call that stands still."""
        if history.status != "waiting":
            return True
        kind = str(history.of("wait_asked")[-1].data["wait_kind"])
        return self._people.has_left(history.call_id, kind)

    async def until_drained(self, within_s: float) -> bool:
        """The bus holds no work and no outcome: no executor can still do something."""

        async def is_drained() -> bool:
            try:
                states = [await self._place.root.stream_state(name) for name in BUSY_STREAMS]
            except ToolbusError:
                return False
            return all(state is not None and state.messages == 0 for state in states)

        return await _came_true(is_drained, within_s)

    async def until_heard(self, pending: Mapping[str, int], within_s: float) -> bool:
        """Everybody who said something was answered."""
        return await _came_true(lambda: not any(pending.values()), within_s)

    async def until_shown(self, accepted: Sequence[Accepted], within_s: float) -> bool:
        """The lists of the product tell of every call and wait what the log tells, and it counts no orphan."""
        clients = await self._place.clients()

        async def is_shown() -> bool:
            await self.read()
            try:
                self.shown = await _listed(clients[0])
                self.open_shown = await _open_waits(clients[0])
                self.orphans = sum([await _orphans(http) for http in clients])
            except httpx.HTTPError:
                return False
            found = histories(self.events)
            is_open = {one.wait_id for one in wait_histories(self.waits).values() if one.closed is None}
            return (
                not self.orphans
                and self.open_shown == is_open
                and all(
                    one.call_id in found and self.shown.get(one.call_id) == found[one.call_id].status
                    for one in accepted
                )
            )

        return await _came_true(is_shown, within_s)


async def _listed(http: httpx.AsyncClient) -> dict[str, str]:
    """Every call's status, by the list in which it is found: a read table answers that, not the call's own stream."""
    found: dict[str, str] = {}
    for status in get_args(CallStatus):
        cursor: str | None = ""
        while cursor is not None:
            query = {"status": status, "limit": PAGE} | ({"cursor": cursor} if cursor else {})
            answer = await http.get("/v1/calls", params=query)
            answer.raise_for_status()
            page = answer.json()
            found |= {call["id"]: status for call in page["items"]}
            cursor = page["next_cursor"]
    return found


async def _open_waits(http: httpx.AsyncClient) -> frozenset[str]:
    """The waits that are shown as open."""
    found: set[str] = set()
    cursor: str | None = ""
    while cursor is not None:
        query: dict[str, str | int] = {"status": "open", "limit": PAGE}
        if cursor:
            query["cursor"] = cursor
        answer = await http.get("/v1/waits", params=query)
        answer.raise_for_status()
        page = answer.json()
        found |= {wait["id"] for wait in page["items"]}
        cursor = page["next_cursor"]
    return frozenset(found)


async def _orphans(http: httpx.AsyncClient) -> int:
    """How many orphans this dispatcher counts."""
    answer = await http.get("/metrics")
    answer.raise_for_status()
    lines = (line.split(" ") for line in answer.text.splitlines())
    return next(int(float(words[1])) for words in lines if words[0] == ORPHANS)


async def _came_true(condition: Callable[[], bool | Awaitable[bool]], within_s: float) -> bool:
    try:
        await until(condition, within_s=within_s)
    except TimeoutError:
        return False
    return True


def _event(stored: StoredEvent, call_id: str) -> Event:
    return Event(stored.position, call_id, stored.kind, stored.recorded_at, orjson.loads(stored.data))
