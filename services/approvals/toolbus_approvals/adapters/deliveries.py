"""Deliveries in the database: what is due, what came of it, and the log that people read."""

from collections.abc import Collection, Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Row, Select, UpdateBase, and_, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from toolbus_approvals.adapters.webhook_tables import webhook_deliveries as rows
from toolbus_approvals.adapters.webhook_tables import webhook_failures as failures
from toolbus_approvals.core.messages import NewDelivery
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.webhooks import DeliveryStatus, DeliveryView
from toolbus_runtime.projections import whole
from toolbus_runtime.store.database import DATABASE_ERRORS

T = TypeVar("T")
IS_PENDING = rows.c.next_at.is_not(None)
KEPT_FOR = timedelta(days=30)
PRUNED_AT_ONCE = 1000


class Delivery(NamedTuple):
    """One delivery that is due."""

    number: int
    tenant: str
    id: str
    webhook: str
    lane: str
    type: str
    position: int
    url: str | None
    attempts: int


class Result(NamedTuple):
    """What came of one attempt at a delivery; `next_at` while it is pending."""

    delivery: Delivery
    status: DeliveryStatus
    at: datetime
    next_at: datetime | None = None
    status_code: int | None = None
    error: str | None = None


class Deliveries:
    """Reads and writes of the table. Raises `Unavailable` when the database is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")

    async def due_lanes(self) -> list[tuple[str, datetime]]:
        """Every lane that holds something pending, and when the first of it is due."""
        return [(row.lane, row.next_at) for row in await self._rows(_LANES)]

    async def due(self, lane: str, now: datetime, *, limit: int, without: Collection[int]) -> list[Delivery]:
        """What is due in a lane, the oldest first, save what is on its way."""
        found = await self._rows(
            select(*(rows.c[name] for name in Delivery._fields))
            .where(IS_PENDING, rows.c.lane == lane, rows.c.next_at <= now)
            .order_by(rows.c.next_at)
            .limit(limit + len(without))
        )
        return [Delivery(*row) for row in found if row.number not in without][:limit]

    async def record(self, results: Sequence[Result]) -> dict[tuple[str, str], datetime]:
        """
        Write what came of attempts, in one transaction.

        A delivery that was changed meanwhile (resent, held) keeps what it was changed to. Gives since when the
        webhooks among them fail that do; client functions count for none.
        """

        async def write() -> dict[tuple[str, str], datetime]:
            async with self._engine.begin() as connection:
                for result in results:
                    await connection.execute(_RECORD, _recorded(result))
                return await _failing(connection, results)

        return await _asked(write())

    async def listed(
        self, tenant: str, webhook: str, *, status: DeliveryStatus | None, before: int | None, limit: int
    ) -> list[tuple[DeliveryView, int]]:
        """Deliveries of a webhook, newest first, before a place."""
        found = select(rows).where(rows.c.tenant == tenant, rows.c.webhook == webhook)
        if status is not None:
            found = found.where(rows.c.status == status)
        if before is not None:
            found = found.where(rows.c.number < before)
        shown = await self._rows(found.order_by(rows.c.number.desc()).limit(limit))
        return [(_view(row), row.number) for row in shown]

    async def get(self, tenant: str, webhook: str, delivery_id: str) -> DeliveryView | None:
        """One delivery of a webhook."""
        found = await self._rows(select(rows).where(_is_one(tenant, webhook, delivery_id)))
        return _view(found[0]) if found else None

    async def resend(self, tenant: str, webhook: str, delivery_id: str, now: datetime) -> bool:
        """Send one again at once, from the first attempt on; false when there is none such."""
        return await self._resend(_is_one(tenant, webhook, delivery_id), now) > 0

    async def resend_since(
        self, tenant: str, webhook: str, since: datetime, *, status: DeliveryStatus | None, now: datetime
    ) -> int:
        """Send again what was made since then, and tell how much that is; what is dropped stays so."""
        where = and_(
            rows.c.tenant == tenant,
            rows.c.webhook == webhook,
            rows.c.created_at >= since,
            rows.c.status != "dropped" if status is None else rows.c.status == status,
        )
        return await self._resend(where, now)

    async def prune(self, now: datetime) -> int:
        """Forget the oldest that ended a month ago, at most a thousand; tells how many."""
        oldest = select(rows.c.number).order_by(rows.c.number).limit(PRUNED_AT_ONCE).scalar_subquery()
        where = and_(rows.c.number.in_(oldest), rows.c.created_at < now - KEPT_FOR, rows.c.next_at.is_(None))
        return await self._write(delete(rows).where(where))

    async def _resend(self, where: ColumnElement[bool], now: datetime) -> int:
        return await self._write(
            update(rows).where(where).values(status="pending", attempts=0, next_at=now, first_failed_at=None)
        )

    async def _rows(self, statement: Select[Any]) -> Sequence[Any]:
        async def read() -> Sequence[Any]:
            async with self._reading.connect() as connection:
                found: Sequence[Any] = (await connection.execute(statement)).all()
                return found

        return await _asked(read())

    async def _write(self, statement: UpdateBase) -> int:
        async def write() -> int:
            async with self._engine.begin() as connection:
                return int((await connection.execute(statement)).rowcount)

        return await _asked(write())


async def add(connection: AsyncConnection, made: Sequence[tuple[NewDelivery, DeliveryStatus]]) -> None:
    """Add deliveries that are not there yet: pending ones are due at once, others wait for somebody to ask."""
    if not made:
        return
    values = [
        {
            "tenant": new.tenant,
            "id": new.id,
            "webhook": new.webhook,
            "lane": new.lane,
            "type": new.type,
            "position": new.position,
            "url": new.url,
            "status": status,
            "attempts": 0,
            "created_at": new.at,
            "next_at": new.at if status == "pending" else None,
        }
        for new, status in made
    ]
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    await connection.execute(insert(rows).on_conflict_do_nothing(), values)


async def settle(connection: AsyncConnection, lane: str, status: DeliveryStatus) -> None:
    """Whatever is pending in a lane is sent no more: held, or dropped."""
    await connection.execute(update(rows).where(IS_PENDING, rows.c.lane == lane).values(status=status, next_at=None))


async def forget_failures(connection: AsyncConnection, tenant: str, webhook: str) -> None:
    """A webhook begins anew: it has not failed."""
    await connection.execute(delete(failures).where(failures.c.tenant == tenant, failures.c.webhook == webhook))


async def _failing(connection: AsyncConnection, results: Sequence[Result]) -> dict[tuple[str, str], datetime]:
    """Keep since when webhooks fail. One success says that a receiver works, whatever else failed beside it."""
    told = [
        (result, (result.delivery.tenant, result.delivery.webhook)) for result in results if not result.delivery.url
    ]
    working = {of for result, of in told if result.status == "delivered"}
    failing: dict[tuple[str, str], datetime] = {}
    for of in working:
        await forget_failures(connection, *of)
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    for result, of in told:
        if of in working or result.status == "dropped" or of in failing:
            continue
        new = insert(failures).values(tenant=of[0], webhook=of[1], failing_since=result.at)
        await connection.execute(new.on_conflict_do_nothing())
        since = select(failures.c.failing_since).where(failures.c.tenant == of[0], failures.c.webhook == of[1])
        failing[of] = (await connection.execute(since)).scalar_one()
    return failing


def _lanes() -> Select[Any]:
    """Jump from lane to lane along the index: a lane with a million rows costs no more than one with a single row."""
    lanes = select(func.min(rows.c.lane).label("lane")).where(IS_PENDING).cte("lanes", recursive=True)
    following = select(func.min(rows.c.lane)).where(IS_PENDING, rows.c.lane > lanes.c.lane).scalar_subquery()
    lanes = lanes.union_all(select(following).where(lanes.c.lane.is_not(None)))
    first = select(func.min(rows.c.next_at)).where(IS_PENDING, rows.c.lane == lanes.c.lane).scalar_subquery()
    return select(lanes.c.lane, first.label("next_at")).where(lanes.c.lane.is_not(None))


_LANES = _lanes()
_RECORD = (  # only what nobody changed meanwhile
    update(rows)
    .where(rows.c.number == bindparam("b_number"), rows.c.attempts == bindparam("b_attempts"), IS_PENDING)
    .values(
        status=bindparam("b_status"),
        attempts=rows.c.attempts + 1,
        next_at=bindparam("b_next_at"),
        last_at=bindparam("b_at"),
        last_status_code=bindparam("b_status_code"),
        last_error=bindparam("b_error"),
        first_failed_at=func.coalesce(rows.c.first_failed_at, bindparam("b_failed_at")),
    )
)


def _recorded(result: Result) -> dict[str, Any]:
    return {
        "b_number": result.delivery.number,
        "b_attempts": result.delivery.attempts,
        "b_status": result.status,
        "b_next_at": result.next_at,
        "b_at": result.at,
        "b_status_code": result.status_code,
        "b_error": result.error,
        "b_failed_at": None if result.status in {"delivered", "dropped"} else result.at,
    }


def _is_one(tenant: str, webhook: str, delivery_id: str) -> ColumnElement[bool]:
    return and_(rows.c.tenant == tenant, rows.c.id == delivery_id, rows.c.webhook == webhook)


def _view(row: "Row[Any]") -> DeliveryView:
    return DeliveryView(
        id=row.id,
        webhook=row.webhook,
        type=row.type,
        url=row.url,
        position=row.position,
        status=row.status,
        attempts=row.attempts,
        created_at=row.created_at,
        next_at=row.next_at,
        last_at=row.last_at,
        last_status_code=row.last_status_code,
        last_error=row.last_error,
    )


async def _asked(transaction: Coroutine[Any, Any, T]) -> T:
    """What came of it, to its end even when nobody waits for that any more. Raises: Unavailable."""
    try:
        return await whole(transaction)
    except DATABASE_ERRORS as error:
        raise Unavailable(f"database: {type(error).__name__}") from error
