"""Tools, executions and keys: what is added, and what adds nothing."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.dispatcher.making import LATER, NOW, PARAMETERS, define, key, tool
from toolbus_contracts.errors import Conflict, Fault, NotFound, Refused
from toolbus_contracts.executions import Execution, ExecutionFinished, ExecutionStarted, StartExecution
from toolbus_contracts.keys import CreateKey, KeyCreated, KeyRevoked
from toolbus_contracts.tools import Tool, ToolDefined, ToolDefinition, ToolRetired
from toolbus_dispatcher.core.resources import (
    check_definition,
    decide_create_key,
    decide_define,
    decide_finish_execution,
    decide_retire,
    decide_revoke_key,
    decide_start_execution,
)

REFUND = define()
OPEN = Execution(id="exec_1", parent=None, scopes=(), labels={}, input=None, started_at=NOW)
DONE = OPEN.model_copy(update={"finished": "succeeded", "output": {"n": 1}})


def added(definition: ToolDefinition, found: Tool, if_match: str | None = None) -> tuple[ToolDefined, ...]:
    """What defining this adds to the tool."""
    return decide_define(definition, found, scope="tenant", if_match=if_match, now=LATER)


def test_versions_are_numbered_on() -> None:
    """The first is 1; each carries its hash and its scope."""
    other = define(url="https://other")
    assert added(other, tool(REFUND)) == (
        ToolDefined(scope="tenant", version=2, definition=other, definition_hash=other.definition_hash(), at=LATER),
    )
    assert [event.version for event in added(REFUND, Tool())] == [1]


def test_the_latest_definition_again_adds_nothing() -> None:
    """Definitions may be put on every start of a program."""
    assert added(REFUND, tool(REFUND)) == ()
    assert added(REFUND, tool(REFUND, define(url="https://other"))) != ()


@pytest.mark.parametrize(
    ("before", "after"),
    [(1, True), (True, 1), (0, False), ([1], [True])],
)
def test_values_that_only_python_holds_to_be_equal_are_a_new_version(before: Any, after: Any) -> None:
    """`true` in a body is another request than `1`, and may not be dropped as the same definition."""
    found = tool(define(json={"value": before}))
    (event,) = added(define(json={"value": after}), found)
    assert event.version == 2


def test_another_description_is_another_version() -> None:
    """Models read it, though it does not change the effect."""
    told = REFUND.model_copy(update={"description": "Give back."})
    (event,) = added(told, tool(REFUND))
    assert (event.version, event.definition_hash) == (2, REFUND.definition_hash())


def test_a_retired_tool_comes_back_as_its_next_version() -> None:
    """Also with the definition that it had."""
    (event,) = added(REFUND, tool(REFUND, is_retired=True))
    assert event.version == 2


@pytest.mark.parametrize(
    ("found", "if_match"),
    [
        (tool(REFUND), "1"),
        (tool(REFUND), '"1"'),
        (tool(REFUND), 'W/"1"'),
        (tool(REFUND), '"7", "1"'),
        (tool(REFUND), "*"),
        (Tool(), "0"),
        (tool(REFUND), None),
    ],
)
def test_a_matching_version_lets_the_definition_in(found: Tool, if_match: str | None) -> None:
    """Quoted as an ETag or bare; 0 says that there must be none yet."""
    assert added(define(url="https://other"), found, if_match) != ()


@pytest.mark.parametrize(
    ("found", "if_match", "latest"),
    [
        (tool(REFUND), "0", "1"),
        (tool(REFUND), "2", "1"),
        (Tool(), "1", "none"),
        (tool(REFUND), "", "1"),
        (Tool(), "*", "none"),
    ],
)
def test_a_version_that_does_not_match_keeps_it_out(found: Tool, if_match: str, latest: str) -> None:
    """Somebody else was faster, and the answer tells what is there."""
    with pytest.raises(Conflict, match=rf"^the latest version is {latest}$") as caught:
        added(define(url="https://other"), found, if_match)
    assert caught.value.code == "version_mismatch"


BAD = {"$ref": "https://evil.example"}


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"api_call": {"method": "GET", "url": "https://a", "params_schema": BAD}}, "/api_call/params_schema"),
        ({"api_call": {"method": "GET", "url": "https://a", "schema": BAD}}, "/api_call/schema"),
        ({"function": {"parameters": BAD}}, "/function/parameters"),
        ({"function": {}, "ask_user": {"fields": {"a": BAD}}}, "/ask_user/fields"),
        ({"function": {}, "ask_user": {"fields": {"a": {}}, "required": ["b"]}}, "/ask_user/required"),
    ],
)
def test_every_schema_of_a_definition_is_checked(parts: dict[str, Any], path: str) -> None:
    """The fault is told by its path, and nothing is defined."""
    definition = ToolDefinition.model_validate({"name": "t", **parts})
    with pytest.raises(Refused) as caught:
        added(definition, Tool())
    assert (caught.value.code, caught.value.faults[0].path) == ("invalid_definition", path)


@pytest.mark.parametrize(
    ("approval", "is_refused"),
    [
        ({"quorum": 20}, False),
        ({"approvers": ["user:ana", "user:bo"], "quorum": 2}, False),
        ({"approvers": ["user:ana", "user:ana"], "quorum": 2}, True),
        ({"approvers": ["user:ana"], "quorum": 2}, True),
        ({"approvers": ["user:ana"], "quorum": 2, "escalate": [{"after_s": 1.0, "to": ["user:bo"]}]}, False),
        ({"approvers": ["user:ana"], "quorum": 2, "escalate": [{"after_s": 1.0, "to": ["role:finance"]}]}, False),
        ({"approvers": ["role:finance"], "quorum": 2}, False),
    ],
)
def test_an_approval_that_nobody_could_give_is_refused(approval: dict[str, Any], *, is_refused: bool) -> None:
    """More persons than are named, whoever is asked later included; how many have a role nobody knows."""
    definition = ToolDefinition.model_validate({"name": "t", "function": {}, "approval": approval})
    if not is_refused:
        check_definition(definition)
        return
    with pytest.raises(Refused, match=r"^2 persons have to agree, and 1 are named$") as caught:
        check_definition(definition)
    assert (caught.value.code, caught.value.faults[0].path) == ("invalid_definition", "/approval/quorum")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retry", {}),
        ("limits", {"concurrency": 1}),
        ("probe", {"tool": "find", "happened": "true"}),
        ("forward_principal", "X-For"),
    ],
)
def test_nothing_is_promised_for_a_function_that_nobody_keeps(name: str, value: Any) -> None:
    """Its client carries it out: neither executors nor limits have a say."""
    with pytest.raises(Refused) as caught:
        check_definition(ToolDefinition.model_validate({"name": "t", "function": {}, name: value}))
    assert (caught.value.code, caught.value.faults[0].path) == ("invalid_definition", f"/{name}")


@pytest.mark.parametrize(
    "parts",
    [
        {"function": {}, "approval": {}, "ask_user": {"fields": {"a": {}}, "required": ["a"]}, "expires_s": 5.0},
        {"api_call": {"method": "GET", "url": "https://a"}},
        {"api_call": {"method": "GET", "url": "https://a", "schema": True}},
        {"api_call": {"method": "GET", "url": "https://a", "schema": PARAMETERS, "params_schema": PARAMETERS}},
        {"function": {"parameters": PARAMETERS}},
        {"mcp": {"server": "s", "tool": "t"}},
    ],
)
def test_good_definitions_pass(parts: dict[str, Any]) -> None:
    """With schemas, and without."""
    check_definition(ToolDefinition.model_validate({"name": "t", **parts}))


def test_a_definition_is_bounded() -> None:
    """64 KiB as compact JSON, and not a character more."""

    def sized(more: int) -> ToolDefinition:
        return define(content="x" * (more - size))

    size = 0
    size = len(define(content="").model_dump_json(by_alias=True, exclude_none=True))
    check_definition(sized(64 * 1024))
    with pytest.raises(Refused) as caught:
        check_definition(sized(64 * 1024 + 1))
    message = "a definition may have at most 65536 characters"
    assert (caught.value.code, caught.value.message) == ("invalid_definition", message)
    assert caught.value.faults == (Fault("", message),)


def test_a_tool_is_retired_once() -> None:
    """Retiring it again adds nothing; one that was never there cannot be retired."""
    event = ToolRetired(scope="agent:a", name="refund", at=LATER)
    assert decide_retire("refund", tool(REFUND), scope="agent:a", now=LATER) == (event,)
    assert decide_retire("refund", tool(REFUND, is_retired=True), scope="agent:a", now=LATER) == ()
    with pytest.raises(NotFound, match=r"^there is no tool 'refund' in scope agent:a$") as caught:
        decide_retire("refund", Tool(), scope="agent:a", now=LATER)
    assert caught.value.code == "unknown_tool"


def test_an_execution_is_started_once() -> None:
    """With what was asked for; the same id again is the same execution."""
    parent = "exec_" + "0" * 32
    command = StartExecution(parent=parent, scopes=("task:t",), labels={"a": "b"}, input=[1])
    assert decide_start_execution(command, None, execution_id="exec_1", now=LATER) == (
        ExecutionStarted(
            execution_id="exec_1", parent=parent, scopes=("task:t",), labels={"a": "b"}, input=[1], at=LATER
        ),
    )
    assert decide_start_execution(command, OPEN, execution_id="exec_1", now=LATER) == ()


def test_an_execution_is_finished_once() -> None:
    """With its output; the same end again adds nothing."""
    finished = ExecutionFinished(execution_id="exec_1", status="succeeded", output={"n": 1}, reason="", at=LATER)
    assert decide_finish_execution("succeeded", OPEN, execution_id="exec_1", output={"n": 1}, now=LATER) == (finished,)
    assert decide_finish_execution("succeeded", DONE, execution_id="exec_1", output={"n": 1}, now=LATER) == ()


def test_a_cancelled_execution_keeps_the_reason() -> None:
    """Whoever reads it later wants to know."""
    (event,) = decide_finish_execution("cancelled", OPEN, execution_id="exec_1", reason="budget", now=LATER)
    assert (event.status, event.reason, event.output) == ("cancelled", "budget", None)


@pytest.mark.parametrize(
    ("status", "output"), [("failed", {"n": 1}), ("succeeded", {"n": 2}), ("succeeded", {"n": True})]
)
def test_an_execution_that_ended_otherwise_stays_so(status: Any, output: Any) -> None:
    """Another status or another output is another end, also where Python would hold them to be equal."""
    with pytest.raises(Conflict, match=r"^execution exec_1 is succeeded$") as caught:
        decide_finish_execution(status, DONE, execution_id="exec_1", output=output, now=LATER)
    assert caught.value.code == "execution_finished"


def test_only_explicit_executions_are_finished() -> None:
    """A bare call's ends with the call, and the answer says so."""
    message = r"^there is no execution exec_2 that could be finished; a bare call's ends with it$"
    with pytest.raises(NotFound, match=message):
        decide_finish_execution("succeeded", None, execution_id="exec_2", now=LATER)


