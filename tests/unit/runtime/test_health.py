"""Health: what every check found, and whether all is well."""

import asyncio

import pytest

from tests.unit.runtime.things import in_virtual_time
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.health import TIMEOUT_S, Check, examine, report

HINT = "is it running and reachable?"


async def fine() -> Check:
    """All is well."""
    return Check("store", ok=True, detail="2 ms")


async def hanging() -> Check:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError("never reached")


@pytest.mark.parametrize(
    ("error", "detail"),
    [(Unavailable("the store is away"), "the store is away"), (OSError("x" * 400), "x" * 300)],
)
async def test_a_check_that_fails_is_not_ok_and_says_why(error: Exception, detail: str) -> None:
    """Its neighbours are asked all the same."""

    async def failing() -> Check:
        raise error

    found = await examine({"bus": failing, "store": fine})
    assert found == [Check("bus", ok=False, detail=detail, hint=HINT), Check("store", ok=True, detail="2 ms")]


async def test_a_fault_in_a_check_is_not_hidden() -> None:
    """It is no outage, and must be seen."""

    async def faulty() -> Check:
        raise ValueError("a fault of ours")

    with pytest.raises(ValueError, match="a fault of ours"):
        await examine({"store": faulty})


def test_a_check_that_does_not_answer_is_not_waited_for() -> None:
    """All are asked at once, and the answer comes in time."""

    async def scenario() -> float:
        found = await examine({"bus": hanging, "store": hanging})
        assert [(check.name, check.ok) for check in found] == [("bus", False), ("store", False)]
        assert found[0].detail == "no answer within 2 s"
        assert found[0].hint == HINT
        return asyncio.get_running_loop().time()

    assert in_virtual_time(scenario()) <= TIMEOUT_S + 0.01


def test_ready_means_that_every_check_is_ok() -> None:
    """The report shows each of them."""
    good, bad = Check("store", ok=True, detail="2 ms"), Check("bus", ok=False, detail="away", hint="look")
    assert report([good])["ready"] is True
    assert report([good, bad]) == {
        "ready": False,
        "checks": [
            {"name": "store", "ok": True, "detail": "2 ms", "hint": ""},
            {"name": "bus", "ok": False, "detail": "away", "hint": "look"},
        ],
    }
