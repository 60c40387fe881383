"""Calls that need a yes: each way that a decision can go, with what is recorded, answered, and sent."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.people import People, code

REQUESTED = ["requested", "wait_asked"]
RAN = ["resumed", "dispatched", "attempt_started", "succeeded"]

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]


async def test_nothing_is_sent_before_the_yes(people: People) -> None:
    """A call of a dangerous tool stands still; approved, it runs once, as it was approved."""
    ana = await people.person("user:ana", "finance")
    call = await people.standing("refund", "approved")
    wait = await ana.sees(call["wait"]["id"])
    assert (wait["status"], wait["digest"], wait["may_decide"]) == ("open", call["wait"]["digest"], ["role:finance"])
    assert people.reached("approved") == 0
    answer = await ana.approves(wait, note="fine")
    assert (answer.status_code, answer.json()["outcome"]) == (200, "approved")
    ended = await people.ended(call)
    assert (ended["status"], people.reached("approved")) == ("succeeded", 1)
    assert people.world.ledger.kinds(call["id"]) == REQUESTED + RAN
    assert await people.told(wait["id"]) == ["opened", "decision_recorded", "closed"]
    again = await ana.approves(wait)
    assert (again.status_code, await people.told(wait["id"])) == (200, ["opened", "decision_recorded", "closed"])
    assert people.reached("approved") == 1
    await people.world.ledger.assert_whole()


async def test_a_no_ends_the_call(people: People) -> None:
    """Denied: nothing is ever sent, and the call says why."""
    ana = await people.person("user:ana", "finance")
    call = await people.standing("refund", "denied")
    answer = await ana.denies(call["wait"], "not this one")
    assert (answer.status_code, answer.json()["outcome"], answer.json()["note"]) == (200, "denied", "not this one")
    ended = await people.ended(call)
    assert (ended["status"], ended["error"]["code"], people.reached("denied")) == ("denied", "denied", 0)
    assert people.world.ledger.kinds(call["id"]) == [*REQUESTED, "denied"]
    assert code(await ana.approves(call["wait"])) == (409, "wait_closed")
    assert await people.told(call["wait"]["id"]) == ["opened", "decision_recorded", "closed", "answer_came_late"]


async def test_an_edit_voids_what_was_decided_and_needs_another_person(people: People) -> None:
    """Who edits cannot complete the quorum alone; what runs is what the other one agreed to."""
    ana, ben = await people.person("user:ana", "finance"), await people.person("user:ben", "finance")
    call = await people.standing("refund", "before")
    wait = call["wait"]
    bad = await ana.approves(wait, arguments={"name": 7})
    assert (code(bad), bad.json()["errors"][0]["path"]) == ((422, "invalid_arguments"), "/arguments/name")
    edited = await ana.approves(wait, arguments={"name": "after"}, note="smaller")
    assert (edited.status_code, edited.json()["status"]) == (200, "open")
    assert edited.json()["digest"] != wait["digest"]
    assert (edited.json()["arguments"], edited.json()["proposed"]) == ({"name": "after"}, {"name": "before"})
    alone = await ana.approves(edited.json())
    assert (alone.status_code, alone.json()["status"]) == (200, "open")
    assert code(await ben.approves(wait)) == (409, "digest_mismatch")
    assert (await ben.approves(edited.json())).json()["outcome"] == "approved"
    ended = await people.ended(call)
    assert (ended["status"], ended["arguments"]) == ("succeeded", {"name": "after"})
    assert (people.reached("before"), people.reached("after")) == (0, 1)
    told = await people.told(wait["id"])
    assert told == ["opened", "edited", "decision_recorded", "decision_recorded", "closed"]


async def test_two_of_three(people: People) -> None:
    """The second different person completes the quorum; the third comes too late, and is on the record."""
    await people.define("pair", approvers=["user:ana", "user:ben", "user:cem"], quorum=2)
    ana, other_key = await people.person("user:ana"), await people.person("user:ana")
    ben, cem = await people.person("user:ben"), await people.person("user:cem")
    call = await people.standing("pair", "two")
    for one in (ana, other_key, ana):
        answer = await one.approves(call["wait"])
        assert (answer.status_code, answer.json()["status"]) == (200, "open")  # two keys of one person are one
    assert people.reached("two") == 0
    assert (await ben.approves(call["wait"])).json()["outcome"] == "approved"
    assert code(await cem.approves(call["wait"])) == (409, "wait_closed")
    assert (await people.ended(call))["status"] == "succeeded"
    told = await people.told(call["wait"]["id"])
    assert told == ["opened", "decision_recorded", "decision_recorded", "closed", "answer_came_late"]


async def test_who_asked_and_who_was_not_asked_cannot_decide(people: People) -> None:
    """Neither the requester, under any key, nor somebody without the role, nor a key without the scope."""
    ana = await people.person("user:ana", "finance")
    same, dan = await people.person("user:ana", "finance"), await people.person("user:dan", "sales")
    reader = await people.person("user:ben", "finance", scopes=("read",))
    call = await people.standing("refund", "own", by=ana)
    for one in (ana, same, dan):
        assert code(await one.approves(call["wait"])) == (403, "not_an_approver")
        assert code(await one.denies(call["wait"])) == (403, "not_an_approver")
    assert code(await reader.approves(call["wait"])) == (403, "forbidden")
    assert await people.told(call["wait"]["id"]) == ["opened"]
    assert ((await people.world.call(call["id"]))["status"], people.reached("own")) == ("waiting", 0)


async def test_a_digest_of_something_else_decides_nothing(people: People) -> None:
    """Neither a forged one, nor that of another call."""
    ana = await people.person("user:ana", "finance")
    one, other = await people.standing("refund", "one"), await people.standing("refund", "other")
    for digest in ("sha256:" + "0" * 64, other["wait"]["digest"]):
        answer = await ana.says(one["wait"]["id"], "approve", digest=digest)
        assert code(answer) == (409, "digest_mismatch")
    assert code(await ana.says(one["wait"]["id"], "approve", digest="x")) == (422, "invalid_request")
    assert code(await ana.says("wait_" + "0" * 32, "approve", digest=one["wait"]["digest"])) == (404, "not_found")
    assert people.reached("one") == 0


@pytest.mark.parametrize(
    ("on_expiry", "status", "event"), [("deny", "denied", "denied"), ("expire", "expired", "expired")]
)
async def test_nobody_speaks_in_time(people: People, on_expiry: str, status: str, event: str) -> None:
    """The wait expires; the call ends without having been sent, and a late yes stays one."""
    await people.define("short", expires_s=1.0, on_expiry=on_expiry)
    ana = await people.person("user:ana")
    call = await people.standing("short", f"late-{on_expiry}")
    ended = await people.ended(call)
    assert (ended["status"], ended["error"]["code"]) == (status, "wait_expired")
    assert people.world.ledger.kinds(call["id"]) == [*REQUESTED, event]
    assert code(await ana.approves(call["wait"])) == (409, "wait_closed")
    assert await people.told(call["wait"]["id"]) == ["opened", "closed", "answer_came_late"]
    assert ((await people.world.call(call["id"]))["status"], people.reached(f"late-{on_expiry}")) == (status, 0)


async def test_a_wait_escalates_to_others(people: People) -> None:
    """After a while the lead may decide as well, and not before."""
    await people.define("slow", approvers=["role:finance"], escalate=[{"after_s": 1.5, "to": ["role:finance_lead"]}])
    eve = await people.person("user:eve", "finance_lead")
    call = await people.standing("slow", "escalated")
    assert code(await eve.approves(call["wait"])) == (403, "not_an_approver")

    async def answer() -> int:
        return (await eve.approves(call["wait"])).status_code

    deadline = asyncio.get_running_loop().time() + 20
    while await answer() != 200:
        assert asyncio.get_running_loop().time() < deadline
    assert (await people.ended(call))["status"] == "succeeded"
    assert await people.told(call["wait"]["id"]) == ["opened", "escalated", "decision_recorded", "closed"]


async def test_a_decision_is_delegated(people: People) -> None:
    """For one wait or for all; whoever delegated and whoever decides count once, and the requester gains nothing."""
    ana, ben = await people.person("user:ana", "finance"), await people.person("user:ben")
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    first = await people.standing("refund", "first")
    assert code(await ben.approves(first["wait"])) == (403, "not_an_approver")
    assert code(await ben.says(first["wait"]["id"], "delegate", to="user:x", until=until)) == (403, "not_an_approver")
    assert (await ana.says(first["wait"]["id"], "delegate", to="user:ben", until=until)).status_code == 200
    agreed = await ben.approves(first["wait"])
    assert (agreed.json()["outcome"], agreed.json()["decisions"][0]["acting_for"]) == ("approved", "user:ana")
    assert (await people.ended(first))["status"] == "succeeded"

    given = await ana.http.post("/v1/delegations", json={"to": "user:ben", "until": until, "note": "holiday"})
    assert given.status_code == 201
    second = await people.standing("refund", "second")
    assert (await ben.approves(second["wait"])).json()["outcome"] == "approved"  # at once, though lists may lag
    own = await people.standing("refund", "third", by=ben)
    assert code(await ben.approves(own["wait"])) == (403, "not_an_approver")
    revoked = await ana.http.delete(f"/v1/delegations/{given.json()['id']}")
    assert (revoked.status_code, revoked.json()["revoked_at"] is not None) == (200, True)
    fourth = await people.standing("refund", "fourth")
    assert code(await ben.approves(fourth["wait"])) == (403, "not_an_approver")
    assert [people.reached(name) for name in ("first", "second", "third", "fourth")] == [1, 1, 0, 0]


async def test_yes_and_no_at_once(people: People) -> None:
    """One of them counts, the other is told so; what happens is what counted."""
    ana, ben = await people.person("user:ana", "finance"), await people.person("user:ben", "finance")
    calls = [await people.standing("refund", f"race{number}") for number in range(8)]
    for number, call in enumerate(calls):
        yes, no = await asyncio.gather(ana.approves(call["wait"]), ben.denies(call["wait"]))
        assert sorted((yes.status_code, no.status_code)) == [200, 409]
        assert code(yes if yes.status_code == 409 else no) == (409, "wait_closed")
        ended = await people.ended(call)
        won = "succeeded" if yes.status_code == 200 else "denied"
        assert (ended["status"], people.reached(f"race{number}")) == (won, int(won == "succeeded"))
        told = await people.told(call["wait"]["id"])
        assert told == ["opened", "decision_recorded", "closed", "answer_came_late"]


async def test_a_standing_grant_speaks_until_it_is_used_up(people: People) -> None:
    """Two calls run by themselves, only where the condition holds; the third waits for a person."""
    ana = await people.person("user:ana", "finance")
    given = await ana.http.post(
        "/v1/grants",
        json={
            "tool": "refund",
            "uses": 2,
            "until": (datetime.now(UTC) + timedelta(hours=1)).isoformat(),
            "while": "call.arguments.name.startsWith('small')",
        },
    )
    assert given.status_code == 201, given.text
    large = await people.standing("refund", "large")
    for number in range(2):
        call = await people.world.submit("refund", f"small{number}")
        ended = await people.ended(call)
        assert (ended["status"], people.reached(f"small{number}")) == ("succeeded", 1)
    third = await people.standing("refund", "small2")
    wait = await ana.sees(third["wait"]["id"])
    grant = (await ana.http.get(f"/v1/grants/{given.json()['id']}")).json()
    assert (wait["status"], grant["left"], grant["uses"]) == ("open", 0, 2)
    assert (people.reached("small2"), people.reached("large")) == (0, 0)
    assert await people.told(large["wait"]["id"]) == ["opened"]
    own = await people.standing("refund", "small3", by=ana)  # she may not agree to her own calls, beforehand neither
    assert (await ana.sees(own["wait"]["id"]))["decisions"] == []


async def test_a_standing_grant_does_not_speak_for_a_tool_that_was_defined_anew(people: People) -> None:
    """It was the tool of then that was agreed to; the one of now waits for a person."""
    ana = await people.person("user:ana", "finance")
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    gone = await ana.http.post("/v1/grants", json={"tool": "nowhere", "uses": 1, "until": until})
    assert code(gone) == (404, "unknown_tool")
    await people.define("moving", approvers=["role:finance"])
    given = await ana.http.post("/v1/grants", json={"tool": "moving", "uses": 5, "until": until})
    assert given.status_code == 201, given.text
    before = await people.ended(await people.world.submit("moving", "before"))
    await people.define("moving", approvers=["role:finance"], expires_s=3600.0)
    after = await people.standing("moving", "after")
    wait = await ana.sees(after["wait"]["id"])
    assert (before["status"], wait["status"], wait["decisions"]) == ("succeeded", "open", [])
    assert (await ana.approves(after["wait"])).status_code == 200
    assert (await people.ended(after))["status"] == "succeeded"


async def test_a_cancelled_call_is_waited_for_no_more(people: People) -> None:
    """Its wait is withdrawn, and a decision comes late."""
    ana = await people.person("user:ana", "finance")
    call = await people.standing("refund", "cancelled")
    assert (await ana.sees(call["wait"]["id"]))["status"] == "open"  # cancelled before, it would never be opened
    assert (await people.world.http.post(f"/v1/calls/{call['id']}/cancel", json={})).status_code == 200
    wait = await people.until_closed(ana, call["wait"]["id"])
    assert wait["outcome"] == "withdrawn"
    assert code(await ana.approves(call["wait"])) == (409, "wait_closed")
    assert ((await people.world.call(call["id"]))["status"], people.reached("cancelled")) == ("cancelled", 0)