def test_a_key_is_created_once() -> None:
    """With what it may do; only the hash of its secret is kept."""
    command = CreateKey(
        subject="user:ana",
        roles=("ops",),
        scopes=("submit",),
        tools=("refund",),
        contexts=("user:*",),
        expires_at=LATER + timedelta(days=1),
    )
    parts: dict[str, Any] = {"key_id": "key_1", "tenant": "acme", "secret_hash": "hash", "now": LATER}
    created = KeyCreated(
        key_id="key_1",
        tenant="acme",
        subject="user:ana",
        roles=("ops",),
        scopes=("submit",),
        tools=("refund",),
        contexts=("user:*",),
        expires_at=LATER + timedelta(days=1),
        secret_hash="hash",
        at=LATER,
    )
    assert decide_create_key(command, None, **parts) == (created,)
    with pytest.raises(Conflict, match=r"^key key_1 exists$") as caught:
        decide_create_key(command, key(), **parts)
    assert caught.value.code == "already_exists"


def test_a_key_is_revoked_once() -> None:
    """Revoking it again adds nothing; one that is not there cannot be revoked."""
    event = KeyRevoked(key_id="key_1", at=LATER)
    assert decide_revoke_key(key(), key_id="key_1", now=LATER) == (event,)
    revoked = key().model_copy(update={"revoked_at": NOW})
    assert decide_revoke_key(revoked, key_id="key_1", now=LATER) == ()
    with pytest.raises(NotFound, match=r"^there is no key key_2$"):
        decide_revoke_key(None, key_id="key_2", now=LATER)
