"""Tables of webhooks: sealed secrets, what is sent and came of it, and since when a receiver fails."""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text, UniqueConstraint

from toolbus_runtime.store.tables import Moment, Name, Position

metadata = MetaData()

webhook_secrets = Table(
    "webhook_secrets",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("secret_id", Name, primary_key=True),
    Column("webhook", Name, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", Moment, nullable=False),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    # In the order of making; lists go by it.
    Column("number", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True),
    Column("tenant", Name, nullable=False),
    Column("id", Name, nullable=False),
    Column("webhook", Name, nullable=False),
    Column("lane", Name, nullable=False),
    Column("type", Name, nullable=False),
    Column("position", Position, nullable=False),
    Column("url", Text),
    Column("status", Name, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("next_at", Moment),  # there is one exactly while it is pending
    Column("last_at", Moment),
    Column("last_status_code", Integer),
    Column("last_error", Text),
    Column("first_failed_at", Moment),
    UniqueConstraint("tenant", "id", name="webhook_deliveries_id"),
)
Index(
    "webhook_deliveries_due",
    webhook_deliveries.c.lane,
    webhook_deliveries.c.next_at,
    sqlite_where=webhook_deliveries.c.next_at.is_not(None),
    postgresql_where=webhook_deliveries.c.next_at.is_not(None),
)
Index(
    "webhook_deliveries_newest", webhook_deliveries.c.tenant, webhook_deliveries.c.webhook, webhook_deliveries.c.number
)

webhook_failures = Table(
    "webhook_failures",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("webhook", Name, primary_key=True),
    Column("failing_since", Moment, nullable=False),
)
