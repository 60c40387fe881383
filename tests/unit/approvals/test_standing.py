"""Which grants may speak: the tables are asked only where one might, and none that was given before is missed."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from tests.unit.approvals.making import NOW, TENANT
from toolbus_approvals.adapters.queries import GrantsOfTool
from toolbus_approvals.standing import GIVEN, MAX_TENANTS, StandingGrants
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.errors import Unavailable

HOUR = timedelta(hours=1)
FIRST = "grant_1"


@dataclass(frozen=True)
class Row:
    """A grant in the table."""

    grant_id: str
    tool: str = "refund"
    tenant: str = TENANT
    until: datetime = NOW + HOUR
    uses_left: int = 1
    is_revoked: bool = False
    position: int = 1


@dataclass
class Tables:
    """The read tables of grants in memory, as far as they have come; every question is noted."""

    rows: list[Row] = field(default_factory=list)
    position: int = 0
    asked: list[str] = field(default_factory=list)
    failures: int = 0
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def tools_with_grants(self, tenant: str, now: datetime) -> dict[str, GrantsOfTool]:
        """As SQL would tell."""
        self.asked.append(f"tools of {tenant}")
        self.is_asked.set()
        standing = [row for row in self.rows if row.tenant == tenant and row.until > now and not row.is_revoked]
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise Unavailable("the database is away")
        return {
            tool: GrantsOfTool(
                max(row.until for row in standing if row.tool == tool),
                max(row.uses_left for row in standing if row.tool == tool),
                max(row.position for row in standing if row.tool == tool),
            )
            for tool in {row.tool for row in standing}
        }

    async def standing_grants(self, tenant: str, tool: str, now: datetime, *, since: int | None = None) -> list[str]:
        """As SQL would tell."""
        self.asked.append(f"grants of {tool}")
        return [
            row.grant_id
            for row in self.rows
            if (row.tenant, row.tool) == (tenant, tool)
            and row.until > now
            and not row.is_revoked
            and (row.uses_left > 0 or row.position > (since or 0))
        ]


@dataclass
class Scene:
    """Tables, and a leader that asks them."""

    tables: Tables = field(default_factory=Tables)
    leader: StandingGrants = field(init=False)

    def __post_init__(self) -> None:
        """The leader begins."""
        self.leader = StandingGrants(self.tables, lambda: self.tables.position)

    def give(self, row: Row) -> None:
        """A grant is in the log and in the tables."""
        self.leader.hear([given(row)])
        self.tables.rows.append(row)
        self.tables.position = max(self.tables.position, row.position)

    async def found(self, asked_at: int, tool: str = "refund", *, now: datetime = NOW) -> list[str]:
        """What speaks for a call that was asked for here; the tables have come as far."""
        self.tables.position = max(self.tables.position, asked_at)
        return await self.leader.speaking_for(TENANT, tool, asked_at, now)


def given(row: Row) -> StoredEvent:
    """The event by which it was given."""
    return StoredEvent(
        position=row.position,
        id=f"evt_{row.position}",
        tenant=row.tenant,
        category="grant",
        stream=f"{row.tenant}/grant/{row.grant_id}",
        version=1,
        kind=GIVEN,
        data="{}",
        actor="{}",
        correlation_id=row.grant_id,
        causation_id="cmd_1",
        ordinal=0,
        traceparent=None,
        recorded_at=NOW,
        previous_hash="",
        hash="",
    )


async def test_where_no_grant_is_the_tables_are_asked_once() -> None:
    """However many calls stand still, and those of other tools do not ask either."""
    scene = Scene(Tables([Row(FIRST, tool="other"), Row(FIRST, tenant="umbrella")]))
    for position in range(1, 100):
        assert await scene.found(position) == []
    assert scene.tables.asked == [f"tools of {TENANT}"]


async def test_many_at_once_ask_once() -> None:
    """The first ones of a new leader come in a crowd."""
    scene = Scene()
    assert await asyncio.gather(*(scene.found(position) for position in range(1, 50))) == [[]] * 49
    assert scene.tables.asked == [f"tools of {TENANT}"]


async def test_a_grant_that_was_there_before_the_leader_speaks() -> None:
    """It is found in the tables."""
    assert await Scene(Tables([Row(FIRST)])).found(5) == [FIRST]


async def test_a_grant_that_is_given_afterwards_speaks_for_the_next_call() -> None:
    """What was known before it was given holds no more."""
    scene = Scene()
    assert await scene.found(1) == []
    scene.give(Row(FIRST, position=2))
    assert await scene.found(3) == [FIRST]


async def test_a_grant_of_another_tenant_changes_nothing() -> None:
    """Each is known by itself."""
    scene = Scene()
    assert await scene.found(1) == []
    scene.give(Row(FIRST, tenant="umbrella", position=2))
    assert await scene.found(3) == []
    assert scene.tables.asked == [f"tools of {TENANT}"]


async def test_a_grant_that_was_heard_of_before_the_tables_have_it_is_not_missed() -> None:
    """What the tables told too early is asked again, until they have come that far."""
    scene = Scene()
    scene.leader.hear([given(Row(FIRST, position=4))])
    assert await scene.found(2) == []
    assert await scene.found(3) == []
    scene.tables.rows.append(Row(FIRST, position=4))
    assert await scene.found(5) == [FIRST]


async def test_a_grant_that_was_given_while_the_tables_were_asked_speaks() -> None:
    """The answer is from before, and does not hold for the call behind it."""
    scene = Scene()
    early = asyncio.ensure_future(scene.found(1))
    await scene.tables.is_asked.wait()
    scene.give(Row(FIRST, position=2))
    assert (await early, await scene.found(3)) == ([], [FIRST])


async def test_a_grant_that_is_used_up_costs_one_more_question() -> None:
    """Then it is known that it speaks no more."""
    scene = Scene(Tables([Row(FIRST)]))
    assert await scene.found(2) == [FIRST]
    scene.tables.rows = [replace(Row(FIRST), uses_left=0, position=3)]
    for position in range(4, 10):
        assert await scene.found(position) == []
    tools = f"tools of {TENANT}"
    assert scene.tables.asked == [tools, "grants of refund", "grants of refund", tools]


async def test_a_use_whose_word_was_not_spoken_yet_is_found_again() -> None:
    """The leader before died between both; a call that was asked for behind the use hides it from none before it."""
    scene = Scene(Tables([Row(FIRST, uses_left=0, position=5)]))
    assert await scene.found(7) == []
    assert await scene.found(4) == [FIRST]


@pytest.mark.parametrize("changes", [{"is_revoked": True}, {"until": NOW}])
async def test_what_is_revoked_or_over_does_not_speak(changes: dict[str, object]) -> None:
    """Whether it was so from the beginning, or became so."""
    over = replace(Row(FIRST), **changes)  # type: ignore[arg-type]  # parametrized
    assert await Scene(Tables([over])).found(2) == []
    scene = Scene(Tables([Row(FIRST)]))
    assert await scene.found(2) == [FIRST]
    scene.tables.rows = [over]
    assert await scene.found(3) == []


async def test_time_alone_ends_it_without_a_question() -> None:
    """Its end was known."""
    scene = Scene(Tables([Row(FIRST)]))
    assert await scene.found(2) == [FIRST]
    scene.tables.asked.clear()
    assert await scene.found(3, now=NOW + HOUR) == []
    assert scene.tables.asked == []


async def test_a_database_that_is_away_is_asked_again() -> None:
    """All who waited for the answer are told; nothing is held to be known."""
    scene = Scene(Tables([Row(FIRST)], failures=1))
    told = await asyncio.gather(scene.found(2), scene.found(3), return_exceptions=True)
    assert [type(error) for error in told] == [Unavailable, Unavailable]
    assert await scene.found(4) == [FIRST]


async def test_whoever_is_cancelled_takes_no_other_with_them() -> None:
    """The others get the answer all the same."""
    scene = Scene(Tables([Row(FIRST)]))
    first, second = asyncio.ensure_future(scene.found(2)), asyncio.ensure_future(scene.found(3))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == [FIRST]
    assert first.cancelled()


async def test_of_so_many_tenants_and_no_more_something_is_known() -> None:
    """The one that was asked about longest ago is forgotten."""
    scene = Scene()
    for number in range(MAX_TENANTS + 1):
        await scene.leader.speaking_for(f"t{number}", "refund", 1, NOW)
    scene.tables.asked.clear()
    await scene.leader.speaking_for("t1", "refund", 2, NOW)
    await scene.leader.speaking_for("t0", "refund", 2, NOW)
    assert scene.tables.asked == ["tools of t0"]
