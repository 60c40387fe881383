"""What changes between the yes and the effect: nothing is sent, and the call says that its approval is void."""

from functools import partial
from typing import Any

import pytest

from tests.e2e.people import DANGEROUS, People
from tests.nats_fixtures import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
CHANGES: dict[str, dict[str, Any]] = {
    "url": {"path": "/items/{name}"},
    "header": {"headers": {"x-account": "another"}},
    "method": {"method": "PUT"},
}


async def define(
    people: People,
    tool: str,
    *,
    path: str = "/hang/{name}",
    method: str = "POST",
    headers: dict[str, str] | None = None,
) -> None:
    """A dangerous tool, one call at a time, whose target answers when the test says so."""
    section: dict[str, Any] = {
        "method": method,
        "url": people.world.target.url + path,
        "headers": headers or {"x-account": "first"},
        "params_schema": SCHEMA,
    }
    body = {"name": tool, "api_call": section, **DANGEROUS, "approval": {}, "limits": {"concurrency": 1}}
    answer = await people.world.http.put(f"/v1/tools/{tool}", json=body)
    assert answer.is_success, answer.text


def reached(people: People, name: str) -> int:
    """How many requests about this name came to the target, whichever way."""
    return sum(count for place, count in people.world.target.counts.items() if place.endswith(f"/{name}"))


def has_reached(people: People, name: str) -> bool:
    """Whether a request about this name came to the target."""
    return reached(people, name) > 0


async def test_a_change_after_the_yes_voids_it(people: People) -> None:
    """Approved calls that are held until others have ended are compared with what their tools are by then."""
    ana = await people.person("user:ana")
    first, held = {}, {}
    for what in CHANGES:
        await define(people, f"changing_{what}")
        first[what] = await people.standing(f"changing_{what}", f"{what}-first")
        held[what] = await people.standing(f"changing_{what}", f"{what}-held")
    for what, change in CHANGES.items():
        assert (await ana.approves(first[what]["wait"])).is_success
        await until(partial(has_reached, people, f"{what}-first"))
        assert (await ana.approves(held[what]["wait"])).is_success
        await people.until_closed(ana, held[what]["wait"]["id"])
        await define(people, f"changing_{what}", **change)
    people.world.target.release_hanging()
    for what in CHANGES:
        ended = await people.ended(held[what])
        assert (ended["status"], ended["error"]["code"]) == ("refused", "approval_void"), what
        assert ended["error"]["effect_happened"] == "no"
        assert people.world.ledger.kinds(held[what]["id"])[-1] == "approval_voided"
        assert (await people.ended(first[what]))["status"] == "succeeded"
        assert (reached(people, f"{what}-first"), reached(people, f"{what}-held")) == (1, 0)
