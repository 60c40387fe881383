"""The examples do what they say, against a `toolbus up` of their own."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.e2e.nursery import REPOSITORY
from tests.e2e.target import Target
from tests.e2e.test_up import running, tool


@pytest.mark.timeout(120)
async def test_a_thousand_calls_published_on_nats_give_a_thousand_results(tmp_path: Path) -> None:
    """`examples/publish_on_nats.py` knows nothing but nats-py and the credentials; every result comes back."""
    async with Target() as target, running(tmp_path / "data") as up:
        definition = tool(target, "get_weather")
        schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        definition["api_call"] |= {"url": target.url + "/items/{city}", "params_schema": schema}
        async with up.client() as http:
            assert (await http.put("/v1/tools/get_weather", json=definition)).is_success
        example = await asyncio.create_subprocess_exec(
            sys.executable,
            str(REPOSITORY / "examples" / "publish_on_nats.py"),
            *("1000", str(up.folder / "credentials.json")),
            stdout=asyncio.subprocess.PIPE,
        )
        told, _ = await example.communicate()
        assert (example.returncode, told.decode()) == (0, "1000 results\n")
        assert target.counts == {f"GET /items/city-{number}": 1 for number in range(1000)}
