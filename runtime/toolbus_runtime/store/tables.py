"""The tables of the event store, as SQLAlchemy Core knows them; `migrations/` creates them."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from toolbus_contracts.envelope import StoredEvent, time_text

EVENT_COLUMNS = StoredEvent._fields

# Names and ids are compared byte by byte: a locale's rules cost time in every index and differ between machines.
Name = Text(collation="C").with_variant(Text(), "sqlite")
Position = BigInteger().with_variant(Integer(), "sqlite")  # INTEGER is SQLite's rowid: no second index


class Moment(TypeDecorator[datetime]):
    """An aware UTC time with microseconds: timestamptz on PostgreSQL, the text of `time_text` on SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        """What a value is here, in every database."""
        return datetime

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column's type."""
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Write a time."""
        return value if value is None or dialect.name != "sqlite" else time_text(value.astimezone(UTC))

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002 -- SQLAlchemy's shape
        """Read a time."""
        return datetime.fromisoformat(value) if isinstance(value, str) else value


metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("position", Position, primary_key=True, autoincrement=False),
    Column("id", Name, nullable=False),
    Column("tenant", Name, nullable=False),
    Column("category", Name, nullable=False),
    Column("stream", Name, nullable=False),
    Column("version", Integer, nullable=False),
    Column("kind", Name, nullable=False),
    Column("data", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("correlation_id", Name, nullable=False),
    Column("causation_id", Name, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("traceparent", Name),
    Column("recorded_at", Moment, nullable=False),
    Column("previous_hash", Name, nullable=False),
    Column("hash", Name, nullable=False),
    UniqueConstraint("stream", "version", name="events_stream_version"),
    UniqueConstraint("causation_id", "tenant", "ordinal", name="events_cause"),
    Index("events_correlation", "correlation_id", "position"),
    Index("events_tenant", "tenant", "position"),
    Index("events_category", "category", "position"),
)

payloads = Table(
    "payloads",
    metadata,
    Column("tenant", Name, primary_key=True),
    Column("digest", Name, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Moment, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Name, primary_key=True),
    Column("owner", Name, nullable=False),
    Column("expires_at", Moment, nullable=False),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("name", Name, primary_key=True),
    Column("position", Position, nullable=False),
    Column("note", Text, nullable=False),
)
