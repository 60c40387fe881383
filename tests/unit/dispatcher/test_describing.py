"""Whoever runs providers and servers is asked what a tool takes."""

from typing import Any, cast

import pytest

from tests.unit.dispatcher.describers import Bus
from toolbus_contracts.errors import Fault, Refused, Unavailable
from toolbus_contracts.tools import Surface, ToolDefinition
from toolbus_dispatcher.describing import KEPT_S, MAX_KEPT, Describing

SEARCH = ToolDefinition.model_validate({"name": "search", "integration": {"provider": "wikipedia"}})
PAY = ToolDefinition.model_validate({"name": "pay", "api_call": {"method": "GET", "url": "https://x.example"}})
SURFACE = Surface(description="Searches.", arguments={"type": "object"}, version="1")


class Clock:
    """A clock that stands still until it is set."""

    now_s = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now_s


def describing(bus: Bus, clock: Clock | None = None) -> Describing:
    """It asks on this bus."""
    return Describing(cast("Any", bus), clock or Clock())


def known() -> Bus:
    """A bus on which the tool is known."""
    return Bus(surface=SURFACE.model_dump(mode="json"))


async def test_a_tool_that_is_defined_is_asked_for_each_time() -> None:
    """What is stored with a version must be how it is now; other types are nobody's to describe."""
    bus = known()
    asked = describing(bus)
    assert await asked.surface("acme", SEARCH) == await asked.surface("acme", SEARCH) == SURFACE
    assert await asked.surface("acme", PAY) is None
    assert [(one["tenant"], one["definition"]["integration"]) for one in bus.asked] == [
        ("acme", {"provider": "wikipedia"})
    ] * 2


async def test_what_calls_bring_along_is_remembered_for_a_while() -> None:
    """By tenant and section: a server of one tenant is not another's."""
    bus, clock = known(), Clock()
    asked = describing(bus, clock)
    for tenant in ("acme", "acme", "other"):
        assert await asked.of_call(tenant, SEARCH) == SURFACE
    assert len(bus.asked) == 2
    clock.now_s = KEPT_S
    assert await asked.of_call("acme", SEARCH) == SURFACE
    assert len(bus.asked) == 3
    assert await asked.of_call("acme", PAY) is None


async def test_no_more_is_remembered_than_a_bound() -> None:
    """The oldest gives way: whoever sends ever new definitions fills no memory."""
    bus = known()
    asked = describing(bus)
    for number in range(MAX_KEPT + 1):
        await asked.of_call(f"t{number}", SEARCH)
    await asked.of_call("t1", SEARCH)
    assert len(bus.asked) == MAX_KEPT + 1
    await asked.of_call("t0", SEARCH)
    assert len(bus.asked) == MAX_KEPT + 2


async def test_an_unknown_tool_is_an_invalid_definition() -> None:
    """Told with the path; of a call it becomes the refusal of that call, and is not remembered."""
    fault = {"path": "/integration/provider", "message": "there is no provider wikipedia"}
    bus = Bus(status=404, problem={"code": "not_found", "detail": "no such provider", "errors": [fault]})
    asked = describing(bus)
    with pytest.raises(Refused, match="no such provider") as caught:
        await asked.surface("acme", SEARCH)
    assert (caught.value.code, caught.value.faults) == ("invalid_definition", (Fault(**fault),))
    for _ in range(2):
        found = await asked.of_call("acme", SEARCH)
        assert isinstance(found, Refused)
    assert len(bus.asked) == 3


@pytest.mark.parametrize(
    "bus",
    [
        Bus(),
        Bus(status=503, problem={"code": "unavailable", "detail": "the host starts"}, retry_after_s=7.0),
        Bus(status=500, problem={"code": "no_such_code", "detail": "?"}),
        Bus(surface={"arguments": 5}),
        Bus(problem=[]),
    ],
)
async def test_without_an_answer_that_can_be_read_it_may_be_asked_again(bus: Bus) -> None:
    """Nothing was stored."""
    for ask in (describing(bus).surface, describing(bus).of_call):
        with pytest.raises(Unavailable) as caught:
            await ask("acme", SEARCH)
        assert caught.value.retry_after_s == bus.answer.get("retry_after_s", 1.0)
