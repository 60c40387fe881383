"""What the dispatcher reads of calls that are held back, tried again, or probed."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns; a dispatcher that does not know them goes on writing rows."""
    op.add_column("calls", sa.Column("since", Moment))
    op.add_column("calls", sa.Column("retry_at", Moment))
    op.add_column("calls", sa.Column("probe_at", Moment))
    op.add_column("calls", sa.Column("priority", sa.Integer, nullable=False, server_default="5"))
    op.add_column("calls", sa.Column("limits", sa.Text))
    is_limited = sa.text("limits IS NOT NULL")
    op.create_index("calls_limited", "calls", ["dispatched_at"], sqlite_where=is_limited, postgresql_where=is_limited)
