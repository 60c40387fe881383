"""The tables of the integrations service."""

from sqlalchemy import Boolean, Column, Integer, MetaData, Table, Text

from toolbus_runtime.store.tables import Moment, Name

metadata = MetaData()

secrets = Table(
    "secrets",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("name", Name, primary_key=True),
    Column("generation", Integer, nullable=False),  # it never goes back, not even over a removal
    Column("is_removed", Boolean, nullable=False),
    Column("key_id", Name, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("hosts", Text, nullable=False),  # JSON, as `tools` is
    Column("tools", Text, nullable=False),
    Column("stored_at", Moment, nullable=False),
)
