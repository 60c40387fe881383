"""Webhooks: sealed secrets, what is sent and came of it, and since when a receiver fails."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment, Name, Position

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "webhook_secrets",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "secret_id")),
        sa.Column("webhook", Name, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True),
        *(sa.Column(name, Name, nullable=False) for name in ("tenant", "id", "webhook", "lane", "type")),
        sa.Column("position", Position, nullable=False),
        sa.Column("url", sa.Text),
        sa.Column("status", Name, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        *(sa.Column(name, Moment) for name in ("next_at", "last_at")),
        sa.Column("last_status_code", sa.Integer),
        sa.Column("last_error", sa.Text),
        sa.Column("first_failed_at", Moment),
        sa.UniqueConstraint("tenant", "id", name="webhook_deliveries_id"),
    )
    is_pending = sa.text("next_at IS NOT NULL")
    op.create_index(
        "webhook_deliveries_due",
        "webhook_deliveries",
        ["lane", "next_at"],
        sqlite_where=is_pending,
        postgresql_where=is_pending,
    )
    op.create_index("webhook_deliveries_newest", "webhook_deliveries", ["tenant", "webhook", "number"])
    op.create_table(
        "webhook_failures",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "webhook")),
        sa.Column("failing_since", Moment, nullable=False),
    )
