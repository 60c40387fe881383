"""Where values are stored for tools; the values themselves are in the log."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Name, Position

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the read table."""
    op.create_table(
        "stored_values",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "tool", "level", "level_id")),
        sa.Column("position", Position, nullable=False),
    )
