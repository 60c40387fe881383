"""Work on a database that is cancelled, at any of its steps."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine


async def keeps_no_connection(
    engine: AsyncEngine, works: Callable[[], Iterable[Coroutine[Any, Any, object]]], *, steps: int
) -> None:
    """Each of the works has given its connection back, after however many turns of the loop it is cancelled."""
    for turns in range(steps):
        for work in works():
            task = asyncio.ensure_future(work)
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # of a queue pool
