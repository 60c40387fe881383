"""Both clients behind one face, so that every expectation holds for both."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from toolbus import AsyncClient, Client

KEY = "tb_test"
RESOURCES = frozenset(
    {
        "tools",
        "executions",
        "keys",
        "dead",
        "waits",
        "grants",
        "delegations",
        "webhooks",
        "secrets",
        "stored",
        "integrations",
        "mcp",
    }
)


class Plain:
    """Calls a client and gives plain results: awaits what must be awaited, lists what is iterated."""

    def __init__(self, target: object, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return Plain(found, self._runner) if name in RESOURCES else found

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._plain(found(*args, **kwargs))

        return call

    def _plain(self, result: Any) -> Any:
        if inspect.iscoroutine(result):
            return self._runner.run(result)
        if isinstance(result, AsyncIterator):
            return self._runner.run(_listed(result))
        return list(result) if isinstance(result, Iterator) else result


async def _listed(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


MakeClient = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def make_client(request: pytest.FixtureRequest, httpserver: HTTPServer) -> Iterator[MakeClient]:
    """Make either client, speaking to the test's server unless told otherwise."""
    with asyncio.Runner() as runner:
        made: list[Client | AsyncClient] = []

        def make(url: str | None = None, **options: Any) -> Any:
            kind = Client if request.param == "sync" else AsyncClient
            made.append(kind(url or httpserver.url_for(""), KEY, **options))
            return Plain(made[-1], runner)

        yield make
        for client in made:
            if isinstance(client, AsyncClient):
                runner.run(client.close())
            else:
                client.close()


@pytest.fixture
def bus(make_client: MakeClient) -> Any:
    """Either client, speaking to the test's server."""
    return make_client()
