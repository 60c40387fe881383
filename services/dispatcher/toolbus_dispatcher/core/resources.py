"""Decide about tools, executions and keys."""

from datetime import datetime

from toolbus_contracts.digests import digest
from toolbus_contracts.errors import Conflict, Fault, NotFound, Refused
from toolbus_contracts.executions import (
    Execution,
    ExecutionFinished,
    ExecutionStarted,
    FinishedStatus,
    StartExecution,
)
from toolbus_contracts.keys import CreateKey, Key, KeyCreated, KeyRevoked
from toolbus_contracts.references import reference_faults
from toolbus_contracts.tools import Approval, AskUser, Surface, Tool, ToolDefined, ToolDefinition, ToolRetired
from toolbus_contracts.values import Json, compact
from toolbus_dispatcher.core.arguments import check_schema
from toolbus_dispatcher.core.probes import faults_of
from toolbus_dispatcher.core.surfaces import check_surface

MAX_DEFINITION_CHARS = 64 * 1024


def check_definition(definition: ToolDefinition, surface: Surface | None = None) -> None:
    """
    Refuse a definition that could not be run; `surface` is what its provider or server says of the tool.

    Raises:
        Refused: `invalid_definition`, with the path.
    """
    if len(compact(definition.model_dump(mode="json", by_alias=True, exclude_none=True))) > MAX_DEFINITION_CHARS:
        message = f"a definition may have at most {MAX_DEFINITION_CHARS} characters"
        raise Refused("invalid_definition", message, (Fault("", message),))
    section = definition.api_call
    if section is not None:
        if section.params_schema is not None:
            check_schema(section.params_schema, "api_call", "params_schema")
        if isinstance(section.response_schema, dict):
            check_schema(section.response_schema, "api_call", "schema")
    faults = reference_faults(definition)
    if definition.probe is not None:
        faults += faults_of(definition.probe)
    if faults:
        raise Refused("invalid_definition", faults[0].message, faults)
    if definition.function is not None:
        check_schema(definition.function.parameters, "function", "parameters")
        _check_promises(definition)
    if definition.ask_user is not None:
        check_ask_user(definition.ask_user)
    if definition.approval is not None:
        check_approval(definition.approval)
    if surface is not None:
        check_surface(definition, surface)


def _check_promises(definition: ToolDefinition) -> None:
    """A function is carried out by its client, once: what executors and limits keep, nobody would keep for it."""
    for name in ("retry", "limits", "probe", "forward_principal"):
        if getattr(definition, name) is not None:
            message = f"nothing keeps {name} for a function, which its client carries out"
            raise Refused("invalid_definition", message, (Fault(f"/{name}", message),))


def check_approval(approval: Approval) -> None:
    """
    Refuse an approval that nobody could ever give: more persons are needed than are named, and no role is.

    Raises:
        Refused: `invalid_definition`, with the path.
    """
    named = {*approval.approvers, *(one for step in approval.escalate for one in step.to)}
    is_open = not approval.approvers or any(one.startswith("role:") for one in named)
    if not is_open and len(named) < approval.quorum:
        message = f"{approval.quorum} persons have to agree, and {len(named)} are named"
        raise Refused("invalid_definition", message, (Fault("/approval/quorum", message),))


def check_ask_user(ask_user: AskUser) -> None:
    """
    Refuse a question that nobody could answer.

    Raises:
        Refused: `invalid_definition`, with the path.
    """
    check_schema({"type": "object", "properties": ask_user.fields}, "ask_user", "fields")
    unknown = [name for name in ask_user.required or () if name not in ask_user.fields]
    if unknown:
        message = f"{unknown[0]} is required and not among the fields"
        raise Refused("invalid_definition", message, (Fault("/ask_user/required", message),))


