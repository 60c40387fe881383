"""Decide whether a submitted call is taken: which tool it means, whether the arguments fit, and what is refused."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from toolbus_contracts.calls import (
    AnyCallEvent,
    Call,
    CallDispatched,
    CallError,
    CallRefused,
    CallRequested,
    Detail,
    SubmitCall,
    evolve_call,
)
from toolbus_contracts.digests import execution_id_for_call
from toolbus_contracts.errors import Conflict, Fault, NotFound, Refused
from toolbus_contracts.executions import Execution
from toolbus_contracts.keys import Actor, Key
from toolbus_contracts.tools import SERVED_TYPES, Approval, AskUser, Limit, Tool, ToolDefinition, ToolVersion
from toolbus_contracts.values import Json
from toolbus_dispatcher.core.arguments import check_proposed
from toolbus_dispatcher.core.resources import check_approval, check_ask_user, check_definition
from toolbus_dispatcher.core.standing import Surroundings, go_on

FindTool = Callable[[str, str], Tool]  # (scope, name) → the tool, empty when it was never defined


class Submission(NamedTuple):
    """
    A submitted call with what the edge found out about it.

    `stored_arguments` are the arguments as they will rest in the log, with large values moved out;
    `command.arguments` are the real ones, for checking. `key` is none for trusted insiders. `limits` are
    those of the key and the tenant; `has_room` tells that nothing of the tenant waits for executors.
    """

    command: SubmitCall
    call_id: str
    fingerprint: str
    stored_arguments: Json
    actor: Actor
    key: Key | None
    tenant: str = ""
    limits: tuple[Limit, ...] = ()
    has_room: bool = True


def decide_submit(
    submission: Submission,
    call: Call | None,
    *,
    find_tool: FindTool,
    execution: Execution | None,
    now: datetime,
) -> tuple[AnyCallEvent, ...]:
    """
    Take a call, or refuse it on the record; the same request again adds nothing.

    Raises:
        Conflict: the idempotency key belongs to another request, or the execution has ended.
        NotFound: there is no such execution.
    """
    if call is not None:
        if call.fingerprint == submission.fingerprint:
            return ()
        raise Conflict("idempotency_key_reused", f"the key belongs to call {call.id}, which asked for something else")
    command = submission.command
    if command.execution_id is not None:
        if execution is None:
            raise NotFound(f"there is no execution {command.execution_id}")
        if execution.finished is not None:
            raise Conflict("execution_finished", f"execution {execution.id} is {execution.finished}")
    try:
        version = find_version(command, execution.scopes if execution else (), find_tool, now)
        _check(submission, version)
    except Refused as refusal:
        return (_refused(submission, refusal, now),)
    return _taken(submission, version, now)


def find_version(command: SubmitCall, scopes: tuple[str, ...], find_tool: FindTool, now: datetime) -> ToolVersion:
    """
    The definition that the call runs: its own, or the nearest one of that name.

    Raises:
        Refused: `unknown_tool`; `not_found` for a version that is not there; `invalid_definition` for one of its own.
    """
    if isinstance(command.tool, ToolDefinition):
        own = command.tool
        check_definition(own)
        return ToolVersion(
            scope="call", version=0, definition=own, definition_hash=own.definition_hash(), defined_at=now
        )
    name, _, number = command.tool.partition("@")
    for scope in (*scopes, "tenant"):
        tool = find_tool(scope, name)
        if tool.latest is not None:
            return tool.version(int(number)) if number else tool.latest
    raise Refused("unknown_tool", f"there is no tool {name!r}")


def _check(submission: Submission, version: ToolVersion) -> None:
    command, definition, key = submission.command, version.definition, submission.key
    if key is not None and not key.may_call(definition.name):
        raise Refused("forbidden", f"this key may not call {definition.name!r}")
    if key is not None and key.tools is not None and isinstance(command.tool, ToolDefinition):
        raise Refused("forbidden", "this key may call registered tools only: a definition of its own could be anything")
    expected = command.expected_definition_hash
    if expected is not None and expected != version.definition_hash:
        raise Refused("definition_changed", f"{definition.name} is {version.definition_hash}, not {expected}")
    if definition.tool_type not in SERVED_TYPES:
        message = f"nothing here executes tools of type {definition.tool_type}"
        raise Refused("unsupported_type", message, (Fault("", message),))
    _check_promised(command)
    faults = check_proposed(version, command.arguments, _ask_user(command, definition))
    if faults:
        raise InvalidArguments(definition.name, faults)


def _check_promised(command: SubmitCall) -> None:
    """What a submitter wants of persons must be answerable by some."""
    try:
        if command.ask_user is not None:
            check_ask_user(command.ask_user)
        if command.approval is not None:
            check_approval(command.approval)
    except Refused as refusal:
        details = tuple(Detail(path=path, message=message) for path, message in refusal.faults)
        raise InvalidQuestion(refusal.message, details) from refusal


class InvalidArguments(Refused):
    """The arguments do not fit the schema; `details` names each fault."""

    def __init__(self, tool: str, details: tuple[Detail, ...]) -> None:
        super().__init__("invalid_arguments", f"the arguments do not fit {tool}: {details[0].message}")
        self.details = details


class InvalidQuestion(Refused):
    """The submitter's own `ask_user` or `approval` cannot be answered; `details` names each fault."""

    def __init__(self, message: str, details: tuple[Detail, ...]) -> None:
        super().__init__("invalid_request", message)
        self.details = details


