"""Calls without end while things break: each is offered with its own key until somebody has accepted it."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import httpx

from tests.e2e.harness import World

AT_ONCE = 24


class Load:
    """
    Submits GET calls over HTTP; `accepted` holds the id of every one that was answered with 2xx, by name.

    A submission that is refused for the moment (503) or gets no answer is made again with the same key.
    """

    def __init__(self, world: World, *, tool: str = "look") -> None:
        self.accepted: dict[str, str] = {}
        self.offered: set[str] = set()
        self.refusals = 0
        self._world = world
        self._tool = tool
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def submit(self, names: Iterable[str]) -> None:
        """All of these are accepted."""
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(self._one(name))

    async def _one(self, name: str) -> None:
        self.offered.add(name)
        body = {"tool": self._tool, "arguments": {"name": name}, "idempotency_key": f"key-{name}"}
        async with self._slots:
            while name not in self.accepted:
                with suppress(httpx.TransportError):
                    answer = await self._world.http.post("/v1/calls", json=body)
                    if answer.is_success:
                        self.accepted[name] = answer.json()["id"]
                        return
                    assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, answer.text
                    assert int(answer.headers["retry-after"]) >= 1
                    self.refusals += 1
                await asyncio.sleep(0.05)

    async def assert_all_succeeded(self, *, within_s: float = 45.0) -> None:
        """Every accepted call ended `succeeded`, the target saw each of them, and the log is whole."""
        await self._world.ledger.until_ended(self.accepted.values(), within_s=within_s)
        ends = {name: self._world.ledger.end_of(call_id) for name, call_id in self.accepted.items()}
        assert {name: end for name, end in ends.items() if end != "succeeded"} == {}
        seen = set(self._world.target.journal)
        assert [name for name in self.accepted if f"GET /items/{name}" not in seen] == []
        await self._world.ledger.assert_whole()
