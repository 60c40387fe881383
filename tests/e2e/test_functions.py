"""Functions that clients carry out, on the real bus: who may answer, what one answer is, and what comes too late."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.e2e import functions
from tests.e2e.functions import complete, desk, lease, leased, limited
from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.nats_fixtures import until
from toolbus_runtime.bus.connection import Bus

pytestmark = pytest.mark.timeout(120)
OTHER_WAIT = "wait_" + "0" * 32


@pytest.fixture
async def here(nursery: Nursery, tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """An installation on each database, with a function `draft`; nothing that would execute anything else."""
    async with world(nursery, tmp_path, database_url, "dispatcher", "approvals") as made:
        await made.until_ready("approvals")
        await functions.define(made)
        yield made


async def submitted(here: World, **options: object) -> str:
    """The id of a call that waits for its client."""
    call = await here.submit("draft", "ana", **options)
    assert (call["status"], call["wait"]["kind"]) == ("waiting", "function")
    return str(call["id"])


async def test_a_call_is_leased_and_completed(here: World) -> None:
    """The worker gets its arguments; whoever completes it hears the call as it is then, and so does everybody."""
    call_id = await submitted(here)
    http = await limited(here, tools=["draft"])
    (taken,) = await leased(http)
    assert (taken["call_id"], taken["arguments"], taken["attempt"]) == (call_id, {"name": "ana"}, 1)
    assert await lease(http) == []
    answer = await complete(http, call_id, {"output": {"letter": "Dear Ana"}})
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    call = await here.call(call_id)
    assert (call["status"], call["output"], call["attempt"]) == ("succeeded", {"letter": "Dear Ana"}, 0)
    await here.ledger.refresh()
    assert here.ledger.kinds(call_id) == ["requested", "wait_asked", "succeeded"]


async def test_an_error_is_an_answer_too(here: World) -> None:
    """The call failed, for the reason that the client gives."""
    call_id = await submitted(here)
    answer = await complete(await desk(here), call_id, {"error": {"message": "no such person", "code": "nobody"}})
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    assert answer.json()["error"]["code"] == "nobody"
    again = await complete(await desk(here), call_id, {"error": {"message": "no such person", "code": "nobody"}})
    assert again.status_code == httpx.codes.OK


async def test_the_same_answer_is_one_answer_and_another_a_conflict(here: World) -> None:
    """However many give it at once; the first stands."""
    call_id, http = await submitted(here), await desk(here)
    answers = await asyncio.gather(*(complete(http, call_id, {"output": 1}) for _ in range(10)))
    assert {(answer.status_code, answer.json()["status"]) for answer in answers} == {(200, "succeeded")}
    for other in ({"output": 2}, {"output": True}, {"error": {"message": "x"}}):
        refused = await complete(http, call_id, other)
        assert (refused.status_code, refused.json()["code"]) == (409, "answer_taken")
    assert (await here.call(call_id))["output"] == 1


async def test_of_many_answers_one_is_taken(here: World) -> None:
    """Twenty clients that differ: one 200, the others hear that another answer was taken."""
    call_id, http = await submitted(here), await desk(here)
    answers = await asyncio.gather(*(complete(http, call_id, {"output": number}) for number in range(20)))
    (taken,) = [answer for answer in answers if answer.is_success]
    assert {answer.json()["code"] for answer in answers if answer is not taken} == {"answer_taken"}
    assert (await here.call(call_id))["output"] == taken.json()["output"]


async def test_an_answer_that_comes_too_late_is_recorded_and_refused(here: World) -> None:
    """After the expiry, and after the call was cancelled."""
    http = await desk(here)
    await functions.define(here, "quick", expires_s=1)
    expired = (await here.submit("quick", "ana"))["id"]
    await here.ledger.until_ended([expired])
    cancelled = await submitted(here)
    await leased(http)
    assert (await here.http.post(f"/v1/calls/{cancelled}/cancel", json={})).is_success

    async def is_withdrawn() -> bool:
        return bool((await http.get("/v1/waits", params={"status": "open"})).json()["items"] == [])

    await until(is_withdrawn)
    for call_id, status in ((expired, "expired"), (cancelled, "cancelled")):
        late = await complete(http, call_id, {"output": 1})
        assert (late.status_code, late.json()["code"]) == (409, "wait_closed")
        assert (await here.call(call_id))["status"] == status
    await here.ledger.refresh()
    assert sum(event.kind == "wait.answer_came_late.v1" for event in here.ledger.log) == 2


async def test_a_call_that_was_cancelled_at_once_takes_no_answer(here: World) -> None:
    """Although its wait may never have been opened."""
    call_id, http = await submitted(here), await desk(here)
    assert (await here.http.post(f"/v1/calls/{call_id}/cancel", json={})).is_success
    late = await complete(http, call_id, {"output": 1})
    assert (late.status_code, late.json()["code"]) == (409, "wait_closed")


async def test_the_calls_own_token_is_enough_to_complete_it_and_for_nothing_else(here: World) -> None:
    """Not another call, not another endpoint; a token that was changed opens nothing."""
    first, second = await submitted(here), await submitted(here)
    http = await desk(here)
    one, other = await leased(http, 2)
    bearer = f"Bearer {one['token']}"
    assert (one["call_id"], other["call_id"]) == (first, second)
    for call_id, said in ((second, bearer), (first, bearer[:-4] + "0000"), ("call_0", bearer)):
        refused = await complete(http, call_id, {"output": 1}, authorization=said)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    for method, path in (("GET", "/v1/waits"), ("POST", "/v1/waits/lease"), ("GET", f"/v1/waits/{one['wait_id']}")):
        refused = await http.request(method, path, json={}, headers={"authorization": bearer})
        assert refused.status_code == httpx.codes.UNAUTHORIZED
    answer = await complete(http, first, {"output": 1}, authorization=bearer)
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    assert (await here.call(second))["status"] == "waiting"


async def test_others_may_not_answer(here: World) -> None:
    """Another tenant does not find it; a key without the scope, or limited to other tools, may not."""
    call_id = await submitted(here)
    foreign = await desk(here, "second")
    assert (await complete(foreign, call_id, {"output": 1})).status_code == httpx.codes.NOT_FOUND
    assert await lease(foreign) == []
    (taken,) = await leased(await desk(here))
    held = {"lease_id": taken["lease_id"]}
    reader, stranger = await limited(here, scopes=["read"]), await limited(here, tools=["other"])
    for http in (reader, stranger):
        assert (await complete(http, call_id, {"output": 1})).status_code == httpx.codes.FORBIDDEN
        answer = await http.post("/v1/waits/lease", json={"tools": ["draft"]})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        for verb in ("heartbeat", "release"):
            answer = await http.post(f"/v1/waits/{taken['wait_id']}/{verb}", json=held)
            assert answer.status_code == httpx.codes.FORBIDDEN
    for verb in ("heartbeat", "release"):
        assert (await foreign.post(f"/v1/waits/{taken['wait_id']}/{verb}", json=held)).status_code == 404
    assert (await here.call(call_id))["status"] == "waiting"


async def test_a_lease_is_kept_given_back_and_lost(here: World) -> None:
    """Whoever lost it can neither keep it nor give another's back; its answer would still count."""
    call_id, http = await submitted(here), await desk(here)
    (taken,) = await leased(http, visibility_s=60)
    path = f"/v1/waits/{taken['wait_id']}"
    kept = await http.post(f"{path}/heartbeat", json={"lease_id": taken["lease_id"], "visibility_s": 600})
    assert kept.json()["leased_until"] > taken["leased_until"]
    assert await lease(http) == []
    for _ in range(2):
        assert (await http.post(f"{path}/release", json={"lease_id": taken["lease_id"]})).status_code == 204
    (again,) = await lease(http)
    assert (again["call_id"], again["attempt"], again["token"]) == (call_id, 2, taken["token"])
    for verb in ("heartbeat", "release"):
        lost = await http.post(f"{path}/{verb}", json={"lease_id": taken["lease_id"]})
        assert (lost.status_code, lost.json()["code"]) == (409, "lease_lost")
    assert await lease(http) == []
    missing = await http.post(f"/v1/waits/{OTHER_WAIT}/heartbeat", json={"lease_id": taken["lease_id"]})
    assert missing.status_code == httpx.codes.NOT_FOUND
    assert (await complete(http, call_id, {"output": 1})).is_success
    over = await http.post(f"{path}/heartbeat", json={"lease_id": again["lease_id"]})
    assert (over.status_code, over.json()["code"]) == (409, "wait_closed")


