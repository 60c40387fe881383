"""Sessions that were ended before their time, on both databases."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.integration.approvals.away import without_a_database
from toolbus_approvals.adapters.sign_outs import SignOuts
from toolbus_contracts.errors import Unavailable
from toolbus_runtime.store.database import make_engine

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_what_was_ended_is_known_to_all_until_it_would_have_ended(database_url: str) -> None:
    """Another process knows it too; ending it twice is no fault; what is over is forgotten."""
    one, other = make_engine(database_url), make_engine(database_url)
    try:
        assert not await SignOuts(one).has("a")
        await SignOuts(one).add("a", NOW + timedelta(hours=8), NOW)
        await SignOuts(one).add("a", NOW + timedelta(hours=8), NOW)
        assert await SignOuts(other).has("a")
        await SignOuts(other).add("b", NOW + timedelta(hours=20), NOW + timedelta(hours=8))
        assert not await SignOuts(one).has("a")
        assert await SignOuts(one).has("b")
    finally:
        await one.dispose()
        await other.dispose()


async def test_without_the_database_nobody_is_let_in() -> None:
    """Whether a session was ended cannot be known then."""
    async with without_a_database() as engine:
        with pytest.raises(Unavailable):
            await SignOuts(engine).has("a")
        with pytest.raises(Unavailable):
            await SignOuts(engine).add("a", NOW, NOW)
