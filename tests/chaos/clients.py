"""Those who want calls made: each is offered in its way, with its own key, until somebody has accepted it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import httpx
import orjson

from tests.chaos.evidence import Accepted
from tests.chaos.place import TENANT, Place
from tests.chaos.plan import Plan, Submission, Wanted
from toolbus_contracts import subjects
from toolbus_contracts.digests import call_id_for_key
from toolbus_contracts.errors import ToolbusError
from toolbus_runtime.bus.connection import Bus

AT_ONCE = 48
PATIENCE_S = 5.0
WAIT_S = 2
AGAIN_S = 0.15
LOOKS = 8  # for a call that was published, before it is published again
TAKEN = frozenset({200, 202})


class Clients:
    """
    Submit everything that the plan wants; `accepted` are the calls that were answered as such.

    An offer without a good answer is made again with the same key. Answers that no valid call should get
    are `oddities`, counted.
    """

    def __init__(self, place: Place, plan: Plan) -> None:
        self.accepted: list[Accepted] = []
        self.offers = 0
        self.oddities: Counter[str] = Counter()
        self._place = place
        self._plan = plan
        self._random = Random(f"clients {plan.seed}")
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._http: list[httpx.AsyncClient] = []
        self._bus: Bus

    async def prepare(self) -> None:
        """Connected by every way."""
        self._http = await self._place.clients()
        self._bus = await self._place.world.client_bus(TENANT)

    async def run(self) -> None:
        """Every call is accepted."""
        begun_at = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as group:
            for submission in self._plan.submissions:
                group.create_task(self._submit(submission, begun_at + submission.at_s))

    async def _submit(self, submission: Submission, at: float) -> None:
        await asyncio.sleep(at - asyncio.get_running_loop().time())
        left = list(submission.calls)
        async with self._slots:
            while left:
                self.offers += 1
                try:
                    found = await self._offer(submission, left)
                except (httpx.TransportError, ToolbusError):
                    found = {}
                self.accepted += [
                    Accepted(found[call.name], call.name, call.tool) for call in left if call.name in found
                ]
                left = [call for call in left if call.name not in found]
                if left:
                    await asyncio.sleep(AGAIN_S)

    async def _offer(self, submission: Submission, calls: Sequence[Wanted]) -> dict[str, str]:
        """The ids of those that were accepted, by name."""
        match submission.way:
            case "http":
                return await self._post("/v1/calls", calls[0])
            case "wait":
                return await self._post(f"/v1/calls?wait_s={WAIT_S}", calls[0])
            case "batch":
                return await self._post_batch(calls)
            case "ask":
                return await self._ask(calls[0])
            case "bus":
                return await self._publish(calls[0])

    async def _sent(self, path: str, body: object, timeout_s: float) -> httpx.Response:
        http = self._random.choice(self._http)
        try:
            return await http.post(path, json=body, timeout=timeout_s)
        except AttributeError as error:  # a connection that is reset just when httpcore looks at its socket
            raise httpx.ConnectError(str(error)) from error

    async def _post(self, path: str, call: Wanted) -> dict[str, str]:
        answer = await self._sent(path, self._body(call), PATIENCE_S + WAIT_S)
        return self._taken(call, answer.status_code, answer.json() if answer.is_success else {}, answer.text)

    async def _post_batch(self, calls: Sequence[Wanted]) -> dict[str, str]:
        answer = await self._sent("/v1/calls/batch", {"calls": [self._body(call) for call in calls]}, PATIENCE_S)
        if not answer.is_success:
            return self._taken(calls[0], answer.status_code, {}, answer.text)
        found: dict[str, str] = {}
        for call, item in zip(calls, answer.json()["items"], strict=True):
            found |= self._taken(call, item["status"], item.get("call", {}), str(item.get("problem")))
        return found

    async def _ask(self, call: Wanted) -> dict[str, str]:
        return self._answered(call, await self._asked("submit", self._body(call)))

    async def _publish(self, call: Wanted) -> dict[str, str]:
        """Publish, and look for the call until it is there: the acknowledgement of the bus is no promise."""
        await self._bus.publish(subjects.command(TENANT, "submit"), orjson.dumps(self._body(call)))
        for _ in range(LOOKS):
            answer = await self._asked("get", {"call_id": call_id_for_key(TENANT, self._key(call))})
            if "call" in answer:
                return self._answered(call, answer)
            await asyncio.sleep(AGAIN_S)
        return {}

    async def _asked(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        reply = await self._bus.request(subjects.ask(TENANT, verb), orjson.dumps(body), timeout_s=PATIENCE_S)
        answer: dict[str, Any] = orjson.loads(reply.data)
        return answer

    def _answered(self, call: Wanted, answer: dict[str, Any]) -> dict[str, str]:
        status = 200 if "call" in answer else int(answer["status"])
        return self._taken(call, status, answer.get("call", {}), str(answer.get("problem")))

    def _taken(self, call: Wanted, status: int, told: dict[str, Any], text: str) -> dict[str, str]:
        """The call's id, when this answer says that it was accepted."""
        if status in TAKEN:
            if told["id"] != call_id_for_key(TENANT, self._key(call)):
                self.oddities[f"{call.name} is {told['id']}, which does not follow from its key"] += 1
            return {call.name: str(told["id"])}
        if status != httpx.codes.SERVICE_UNAVAILABLE:
            self.oddities[f"{status} {text[:300]}"] += 1
        return {}

    def _key(self, call: Wanted) -> str:
        return f"{self._plan.seed}/{call.name}"

    def _body(self, call: Wanted) -> dict[str, Any]:
        return {"tool": call.tool, "arguments": {"name": call.name}, "idempotency_key": self._key(call)}
