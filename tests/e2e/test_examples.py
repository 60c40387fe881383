"""The examples do what they say, against a `toolbus up` of their own."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.e2e.nursery import REPOSITORY
from tests.e2e.target import Target
from tests.e2e.test_up import running
from tests.nats_fixtures import until
from tests.ports import free_port

EXAMPLES = REPOSITORY / "examples"


@pytest.mark.timeout(120)
async def test_a_thousand_calls_published_on_nats_give_a_thousand_results(tmp_path: Path) -> None:
    """`examples/publish_on_nats.py` knows nothing but nats-py and the credentials; it learns how every call ended."""
    async with Target() as target, running(tmp_path / "data") as up:
        definition = {"name": "get_version", "api_call": {"method": "GET", "url": target.url + "/items/version"}}
        async with up.client() as http:
            refused = await publish(up.folder, 2)
            assert (await http.put("/v1/tools/get_version", json=definition)).is_success
        assert refused == "2 refused\n"
        assert await publish(up.folder, 1000) == "1000 succeeded\n"
        assert target.counts == {"GET /items/version": 1000}


async def publish(folder: Path, count: int) -> str:
    """What the example prints."""
    example = await asyncio.create_subprocess_exec(
        sys.executable,
        str(REPOSITORY / "examples" / "publish_on_nats.py"),
        *(str(count), str(folder / "credentials.json")),
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await example.communicate()
    assert example.returncode == 0
    return told.decode()


@pytest.mark.timeout(60)
async def test_the_tool_to_start_from_works(tmp_path: Path) -> None:
    """`examples/add_item.yaml` as it stands, at an address of the test: applied once, and its arguments arrive."""
    async with Target() as target, running(tmp_path / "data") as up, up.client() as http:
        written = (REPOSITORY / "examples" / "add_item.yaml").read_text()
        definition = yaml.safe_load(written.replace("http://127.0.0.1:9000", target.url))
        assert (await http.put("/v1/tools/add_item", json=definition)).is_success
        body = {"tool": "add_item", "arguments": {"name": "apple", "quantity": 3}}
        call = (await http.post("/v1/calls", params={"wait_s": 20}, json=body)).json()
        assert call["status"] == "succeeded"
        assert target.counts == {"POST /items/apple": 1}
        body["arguments"] = {"name": "apple", "quantity": 0}
        assert (await http.post("/v1/calls", json=body)).json()["code"] == "invalid_arguments"


@pytest.mark.timeout(90)
async def test_the_worker_carries_out_calls_of_functions(tmp_path: Path) -> None:
    """`examples/lease_worker.py` with the function of `examples/draft_letter.yaml`: results, and an error as one."""
    async with running(tmp_path / "data") as up, up.client() as http:
        definition = yaml.safe_load((REPOSITORY / "examples" / "draft_letter.yaml").read_text())
        assert (await http.put("/v1/tools/draft_letter", json=definition)).is_success
        names = [f"n{number}" for number in range(20)] + [""]
        calls = [{"tool": "draft_letter", "arguments": {"to": name}} for name in names]
        items = (await http.post("/v1/calls/batch", json={"calls": calls})).json()["items"]
        own = up.credentials
        environment = {"TOOLBUS_URL": own["url"], "TOOLBUS_API_KEY": own["api_key"], "IDLE_S": "0.1"}
        async with example("lease_worker.py", environment=environment):
            ended = [await end_of(http, item["call"]["id"]) for item in items]
        assert [call["output"] for call in ended[:-1]] == [{"letter": f"Dear {name}, …"} for name in names[:-1]]
        assert ended[-1]["error"]["message"] == "a letter needs somebody to go to"


@pytest.mark.timeout(90)
async def test_a_function_behind_a_webhook_answers(tmp_path: Path) -> None:
    """`examples/function_webhook.py`: what is signed with its secret is answered, and nothing else."""
    port = free_port()
    async with running(tmp_path / "data") as up, up.client() as http:
        url = f"http://127.0.0.1:{port}/tools"
        made = await http.put("/v1/webhooks/letters", json={"url": url, "events": []})
        assert made.is_success, made.text
        definition = yaml.safe_load((REPOSITORY / "examples" / "draft_letter.yaml").read_text())
        definition["webhook"] = {"url": url, "secret": "secret://letters"}
        assert (await http.put("/v1/tools/draft_letter", json=definition)).is_success
        server = ("-m", "uvicorn", "function_webhook:app", "--port", str(port), "--app-dir", str(EXAMPLES))
        async with example(*server, environment={"WEBHOOK_SECRET": made.json()["secret"]}):
            await until(lambda: is_served(url))
            call = (await http.post("/v1/calls", json={"tool": "draft_letter", "arguments": {"to": "Ana"}})).json()
            ended = await end_of(http, call["id"])
            assert (ended["status"], ended["output"]) == ("succeeded", {"letter": "Dear Ana, …"})
            async with httpx.AsyncClient(trust_env=False) as stranger:
                assert (await stranger.post(url, json={"data": {}})).status_code == httpx.codes.UNAUTHORIZED


@asynccontextmanager
async def example(*arguments: str, environment: dict[str, str]) -> AsyncIterator[None]:
    """An example runs, until it is no longer needed."""
    command = arguments if arguments[0] == "-m" else (str(EXAMPLES / arguments[0]), *arguments[1:])
    process = await asyncio.create_subprocess_exec(sys.executable, *command, env={**os.environ, **environment})
    try:
        yield
        assert process.returncode is None
    finally:
        process.terminate()
        await process.wait()


async def end_of(http: httpx.AsyncClient, call_id: str) -> dict[str, Any]:
    """The call once it ended."""
    found: list[dict[str, Any]] = []

    async def is_over() -> bool:
        found.append((await http.get(f"/v1/calls/{call_id}")).json())
        return found[-1]["finished_at"] is not None

    await until(is_over, within_s=40)
    return found[-1]


async def is_served(url: str) -> bool:
    """Whether something answers there."""
    async with httpx.AsyncClient(trust_env=False) as http:
        try:
            return bool((await http.post(url)).status_code)
        except httpx.TransportError:
            return False
