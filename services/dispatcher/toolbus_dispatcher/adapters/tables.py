"""The read tables of the dispatcher: filters and sort orders for lists; the log holds the content."""

from sqlalchemy import Boolean, Column, Index, Integer, MetaData, Table, Text

from toolbus_runtime.store.tables import Moment, Name, Position

metadata = MetaData()

calls = Table(
    "calls",
    metadata,
    Column("call_id", Name, primary_key=True),
    Column("tenant", Name, nullable=False),
    Column("execution_id", Name, nullable=False),
    Column("is_bare", Boolean, nullable=False),
    Column("status", Name, nullable=False),
    Column("tool", Name, nullable=False),
    Column("type", Name),
    Column("external_id", Name),
    Column("requested_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("deadline_at", Moment),
    Column("stop_by_at", Moment),
    Column("attempt", Integer, nullable=False),
    Column("dispatched_at", Moment),
    Column("since", Moment),  # when the status was told, by the clock that told the moments beside it
    Column("retry_at", Moment),
    Column("probe_at", Moment),
    Column("priority", Integer, nullable=False, server_default="5"),
    Column("limits", Text),
    Column("position", Position, nullable=False),
    Column("created_position", Position, nullable=False),
)
Index("calls_newest", calls.c.tenant, calls.c.created_position.desc())
Index("calls_execution", calls.c.tenant, calls.c.execution_id)
Index(
    "calls_external",
    calls.c.tenant,
    calls.c.external_id,
    sqlite_where=calls.c.external_id.is_not(None),
    postgresql_where=calls.c.external_id.is_not(None),
)
Index(
    "calls_open",
    calls.c.status,
    calls.c.created_position,
    sqlite_where=calls.c.finished_at.is_(None),
    postgresql_where=calls.c.finished_at.is_(None),
)
Index(  # calls that may still count against a rate
    "calls_limited",
    calls.c.dispatched_at,
    sqlite_where=calls.c.limits.is_not(None),
    postgresql_where=calls.c.limits.is_not(None),
)

call_labels = Table(
    "call_labels",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("key", Name, primary_key=True),
    Column("value", Name, primary_key=True),
    Column("call_id", Name, primary_key=True),
)

executions = Table(
    "executions",
    metadata,
    Column("execution_id", Name, primary_key=True),
    Column("tenant", Name, nullable=False),
    Column("parent", Name),
    Column("labels", Text, nullable=False),
    Column("finished", Name),
    Column("started_at", Moment, nullable=False),
    Column("position", Position, nullable=False),
    Column("created_position", Position, nullable=False),
)
Index("executions_newest", executions.c.tenant, executions.c.created_position.desc())

tools = Table(
    "tools",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("scope", Name, primary_key=True),
    Column("name", Name, primary_key=True),
    Column("type", Name, nullable=False),
    Column("definition_hash", Name, nullable=False),
    Column("version", Integer, nullable=False),
    Column("is_retired", Boolean, nullable=False),
    Column("position", Position, nullable=False),
)

definitions = Table(
    "definitions",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("definition_hash", Name, primary_key=True),
    Column("stream", Name, nullable=False),
    Column("position", Position, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("key_id", Name, primary_key=True),
    Column("position", Position, nullable=False),
)

stored_values = Table(
    "stored_values",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("tool", Name, primary_key=True),
    Column("level", Name, primary_key=True),
    Column("level_id", Name, primary_key=True),
    Column("position", Position, nullable=False),
)