def _ask_user(command: SubmitCall, definition: ToolDefinition) -> AskUser | None:
    """What a person is asked for: by the tool, else as the submitter wants it."""
    return definition.ask_user or command.ask_user


def _approval(command: SubmitCall, definition: ToolDefinition) -> Approval | None:
    """
    Who has to agree: as the tool says, else as the submitter wants it; somebody always, when it is dangerous.

    Where danger alone asks for an approval, no submitter can be the one who gives it.
    """
    if definition.approval is not None:
        return definition.approval
    if definition.terms.effect != "dangerous":
        return command.approval
    return (command.approval or Approval()).model_copy(update={"requester_may_approve": False})


def _taken(submission: Submission, version: ToolVersion, now: datetime) -> tuple[AnyCallEvent, ...]:
    command, definition = submission.command, version.definition
    is_named = isinstance(command.tool, str)
    limits = (*_limits_of(version), *submission.limits)
    requested = CallRequested(
        call_id=submission.call_id,
        execution_id=command.execution_id or execution_id_for_call(submission.call_id),
        is_bare=command.execution_id is None,
        tool=definition.name,
        tool_scope=version.scope if is_named else None,
        tool_version=version.version if is_named else None,
        tool_type=definition.tool_type,
        definition_hash=version.definition_hash,
        definition=None if is_named else definition,
        terms=definition.terms,
        timeout_s=definition.timeout_s,
        retry=definition.retry,
        limits=limits,
        probe=definition.probe,
        approval=_approval(command, definition),
        ask_user=_ask_user(command, definition),
        webhook=definition.webhook,
        expires_s=definition.expires_s,
        is_pinned=isinstance(command.tool, str) and "@" in command.tool,
        arguments=submission.stored_arguments,
        fingerprint=submission.fingerprint,
        idempotency_key=command.idempotency_key,
        external_id=command.external_id,
        actor=submission.actor,
        deadline_at=now + timedelta(seconds=command.deadline_s) if command.deadline_s else None,
        priority=command.priority,
        labels=command.labels,
        at=now,
    )
    if _stands_still(requested):
        call = evolve_call(None, requested)
        around = Surroundings(submission.tenant, submission.has_room)
        return requested, *(go_on(call, around, now=now) if call else ())
    if limits or not submission.has_room:
        return (requested,)  # held until it is released
    return requested, CallDispatched(call_id=submission.call_id, attempt=1, tool_type=definition.tool_type, at=now)


def _stands_still(requested: CallRequested) -> bool:
    """Whether the call may have to wait for somebody; most do not, and need not be folded to know."""
    return requested.tool_type == "function" or requested.approval is not None or requested.ask_user is not None


def _limits_of(version: ToolVersion) -> tuple[Limit, ...]:
    """The limits of a tool, with whose they are."""
    limits = version.definition.limits
    if limits is None:
        return ()
    name = version.definition.name if version.scope == "tenant" else f"{version.scope}/{version.definition.name}"
    return (Limit(of="tool", name=name, concurrency=limits.concurrency, rate=limits.rate),)


def _refused(submission: Submission, refusal: Refused, now: datetime) -> CallRefused:
    command = submission.command
    if isinstance(refusal, InvalidArguments | InvalidQuestion):
        details = refusal.details
    else:
        details = tuple(Detail(path=f"/tool{path}", message=message) for path, message in refusal.faults)
    return CallRefused(
        actor=submission.actor,
        call_id=submission.call_id,
        execution_id=command.execution_id or execution_id_for_call(submission.call_id),
        is_bare=command.execution_id is None,
        tool=command.tool if isinstance(command.tool, str) else command.tool.name,
        arguments=submission.stored_arguments,
        fingerprint=submission.fingerprint,
        idempotency_key=command.idempotency_key,
        external_id=command.external_id,
        labels=command.labels,
        error=CallError(code=refusal.code, message=refusal.message, details=details),
        at=now,
    )
