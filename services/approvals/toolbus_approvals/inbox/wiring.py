"""The page on the parts of the service."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence

from fastapi import FastAPI

from toolbus_approvals.adapters.queries import WaitFilter
from toolbus_approvals.adapters.sign_outs import SignOuts
from toolbus_approvals.aggregates import CALL, TOOL
from toolbus_approvals.http.services import Services
from toolbus_approvals.inbox.parts import Change, Inbox, Settle
from toolbus_approvals.inbox.routes import router
from toolbus_approvals.inbox.sessions import MIN_KEY_BYTES, Seals
from toolbus_contracts.calls import Call
from toolbus_contracts.keys import Key
from toolbus_contracts.tools import Tool, ToolDefinition, tool_stream_id
from toolbus_contracts.waits import Wait
from toolbus_runtime.executing.service import user_agent

KEEP_ALIVE_S = 15.0
WAIT = "wait"


def add_inbox(app: FastAPI, services: Services, *, key: bytes, sign_outs: SignOuts, settle: Settle | None) -> None:
    """Serve the page from this application; `key` seals its sessions, unless it could be guessed."""
    looking = Looking(services)
    app.include_router(router)
    app.state.inbox = Inbox(
        desk=services.desk,
        open_waits=looking.open_waits,
        definition=looking.definition,
        payload=services.store.get_payload,
        changes=looking.changes,
        find_key=services.key,
        user_agent=user_agent(),
        seals=Seals(key if len(key) >= MIN_KEY_BYTES else secrets.token_bytes(MIN_KEY_BYTES)),
        ended=sign_outs,
        settle=settle,
    )


class Looking:
    """What the page looks up."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def open_waits(self, key: Key, *, before: int | None, limit: int) -> tuple[Sequence[Wait], int | None]:
        """A page of the open waits of a key's tools, newest first."""
        wanted = WaitFilter(status="open", tools=key.tools)
        return await self._services.desk.list(key.tenant, wanted, before=before, limit=limit)

    async def definition(self, tenant: str, wait: Wait) -> ToolDefinition | None:
        """The definition that the call was decided on, be it the tool's or one that the call brought."""
        states = self._services.batcher.states
        if wait.tool_version is None or wait.tool_scope is None:
            call: Call | None = await states.read(tenant, CALL, wait.call_id)
            return call.definition if call is not None else None
        tool: Tool = await states.read(tenant, TOOL, tool_stream_id(wait.tool_scope, wait.tool))
        return next((one.definition for one in tool.versions if one.version == wait.tool_version), None)

    async def changes(self, tenant: str) -> AsyncIterator[Sequence[Change]]:
        """The waits of the tenant that events are about, from now on; nothing at first, and in every quiet time."""
        pages = self._services.feed.follow(await self._services.feed.newest())
        following = asyncio.ensure_future(anext(pages))
        yield ()
        try:
            while True:
                done, _ = await asyncio.wait({following}, timeout=KEEP_ALIVE_S)
                if not done:
                    yield ()
                    continue
                mine = [event for event in following.result() if event.tenant == tenant and event.category == WAIT]
                following = asyncio.ensure_future(anext(pages))
                if mine:
                    yield [Change(event.subject_id) for event in mine]
        finally:
            following.cancel()
