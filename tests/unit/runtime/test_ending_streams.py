"""A service that stops does not wait for those who listen without end."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, StreamingResponse

from toolbus_runtime.http.server import listen, serve

GRACE_S = 30.0  # far above what the test takes: it fails by its own deadline when the grace is waited for
SOON_S = 10.0


@pytest.fixture
async def stop() -> asyncio.Event:
    """What ends the service."""
    return asyncio.Event()


async def _endless() -> AsyncIterator[bytes]:
    yield b": here\n\n"
    await asyncio.Event().wait()


async def test_streams_end_at_once_and_other_answers_are_finished(stop: asyncio.Event) -> None:
    """A stream ends as if it were whole, so that its client comes back; a slow answer is still given."""
    app, begun = FastAPI(), asyncio.Event()

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(_endless(), media_type="text/event-stream")

    @app.get("/slow")
    async def slow() -> PlainTextResponse:
        begun.set()
        await stop.wait()
        return PlainTextResponse("done")

    bound = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    serving = asyncio.create_task(serve(app, bound, stop, grace_s=GRACE_S))
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        answering = asyncio.create_task(client.get("/slow"))
        async with client.stream("GET", "/stream") as opened, asyncio.timeout(SOON_S):
            parts = opened.aiter_bytes()
            assert await anext(parts) == b": here\n\n"
            await begun.wait()
            stop.set()
            assert [part async for part in parts] == []
            assert (await answering).text == "done"
    async with asyncio.timeout(SOON_S):
        await serving
