"""A person who looks after calls in doubt: asks the target what happened, and settles them."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import httpx

from tests.chaos.place import Place
from tests.chaos.plan import ACT, Plan

LOOK_S = 1.0
SHARE = 0.5  # of the doubts; the others stay as they are
CALM = timedelta(seconds=3)  # a doubt is not looked at before: a request may still be on its way
CLOSED = frozenset({404, 409})  # it is not in doubt any more


class Operator:
    """Settles half of the doubts about a tool that has no probe, in each of the three ways; others it leaves."""

    def __init__(self, place: Place, plan: Plan) -> None:
        self.oddities: Counter[str] = Counter()
        self._place = place
        self._seed = plan.seed
        self._seen: dict[str, datetime] = {}

    async def work(self) -> None:
        """Look and settle until cancelled; what cannot be done now is done at the next look."""
        clients = await self._place.clients()
        while True:
            for http in clients:
                try:
                    await self._look(http)
                except httpx.TransportError:
                    continue
            await asyncio.sleep(LOOK_S)

    async def _look(self, http: httpx.AsyncClient) -> None:
        answer = await http.get("/v1/calls", params={"status": "in_doubt", "tool": ACT, "limit": 500}, timeout=3.0)
        if not answer.is_success:
            return
        now = datetime.now(UTC)
        for call in answer.json()["items"]:
            key = f"{call['id']}/{call['attempt']}"
            is_mine = Random(f"{self._seed}/{key}").random() < SHARE
            if is_mine and now - self._seen.setdefault(key, now) > CALM:
                await self._settle(http, call["id"])

    async def _settle(self, http: httpx.AsyncClient, call_id: str) -> None:
        answer = await http.post(f"/v1/calls/{call_id}/settle", json=self._verdict(call_id), timeout=3.0)
        if not answer.is_success and answer.status_code not in {*CLOSED, httpx.codes.SERVICE_UNAVAILABLE}:
            self.oddities[f"{answer.status_code} {answer.text[:300]}"] += 1

    def _verdict(self, call_id: str) -> dict[str, Any]:
        if self._place.target.has_done(call_id):
            return {"outcome": "succeeded", "output": {"seen": True}, "note": "it is in the journal"}
        outcome = Random(f"{self._seed}/{call_id}").choice(("retry", "failed"))
        return {"outcome": outcome, "note": "it is not in the journal"}