def decide_define(
    definition: ToolDefinition,
    tool: Tool,
    *,
    scope: str,
    if_match: str | None,
    now: datetime,
    surface: Surface | None = None,
) -> tuple[ToolDefined, ...]:
    """
    Add a version of a tool; the definition that is the latest already, with the same surface, adds nothing.

    Raises:
        Refused: `invalid_definition`.
        Conflict: `version_mismatch`, when `if_match` names another version than the latest.
    """
    check_definition(definition, surface)
    latest = tool.latest
    if if_match is not None and not _matches(if_match, latest.version if latest else 0):
        raise Conflict("version_mismatch", f"the latest version is {latest.version if latest else 'none'}")
    found = definition.definition_hash(surface)
    if latest is not None and (latest.definition_hash, latest.definition.description) == (
        found,
        definition.description,
    ):
        return ()  # by hash, because Python holds 1, 1.0 and true to be equal and JSON does not
    version = len(tool.versions) + 1
    return (
        ToolDefined(
            scope=scope, version=version, definition=definition, definition_hash=found, surface=surface, at=now
        ),
    )


def _matches(if_match: str, version: int) -> bool:
    """Whether the header names this version; `*` stands for any there is. Source: RFC 9110 §13.1.1."""
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in if_match.split(",")}
    return str(version) in tags or ("*" in tags and version > 0)


def decide_retire(name: str, tool: Tool, *, scope: str, now: datetime) -> tuple[ToolRetired, ...]:
    """
    Take a tool out of use; doing so again adds nothing.

    Raises:
        NotFound: it was never defined.
    """
    if not tool.versions:
        raise NotFound(f"there is no tool {name!r} in scope {scope}", "unknown_tool")
    return () if tool.retired_at else (ToolRetired(scope=scope, name=name, at=now),)


def decide_start_execution(
    command: StartExecution, execution: Execution | None, *, execution_id: str, now: datetime
) -> tuple[ExecutionStarted, ...]:
    """Start an execution; the same id twice is the same execution."""
    if execution is not None:
        return ()
    return (
        ExecutionStarted(
            execution_id=execution_id,
            parent=command.parent,
            scopes=command.scopes,
            labels=command.labels,
            input=command.input,
            at=now,
        ),
    )


def decide_finish_execution(
    status: FinishedStatus,
    execution: Execution | None,
    *,
    execution_id: str,
    output: Json = None,
    reason: str = "",
    now: datetime,
) -> tuple[ExecutionFinished, ...]:
    """
    Take no further calls into an execution; finishing it the same way again adds nothing.

    Raises:
        NotFound: there is no such explicit execution.
        Conflict: it was finished otherwise.
    """
    if execution is None:
        raise NotFound(f"there is no execution {execution_id} that could be finished; a bare call's ends with it")
    if execution.finished == status and digest(execution.output) == digest(output):
        return ()
    if execution.finished is not None:
        raise Conflict("execution_finished", f"execution {execution.id} is {execution.finished}")
    return (ExecutionFinished(execution_id=execution.id, status=status, output=output, reason=reason, at=now),)


def decide_create_key(
    command: CreateKey, key: Key | None, *, key_id: str, tenant: str, secret_hash: str, now: datetime
) -> tuple[KeyCreated, ...]:
    """
    Create a key.

    Raises:
        Conflict: a key with this id exists.
    """
    if key is not None:
        raise Conflict("already_exists", f"key {key_id} exists")
    return (
        KeyCreated(
            key_id=key_id,
            tenant=tenant,
            subject=command.subject,
            roles=command.roles,
            scopes=command.scopes,
            tools=command.tools,
            contexts=command.contexts,
            expires_at=command.expires_at,
            limits=command.limits,
            secret_hash=secret_hash,
            at=now,
        ),
    )


def decide_revoke_key(key: Key | None, *, key_id: str, now: datetime) -> tuple[KeyRevoked, ...]:
    """
    End a key; revoking it again adds nothing.

    Raises:
        NotFound: there is no such key.
    """
    if key is None:
        raise NotFound(f"there is no key {key_id}")
    return () if key.revoked_at else (KeyRevoked(key_id=key_id, at=now),)
