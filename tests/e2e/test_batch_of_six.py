"""One batch of a model: calls of all kinds, each of which waits alone and is answered exactly once."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e import functions
from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.nats_fixtures import until
from toolbus_contracts.calls import TERMINAL_KINDS

NAMES = ("approval", "function", "input", "plain", "refused", "expiring")


@pytest.fixture
async def here(nursery: Nursery, tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """An installation on each database, with a tool of each kind."""
    async with world(nursery, tmp_path, database_url, "dispatcher", "api_caller", "approvals") as made:
        await made.until_ready("approvals")
        await functions.define(made, "function")
        await functions.define(made, "expiring", expires_s=1.5)
        await made.define("plain")
        await made.define("refused")
        await made.define("approval", "POST", approval={"approvers": ["user:bo"]})
        await made.define("input", ask_user={"fields": {"reason": {"type": "string"}}})
        yield made


async def batch(here: World) -> dict[str, str]:
    """The ids of the six calls, by name; the one that is refused has an id on the record too."""
    calls = [
        {
            "tool": name,
            "arguments": {} if name == "refused" else {"name": name},
            "external_id": f"toolu_{name}",
            "idempotency_key": f"batch-{name}",
        }
        for name in NAMES
    ]
    items = (await here.http.post("/v1/calls/batch", json={"calls": calls})).json()["items"]
    assert [item["status"] for item in items] == [202, 202, 202, 202, 422, 202]
    return {
        name: item["call"]["id"] if "call" in item else item["problem"]["call_id"]
        for name, item in zip(NAMES, items, strict=True)
    }


async def wait_of(http: httpx.AsyncClient, call_id: str) -> dict[str, Any]:
    """The open wait of a call, once it is there."""
    found: list[dict[str, Any]] = []

    async def is_there() -> bool:
        items = (await http.get("/v1/waits", params={"status": "open"})).json()["items"]
        found.extend(item for item in items if item["call_id"] == call_id)
        return bool(found)

    await until(is_there)
    return found[0]


@pytest.mark.timeout(120)
async def test_a_batch_of_six_is_answered_exactly_once_per_call(here: World) -> None:
    """Whoever waits hinders no other; finished ones keep their results; each call id has one end."""
    ids = await batch(here)
    desk = await functions.desk(here)
    await here.ledger.until_ended([ids["plain"], ids["refused"], ids["expiring"]])
    for name, status in (("approval", "waiting"), ("function", "waiting"), ("input", "waiting")):
        assert (await here.call(ids[name]))["status"] == status
    assert here.target.counts == {"GET /items/plain": 1}  # nothing reached it that waits
    early = {name: await here.call(ids[name]) for name in ("plain", "refused", "expiring")}

    boss = await functions.limited(here, subject="user:bo", scopes=["approve", "read"])
    wait = await wait_of(desk, ids["approval"])
    approved = await boss.post(f"/v1/waits/{wait['id']}/approve", json={"digest": wait["digest"]})
    assert approved.is_success, approved.text
    wait = await wait_of(desk, ids["input"])
    values = {"digest": wait["digest"], "values": {"reason": "because"}}
    assert (await boss.post(f"/v1/waits/{wait['id']}/answer", json=values)).is_success
    assert (await functions.complete(desk, ids["function"], {"output": "done"})).is_success
    late = await functions.complete(desk, ids["expiring"], {"output": "too late"})
    assert late.json()["code"] == "wait_closed"

    await here.ledger.until_ended(ids.values())
    ends = {name: here.ledger.end_of(call_id) for name, call_id in ids.items()}
    assert ends == {
        "approval": "succeeded",
        "function": "succeeded",
        "input": "succeeded",
        "plain": "succeeded",
        "refused": "refused",
        "expiring": "expired",
    }
    for name, call in early.items():
        assert await here.call(ids[name]) == call
    assert here.target.counts == {"GET /items/plain": 1, "POST /items/approval": 1, "GET /items/input": 1}
    assert (await here.call(ids["input"]))["arguments"] == {"name": "input", "reason": "because"}
    await here.ledger.refresh()
    told = [event.subject_id for event in here.ledger.log if event.kind in TERMINAL_KINDS]
    assert sorted(told) == sorted(ids.values())
    again = await batch(here)  # the model asks once more for the same
    assert again == ids
    await here.ledger.refresh()
    assert sorted(told) == sorted(event.subject_id for event in here.ledger.log if event.kind in TERMINAL_KINDS)
