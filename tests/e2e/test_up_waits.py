"""`toolbus up` holds waits: one port for all, in one process and in several, also after everything was killed."""

import signal
from pathlib import Path

import pytest

from tests.e2e.target import Target
from tests.e2e.test_up import Up, running, tool
from tests.nats_fixtures import until

DANGEROUS = {"contract": {"effect": "dangerous", "idempotency": "none"}}


async def decided(up: Up, call_id: str, token: str) -> str:
    """How a call that stands still ends after a yes of this key."""
    async with up.client() as http:
        wait = (await http.get(f"/v1/calls/{call_id}")).json()["wait"]
        answer = await http.post(
            f"/v1/waits/{wait['id']}/approve",
            json={"digest": wait["digest"]},
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 200, answer.text

        async def status() -> str:
            found: str = (await http.get(f"/v1/calls/{call_id}")).json()["status"]
            return found

        async def is_over() -> bool:
            return await status() in {"succeeded", "failed", "denied", "refused", "expired"}

        await until(is_over, within_s=30.0)
        return await status()


@pytest.mark.parametrize("flags", [(), ("--processes",)], ids=["one process", "processes"])
@pytest.mark.timeout(150)
async def test_a_wait_outlives_a_kill(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """A call that stands still is there after everything was killed, and a yes lets it run, once."""
    async with Target() as target, running(tmp_path / "data", *flags) as up:
        async with up.client() as http:
            assert (await http.put("/v1/tools/act", json={**tool(target, "act"), **DANGEROUS})).is_success
            made = await http.post("/v1/keys", json={"subject": "user:ana", "scopes": ["approve"]})
            bodies = [{"tool": "act", "arguments": {"name": name}} for name in ("before", "after")]
            ids = [(await http.post("/v1/calls", json=body)).json()["id"] for body in bodies]
            assert (await http.get("/readyz")).json()["ready"]
            document = (await http.get("/openapi.json")).json()["paths"]
            assert {"/v1/calls", "/v1/waits"} <= document.keys()
        token = made.json()["token"]
        assert await decided(up, ids[0], token) == "succeeded"
        await up.end(signal.SIGKILL)
        await up.start()
        assert await decided(up, ids[1], token) == "succeeded"
        assert target.counts == {"GET /items/before": 1, "GET /items/after": 1}
