"""Which calls are taken, which tool they mean, and what is refused on the record."""

from collections.abc import Mapping
from datetime import timedelta
from functools import reduce
from typing import Any

import pytest

from tests.unit.dispatcher.making import ACTOR, LATER, NOW, define, dispatched, key, submission, submit, tool
from toolbus_contracts.calls import (
    AnyCallEvent,
    CallDispatched,
    CallError,
    CallRefused,
    CallRequested,
    Detail,
)
from toolbus_contracts.digests import execution_id_for_call
from toolbus_contracts.errors import Conflict, NotFound
from toolbus_contracts.executions import Execution
from toolbus_contracts.keys import Key
from toolbus_contracts.tools import Tool, ToolDefinition, ToolVersion, evolve_tool
from toolbus_dispatcher.core.finding import find_version
from toolbus_dispatcher.core.resources import decide_define

EXECUTION_ID = "exec_" + "a" * 32
EXECUTION = Execution(id=EXECUTION_ID, parent=None, scopes=(), labels={}, input=None, started_at=NOW)
TENANT, AGENT, TASK = define(url="https://tenant"), define(url="https://agent"), define(url="https://task")
TOOLS = {"tenant": tool(TENANT)}
INLINE = TENANT.model_dump(mode="json", by_alias=True, exclude_none=True)
EXTRA: dict[str, Any] = {
    "idempotency_key": "order-7",
    "external_id": "toolu_1",
    "priority": 9,
    "labels": {"team": "billing"},
}


def decide(
    tools: Mapping[str, Tool] = TOOLS, execution: Execution | None = None, by: Key | None = None, **body: Any
) -> tuple[AnyCallEvent, ...]:
    """What becomes of a submitted call, with these tools by scope."""

    def find_tool(scope: str, name: str) -> Tool:
        return tools.get(scope, Tool()) if name == "refund" else Tool()

    return submit(submission(by, **body), None, find_tool=find_tool, execution=execution, now=LATER)


def taken(*events: AnyCallEvent) -> CallRequested:
    """The request that was recorded, with its first attempt."""
    requested, given = events
    assert isinstance(requested, CallRequested)
    assert given == CallDispatched(call_id="call_1", attempt=1, tool_type="api_call", at=LATER)
    return requested


def refused(*events: AnyCallEvent) -> CallError:
    """Why the call was refused."""
    (event,) = events
    assert isinstance(event, CallRefused)
    return event.error


def test_a_call_is_taken_and_given_to_the_executors() -> None:
    """With all that the log needs to tell its story, and the arguments as they rest there."""
    assert taken(*decide(**EXTRA, deadline_s=60, stored={"$payload": "sha256:1"})) == CallRequested(
        call_id="call_1",
        execution_id=execution_id_for_call("call_1"),
        is_bare=True,
        tool="refund",
        tool_scope="tenant",
        tool_version=1,
        tool_type="api_call",
        definition_hash=TENANT.definition_hash(),
        definition=None,
        terms=TENANT.terms(),
        timeout_s=30.0,
        arguments={"$payload": "sha256:1"},
        fingerprint="fp",
        idempotency_key="order-7",
        external_id="toolu_1",
        actor=ACTOR,
        deadline_at=LATER + timedelta(seconds=60),
        priority=9,
        labels={"team": "billing"},
        at=LATER,
    )


def test_a_call_brings_its_own_definition() -> None:
    """It is kept in the log, has no scope and no version, and its hash may be expected too."""
    requested = taken(*decide({}, tool=INLINE, expected_definition_hash=TENANT.definition_hash()))
    assert (requested.tool, requested.tool_scope, requested.tool_version) == ("refund", None, None)
    assert (requested.definition, requested.definition_hash) == (TENANT, TENANT.definition_hash())
    assert requested.deadline_at is None


def test_a_definition_of_its_own_is_no_version_of_a_tool() -> None:
    """Its scope is the call, its number none that a tool could have."""
    assert find_version(TENANT, None, scopes=(), find_tool=lambda *_: Tool(), now=NOW) == ToolVersion(
        scope="call", version=0, definition=TENANT, definition_hash=TENANT.definition_hash(), defined_at=NOW
    )


