"""Clients that carry out functions: they lease, keep, give back and complete, and some hinder one another."""

import asyncio
from collections import defaultdict
from random import Random
from typing import Any

import httpx
import orjson

from tests.chaos.evidence import Word
from tests.chaos.people import AWAY, Person, Said, Speech
from tests.chaos.place import TENANT, Place
from tests.chaos.plan import WORK, Plan
from toolbus_contracts import subjects
from toolbus_contracts.errors import ToolbusError
from toolbus_contracts.values import Json
from toolbus_runtime.bus.connection import Bus

COUNT = 4
LEASED = 6  # at once
VISIBILITY_S = 3.0
IDLE_S = 0.3
ASK_S = 5.0
WAYS = {"key": 45, "token": 20, "ask": 15, "rivals": 10, "release": 10}


class Workers:
    """Several of them; each answer is told apart from every other, so that it shows whose was taken."""

    def __init__(self, place: Place, speech: Speech, plan: Plan) -> None:
        self._place = place
        self._speech = speech
        self._random = Random(f"workers {plan.seed}")
        self._turns: dict[str, int] = defaultdict(int)
        self._key: Person
        self._bus: Bus

    async def prepare(self) -> None:
        """With a key for the one function, and on the bus."""
        self._key = await self._speech.key("service:worker", "work")
        self._bus = await self._place.world.client_bus(TENANT)

    async def work(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(COUNT):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            wanted = {"tools": [WORK], "max": LEASED, "visibility_s": VISIBILITY_S}
            said = await self._speech.ask("POST", "/v1/waits/lease", self._key, json=wanted)
            if said.status not in {httpx.codes.OK, *AWAY}:
                self._speech.oddities[f"{said.status} {said.code} to a lease"] += 1
            leased = said.body.get("items", [])
            await asyncio.gather(*(self._do(call) for call in leased))
            if not leased:
                await asyncio.sleep(IDLE_S)

    async def _do(self, call: dict[str, Any]) -> None:
        match self._random.choices(list(WAYS), list(WAYS.values()))[0]:
            case "release" if call["attempt"] == 1:
                held = {"lease_id": call["lease_id"], "visibility_s": VISIBILITY_S}
                await self._speech.ask("POST", f"/v1/waits/{call['wait_id']}/heartbeat", self._key, json=held)
                body = {"lease_id": call["lease_id"]}
                await self._speech.ask("POST", f"/v1/waits/{call['wait_id']}/release", self._key, json=body)
            case "rivals":
                await asyncio.gather(*(self._complete(call, self._key) for _ in range(3)))
            case "token":
                await self._complete(call, Person("token", call["token"]))
            case "ask":
                await self._ask(call)
            case _:
                await self._complete(call, self._key)

    def _answer(self, call: dict[str, Any]) -> dict[str, Json]:
        """An answer that nobody gave before."""
        self._turns[call["call_id"]] += 1
        turn = self._turns[call["call_id"]]
        if self._random.random() < 0.1:
            return {"error": {"message": f"turn {turn} came to nothing", "code": "out_of_order"}}
        return {"output": {"name": call["arguments"]["name"], "turn": turn}}

    async def _complete(self, call: dict[str, Any], who: Person) -> None:
        answer = self._answer(call)
        said = await self._speech.say(f"/v1/calls/{call['call_id']}/complete", who, answer)
        self._note(call, answer, who.subject, said)

    async def _ask(self, call: dict[str, Any]) -> None:
        """Over the bus, with the call's own token, until it is answered."""
        answer = self._answer(call)
        body = {**answer, "call_id": call["call_id"], "token": call["token"]}
        said = await self._speech.until_answered(f"on the bus: {call['call_id']}", lambda: self._asked(body))
        self._note(call, answer, "token", said)

    async def _asked(self, body: dict[str, Json]) -> Said:
        try:
            reply = await self._bus.request(subjects.ask(TENANT, "complete"), orjson.dumps(body), timeout_s=ASK_S)
        except ToolbusError:
            return Said(0, {})
        told = orjson.loads(reply.data)
        return Said(int(told["status"]), told.get("problem", {}))

    def _note(self, call: dict[str, Any], answer: Json, subject: str, said: Said) -> None:
        self._speech.note(
            Word(call["call_id"], call["wait_id"], "complete", subject, "", answer, said.status, said.code)
        )
