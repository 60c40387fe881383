"""Whoever calls a tool may name no secret: nothing is filled in in arguments, and that is said at once."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from tests.unit.dispatcher.describers import intake_of
from tests.unit.dispatcher.making import ACTOR, LATER, define, key, submission, submit, tool
from tests.unit.runtime.things import Store, background
from toolbus_contracts.calls import AnyCallEvent, Call, CallRefused, CallRequested, Detail
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.tools import Tool, ToolDefinition
from toolbus_contracts.values import compact
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.core.arguments import MAX_FAULTS, NEVER_FILLED, check_references
from toolbus_dispatcher.holding import Holding
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.feed import Feed

OPEN = define("open", params_schema=None)
INTEGRATION = ToolDefinition.model_validate({"name": "open", "integration": {"provider": "dummy"}})
FUNCTION = ToolDefinition.model_validate({"name": "open", "function": {}})
TO_ITSELF: dict[str, Any] = {"name": "own", "api_call": {"method": "POST", "url": "https://pay.example"}}


def decided(definition: ToolDefinition, arguments: dict[str, Any], *, may_refer: bool = True) -> AnyCallEvent:
    """What becomes of a call of this tool."""
    sent = submission(key(), tool="open", arguments=arguments)._replace(may_refer=may_refer)
    return submit(sent, None, find_tool=lambda *_: tool(definition), now=LATER)[0]


@pytest.mark.parametrize("definition", [OPEN, INTEGRATION], ids=["api_call", "integration"])
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"a": "secret://pay_key"}, "/a"),
        ({"a": {"b/c": ["x", {"d": "secret://pay_key"}]}}, "/a/b~1c/1/d"),
        ({"headers": {"x-key": "secret://pay_key"}}, "/headers/x-key"),
    ],
)
def test_a_reference_is_refused_with_its_path(definition: ToolDefinition, arguments: dict[str, Any], path: str) -> None:
    """At any depth."""
    event = decided(definition, arguments)
    assert isinstance(event, CallRefused)
    assert (event.error.code, event.error.details) == ("invalid_arguments", (Detail(path=path, message=NEVER_FILLED),))


@pytest.mark.parametrize("text", ["see secret://pay_key", "secret://", "secret://a b", "Secret://pay_key"])
def test_what_is_no_reference_is_text(text: str) -> None:
    """An executor would fill in none of them either."""
    assert isinstance(decided(OPEN, {"a": text, "n": [1, None, True]}), CallRequested)


def test_functions_take_any_text() -> None:
    """Their clients carry them out, and have no secrets of ours."""
    assert isinstance(decided(FUNCTION, {"a": "secret://pay_key"}), CallRequested)


def test_a_long_list_of_references_has_an_end() -> None:
    """An answer must stay readable."""
    assert len(check_references(OPEN, {"a": ["secret://k"] * 1000})) == MAX_FAULTS


def test_nobody_walks_through_what_cannot_hold_any() -> None:
    """Intake has read the whole text and says so: most calls name no secret."""
    assert isinstance(decided(OPEN, {"a": "secret://pay_key"}, may_refer=False), CallRequested)


async def test_references_are_found_on_the_way_in() -> None:
    """Written with escapes, or in a payload that stands for a large value: intake passes none by."""
    store = Store(clock=lambda: datetime.now(UTC))
    feed = Feed(store)
    batcher = Batcher(store, AGGREGATES, feed.offer)
    intake = intake_of(batcher, store, Holding(cast("Any", None), feed, slots=4, tenants={}))
    body = compact("secret://pay_key").encode()
    await store.put_payloads("acme", {digest_bytes(body): body})
    async with background(batcher.run()):
        for value in ("secret://pay_key", {"$payload": digest_bytes(body)}):
            said = {"tool": TO_ITSELF, "arguments": {"a": value}}
            call: Call = (await intake.submit(said, tenant="acme", actor=ACTOR)).state
            assert call.error is not None
            assert (call.error.code, call.error.details[0].path) == ("invalid_arguments", "/a")
        said = {"tool": TO_ITSELF, "arguments": {"a": "no secret"}}
        taken: Call = (await intake.submit(said, tenant="acme", actor=ACTOR)).state
        assert taken.error is None


def test_nothing_is_refused_of_a_tool_that_is_not_there() -> None:
    """What is not known takes no arguments at all."""
    event = submit(submission(key(), arguments={"a": "secret://k"}), None, find_tool=lambda *_: Tool(), now=LATER)[0]
    assert isinstance(event, CallRefused)
    assert event.error.code == "unknown_tool"
