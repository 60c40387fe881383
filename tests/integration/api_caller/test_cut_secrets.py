"""What is told of an exchange that broke is cut: no cut goes through a secret and leaves its beginning behind."""

import asyncio

import pytest

from tests.integration.api_caller.calling import guard
from tests.integration.api_caller.raw_target import Seen, raw_target
from tests.unit.api_caller.making import READ, item
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_api_caller.core.request import build_request
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.executing.secrets import Secret
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run

VALUE = "s" * 20 + "-not-the-half-of-it-" + "t" * 20


@pytest.mark.parametrize("noise", range(300, 400, 10))
async def test_no_half_of_a_secret_is_told(noise: int) -> None:
    """The library quotes the target and the url, in which the secret stands: of any length in all."""

    async def nonsense(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nno header " + b"A" * noise + b"\r\n\r\n")
        return False

    secret, redactor = Secret("key", VALUE), Redactor([("key", VALUE)])
    client = HttpClient(SystemClock(), keepalive_s=1, guard=guard())
    async with raw_target(nonsense) as target:
        section = {"method": "GET", "url": target.url, "params": {"k": "secret://key"}}
        request = build_request(
            item(section, terms=READ),
            user_agent="toolbus/test",
            secrets={"key": secret},
            redactor=redactor,
        )
        found = await client.send(request, Permit(), Run())
        await client.aclose()
    assert isinstance(found, Failure)
    assert found.is_sent
    assert VALUE[:5] not in redactor.in_text(found.message)
