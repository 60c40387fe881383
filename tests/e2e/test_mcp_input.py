"""A server that wants to know more: over the real bus a person answers it, others agree, and the call goes on."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.e2e.people import People, Person
from tests.integration.integrations.mcp.rig import Process
from tests.nats_fixtures import until

SERVICES = ("approvals", "integrations", "dispatcher", "api_caller")
CONTRACT = {"effect": "write", "idempotency": "none"}


@pytest.fixture
def thing(tmp_path: Path) -> Iterator[Process]:
    """An MCP server over HTTP."""
    process = Process(tmp_path / "journal")
    process.start()
    yield process
    process.kill()


@pytest.fixture
async def people(nursery: Nursery, tmp_path: Path, sqlite_url: str, thing: Process) -> AsyncIterator[People]:
    """An installation with the server put as `thing`, and a tool `ask` of it."""
    async with world(nursery, tmp_path, sqlite_url, *SERVICES) as made:
        found = People(made)
        await until(lambda: is_put(made, thing), within_s=30.0)
        await put_tool(made, "ask")
        yield found


async def is_put(made: World, thing: Process) -> bool:
    """Whether the service of integrations took the server."""
    answer = await made.http.put("/v1/mcp/servers/thing", json={"transport": "http", "url": thing.url})
    return answer.is_success


async def put_tool(made: World, name: str, **more: Any) -> None:
    """The tool `ask` of the server, under this name."""
    body = {"name": name, "mcp": {"server": "thing", "tool": "ask"}, "contract": CONTRACT, **more}
    answer = await made.http.put(f"/v1/tools/{name}", json=body)
    assert answer.is_success, answer.text


async def submit(made: World, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of the tool that was accepted."""
    answer = await made.http.post("/v1/calls", json={"tool": tool, "arguments": arguments})
    assert answer.status_code in {200, 202}, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def waiting(made: World, call_id: str, number: int, who: Person) -> dict[str, Any]:
    """The n-th wait of a call, once it stands still for it."""

    async def stands() -> bool:
        await made.ledger.refresh()
        return made.ledger.kinds(call_id).count("wait_asked") == number

    await until(stands, within_s=30.0)
    shown = await made.call(call_id)
    assert shown["status"] == "waiting", shown
    return await who.sees(shown["wait"]["id"])


async def answers(who: Person, wait: dict[str, Any], **values: Any) -> httpx.Response:
    """What somebody fills in."""
    return await who.says(wait["id"], "answer", digest=wait["digest"], values=values)


@pytest.mark.timeout(180)
async def test_a_server_is_answered_by_a_person(people: People, thing: Process) -> None:
    """Round after round, with services killed in between; each request reaches the server once, and has its start."""
    made, ana = people.world, await people.person("user:ana")
    call = await submit(made, "ask", text="not for the form")
    city = await waiting(made, call["id"], 1, ana)
    assert (city["kind"], city["is_from_server"], city["ask_user"]["message"]) == ("input", True, "Which city?")
    assert "begun" not in str(city)
    refused = await answers(ana, city, text=7)
    assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    await made.restart("integrations")
    taken = await answers(ana, city, text="Rome")
    assert taken.status_code == httpx.codes.OK, taken.text
    page = await waiting(made, call["id"], 2, ana)
    assert "https://maps.example/" in page["ask_user"]["message"]
    await made.restart("dispatcher")
    await made.until_ready()
    assert (await answers(ana, page, page=True)).status_code == httpx.codes.OK
    ended = await people.ended(call)
    assert (ended["status"], ended["output"]["text"]) == ("succeeded", "accept begun/Rome")
    assert ended["arguments"] == {"text": "not for the form"}
    asked = ["dispatched", "attempt_started", "input_required", "wait_asked", "resumed"]
    assert made.ledger.kinds(call["id"]) == [
        "requested",
        *asked,
        *asked,
        "dispatched",
        "attempt_started",
        "succeeded",
    ]
    assert thing.ran() == ["ask"] * 3


async def answered(people: People, bo: Person) -> tuple[dict[str, Any], dict[str, Any]]:
    """A call of `ask_bo` that Bo agreed to, and whose server was answered: with the wait in which Bo is asked again."""
    made, ana = people.world, await people.person("user:ana")
    call = await submit(made, "ask_bo")
    first = await waiting(made, call["id"], 1, bo)
    assert (await bo.approves(first)).status_code == httpx.codes.OK
    city = await waiting(made, call["id"], 2, bo)
    assert (await answers(ana, city, text="Rome")).status_code == httpx.codes.OK
    again = await waiting(made, call["id"], 3, bo)
    assert again["digest"] != first["digest"]
    return call, again


@pytest.mark.timeout(180)
async def test_who_agreed_agrees_again_to_what_was_answered(people: People, thing: Process) -> None:
    """The second time they see it; a no ends the call, and the server is never told."""
    made, bo = people.world, await people.person("user:bo")
    await put_tool(made, "ask_bo", approval={"approvers": ["user:bo"]})
    refused, wait = await answered(people, bo)
    assert (wait["kind"], wait["answers"]) == (
        "approval",
        {"city": {"action": "accept", "content": {"text": "Rome"}}},
    )
    assert (await bo.denies(wait)).status_code == httpx.codes.OK
    assert (await people.ended(refused))["status"] == "denied"
    assert thing.ran() == ["ask"]
    agreed, wait = await answered(people, bo)
    assert (await bo.approves(wait)).status_code == httpx.codes.OK
    page = await waiting(made, agreed["id"], 4, bo)
    assert page["kind"] == "input"
    cancelled = await made.http.post(f"/v1/calls/{agreed['id']}/cancel", json={})
    assert cancelled.is_success, cancelled.text
    assert (await people.ended(agreed))["status"] == "cancelled"
    assert (await people.until_closed(bo, page["id"]))["outcome"] == "withdrawn"
    assert thing.ran() == ["ask"] * 3
