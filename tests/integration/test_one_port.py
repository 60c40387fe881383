"""Several services behind one port: what another process serves comes back as it was sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from tests.nats_fixtures import until
from tests.ports import free_port
from toolbus_contracts.serving import APPROVALS
from toolbus_runtime.health import Check
from toolbus_runtime.http.front import Front, Here
from toolbus_runtime.http.passing import Passing
from toolbus_runtime.http.server import listen, serve


def other(gate: asyncio.Event) -> FastAPI:
    """A service that tells what it got; `/inbox/stream` says one thing at once and the rest when the gate opens."""
    app = FastAPI(title="other")

    @app.api_route("/v1/waits/{rest:path}", methods=["GET", "POST", "DELETE", "HEAD"], include_in_schema=False)
    async def echo(request: Request) -> Response:
        body = await request.body()
        target = request.scope["raw_path"] + b"?" + request.scope["query_string"]
        told = {"x-target": target.decode(), "x-host": request.headers["host"], "x-size": str(len(body))}
        response = Response(body, status_code=201, headers=told, media_type=request.headers.get("content-type"))
        response.set_cookie("a", "1")
        response.set_cookie("b", "2")
        return response

    @app.get("/inbox/moved")
    async def moved() -> Response:
        return RedirectResponse("/inbox", 303)

    @app.get("/inbox/stream")
    async def stream() -> Response:
        async def parts() -> AsyncIterator[bytes]:
            yield b"data: first\n\n"
            await gate.wait()
            yield b"data: last\n\n"

        return StreamingResponse(parts(), media_type="text/event-stream")

    @app.get("/v1/grants")
    async def broken() -> Response:
        return Response(status_code=204)

    return app


@asynccontextmanager
async def served(app: object, port: int) -> AsyncIterator[None]:
    """The application listens on this port."""
    stop = asyncio.Event()
    work = asyncio.create_task(serve(app, listen("127.0.0.1", port), stop, grace_s=1.0))  # type: ignore[arg-type]
    try:
        async with httpx.AsyncClient(trust_env=False) as http:

            async def answers() -> bool:
                try:
                    await http.get(f"http://127.0.0.1:{port}/")
                except httpx.TransportError:
                    return False
                return True

            await until(answers)
        yield
    finally:
        stop.set()
        await work


@asynccontextmanager
async def behind_one_port(gate: asyncio.Event, *, is_there: bool = True) -> AsyncIterator[httpx.AsyncClient]:
    """A front that passes on to another service, which may be away."""
    front_port, other_port = free_port(), free_port()
    passing = Passing(APPROVALS, f"http://127.0.0.1:{other_port}")
    front = Front(FastAPI(title="first"), {APPROVALS: passing})
    try:
        async with served(front, front_port):
            http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{front_port}", trust_env=False)
            async with http:
                if is_there:
                    async with served(other(gate), other_port):
                        yield http
                else:
                    yield http
    finally:
        await passing.close()


@pytest.fixture
def gate() -> asyncio.Event:
    """What a stream waits for."""
    return asyncio.Event()


async def test_a_request_is_passed_on_as_it_came(gate: asyncio.Event) -> None:
    """Path and query untouched, the host that the caller named, every cookie, the whole body."""
    async with behind_one_port(gate) as http:
        body = b"x" * 900_000
        answer = await http.post("/v1/waits/a%2Fb/%C3%A9?q=%20&q=2", content=body, headers={"host": "toolbus.example"})
        assert (answer.status_code, answer.content) == (201, body)
        assert answer.headers["x-target"] == "/v1/waits/a%2Fb/%C3%A9?q=%20&q=2"
        assert answer.headers["x-host"] == "toolbus.example"
        assert len(answer.headers.get_list("set-cookie")) == 2
        assert (await http.delete("/v1/waits/x")).headers["x-size"] == "0"
        head = await http.head("/v1/waits/x")
        assert (head.status_code, head.content) == (201, b"")
        assert (await http.get("/v1/grants")).status_code == 204


async def test_a_body_in_pieces_is_passed_on(gate: asyncio.Event) -> None:
    """Without a length, piece by piece."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b"y" * 1000

    async with behind_one_port(gate) as http:
        assert (await http.post("/v1/waits/x", content=pieces())).headers["x-size"] == "10000"


async def test_a_redirect_is_the_callers(gate: asyncio.Event) -> None:
    """It is not followed on the way."""
    async with behind_one_port(gate) as http:
        answer = await http.get("/inbox/moved")
        assert (answer.status_code, answer.headers["location"]) == (303, "/inbox")


async def test_a_stream_stays_a_stream(gate: asyncio.Event) -> None:
    """What was said comes at once, not when all has been said."""
    async with behind_one_port(gate) as http, http.stream("GET", "/inbox/stream") as answer:
        pieces = answer.aiter_bytes()
        assert await anext(pieces) == b"data: first\n\n"
        gate.set()
        assert await anext(pieces) == b"data: last\n\n"


async def test_a_service_that_is_away_is_unavailable(gate: asyncio.Event) -> None:
    """503 as problem details, with when to come back; the others are served, and the document tells of them."""
    async with behind_one_port(gate, is_there=False) as http:
        answer = await http.post("/v1/waits/x", content=b"y")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"
        assert (await http.get("/openapi.json")).json()["info"]["title"] == "first"
        assert (await http.get("/v1/calls")).status_code == 404


async def test_a_service_that_cannot_tell_of_itself_is_left_out(gate: asyncio.Event) -> None:
    """One that fails is no reason to tell of nobody."""
    failing = FastAPI(openapi_url=None)
    front_port, other_port = free_port(), free_port()
    passing = Passing(APPROVALS, f"http://127.0.0.1:{other_port}")
    front = Front(FastAPI(title="first"), {APPROVALS: passing})
    async with served(front, front_port), served(failing, other_port), httpx.AsyncClient(trust_env=False) as http:
        document = (await http.get(f"http://127.0.0.1:{front_port}/openapi.json")).json()
        assert document["info"]["title"] == "first"
    await passing.close()


async def test_one_document_tells_of_all(gate: asyncio.Event) -> None:
    """Paths of both; titles and versions are those of the first."""
    async with behind_one_port(gate) as http:
        document = (await http.get("/openapi.json")).json()
        assert (document["info"]["title"], "/v1/grants" in document["paths"]) == ("first", True)


async def test_readiness_of_a_service_beside() -> None:
    """Ready when all that it needs is; what is wrong is named."""

    async def fine() -> Check:
        return Check("store", ok=True, detail="1 event")

    async def broken() -> Check:
        return Check("nats", ok=False, detail="not connected")

    assert (await Here("approvals", FastAPI(), {"store": fine}).check()).ok
    told = await Here("approvals", FastAPI(), {"store": fine, "nats": broken}).check()
    assert (told.ok, told.detail) == (False, "nats: not connected")
    passing = Passing("approvals", f"http://127.0.0.1:{free_port()}")
    assert not (await passing.check()).ok
    await passing.close()
