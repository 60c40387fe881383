"""Store events → read tables, by position. What one list of events does to one call is written in one statement."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, assert_never

import orjson
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from toolbus_contracts.calls import TERMINAL_KINDS
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.executions import ExecutionStarted, execution_events
from toolbus_contracts.stored import ValuesRemoved, ValuesStored, stored_events
from toolbus_contracts.tools import ToolDefined, tool_events
from toolbus_dispatcher.adapters.tables import call_labels, calls, definitions, executions, keys, stored_values, tools
from toolbus_runtime.store.many import insert_many, update_many

Row = dict[str, Any]
STATUS_OF: Final = {
    "call.requested.v1": "requested",
    "call.refused.v1": "refused",
    "call.wait_asked.v1": "waiting",
    "call.resumed.v1": "requested",
    "call.denied.v1": "denied",
    "call.approval_voided.v1": "refused",
    "call.dispatched.v1": "dispatched",
    "call.attempt_started.v1": "running",
    "call.succeeded.v1": "succeeded",
    "call.failed.v1": "failed",
    "call.attempt_failed.v1": "retrying",
    "call.cancelled.v1": "cancelled",
    "call.expired.v1": "expired",
    "call.in_doubt.v1": "in_doubt",
}


async def project(connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
    """Bring the dispatcher's read tables up to these events."""
    await _project_calls(connection, [event for event in events if event.category == "call"])
    for event in events:
        match event.category:
            case "execution":
                await _project_execution(connection, event)
            case "tool":
                await _project_tool(connection, event)
            case "key":
                row = {"tenant": event.tenant, "key_id": event.subject_id, "position": event.position}
                await insert_many(connection, keys, [row])
            case "stored":
                await _project_stored(connection, event)
            case _:
                pass


