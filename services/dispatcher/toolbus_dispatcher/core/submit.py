"""Decide whether a submitted call is taken: which tool it means, whether the arguments fit, and what is refused."""

from collections.abc import Mapping
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
from toolbus_contracts.keys import Actor, Key, foreign_to
from toolbus_contracts.references import secret_names
from toolbus_contracts.secrets import SCHEME
from toolbus_contracts.stored import NOTHING, StoredValues, stored_digest
from toolbus_contracts.tools import SERVED_TYPES, Approval, AskUser, JsonObject, Limit, ToolDefinition, ToolVersion
from toolbus_contracts.values import Json
from toolbus_dispatcher.core.arguments import check_proposed, check_references
from toolbus_dispatcher.core.finding import Described, FindStored, FindTool, find_version, stored_for
from toolbus_dispatcher.core.merging import Wanted, is_slim, merged_arguments
from toolbus_dispatcher.core.refusing import Faulty, ForeignContext, InvalidArguments, InvalidQuestion
from toolbus_dispatcher.core.resources import check_approval, check_ask_user
from toolbus_dispatcher.core.standing import Surroundings, go_on
from toolbus_dispatcher.core.surfaces import check_stored


class Submission(NamedTuple):
    """
    A submitted call with what the edge found out about it.

    `stored_arguments` are the arguments as they will rest in the log, with large values moved out;
    `command.arguments` are the real ones, for checking. `key` is none for trusted insiders. `limits` are
    those of the key and the tenant; `has_room` tells that nothing of the tenant waits for executors. `described` is
    what a provider or server says of a tool that the call brought along, or what there is against it. `generations` of
    secrets are there as far as they were looked up; `rests` is what will rest of merged arguments that were too large.
    `may_refer`: somewhere in it may stand a reference to a secret.
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
    described: Described = None
    generations: Mapping[str, int] = {}
    rests: tuple[JsonObject, Json] | None = None
    may_refer: bool = True


def decide_submit(
    submission: Submission,
    call: Call | None,
    *,
    find_tool: FindTool,
    find_stored: FindStored,
    execution: Execution | None,
    now: datetime,
) -> tuple[AnyCallEvent, ...] | Wanted:
    """
    Take a call, or refuse it on the record, or say what has to be looked up first; the same again adds nothing.

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
        scopes = execution.scopes if execution else ()
        version = find_version(command.tool, submission.described, scopes=scopes, find_tool=find_tool, now=now)
        is_named = isinstance(command.tool, str)
        name, tool_type = version.definition.name, version.definition.tool_type
        stored = stored_for(command.context, name, tool_type, find_stored) if is_named else NOTHING
        _check(submission, version, stored)
    except Refused as refusal:
        return (_refused(submission, refusal, now),)
    return _taken(submission, version, stored, now)


def _check(submission: Submission, version: ToolVersion, stored: StoredValues) -> None:
    command, definition, key = submission.command, version.definition, submission.key
    if key is not None and not key.may_call(definition.name):
        raise Refused("forbidden", f"this key may not call {definition.name!r}")
    if key is not None and (foreign := foreign_to(key, command.context)):
        raise ForeignContext(foreign)
    if isinstance(command.tool, ToolDefinition):
        _check_brought(version, key)
    expected = command.expected_definition_hash
    if expected is not None and expected != version.definition_hash:
        raise Refused("definition_changed", f"{definition.name} is {version.definition_hash}, not {expected}")
    if definition.tool_type not in SERVED_TYPES:
        message = f"nothing here executes tools of type {definition.tool_type}"
        raise Refused("unsupported_type", message, (Fault("", message),))
    _check_promised(command)
    check_stored(version, stored)
    faults = check_references(definition, command.arguments) if submission.may_refer else ()
    faults = faults or check_proposed(version, command.arguments, _ask_user(command, definition), stored)
    if faults:
        raise InvalidArguments(definition.name, faults)


def _check_brought(version: ToolVersion, key: Key | None) -> None:
    """A definition that comes with a call may not reach further than those that an admin registered."""
    if key is not None and key.tools is not None:
        raise Refused("forbidden", "this key may call registered tools only: a definition of its own could be anything")
    names = secret_names(version.definition, {}, version.surface)
    if names and (key is None or "admin" not in key.scopes):
        message = (
            f"only a key with scope admin brings a definition that uses secrets: {SCHEME}{min(names)} could go anywhere"
        )
        raise Refused("forbidden", message)


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