def test_a_call_in_an_execution_belongs_to_it() -> None:
    """It is not bare: the execution ends when somebody finishes it."""
    requested = taken(*decide(execution=EXECUTION, execution_id=EXECUTION_ID))
    assert (requested.execution_id, requested.is_bare) == (EXECUTION_ID, False)


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ({"task:t": TASK, "agent:a": AGENT, "tenant": TENANT}, TASK),
        ({"agent:a": AGENT, "tenant": TENANT}, AGENT),
        ({"tenant": TENANT}, TENANT),
    ],
)
def test_the_nearest_scope_wins(there: Mapping[str, ToolDefinition], expected: ToolDefinition) -> None:
    """Task before agent before tenant, as the execution lists them."""
    execution = EXECUTION.model_copy(update={"scopes": ("task:t", "agent:a")})
    tools = {scope: tool(definition, scope=scope) for scope, definition in there.items()}
    requested = taken(*decide(tools, execution, execution_id=EXECUTION_ID))
    assert requested.definition_hash == expected.definition_hash()
    assert requested.tool_scope == next(iter(there))


def test_other_scopes_are_not_looked_into() -> None:
    """A call outside the agent's execution does not find the agent's tools."""
    error = refused(*decide({"agent:a": tool(AGENT, scope="agent:a")}))
    assert (error.code, error.message) == ("unknown_tool", "there is no tool 'refund'")


@pytest.mark.parametrize(("name", "version"), [("refund", 2), ("refund@1", 1), ("refund@2", 2)])
def test_a_version_may_be_pinned(name: str, version: int) -> None:
    """Without a number the latest counts."""
    assert taken(*decide({"tenant": tool(TENANT, AGENT)}, tool=name)).tool_version == version


@pytest.mark.parametrize(
    ("name", "is_retired", "code"),
    [("refund@3", False, "not_found"), ("refund", True, "unknown_tool"), ("refund@1", True, "unknown_tool")],
)
def test_no_version_that_is_not_there_and_none_of_a_retired_tool(name: str, is_retired: bool, code: str) -> None:
    """Pinning a version does not bring back a tool that was taken out of use."""
    error = refused(*decide({"tenant": tool(TENANT, AGENT, is_retired=is_retired)}, tool=name))
    assert error.code == code


def test_a_tool_defined_again_after_it_was_retired_is_the_next_version() -> None:
    """The older versions may be pinned again: they are the same tool's."""
    retired = tool(TENANT, is_retired=True)
    events = decide_define(TENANT, retired, scope="tenant", if_match="0", now=NOW)
    again = {"tenant": reduce(evolve_tool, events, retired)}
    assert taken(*decide(again)).tool_version == 2
    assert taken(*decide(again, tool="refund@1")).definition_hash == TENANT.definition_hash()


def test_a_refusal_tells_the_whole_story() -> None:
    """Who asked for what, and why not: nothing was sent, and the same request is refused again."""
    (event,) = decide({}, **EXTRA)
    assert event == CallRefused(
        actor=ACTOR,
        call_id="call_1",
        execution_id=execution_id_for_call("call_1"),
        is_bare=True,
        tool="refund",
        arguments={"charge": "ch_1"},
        fingerprint="fp",
        idempotency_key="order-7",
        external_id="toolu_1",
        labels={"team": "billing"},
        error=CallError(code="unknown_tool", message="there is no tool 'refund'"),
        at=LATER,
    )


def test_a_refused_call_with_its_own_definition_names_the_tool() -> None:
    """Also inside an execution, which stays as it is."""
    (event,) = decide({}, EXECUTION, execution_id=EXECUTION_ID, tool=INLINE, arguments={})
    assert isinstance(event, CallRefused)
    assert (event.tool, event.execution_id, event.is_bare) == ("refund", EXECUTION_ID, False)


