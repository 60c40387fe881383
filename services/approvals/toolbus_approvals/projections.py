"""Store events → read tables, by position."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from toolbus_approvals.adapters.tables import delegations, grants, waits
from toolbus_contracts.envelope import StoredEvent
from toolbus_runtime.store.many import insert_many, update_many

Row = dict[str, Any]


async def project(connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
    """Bring the read tables up to these events."""
    await _project_waits(connection, [event for event in events if event.category == "wait"])
    for event in events:
        match event.category:
            case "grant":
                await _project_grant(connection, event)
            case "delegation":
                await _project_delegation(connection, event)
            case _:
                pass


async def _project_waits(connection: AsyncConnection, events: Sequence[StoredEvent]) -> None:
    """Opened waits become rows; closed ones are due no more; an escalated one is due at its next moment."""
    opened = [_opened_row(event) for event in events if event.kind == "wait.opened.v1"]
    await insert_many(connection, waits, opened)
    for event in events:
        if event.kind == "wait.escalated.v1":
            await _project_escalated(connection, event)
    closed = [_closed_row(event) for event in events if event.kind == "wait.closed.v1"]
    await update_many(connection, waits, "wait_id", closed)


def _opened_row(event: StoredEvent) -> Row:
    said = orjson.loads(event.data)  # not as a model: rebuilding is bound by reading
    opened_at = datetime.fromisoformat(said["at"])
    expires_at = datetime.fromisoformat(said["expires_at"]) if said["expires_at"] else None
    steps = (said.get("approval") or {}).get("escalate", ())
    moments = sorted(opened_at + timedelta(seconds=step["after_s"]) for step in steps)
    return {
        "wait_id": said["wait_id"],
        "tenant": event.tenant,
        "call_id": said["call_id"],
        "kind": said["wait_kind"],
        "tool": said["tool"],
        "requester": said["requester"]["subject"],
        "opened_at": opened_at,
        "expires_at": expires_at,
        "moments": orjson.dumps(moments).decode() if moments else None,
        "due_at": _next_due(moments, 0, expires_at),
        "outcome": None,
        "closed_at": None,
        "position": event.position,
        "created_position": event.position,
    }


def _closed_row(event: StoredEvent) -> Row:
    outcome = orjson.loads(event.data)["outcome"]
    return {
        "wait_id": event.subject_id,
        "outcome": outcome,
        "closed_at": event.recorded_at,
        "due_at": None,
        "position": event.position,
    }


async def _project_escalated(connection: AsyncConnection, event: StoredEvent) -> None:
    step = orjson.loads(event.data)["step"]
    found = await connection.execute(select(waits).where(waits.c.wait_id == event.subject_id))
    row = found.one()
    moments = [datetime.fromisoformat(moment) for moment in orjson.loads(row.moments or "[]")]
    due_at = _next_due(moments, step, row.expires_at)
    await connection.execute(
        waits.update().where(waits.c.wait_id == event.subject_id).values(due_at=due_at, position=event.position)
    )


def _next_due(moments: Sequence[datetime], done: int, expires_at: datetime | None) -> datetime | None:
    """The next escalation behind those that were done, or the expiry, whichever comes first."""
    return min([moment for moment in (*moments[done : done + 1], expires_at) if moment is not None], default=None)


async def _project_grant(connection: AsyncConnection, event: StoredEvent) -> None:
    of_grant = grants.c.grant_id == event.subject_id
    match event.kind:
        case "grant.given.v1":
            said = orjson.loads(event.data)
            row = {
                "grant_id": said["grant_id"],
                "tenant": event.tenant,
                "tool": said["tool"],
                "subject": said["subject"],
                "until": datetime.fromisoformat(said["until"]),
                "uses_left": said["uses"],
                "is_revoked": False,
                "position": event.position,
                "created_position": event.position,
            }
            await insert_many(connection, grants, [row])
        case "grant.used.v1":
            change = {"uses_left": grants.c.uses_left - 1, "position": event.position}
            await connection.execute(grants.update().where(of_grant).values(change))
        case _:
            await connection.execute(grants.update().where(of_grant).values(is_revoked=True, position=event.position))


async def _project_delegation(connection: AsyncConnection, event: StoredEvent) -> None:
    if event.kind == "delegation.given.v1":
        said = orjson.loads(event.data)
        row = {
            "delegation_id": said["delegation_id"],
            "tenant": event.tenant,
            "subject": said["subject"],
            "to_subject": said["to"],
            "until": datetime.fromisoformat(said["until"]),
            "is_revoked": False,
            "position": event.position,
            "created_position": event.position,
        }
        await insert_many(connection, delegations, [row])
    else:
        await connection.execute(
            delegations.update()
            .where(delegations.c.delegation_id == event.subject_id)
            .values(is_revoked=True, position=event.position)
        )
