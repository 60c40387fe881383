"""The read tables of the approvals service: filters, sort orders and due times; the log holds the content."""

from sqlalchemy import Boolean, Column, Index, Integer, MetaData, Table, Text

from toolbus_runtime.store.tables import Moment, Name, Position

metadata = MetaData()

waits = Table(
    "waits",
    metadata,
    Column("wait_id", Name, primary_key=True),
    Column("tenant", Name, nullable=False),
    Column("call_id", Name, nullable=False),
    Column("kind", Name, nullable=False),
    Column("tool", Name, nullable=False),
    Column("requester", Name, nullable=False),
    Column("opened_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("moments", Text),  # JSON: when each escalation is due; absent without any
    Column("due_at", Moment),  # the next escalation, or the expiry
    Column("outcome", Name),
    Column("closed_at", Moment),
    Column("position", Position, nullable=False),
    Column("created_position", Position, nullable=False),
)
IS_OPEN = waits.c.closed_at.is_(None)
Index("waits_newest", waits.c.tenant, waits.c.created_position.desc())
Index(
    "waits_open",
    waits.c.tenant,
    waits.c.kind,
    waits.c.tool,
    waits.c.created_position,
    sqlite_where=IS_OPEN,
    postgresql_where=IS_OPEN,
)
Index("waits_call", waits.c.call_id, sqlite_where=IS_OPEN, postgresql_where=IS_OPEN)
Index("waits_due", waits.c.due_at, sqlite_where=IS_OPEN, postgresql_where=IS_OPEN)

grants = Table(
    "grants",
    metadata,
    Column("grant_id", Name, primary_key=True),
    Column("tenant", Name, nullable=False),
    Column("tool", Name, nullable=False),
    Column("subject", Name, nullable=False),
    Column("until", Moment, nullable=False),
    Column("uses_left", Integer, nullable=False),
    Column("is_revoked", Boolean, nullable=False),
    Column("position", Position, nullable=False),
    Column("created_position", Position, nullable=False),
)
Index("grants_newest", grants.c.tenant, grants.c.created_position.desc())
Index("grants_tool", grants.c.tenant, grants.c.tool, grants.c.until)

delegations = Table(
    "delegations",
    metadata,
    Column("delegation_id", Name, primary_key=True),
    Column("tenant", Name, nullable=False),
    Column("subject", Name, nullable=False),
    Column("to_subject", Name, nullable=False),
    Column("until", Moment, nullable=False),
    Column("is_revoked", Boolean, nullable=False),
    Column("position", Position, nullable=False),
    Column("created_position", Position, nullable=False),
)
Index("delegations_newest", delegations.c.tenant, delegations.c.created_position.desc())
Index("delegations_to", delegations.c.tenant, delegations.c.to_subject, delegations.c.until)