async def _project_calls(connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
    """New calls become rows with all that these events say; known ones change only what moved."""
    new: dict[str, Row] = {}
    changed: dict[str, Row] = {}
    labels: list[Row] = []
    for event in events:
        change = _change_of(event)
        if change is None:
            continue
        call_id = event.subject_id
        if event.kind in {"call.requested.v1", "call.refused.v1"}:
            new[call_id], found = _new_row(event, change)
            labels += found
        elif call_id in new:
            new[call_id].update(change)
        else:
            changed.setdefault(call_id, {"call_id": call_id}).update(change)
    await insert_many(connection, calls, list(new.values()))
    await insert_many(connection, call_labels, labels)
    for rows in _by_columns(changed.values()):
        await update_many(connection, calls, "call_id", rows)


def _change_of(event: StoredEvent) -> Row | None:
    """The columns that one event of a call moves."""
    status = STATUS_OF.get(event.kind)
    if status is None:
        return _change_by_doubt(event)
    change: Row = {"status": status, "position": event.position}
    if event.kind in TERMINAL_KINDS:
        return change | {"finished_at": event.recorded_at}
    said = orjson.loads(event.data)  # not as a model: rebuilding is bound by reading
    change["since"] = datetime.fromisoformat(said["at"])
    match event.kind:
        case "call.dispatched.v1":
            change |= {"attempt": said["attempt"], "dispatched_at": event.recorded_at}
        case "call.attempt_started.v1":
            change["stop_by_at"] = datetime.fromisoformat(said["stop_by"])
        case "call.attempt_failed.v1":
            change["retry_at"] = datetime.fromisoformat(said["retry_at"])
        case "call.in_doubt.v1":
            probe_at = said.get("probe_at")
            change["probe_at"] = datetime.fromisoformat(probe_at) if probe_at else None
        case _:
            pass
    return change


def _change_by_doubt(event: StoredEvent) -> Row | None:
    """What a probe or a person moves; an end that follows is an event of its own."""
    if event.kind == "call.doubt_probed.v1":
        return {"probe_at": None, "position": event.position}
    if event.kind == "call.doubt_settled.v1" and (said := orjson.loads(event.data))["outcome"] == "retry":
        at = datetime.fromisoformat(said["at"])
        return {"status": "retrying", "since": at, "retry_at": at, "probe_at": None, "position": event.position}
    return None


def _new_row(event: StoredEvent, change: Row) -> tuple[Row, list[Row]]:
    said = orjson.loads(event.data)
    deadline_at = said.get("deadline_at")
    row: Row = {
        "call_id": said["call_id"],
        "tenant": event.tenant,
        "execution_id": said["execution_id"],
        "is_bare": said["is_bare"],
        "tool": said["tool"],
        "type": said.get("tool_type"),
        "external_id": said["external_id"],
        "requested_at": datetime.fromisoformat(said["at"]),  # as the call shows it
        "finished_at": None,
        "deadline_at": datetime.fromisoformat(deadline_at) if deadline_at else None,
        "stop_by_at": None,
        "attempt": 0,
        "dispatched_at": None,
        "since": None,
        "retry_at": None,
        "probe_at": None,
        "priority": said.get("priority", 5),
        "limits": orjson.dumps(said["limits"]).decode() if said.get("limits") else None,
        "created_position": event.position,
        **change,
    }
    labels = [
        {"tenant": event.tenant, "key": key, "value": value, "call_id": said["call_id"]}
        for key, value in said["labels"].items()
    ]
    return row, labels


def _by_columns(rows: Iterable[Row]) -> Iterable[list[Row]]:
    grouped: dict[frozenset[str], list[Row]] = {}
    for row in rows:
        grouped.setdefault(frozenset(row), []).append(row)
    return grouped.values()


async def _project_execution(connection: AsyncConnection, event: StoredEvent) -> None:
    match execution_events.validate_json(event.data):
        case ExecutionStarted() as started:
            row = {
                "execution_id": started.execution_id,
                "tenant": event.tenant,
                "parent": started.parent,
                "labels": orjson.dumps(started.labels).decode(),
                "finished": None,
                "started_at": event.recorded_at,
                "position": event.position,
                "created_position": event.position,
            }
            await insert_many(connection, executions, [row])
        case finished:
            await connection.execute(
                executions.update()
                .where(executions.c.execution_id == finished.execution_id)
                .values(finished=finished.status, position=event.position)
            )


async def _project_tool(connection: AsyncConnection, event: StoredEvent) -> None:
    match tool_events.validate_json(event.data):
        case ToolDefined() as defined:
            row = {
                "tenant": event.tenant,
                "scope": defined.scope,
                "name": defined.definition.name,
                "type": defined.definition.tool_type,
                "definition_hash": defined.definition_hash,
                "version": defined.version,
                "is_retired": False,
                "position": event.position,
            }
            await _replace(connection, tools, row)
            found = {
                "tenant": event.tenant,
                "definition_hash": defined.definition_hash,
                "stream": event.stream,
                "position": event.position,
            }
            await insert_many(connection, definitions, [found])
        case retired:
            await connection.execute(
                tools.update()
                .where(tools.c.tenant == event.tenant, tools.c.scope == retired.scope, tools.c.name == retired.name)
                .values(is_retired=True, position=event.position)
            )


async def _project_stored(connection: AsyncConnection, event: StoredEvent) -> None:
    said = stored_events.validate_json(event.data)
    place: Row = {"tenant": event.tenant, "tool": said.tool, "level": said.level, "level_id": said.level_id}
    match said:
        case ValuesStored():
            await _replace(connection, stored_values, {**place, "position": event.position})
        case ValuesRemoved():
            of_place = (stored_values.c[name] == value for name, value in place.items())
            await connection.execute(stored_values.delete().where(*of_place))
        case _:
            assert_never(said)


async def _replace(connection: AsyncConnection, table: Table, row: Row) -> None:
    """The newest row takes the place of the one before it."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).values(row)
    values = {name: statement.excluded[name] for name in row if name not in table.primary_key.columns}
    await connection.execute(statement.on_conflict_do_update(index_elements=table.primary_key.columns, set_=values))
