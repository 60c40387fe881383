"""The log as these tests read it: what was recorded of each call, and when."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from tests.nats_fixtures import until
from toolbus_contracts.calls import TERMINAL_KINDS
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store.database import open_store
from toolbus_runtime.store.verify import verify


class Ledger:
    """Follows the store by position, over a connection of its own."""

    def __init__(self, database_url: str) -> None:
        self.store = open_store(database_url)
        self.events: dict[str, list[StoredEvent]] = defaultdict(list)  # by call id
        self.log: list[StoredEvent] = []

    @property
    def position(self) -> int:
        """How far it has read."""
        return self.log[-1].position if self.log else 0

    def kinds(self, call_id: str) -> list[str]:
        """The kinds of a call's events, in order, without `call.` and version."""
        return [event.kind.split(".")[1] for event in self.events[call_id]]

    def end_of(self, call_id: str) -> str | None:
        """How the call ended; None while it is open."""
        ends = [event.kind for event in self.events[call_id] if event.kind in TERMINAL_KINDS]
        assert len(ends) <= 1, f"{call_id} ended {len(ends)} times"
        return ends[0].split(".")[1] if ends else None

    def open_at(self, moment: datetime) -> int:
        """How many calls were open then, by the times of the log."""
        begun = ended = 0
        for event in self.log:
            if event.category == "call" and event.recorded_at <= moment:
                begun += event.kind == "call.requested.v1"
                ended += event.kind in TERMINAL_KINDS
        return begun - ended

    async def refresh(self) -> None:
        """Read what is new; nothing when the store is away."""
        try:
            while found := await self.store.read(after=self.position, limit=2000):
                self.log += found
                for event in found:
                    if event.category == "call":
                        self.events[event.subject_id].append(event)
        except Unavailable:
            pass

    async def until_ended(self, call_ids: Iterable[str], *, within_s: float = 45.0) -> None:
        """Wait until each of these calls has ended."""
        wanted = set(call_ids)

        async def are_ended() -> bool:
            await self.refresh()
            wanted.difference_update([call_id for call_id in wanted if self.end_of(call_id) is not None])
            return not wanted

        try:
            await until(are_ended, within_s=within_s)
        except TimeoutError:
            some = {call_id: self.kinds(call_id) for call_id in sorted(wanted)[:5]}
            raise AssertionError(f"{len(wanted)} calls never ended, among them {some}") from None

    async def until_kind(self, call_id: str, kind: str, *, within_s: float = 30.0) -> None:
        """Wait until the call has an event of this kind."""

        async def is_there() -> bool:
            await self.refresh()
            return kind in self.kinds(call_id)

        try:
            await until(is_there, within_s=within_s)
        except TimeoutError:
            raise AssertionError(f"{call_id} has {self.kinds(call_id)} and never {kind}") from None

    async def assert_whole(self) -> None:
        """Positions are gapless and every hash chain holds."""
        found = await verify(self.store)
        assert found.fault is None, found.fault
