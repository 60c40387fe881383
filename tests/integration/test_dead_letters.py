"""One tenant's dead letters, read out of a stream that holds everybody's."""

import random
from collections.abc import Sequence

import pytest

from toolbus_contracts import subjects
from toolbus_contracts.errors import NotFound
from toolbus_dispatcher.adapters.dead_letters import DeadLetters, delivery_of
from toolbus_dispatcher.core.dead import Letter
from toolbus_runtime.bus import epitaph
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery, Place
from toolbus_runtime.bus.listening import Incoming

TENANTS = ("acme", "other", "acme-2")
REASONS = ("invalid_json", "too_many_deliveries")
CREATED = "2026-01-02T03:04:05.123456789Z"


async def lay(bus: Bus, tenant: str, reason: str = "invalid_json", body: bytes = b"{") -> int:
    """A command of the tenant is buried; where."""
    message = Incoming(subjects.command(tenant, "submit"), body, {"traceparent": "00-1-2-01"}, "")
    died = Delivery(message, Place("COMMANDS", 2, 7, 1, 1_000_000_001), CREATED)
    return (await bus.publish(subjects.dead(tenant, reason), body, epitaph.write(died, ValueError("a fault")))).sequence


async def listed(letters: DeadLetters, tenant: str, limit: int, reason: str | None = None) -> list[Letter]:
    """Every letter of a tenant, page by page."""
    found: list[Letter] = []
    before: int | None = None
    while True:
        page = await letters.page(tenant, reason, before=before, limit=limit)
        assert len(page.items) == limit or page.before is None
        found += page.items
        before = page.before
        if before is None:
            return found


async def test_every_tenant_pages_through_its_own(dispatcher_bus: Bus) -> None:
    """Three tenants' letters lie in any order, many are gone: each sees its own once, the newest first, by reason."""
    draw = random.Random(7)
    laid: dict[int, tuple[str, str]] = {}
    for _ in range(300):
        tenant, reason = draw.choices(TENANTS, (1, 10, 3))[0], draw.choice(REASONS)
        laid[await lay(dispatcher_bus, tenant, reason)] = (tenant, reason)
    for sequence in (*draw.sample(sorted(laid), 150), max(laid), min(laid)):
        await dispatcher_bus.delete_message("DEAD", sequence)
        laid.pop(sequence, None)
    letters = DeadLetters(dispatcher_bus)
    for tenant in TENANTS:
        own = {sequence: reason for sequence, (owner, reason) in laid.items() if owner == tenant}
        for limit in (1, 7, 500):
            found = await listed(letters, tenant, limit)
            assert [letter.sequence for letter in found] == sorted(own, reverse=True)
            assert {(letter.tenant, letter.data, letter.size) for letter in found} == {(tenant, b"", 1)}
        assert await letters.counts(tenant) == {reason: sum(r == reason for r in own.values()) for reason in REASONS}
        only = await listed(letters, tenant, 5, REASONS[0])
        assert [letter.sequence for letter in only] == [s for s in sorted(own, reverse=True) if own[s] == REASONS[0]]


async def test_letters_that_come_in_move_no_page(dispatcher_bus: Bus) -> None:
    """The next page goes on where the last one ended."""
    letters = DeadLetters(dispatcher_bus)
    for _ in range(4):
        await lay(dispatcher_bus, "acme")
    first = await letters.page("acme", None, before=None, limit=2)
    await lay(dispatcher_bus, "acme")
    second = await letters.page("acme", None, before=first.before, limit=2)
    assert [letter.sequence for letter in (*first.items, *second.items)] == [4, 3, 2, 1]
    assert second.before is None


async def test_a_letter_is_opened_with_all_that_is_known(dispatcher_bus: Bus) -> None:
    """Its body, its origin, and the delivery that it was."""
    sequence = await lay(dispatcher_bus, "acme", body=b'{"tool": "refund"}')
    letter = await DeadLetters(dispatcher_bus).find("acme", f"dead_{sequence}")
    assert (letter.id, letter.reason, letter.data) == (f"dead_{sequence}", "invalid_json", b'{"tool": "refund"}')
    assert (letter.error, letter.size) == ("ValueError: a fault", 18)
    again = delivery_of(letter)
    assert (again.subject, again.stream, again.stream_created) == ("toolbus.cmd.acme.call.submit", "COMMANDS", CREATED)
    assert (again.sequence, again.stored_ns, again.num_delivered) == (7, 1_000_000_001, 2)
    assert (again.headers, again.data) == ({"traceparent": "00-1-2-01"}, letter.data)


@pytest.mark.parametrize("owner", ["other", "acme-2", "acm"])
async def test_another_tenants_letter_is_not_there(dispatcher_bus: Bus, owner: str) -> None:
    """Ids are places in one stream: whose letter lies there is looked at."""
    letter_id = f"dead_{await lay(dispatcher_bus, 'acme')}"
    letters = DeadLetters(dispatcher_bus)
    assert (await letters.find("acme", letter_id)).tenant == "acme"
    with pytest.raises(NotFound):
        await letters.find(owner, letter_id)


NO_IDS: Sequence[str] = (
    "",
    "dead_",
    "dead_0",
    "dead_01",
    "dead_-1",
    "dead_1.5",
    "1",
    "call_1",
    "dead_²",
    "dead_" + "9" * 30,
)


@pytest.mark.parametrize("letter_id", [*NO_IDS, "dead_2", "dead_999999999999999999"])
async def test_what_is_no_letter_is_not_found(dispatcher_bus: Bus, letter_id: str) -> None:
    """Whatever stands in its place."""
    await lay(dispatcher_bus, "acme")
    with pytest.raises(NotFound):
        await DeadLetters(dispatcher_bus).find("acme", letter_id)


async def test_a_note_is_shown_and_is_no_message(dispatcher_bus: Bus) -> None:
    """What the relay lays down about an event that the bus did not take."""
    subject = subjects.dead("acme", "refused_by_bus")
    ack = await dispatcher_bus.publish(subject, b'{"position": 7}', {"Toolbus-Error": "too large"})
    letter = await DeadLetters(dispatcher_bus).find("acme", f"dead_{ack.sequence}")
    assert (letter.reason, letter.error, letter.origin) == ("refused_by_bus", "too large", None)
    with pytest.raises(ValueError, match="no message"):
        delivery_of(letter)
