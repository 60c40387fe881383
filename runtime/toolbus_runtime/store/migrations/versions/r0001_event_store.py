"""The event store: events (append-only), payloads, leases, checkpoints."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment, Name, Position

revision = "0001"
down_revision = None

POSTGRES_GUARD = (
    """
    CREATE FUNCTION events_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'events are append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
    END $$
    """,
    """
    CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION events_refuse_change()
    """,
)
# INSERT OR REPLACE deletes a row without asking the trigger for deletes: only the next position may be inserted.
SQLITE_GUARD = (
    """
    CREATE TRIGGER events_no_update BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only: UPDATE refused'); END
    """,
    """
    CREATE TRIGGER events_no_delete BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only: DELETE refused'); END
    """,
    """
    CREATE TRIGGER events_no_replace BEFORE INSERT ON events
    WHEN NEW.position <> (SELECT coalesce(max(position), 0) + 1 FROM events)
    BEGIN SELECT RAISE(ABORT, 'events are append-only: only the next event may be inserted'); END
    """,
)


def upgrade() -> None:
    """Create the four tables and the triggers that keep the log append-only."""
    _create_events()
    op.create_table(
        "payloads",
        sa.Column("tenant", Name, primary_key=True),
        sa.Column("digest", Name, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("name", Name, primary_key=True),
        sa.Column("owner", Name, nullable=False),
        sa.Column("expires_at", Moment, nullable=False),
    )
    op.create_table(
        "checkpoints",
        sa.Column("name", Name, primary_key=True),
        sa.Column("position", Position, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
    )
    for statement in POSTGRES_GUARD if op.get_bind().dialect.name == "postgresql" else SQLITE_GUARD:
        op.execute(statement)


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("position", Position, primary_key=True, autoincrement=False),
        sa.Column("id", Name, nullable=False),
        sa.Column("tenant", Name, nullable=False),
        sa.Column("category", Name, nullable=False),
        sa.Column("stream", Name, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("kind", Name, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("correlation_id", Name, nullable=False),
        sa.Column("causation_id", Name, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("traceparent", Name),
        sa.Column("recorded_at", Moment, nullable=False),
        sa.Column("previous_hash", Name, nullable=False),
        sa.Column("hash", Name, nullable=False),
        sa.UniqueConstraint("stream", "version", name="events_stream_version"),
        sa.UniqueConstraint("causation_id", "tenant", "ordinal", name="events_cause"),  # asked for in this order
    )
    op.create_index("events_correlation", "events", ["correlation_id", "position"])
    op.create_index("events_tenant", "events", ["tenant", "position"])
    op.create_index("events_category", "events", ["category", "position"])
