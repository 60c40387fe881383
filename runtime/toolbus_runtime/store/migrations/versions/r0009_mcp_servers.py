"""MCP servers: how each of them is spoken to, as JSON; secrets stand in it as references."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment, Name

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "mcp_servers",
        *(sa.Column(name, Name, primary_key=True) for name in ("tenant", "name")),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("stored_at", Moment, nullable=False),
    )
