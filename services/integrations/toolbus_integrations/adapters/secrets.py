"""The table of secrets: what is stored under a name, generation after generation, sealed."""

import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Row, and_, func, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from toolbus_contracts.errors import Unavailable
from toolbus_contracts.secrets import RemovedSecret, SealedSecret, SecretView
from toolbus_integrations.adapters.tables import secrets
from toolbus_runtime.projections import whole
from toolbus_runtime.store.database import DATABASE_ERRORS

P = ParamSpec("P")
T = TypeVar("T")
Seal = Callable[[int], SealedSecret]  # the generation → the secret sealed for it


@dataclass(frozen=True)
class StoredSecret:
    """A row: whose it is, what is told to the executors of it, and since when it is so."""

    tenant: str
    secret: SealedSecret | RemovedSecret
    stored_at: datetime

    @property
    def place(self) -> tuple[str, str]:
        """Where it stands in the order of all rows: tenant, name."""
        return self.tenant, self.secret.name

    def view(self) -> SecretView:
        """What people may read of it."""
        hosts, tools = (self.secret.hosts, self.secret.tools) if isinstance(self.secret, SealedSecret) else ((), ())
        return SecretView(
            name=self.secret.name,
            generation=self.secret.generation,
            hosts=hosts,
            tools=tools,
            stored_at=self.stored_at,
        )


def _asked(
    work: Callable[Concatenate["SecretTable", P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["SecretTable", P], Coroutine[Any, Any, T]]:
    """Make a method one whole whose errors are ours. Their texts hold parameters, so only their names are told."""

    @wraps(work)
    async def wrapped(table: "SecretTable", /, *args: P.args, **named: P.kwargs) -> T:
        try:
            return await whole(work(table, *args, **named))
        except DATABASE_ERRORS as error:
            raise Unavailable(f"database: {type(error).__name__}") from error

    return wrapped


class SecretTable:
    """Reads and writes of the table. Raises `Unavailable` when the database is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")

    @_asked
    async def put(self, tenant: str, name: str, seal: Seal, now: datetime) -> StoredSecret:
        """The secret has its next generation, whoever else stores one at the same time: each has its own."""
        while True:
            async with self._engine.begin() as connection:
                known = await _row(connection, tenant, name)
                before = 0 if known is None else known.generation
                stored = StoredSecret(tenant, seal(before + 1), now)
                if await _write(connection, stored, before):
                    return stored

    @_asked
    async def remove(self, tenant: str, name: str, now: datetime) -> StoredSecret | None:
        """The secret is gone, and its row counts on; it as it was, or none when there was none."""
        async with self._engine.begin() as connection:
            known = await _row(connection, tenant, name, is_locked=True)
            if known is None or known.is_removed:
                return None
            removed = RemovedSecret(name=name, generation=known.generation)
            await _write(connection, StoredSecret(tenant, removed, now), known.generation)
            return _stored(known)

    @_asked
    async def get(self, tenant: str, name: str) -> StoredSecret | None:
        """What is stored under this name, a removal included; none when nothing ever was."""
        async with self._reading.connect() as connection:
            found = await _row(connection, tenant, name)
            return None if found is None else _stored(found)

    @_asked
    async def listed(self, tenant: str, *, offset: int, limit: int) -> list[StoredSecret]:
        """A tenant's secrets by name, without those that were removed."""
        wanted = select(secrets).where(secrets.c.tenant == tenant, ~secrets.c.is_removed).order_by(secrets.c.name)
        async with self._reading.connect() as connection:
            return [_stored(row) for row in await connection.execute(wanted.offset(offset).limit(limit))]

    @_asked
    async def page(self, after: tuple[str, str] = ("", ""), *, limit: int = 500) -> list[StoredSecret]:
        """Every tenant's rows behind this place, removals included, ordered by place."""
        place = tuple_(secrets.c.tenant, secrets.c.name)
        wanted = select(secrets).where(place > after).order_by(secrets.c.tenant, secrets.c.name).limit(limit)
        async with self._reading.connect() as connection:
            return [_stored(row) for row in await connection.execute(wanted)]

    @_asked
    async def count_sealed_otherwise(self, key_id: str) -> int:
        """How many secrets are sealed with another key than this one."""
        wanted = select(func.count()).where(~secrets.c.is_removed, secrets.c.key_id != key_id)
        async with self._reading.connect() as connection:
            return int((await connection.execute(wanted)).scalar_one())

    @_asked
    async def reseal(self, tenant: str, old: SealedSecret, new: SealedSecret) -> bool:
        """The same generation is sealed anew; false when it was stored or removed meanwhile."""
        is_same = and_(
            secrets.c.tenant == tenant,
            secrets.c.name == old.name,
            secrets.c.generation == old.generation,
            secrets.c.sealed == old.sealed,
        )
        async with self._engine.begin() as connection:
            done = await connection.execute(update(secrets).where(is_same).values(key_id=new.key_id, sealed=new.sealed))
            return bool(done.rowcount == 1)


async def _row(connection: AsyncConnection, tenant: str, name: str, *, is_locked: bool = False) -> Row[Any] | None:
    wanted = select(secrets).where(secrets.c.tenant == tenant, secrets.c.name == name)
    return (await connection.execute(wanted.with_for_update() if is_locked else wanted)).first()


async def _write(connection: AsyncConnection, stored: StoredSecret, before: int) -> bool:
    """Whether the row was written: it is not when its generation is another one than `before`; 0 = there is none."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(secrets).values(tenant=stored.tenant, name=stored.secret.name, **_columns(stored))
    done = await connection.execute(
        statement.on_conflict_do_update(
            index_elements=[secrets.c.tenant, secrets.c.name],
            set_=_columns(stored),
            where=secrets.c.generation == before,
        )
    )
    return bool(done.rowcount == 1)


def _columns(stored: StoredSecret) -> dict[str, Any]:
    sealed = stored.secret if isinstance(stored.secret, SealedSecret) else None
    return {
        "generation": stored.secret.generation,
        "is_removed": sealed is None,
        "key_id": sealed.key_id if sealed else "",
        "sealed": sealed.sealed if sealed else "",
        "hosts": json.dumps(sealed.hosts if sealed else ()),
        "tools": json.dumps(sealed.tools if sealed else ()),
        "stored_at": stored.stored_at,
    }


def _stored(row: Row[Any]) -> StoredSecret:
    if row.is_removed:
        return StoredSecret(row.tenant, RemovedSecret(name=row.name, generation=row.generation), row.stored_at)
    secret = SealedSecret(
        name=row.name,
        generation=row.generation,
        hosts=tuple(json.loads(row.hosts)),
        tools=tuple(json.loads(row.tools)),
        key_id=row.key_id,
        sealed=row.sealed,
    )
    return StoredSecret(row.tenant, secret, row.stored_at)