def _ask_user(command: SubmitCall, definition: ToolDefinition) -> AskUser | None:
    """What a person is asked for: by the tool, else as the submitter wants it."""
    return definition.ask_user or command.ask_user


def _approval(command: SubmitCall, version: ToolVersion) -> Approval | None:
    """
    Who has to agree: as the tool says, else as the submitter wants it; somebody always, when it is dangerous.

    Where danger alone asks for an approval, no submitter can be the one who gives it.
    """
    if version.definition.approval is not None:
        return version.definition.approval
    if version.terms.effect != "dangerous":
        return command.approval
    return (command.approval or Approval()).model_copy(update={"requester_may_approve": False})


class _Merged(NamedTuple):
    """What a call runs with, beside what it says itself: who has to agree, and what rests of it under the digest."""

    approval: Approval | None
    arguments: Json
    setup: JsonObject
    secrets: dict[str, int]
    stored_digest: str | None


def _merged(submission: Submission, version: ToolVersion, stored: StoredValues) -> _Merged | Wanted:
    """What the call runs with, or what has to be looked up or kept first."""
    approval = _approval(submission.command, version)
    arguments = merged_arguments(version, submission.command.arguments, stored)
    rests = submission.stored_arguments
    if arguments is not submission.command.arguments:
        kept = submission.rests
        if not is_slim(rests):
            rests = merged_arguments(version, rests, stored)
        elif kept is None or kept[0] != arguments:
            return Wanted(arguments=arguments)
        else:
            rests = kept[1]
    if approval is None:
        return _Merged(None, rests, stored.setup, {}, None)
    names = secret_names(version.definition, stored.setup, version.surface)
    if not names <= submission.generations.keys():
        return Wanted(secrets=names)
    secrets = {name: submission.generations[name] for name in sorted(names)}
    return _Merged(approval, rests, stored.setup, secrets, stored_digest(stored))


def _taken(
    submission: Submission, version: ToolVersion, stored: StoredValues, now: datetime
) -> tuple[AnyCallEvent, ...] | Wanted:
    merged = _merged(submission, version, stored)
    if isinstance(merged, Wanted):
        return merged
    requested = _requested(submission, version, merged, now=now)
    if _stands_still(requested):
        call = evolve_call(None, requested)
        around = Surroundings(submission.tenant, submission.has_room)
        return requested, *(go_on(call, around, now=now) if call else ())
    if requested.limits or not submission.has_room:
        return (requested,)  # held until it is released
    tool_type = requested.tool_type
    return requested, CallDispatched(call_id=submission.call_id, attempt=1, tool_type=tool_type, at=now)


def _requested(submission: Submission, version: ToolVersion, merged: _Merged, *, now: datetime) -> CallRequested:
    command, definition = submission.command, version.definition
    is_named = isinstance(command.tool, str)
    return CallRequested(
        call_id=submission.call_id,
        execution_id=command.execution_id or execution_id_for_call(submission.call_id),
        is_bare=command.execution_id is None,
        tool=definition.name,
        tool_scope=version.scope if is_named else None,
        tool_version=version.version if is_named else None,
        tool_type=definition.tool_type,
        definition_hash=version.definition_hash,
        definition=None if is_named else definition,
        surface=None if is_named else version.surface,
        terms=version.terms,
        timeout_s=version.attempt_s,
        retry=definition.retry,
        limits=(*_limits_of(version), *submission.limits),
        probe=definition.probe,
        approval=merged.approval,
        ask_user=_ask_user(command, definition),
        webhook=definition.webhook,
        expires_s=definition.expires_s,
        is_pinned=isinstance(command.tool, str) and "@" in command.tool,
        arguments=merged.arguments,
        setup=merged.setup,
        context=command.context,
        secrets=merged.secrets,
        stored_digest=merged.stored_digest,
        fingerprint=submission.fingerprint,
        idempotency_key=command.idempotency_key,
        external_id=command.external_id,
        actor=submission.actor,
        deadline_at=now + timedelta(seconds=command.deadline_s) if command.deadline_s else None,
        priority=command.priority,
        labels=command.labels,
        at=now,
    )


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
    if isinstance(refusal, Faulty):
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
