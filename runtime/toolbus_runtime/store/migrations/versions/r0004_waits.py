"""Read tables of the approvals service: waits, grants, delegations."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment, Name, Position

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the tables."""
    _waits()
    op.create_table(
        "grants",
        sa.Column("grant_id", Name, primary_key=True),
        *(sa.Column(name, Name, nullable=False) for name in ("tenant", "tool", "subject")),
        sa.Column("until", Moment, nullable=False),
        sa.Column("uses_left", sa.Integer, nullable=False),
        sa.Column("is_revoked", sa.Boolean, nullable=False),
        *_positions(),
    )
    op.create_index("grants_newest", "grants", ["tenant", sa.text("created_position DESC")])
    op.create_index("grants_tool", "grants", ["tenant", "tool", "until"])
    op.create_table(
        "delegations",
        sa.Column("delegation_id", Name, primary_key=True),
        *(sa.Column(name, Name, nullable=False) for name in ("tenant", "subject", "to_subject")),
        sa.Column("until", Moment, nullable=False),
        sa.Column("is_revoked", sa.Boolean, nullable=False),
        *_positions(),
    )
    op.create_index("delegations_newest", "delegations", ["tenant", sa.text("created_position DESC")])
    op.create_index("delegations_to", "delegations", ["tenant", "to_subject", "until"])


def _waits() -> None:
    op.create_table(
        "waits",
        sa.Column("wait_id", Name, primary_key=True),
        *(sa.Column(name, Name, nullable=False) for name in ("tenant", "call_id", "kind", "tool", "requester")),
        sa.Column("opened_at", Moment, nullable=False),
        sa.Column("expires_at", Moment),
        sa.Column("moments", sa.Text),
        sa.Column("due_at", Moment),
        sa.Column("outcome", Name),
        sa.Column("closed_at", Moment),
        *_positions(),
    )
    op.create_index("waits_newest", "waits", ["tenant", sa.text("created_position DESC")])
    is_open = sa.text("closed_at IS NULL")
    for name, columns in (
        ("waits_open", ["tenant", "kind", "tool", "created_position"]),
        ("waits_call", ["call_id"]),
        ("waits_due", ["due_at"]),
    ):
        op.create_index(name, "waits", columns, sqlite_where=is_open, postgresql_where=is_open)


def _positions() -> list[sa.Column[int]]:
    return [sa.Column(name, Position, nullable=False) for name in ("position", "created_position")]