def test_arguments_that_do_not_fit_are_refused_with_every_fault() -> None:
    """The message tells the first, the details all of them."""
    error = refused(*decide(arguments={"amount": "2"}))
    first = Detail(path="/amount", message='"2" is not of type "integer"')
    assert error.code == "invalid_arguments"
    assert error.details == (first, Detail(path="/charge", message='"charge" is a required property'))
    assert error.message == f"the arguments do not fit refund: {first.message}"


@pytest.mark.parametrize("tools", [None, ("refund",), ("draft", "refund")])
def test_a_key_calls_what_it_may(tools: tuple[str, ...] | None) -> None:
    """A key that is not limited, and one that is limited to this tool."""
    taken(*decide(by=key(tools=tools)))


@pytest.mark.parametrize("tools", [(), ("draft",)])
def test_a_key_that_is_limited_to_other_tools_is_refused(tools: tuple[str, ...]) -> None:
    """By the name of the tool, before anything else is told about it."""
    error = refused(*decide(by=key(tools=tools), arguments={}))
    assert (error.code, error.message) == ("forbidden", "this key may not call 'refund'")


def test_a_limited_key_brings_no_definition_of_its_own() -> None:
    """Calling its own definition by a name that is allowed would reach any address whatever."""
    error = refused(*decide(by=key(tools=("refund",)), tool=INLINE))
    assert error.code == "forbidden"
    assert error.message == "this key may call registered tools only: a definition of its own could be anything"
    taken(*decide(by=key(), tool=INLINE))


def test_a_tool_that_changed_is_refused_when_another_was_expected() -> None:
    """Both hashes are told, so that the reader can compare."""
    expected = "sha256:" + "0" * 64
    error = refused(*decide(expected_definition_hash=expected))
    assert error.code == "definition_changed"
    assert error.message == f"refund is {TENANT.definition_hash()}, not {expected}"
    taken(*decide(expected_definition_hash=TENANT.definition_hash()))


def test_a_tool_that_nothing_executes_is_refused() -> None:
    """Accepting it would leave an orphan."""
    (event,) = decide(tool={"name": "calls", "system": {"resource": "call", "operation": "list"}})
    message = "nothing here executes tools of type system"
    assert refused(event) == CallError(
        code="unsupported_type", message=message, details=(Detail(path="/tool", message=message),)
    )


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "https://evil.example/schema.json"}, {"type": 5}, {"properties": {"a": {"pattern": "("}}}],
)
def test_a_definition_of_its_own_that_cannot_be_run_is_refused(schema: dict[str, Any]) -> None:
    """A schema that is none, or that would make us fetch something, is told by its path; nothing breaks."""
    own = define(params_schema=schema).model_dump(mode="json", by_alias=True, exclude_none=True)
    error = refused(*decide({}, tool=own))
    assert error.code == "invalid_definition"
    assert error.details[0].path == "/tool/api_call/params_schema"


def test_the_same_request_again_adds_nothing() -> None:
    """A key that comes back with the same body is a repetition, however the call ended."""
    found = submit(submission(), dispatched(), find_tool=lambda *_: Tool(), execution=None, now=LATER)
    assert found == ()


def test_a_key_stands_for_one_request() -> None:
    """Another body under the same key is a mistake that must not be answered with the first call."""
    message = r"^the key belongs to call call_1, which asked for something else$"
    with pytest.raises(Conflict, match=message) as caught:
        submit(submission(), dispatched(fingerprint="other"), find_tool=lambda *_: Tool(), execution=None, now=LATER)
    assert caught.value.code == "idempotency_key_reused"


def test_there_must_be_such_an_execution_and_it_must_be_open() -> None:
    """Neither is a refused call: there would be no execution to record it in."""
    with pytest.raises(NotFound, match=rf"^there is no execution {EXECUTION_ID}$"):
        decide(execution_id=EXECUTION_ID)
    finished = EXECUTION.model_copy(update={"finished": "failed"})
    with pytest.raises(Conflict, match=rf"^execution {EXECUTION_ID} is failed$") as caught:
        decide(execution=finished, execution_id=EXECUTION_ID)
    assert caught.value.code == "execution_finished"
