"""The providers of vendors in processes of their own, on the network as it is there: guarded, bounded, watched."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.fakes.llama_parse import LlamaParse
from tests.fakes.vendor import KEY, FakeVendor
from tests.integration.integrations.shelf import MIB, Started
from tests.nats_fixtures import until
from tests.unit.integrations.providers.test_vendor_troubles import ALL, SITE, Asked
from toolbus_integrations.host.messages import Ended, FailedMethod, Gave, Perform, Stopped

BY_PROVIDER = {one.provider.name: [other for other in ALL if other.provider is one.provider] for one in ALL}


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    """Hosts as the service has them; loopback may be reached."""
    made = Started()
    yield made
    await made.hosts.close()


@pytest.fixture
def fake(httpserver: HTTPServer, methods: list[Asked]) -> Iterator[FakeVendor]:
    """The vendor's server."""
    found = methods[0].fake(httpserver)
    yield found
    found.release.set()


async def run(started: Started, asked: Asked, fake: FakeVendor, stop: asyncio.Event | None = None) -> Ended:
    """What came of it; what the vendor would fetch is on its own server, which has an address."""
    arguments: dict[str, Any] = json.loads(json.dumps(asked.arguments).replace(SITE, f"{fake.url}/"))
    question = Perform(
        id=0,
        method=asked.method,
        setup=fake.setup,
        arguments=arguments,
        tenant="acme",
        call_id="call_1",
        max_output_bytes=MIB,
        send_by=None,
    )
    return await started.hosts.perform(asked.provider.name, question, lambda: None, stop or asyncio.Event())


@pytest.mark.parametrize("methods", BY_PROVIDER.values(), ids=BY_PROVIDER)
async def test_methods_work_in_the_process_of_their_provider(
    started: Started, methods: list[Asked], fake: FakeVendor
) -> None:
    """Each gives what it declares; a vendor that is overrun or broken is asked again where that is harmless."""
    for asked in methods:
        ended = await run(started, asked, fake)
        assert isinstance(ended, Gave), ended
        asked.provider.methods[asked.method].output.model_validate(ended.output)
    fake.fail(429, retry_after="7")
    for asked in methods:
        ended = await run(started, asked, fake)
        assert isinstance(ended, FailedMethod), ended
        assert (ended.retryable, ended.retry_after_s) == (True, 7.0)
    fake.fail(500)
    for asked in methods:
        ended = await run(started, asked, fake)
        assert isinstance(ended, FailedMethod), ended
        assert fake.words in ended.message
        assert ended.retryable == (asked.provider.methods[asked.method].contract.effect == "read")
        assert ended.response is not None
        assert KEY not in ended.message
    assert started.starts == [methods[0].provider.name]


async def test_a_document_is_handed_in_once_for_a_call(started: Started, httpserver: HTTPServer) -> None:
    """An attempt whose time was up leaves its job behind, which the next one asks after."""
    fake = LlamaParse(httpserver)
    fake.spared = 1
    fake.hang()
    stop = asyncio.Event()
    (asked,) = BY_PROVIDER["llama_parse"]
    doing = asyncio.create_task(run(started, asked, fake, stop))
    await until(lambda: len(fake.requests) == 2)
    stop.set()
    ended = await doing
    assert isinstance(ended, Stopped), ended
    fake.recover()
    fake.release.set()
    ended = await run(started, asked, fake)
    assert isinstance(ended, Gave), ended
    assert len(fake.jobs) == 1
    assert started.starts == ["llama_parse"]
