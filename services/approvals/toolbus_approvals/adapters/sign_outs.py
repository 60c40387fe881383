"""Sessions of the inbox page that were ended before their time; kept until they would have ended anyhow."""

from datetime import datetime

from sqlalchemy import Column, Index, MetaData, Table, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts.errors import Unavailable
from toolbus_runtime.projections import wholly
from toolbus_runtime.store.database import DATABASE_ERRORS
from toolbus_runtime.store.tables import Moment, Name

metadata = MetaData()

inbox_sign_outs = Table(
    "inbox_sign_outs",
    metadata,
    Column("session_id", Name, primary_key=True),
    Column("until", Moment, nullable=False),
)
Index("inbox_sign_outs_until", inbox_sign_outs.c.until)


class SignOuts:
    """The table, read and written. Raises `Unavailable` when the database is away: then nobody is let in."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @wholly
    async def has(self, session_id: str) -> bool:
        """True when somebody signed out of this session."""
        wanted = select(inbox_sign_outs.c.session_id).where(inbox_sign_outs.c.session_id == session_id)
        try:
            async with self._engine.connect() as connection:
                return (await connection.execute(wanted)).first() is not None
        except DATABASE_ERRORS as error:
            raise _away(error) from error

    @wholly
    async def add(self, session_id: str, until: datetime, now: datetime) -> None:
        """Remember that it was ended, and forget those whose time is over."""
        try:
            async with self._engine.begin() as connection:
                insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
                new = insert(inbox_sign_outs).values(session_id=session_id, until=until)
                await connection.execute(new.on_conflict_do_nothing())
                await connection.execute(delete(inbox_sign_outs).where(inbox_sign_outs.c.until <= now))
        except DATABASE_ERRORS as error:
            raise _away(error) from error


def _away(error: Exception) -> Unavailable:
    return Unavailable(f"database: {type(error).__name__}")
