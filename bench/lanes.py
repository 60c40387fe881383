"""Keeping a fixed number of calls in flight."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Lane = TypeVar("Lane")


async def run_lanes(
    lanes: Sequence[Lane], items: Iterable[Item], work: Callable[[Lane, Item], Awaitable[None]]
) -> None:
    """Work off the items, each lane (a connection, say) with one item at a time."""
    pending = iter(items)

    async def one(lane: Lane) -> None:
        for item in pending:
            await work(lane, item)

    async with asyncio.TaskGroup() as group:
        for lane in lanes:
            group.create_task(one(lane))


async def one_by_one(items: Iterable[Item], work: Callable[[Item], Awaitable[None]]) -> list[float]:
    """Work off the items one after the other; milliseconds each took."""
    samples = []
    for item in items:
        began = time.perf_counter()
        await work(item)
        samples.append((time.perf_counter() - began) * 1e3)
    return samples