async def test_large_values_rest_as_payloads(here: World) -> None:
    """A megabyte out is found by its reference; a worker gets large arguments as they are."""
    large = "x" * 1_000_000
    call = await here.submit("draft", large)
    (taken,) = await leased(await desk(here))
    assert taken["arguments"] == {"name": large}
    answer = await complete(await desk(here), call["id"], {"output": {"letter": large}})
    assert answer.status_code == httpx.codes.OK, answer.text
    letter = answer.json()["output"]["letter"]
    assert letter["bytes"] == 1_000_002
    body = await here.http.get(f"/v1/payloads/{letter['$payload']}")
    assert json.loads(body.content) == large
    assert (await complete(await desk(here), call["id"], {"output": {"letter": large}})).is_success
    too_large = await complete(await desk(here), call["id"], {"output": large * 2})
    assert (too_large.status_code, too_large.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("body", [{}, {"output": 1, "error": {"message": "x"}}, {"error": None}, {"result": 1}])
async def test_an_answer_is_an_output_or_an_error(here: World, body: object) -> None:
    """Neither, both, and anything else are refused, and the call goes on waiting."""
    call_id = await submitted(here)
    answer = await complete(await desk(here), call_id, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert (await here.call(call_id))["status"] == "waiting"


async def test_only_calls_that_wait_for_their_client_are_completed(here: World) -> None:
    """A call of another type, one that waits for an approval, one that nobody knows."""
    http = await desk(here)
    await functions.define(here, "careful", approval={"required": True})
    standing = (await here.submit("careful", "ana"))["id"]
    moving = (await here.submit("look", "ana"))["id"]
    for call_id in (standing, moving):
        answer = await complete(http, call_id, {"output": 1})
        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_wait_kind")
    assert (await complete(http, "call_" + "0" * 32, {"output": 1})).status_code == httpx.codes.NOT_FOUND


async def test_a_call_is_completed_over_the_bus_with_its_token(here: World) -> None:
    """By whoever speaks for its tenant; another tenant's token is none there, and nothing else is answered twice."""
    call_id = await submitted(here)
    (taken,) = await leased(await desk(here))
    bus, foreign = await here.client_bus(), await here.client_bus("second")

    async def asked(by: Bus, tenant: str, **said: object) -> dict[str, object]:
        body = {"call_id": call_id, "token": taken["token"], **said}
        reply = await by.request(f"toolbus.ask.{tenant}.call.complete", json.dumps(body).encode(), timeout_s=10)
        told: dict[str, object] = json.loads(reply.data)
        return told

    refused = await asked(foreign, "second", output=1)
    assert refused["status"] == httpx.codes.UNAUTHORIZED
    assert (await asked(bus, "default", output=1, token="wt_x"))["status"] == httpx.codes.UNAUTHORIZED
    assert (await asked(bus, "default"))["status"] == httpx.codes.UNPROCESSABLE_ENTITY
    told = await asked(bus, "default", output={"letter": 1})
    assert told["status"] == httpx.codes.OK
    assert (await here.call(call_id))["output"] == {"letter": 1}
    assert (await asked(bus, "default", output={"letter": 1}))["status"] == httpx.codes.OK
    assert (await asked(bus, "default", output=2))["status"] == httpx.codes.CONFLICT
