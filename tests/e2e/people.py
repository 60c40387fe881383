"""People of an end-to-end test: each with a key of their own, deciding about waits over HTTP."""

from typing import Any

import httpx

from tests.e2e.harness import CALM, World
from tests.nats_fixtures import until

DANGEROUS: dict[str, Any] = {"contract": {"effect": "dangerous", "idempotency": "none"}}


class Person:
    """Somebody with a key, who speaks to one installation."""

    def __init__(self, subject: str, http: httpx.AsyncClient) -> None:
        self.subject = subject
        self.http = http

    async def says(self, wait_id: str, verb: str, **body: object) -> httpx.Response:
        """Say something to a wait: the answer."""
        return await self.http.post(f"/v1/waits/{wait_id}/{verb}", json=body)

    async def approves(self, wait: dict[str, Any], **body: object) -> httpx.Response:
        """Agree to what the wait is about, as it was seen."""
        return await self.says(wait["id"], "approve", digest=wait["digest"], **body)

    async def denies(self, wait: dict[str, Any], note: str = "no") -> httpx.Response:
        """Say no to it."""
        return await self.says(wait["id"], "deny", digest=wait["digest"], note=note)

    async def sees(self, wait_id: str) -> dict[str, Any]:
        """The wait as it stands."""
        answer = await self.http.get(f"/v1/waits/{wait_id}")
        assert answer.status_code == httpx.codes.OK, answer.text
        found: dict[str, Any] = answer.json()
        return found


class People:
    """Everybody in one installation, and the calls that stand still for them."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def define(self, name: str, **approval: Any) -> None:
        """A dangerous tool whose calls need this approval."""
        await self.world.define(name, "POST", **DANGEROUS, approval=approval)

    async def person(
        self, subject: str, *roles: str, scopes: tuple[str, ...] = ("read", "submit", "approve")
    ) -> Person:
        """Somebody, with a new key; the same subject again is the same person with another key."""
        made = await self.world.http.post(
            "/v1/keys", json={"subject": subject, "roles": list(roles), "scopes": list(scopes)}
        )
        assert made.status_code == httpx.codes.CREATED, made.text
        http = httpx.AsyncClient(
            base_url=self.world.http.base_url,
            headers={"Authorization": f"Bearer {made.json()['token']}"},
            timeout=CALM,
            trust_env=False,
        )
        return Person(subject, await self.world.kept(http))

    async def standing(self, tool: str, name: str, by: Person | None = None, **options: object) -> dict[str, Any]:
        """A call of the tool that was accepted and stands still, with its `wait`."""
        http = by.http if by else self.world.http
        body = {"tool": tool, "arguments": {"name": name}, **options}
        answer = await http.post("/v1/calls", json=body, params={"wait_s": 5})
        call: dict[str, Any] = answer.json()
        assert (answer.status_code, call["status"]) == (202, "waiting"), answer.text
        return call

    async def ended(self, call: dict[str, Any]) -> dict[str, Any]:
        """The call once it has ended."""
        await self.world.ledger.until_ended([call["id"]])
        return await self.world.call(call["id"])

    async def until_closed(self, by: Person, wait_id: str) -> dict[str, Any]:
        """The wait once it is over."""

        async def is_closed() -> bool:
            return bool((await by.sees(wait_id))["status"] == "closed")

        await until(is_closed, within_s=30.0)
        return await by.sees(wait_id)

    async def told(self, wait_id: str) -> list[str]:
        """The kinds of events of a wait, without `wait.` and version."""
        await self.world.ledger.refresh()
        return [
            event.kind.split(".")[1]
            for event in self.world.ledger.log
            if event.category == "wait" and event.subject_id == wait_id
        ]

    def reached(self, name: str) -> int:
        """How many requests about this name came to the target."""
        return self.world.target.counts[f"POST /items/{name}"]


def code(answer: httpx.Response) -> tuple[int, str]:
    """The status and code of a problem."""
    return answer.status_code, answer.json().get("code", "")
