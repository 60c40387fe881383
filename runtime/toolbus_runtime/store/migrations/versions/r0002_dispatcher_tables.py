"""Read tables of the dispatcher: calls, labels, executions, tools, definitions, keys."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment, Name, Position

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the tables."""
    _calls()
    op.create_table(
        "call_labels",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "key", "value", "call_id")),
    )
    op.create_table(
        "executions",
        sa.Column("execution_id", Name, primary_key=True),
        sa.Column("tenant", Name, nullable=False),
        sa.Column("parent", Name),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("finished", Name),
        sa.Column("started_at", Moment, nullable=False),
        sa.Column("position", Position, nullable=False),
        sa.Column("created_position", Position, nullable=False),
    )
    op.create_index("executions_newest", "executions", ["tenant", sa.text("created_position DESC")])
    op.create_table(
        "tools",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "scope", "name")),
        sa.Column("type", Name, nullable=False),
        sa.Column("definition_hash", Name, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("is_retired", sa.Boolean, nullable=False),
        sa.Column("position", Position, nullable=False),
    )
    op.create_table(
        "definitions",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "definition_hash")),
        sa.Column("stream", Name, nullable=False),
        sa.Column("position", Position, nullable=False),
    )
    op.create_table(
        "keys",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "key_id")),
        sa.Column("position", Position, nullable=False),
    )


def _calls() -> None:
    op.create_table(
        "calls",
        sa.Column("call_id", Name, primary_key=True),
        *(sa.Column(name, Name, nullable=False) for name in ("tenant", "execution_id", "status", "tool")),
        sa.Column("is_bare", sa.Boolean, nullable=False),
        *(sa.Column(name, Name) for name in ("type", "external_id")),
        sa.Column("requested_at", Moment, nullable=False),
        *(sa.Column(name, Moment) for name in ("finished_at", "deadline_at", "stop_by_at", "dispatched_at")),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("position", Position, nullable=False),
        sa.Column("created_position", Position, nullable=False),
    )
    op.create_index("calls_newest", "calls", ["tenant", sa.text("created_position DESC")])
    op.create_index("calls_execution", "calls", ["tenant", "execution_id"])
    is_open, has_external = sa.text("finished_at IS NULL"), sa.text("external_id IS NOT NULL")
    op.create_index(
        "calls_external",
        "calls",
        ["tenant", "external_id"],
        sqlite_where=has_external,
        postgresql_where=has_external,
    )
    op.create_index(
        "calls_open", "calls", ["status", "created_position"], sqlite_where=is_open, postgresql_where=is_open
    )
