"""Kill -9 of each component at 20 random moments with at least 50 accepted calls open: every call still succeeds."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.e2e.harness import World, world
from tests.e2e.load import Load
from tests.e2e.nursery import Nursery
from tests.nats_fixtures import until
from toolbus_runtime.testing import PostgresServer

MOMENTS = 20
CALLS = 100
OPEN = 50
Crash = Callable[[], Awaitable[None]]


async def crash_at_random_moments(made: World, crash: Crash) -> None:
    """
    Crash something 20 times while calls run, and check the whole story afterwards.

    The moment is drawn: so many accepted, so many of them answered by the target, which holds back the rest.
    """
    seed = int(os.environ.get("TOOLBUS_TEST_SEED", "0")) or random.randrange(1, 2**31)
    print(f"seed {seed}")
    draw = random.Random(seed)
    load, moments = Load(made), []
    for moment in range(MOMENTS):
        answers = draw.randint(0, CALLS - OPEN - 10)
        wanted = len(load.accepted) + draw.randint(answers + OPEN, CALLS)
        answered = made.target.answered + answers
        made.target.hold_after(answers)
        submitting = asyncio.create_task(load.submit(f"{moment}-{number}" for number in range(CALLS)))
        await until(lambda at=wanted: len(load.accepted) >= at)  # type: ignore[misc]
        await until(lambda at=answered: made.target.answered >= at)  # type: ignore[misc]
        moments.append(datetime.now(UTC))
        await crash()
        made.target.release()
        await submitting
    assert len(load.accepted) == MOMENTS * CALLS
    await load.assert_all_succeeded()
    open_then = [made.ledger.open_at(moment) for moment in moments]
    print(
        f"{len(load.accepted)} calls, {len(made.target.journal)} requests, {load.refusals} refusals, open {open_then}"
    )
    assert min(open_then) >= OPEN


@pytest.mark.timeout(240)
async def test_the_dispatcher_is_killed(postgres_world: World) -> None:
    """What was accepted is in the store: the next dispatcher brings it to its end."""
    await crash_at_random_moments(postgres_world, lambda: postgres_world.restart("dispatcher"))


@pytest.mark.timeout(240)
async def test_the_api_caller_is_killed(postgres_world: World) -> None:
    """Work that was not acknowledged is delivered again."""
    await crash_at_random_moments(postgres_world, lambda: postgres_world.restart("api_caller"))


@pytest.mark.timeout(240)
async def test_nats_is_killed(postgres_world: World) -> None:
    """The bus is transport: what it forgot is sent again from the store."""

    async def crash() -> None:
        await postgres_world.nats.kill()
        await postgres_world.nats.start()

    await crash_at_random_moments(postgres_world, crash)


@pytest.mark.timeout(240)
async def test_postgres_is_killed(nursery: Nursery, tmp_path: Path) -> None:
    """A commit that was answered is on disk; while the store is away nothing is accepted and nothing decided."""
    server = PostgresServer()
    try:
        await asyncio.to_thread(server.start)

        async def crash() -> None:
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)

        async with world(nursery, tmp_path, await server.fresh_database()) as made:
            await crash_at_random_moments(made, crash)
    finally:
        server.stop()
