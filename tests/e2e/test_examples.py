"""The examples do what they say, against a `toolbus up` of their own."""

import asyncio
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.nursery import REPOSITORY
from tests.e2e.target import Target
from tests.e2e.test_up import running


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
