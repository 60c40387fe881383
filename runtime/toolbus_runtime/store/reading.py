# ruff: noqa: S608 -- places for values are put together here, values never are
"""The one query behind `EventStore.read`, in text that SQLite and PostgreSQL both take."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolbus_runtime.store.tables import EVENT_COLUMNS

COLUMNS = ", ".join(EVENT_COLUMNS)


@dataclass(frozen=True, slots=True)
class Filters:
    """What `read` was asked for; see there."""

    after: int
    limit: int
    tenant: str | None = None
    categories: Sequence[str] = ()
    kinds: Sequence[str] = ()
    correlation_id: str | None = None
    stream: str | None = None


def read_statement(filters: Filters, mark: str) -> tuple[str, list[int | str]]:
    """
    Write the query and its values; `mark` opens a numbered place for a value (`$` or `?`).

    Several categories become one limited query each, merged: every one then walks its own index in
    position order, where an IN would sort all that is left of the log or scan it.
    """
    values: list[int | str] = []

    def bind(value: int | str) -> str:
        values.append(value)
        return f"{mark}{len(values)}"

    def among(column: str, wanted: Sequence[str]) -> str:
        return f"{column} IN ({', '.join(bind(value) for value in wanted)})"

    where = [f"position > {bind(filters.after)}"]
    if filters.tenant is not None:
        where.append(f"tenant = {bind(filters.tenant)}")
    if filters.correlation_id is not None:
        where.append(f"correlation_id = {bind(filters.correlation_id)}")
    if filters.stream is not None:
        where.append(f"stream = {bind(filters.stream)}")
    if filters.kinds:
        where.append(among("kind", filters.kinds))
    categories = list(dict.fromkeys(filters.categories))
    tail = f"ORDER BY position LIMIT {bind(filters.limit)}"
    if len(categories) <= 1 or filters.correlation_id is not None or filters.stream is not None:
        if categories:
            where.append(among("category", categories))
        return f"SELECT {COLUMNS} FROM events WHERE {' AND '.join(where)} {tail}", values
    arm = f"SELECT {COLUMNS} FROM events WHERE {' AND '.join(where)}"
    arms = [f"SELECT * FROM ({arm} AND category = {bind(one)} {tail}) AS of_one" for one in categories]
    return f"{' UNION ALL '.join(arms)} {tail}", values
