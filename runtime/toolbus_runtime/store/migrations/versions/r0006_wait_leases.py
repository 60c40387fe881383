"""Which worker holds which function call, and until when."""

import sqlalchemy as sa
from alembic import op

from toolbus_runtime.store.tables import Moment, Name

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "wait_leases",
        sa.Column("wait_id", Name, primary_key=True),
        *(sa.Column(name, Name, nullable=False) for name in ("tenant", "lease_id")),
        sa.Column("leased_until", Moment, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
    )
    op.create_index("wait_leases_until", "wait_leases", ["leased_until"])
