"""Secrets, sealed; a removed one stays as a number, so that no generation is ever given twice."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment, Name

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "secrets",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "name")),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("is_removed", sa.Boolean, nullable=False),
        sa.Column("key_id", Name, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("sealed", "hosts", "tools")),
        sa.Column("stored_at", Moment, nullable=False),
    )
