"""Which sessions of the inbox page were ended before their time."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment, Name

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "inbox_sign_outs",
        sa.Column("session_id", Name, primary_key=True),
        sa.Column("until", Moment, nullable=False),
    )
    op.create_index("inbox_sign_outs_until", "inbox_sign_outs", ["until"])
