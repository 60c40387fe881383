"""Servers that want to know more before they go on: what a person is asked, and the call that brings the answers."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.integrations.mcp.rig import Process, Rig, rigged
from toolbus_contracts.calls import Continued, Detail, InputAsked, Question, responses_to
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.tools import AskUser

SECRET = "s3cr3t-of-the-state"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    """A server that speaks 2026-07-28."""
    process = Process(tmp_path / "journal")
    process.start()
    yield process
    process.kill()


@pytest.fixture
async def rig(server: Process) -> AsyncIterator[Rig]:
    """The effect, with the server put as `thing`."""
    async with rigged(secrets={"token": SECRET}) as made:
        made.put(transport="http", url=server.url, headers={"x-token": "secret://token"})
        yield made


def wanted(outcome: Outcome) -> InputAsked:
    """What the server of a call wants to know."""
    assert (outcome.result, outcome.error) == ("input_required", None)
    assert outcome.asked is not None
    return outcome.asked


def brought(asked: InputAsked, **answers: Any) -> Continued:
    """The answers of a person, as a call brings them along."""
    return Continued(responses=responses_to(asked, answers), request_state=asked.request_state)


def failed(outcome: Outcome) -> tuple[str, str, str]:
    """Result, code and effect of what did not succeed."""
    assert outcome.error is not None
    return outcome.result, outcome.error.code, outcome.error.effect_happened


async def test_a_server_is_answered_over_several_rounds(rig: Rig, server: Process) -> None:
    """It knows what it was told by its own state; each round is one request, and any process may bring it."""
    city = wanted(await rig.call("ask"))
    assert city == InputAsked(
        form=AskUser(fields={"text": {"type": "string"}}, required=(), message="Which city?"),
        questions=(Question(name="city", properties={"text": "text"}),),
        request_state="begun",
    )
    async with rigged(secrets={"token": SECRET}) as other:
        other.put(transport="http", url=server.url, headers={"x-token": "secret://token"})
        page = wanted(await other.call("ask", continued=brought(city, text="Rom ü")))
    assert (page.request_state, page.form and page.form.message) == (
        "begun/Rom ü",
        "Look at this\nhttps://maps.example/",
    )
    done = await rig.call("ask", continued=brought(page, page=True))
    assert done.output is not None
    assert (done.result, done.output["text"]) == ("succeeded", "accept begun/Rom ü")
    declined = await rig.call("ask", continued=brought(page, page=False))
    assert failed(declined) == ("failed", "tool_error", "unknown")
    assert server.ran() == ["ask"] * 4


async def test_a_server_that_died_meanwhile_goes_on(rig: Rig, server: Process) -> None:
    """All that it has to know comes with the call."""
    city = wanted(await rig.call("ask"))
    server.kill()
    server.start()
    page = wanted(await rig.call("ask", continued=brought(city, text="Rome")))
    assert page.request_state == "begun/Rome"


async def test_a_server_may_want_the_same_call_again(rig: Rig) -> None:
    """With its state, and no answer."""
    later = wanted(await rig.call("ask", {"how": "later"}))
    assert later == InputAsked(request_state="later")
    done = await rig.call("ask", {"how": "later"}, continued=brought(later))
    assert done.output is not None
    assert done.output["text"] == "later"


async def test_a_server_that_wants_a_model_is_refused(rig: Rig, server: Process) -> None:
    """Nobody thinks for it; it has done nothing."""
    found = await rig.call("ask", {"how": "model"})
    assert failed(found) == ("failed", "input_required", "no")
    assert found.error is not None
    assert found.error.details == (Detail(path="/thought", message="sampling/createMessage"),)
    assert server.ran() == ["ask"]


async def test_a_state_that_holds_a_secret_is_not_kept(rig: Rig) -> None:
    """Without it the server would not know its state again."""
    found = await rig.call("ask", {"state": f"x={SECRET}"})
    assert failed(found) == ("failed", "input_required", "no")
    assert found.error is not None
    assert SECRET not in found.error.model_dump_json()


async def test_an_answer_that_the_protocol_does_not_know_is_not_sent(rig: Rig, server: Process) -> None:
    """A form may ask for anything, and the protocol carries flat values only."""
    found = await rig.call("ask", continued=Continued(responses={"city": {"action": "accept", "content": {"x": {}}}}))
    assert failed(found) == ("failed", "request_invalid", "no")
    assert server.ran() == []


async def test_a_server_with_sessions_is_not_told_of_people(tmp_path: Path) -> None:
    """It would ask in the middle of a call; as it is, it says at once that it cannot go on."""
    server = Process(tmp_path / "journal", {"ERA": "initialize"})
    server.start()
    try:
        async with rigged() as made:
            made.put(transport="http", url=server.url)
            found = await made.call("ask")
    finally:
        server.kill()
    assert failed(found) == ("failed", "input_required", "no")
    assert found.error is not None
    assert found.error.details == (Detail(path="", message="somebody has to sign in first"),)
