"""People and workers who speak of a thousand waits while the service that holds them dies."""

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import httpx

from tests.e2e.harness import World
from tests.nats_fixtures import until

BO, CY = "user:bo", "user:cy"
SPEAKERS = 8
AGAIN_S = 0.05
PAGE = 500


class Kept(NamedTuple):
    """What was answered with 2xx of a wait: what was said, and by whom."""

    what: str
    subject: str
    digest: str


class Deciders:
    """
    Say one thing of every wait, by its draw, again until it is answered; `kept` is what was, by wait id.

    An approval is agreed to, edited by one and agreed to by another, or denied; a value is supplied; a function is
    completed. `refused` counts the answers that were neither 2xx nor "come back".
    """

    def __init__(self, world: World, random: Random) -> None:
        self.kept: dict[str, list[Kept]] = {}
        self.refused: Counter[str] = Counter()
        self.repeated = 0
        self._world = world
        self._random = random
        self._http: dict[str, httpx.AsyncClient] = {}
        self._waiting: list[dict[str, Any]] = []

    async def prepare(self) -> None:
        """Everybody has a key."""
        for subject, scopes in {BO: ["approve", "read"], CY: ["approve"], "service:worker": ["work"]}.items():
            answer = await self._world.http.post("/v1/keys", json={"subject": subject, "scopes": scopes})
            assert answer.is_success, answer.text
            self._http[subject] = await self._world.client("default", "approvals")
            self._http[subject].headers["authorization"] = f"Bearer {answer.json()['token']}"

    async def until_open(self, count: int) -> None:
        """So many waits are open, and known."""

        async def are_there() -> bool:
            self._waiting = await self.open_waits()
            return len(self._waiting) == count

        await until(are_there, within_s=90)
        self._random.shuffle(self._waiting)

    async def open_waits(self) -> list[dict[str, Any]]:
        """What is shown as open, whole; nothing while nobody answers."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            query = {"status": "open", "include": "arguments", "limit": str(PAGE)} | (
                {"cursor": cursor} if cursor else {}
            )
            try:
                answer = await self._http[BO].get("/v1/waits", params=query)
            except httpx.TransportError:
                return []
            if not answer.is_success:
                return []
            page = answer.json()
            found += page["items"]
            cursor = page["next_cursor"]
        return found

    async def speak(self, count: int) -> None:
        """Of so many more waits all has been said and heard."""
        some, self._waiting = self._waiting[:count], self._waiting[count:]

        async def work() -> None:
            while some:
                await self._settle(some.pop())

        async with asyncio.TaskGroup() as group:
            for _ in range(SPEAKERS):
                group.create_task(work())

    async def _settle(self, wait: dict[str, Any]) -> None:
        match wait["kind"]:
            case "function":
                await self._said(wait, "complete", "service:worker", {"output": {"for": wait["call_id"]}})
            case "input":
                await self._said(wait, "answer", BO, {"digest": wait["digest"], "values": {"reason": wait["id"]}})
            case _:
                await self._decide(wait)

    async def _decide(self, wait: dict[str, Any]) -> None:
        body = {"digest": wait["digest"], "note": "of a test"}
        drawn = self._random.random()
        if drawn < 0.2:
            await self._said(wait, "deny", BO, body)
        elif drawn < 0.4:
            arguments = {**wait["proposed"], "amount": 7}
            edited = await self._said(wait, "approve", BO, {**body, "arguments": arguments})
            await self._said(wait, "approve", CY, {**body, "digest": edited["digest"]})
        else:
            await self._said(wait, "approve", BO, body)

    async def _said(self, wait: dict[str, Any], what: str, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to what was said until it was heard."""
        is_function = what == "complete"
        path = f"/v1/calls/{wait['call_id']}/complete" if is_function else f"/v1/waits/{wait['id']}/{what}"
        while True:
            answer = await _tried(lambda: self._http[subject].post(path, json=body))
            if answer is not None and answer.is_success:
                told: dict[str, Any] = answer.json()
                digest = str(told.get("digest", "")) if what == "approve" else ""
                self.kept.setdefault(wait["id"], []).append(Kept(what, subject, digest))
                return told
            if answer is not None and answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                self.refused[f"{answer.status_code} {answer.text[:200]}"] += 1
                return {"digest": wait["digest"]}
            self.repeated += 1
            await asyncio.sleep(AGAIN_S)


async def _tried(send: Callable[[], Any]) -> httpx.Response | None:
    """The answer, or nothing when nobody gave one."""
    try:
        answer: httpx.Response = await send()
    except httpx.TransportError:
        return None
    return answer
