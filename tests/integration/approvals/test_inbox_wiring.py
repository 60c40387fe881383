"""The page on the parts of the real service, without a bus."""

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from toolbus_approvals.app import Approvals
from toolbus_approvals.inbox.parts import Inbox
from toolbus_approvals.inbox.sessions import Seals, new_session
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_runtime.calendar import Calendar


@pytest.fixture(params=["", "short"])
async def inbox(request: pytest.FixtureRequest, sqlite_url: str) -> AsyncIterator[Inbox]:
    """The page of a service whose key is none, or can be guessed."""
    service = Approvals(ApprovalsSettings(database_url=sqlite_url, token_key=SecretStr(request.param)))
    found: Inbox = service.application().state.inbox
    yield found
    await service.store.close()
    await service.engine.dispose()


async def test_without_a_key_sessions_are_sealed_by_one_that_nobody_knows(inbox: Inbox) -> None:
    """Two processes make two; a cookie of one opens nothing at the other."""
    now = Calendar().now()
    session = new_session("acme", "key_1", now)
    sealed = inbox.seals.seal_session(session)
    assert inbox.seals.open_session(sealed, now) is not None
    assert Seals(b"\0" * 32).open_session(sealed, now) is None
