"""Real sockets: nothing is sent twice, and whether anything was sent is always known."""

import asyncio
import socket
import ssl
from typing import Any

import aiohttp
import pytest

from tests.integration.api_caller.calling import ALL, PAUSE_S, call, code, guard, hanging, ok
from tests.integration.api_caller.raw_target import OK, Answering, RawTarget, Seen, raw_target, reset, saying
from tests.unit.api_caller.making import READ, UNSAFE, item
from toolbus_api_caller.adapters.http_client import LIBRARY_ERRORS, HttpClient
from toolbus_api_caller.adapters.watched_request import Exchange
from toolbus_api_caller.core.request import build_request
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.permits import Permit
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run


async def closing(seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Close instead of answering."""
    return False


async def resetting(seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Reset instead of answering."""
    reset(writer)
    return False


def after_one(broken: Answering) -> Answering:
    """Answer the first request of a connection, so that it is kept, and break at the second."""
    answered: set[asyncio.StreamWriter] = set()

    async def answering(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        if writer in answered:
            return await broken(seen, writer)
        answered.add(writer)
        return await saying(OK)(seen, writer)

    return answering


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("broken", [closing, resetting, hanging])
@pytest.mark.parametrize("is_kept", [False, True])
async def test_each_attempt_is_one_request(
    client: HttpClient, method: str, *, broken: Answering, is_kept: bool
) -> None:
    """On a fresh or a kept connection, a target that breaks gets the request once, and the outcome says it was sent."""
    async with raw_target(after_one(broken) if is_kept else broken) as target:
        if is_kept:
            ok(await call(client, target, "GET"))
        before = len(target.seen)
        tried = {UNSAFE: "unknown"} if is_kept else {UNSAFE: "unknown", READ: "unknown"}  # one connection is kept
        found = await asyncio.gather(
            *(call(client, target, method, {"timeout": PAUSE_S}, terms=terms) for terms in tried)
        )
        told = "timeout" if broken is hanging else "connection_lost"
        assert [(outcome.result, code(outcome)) for outcome in found] == [(result, told) for result in tried.values()]
        assert len(target.seen) - before == target.connections == len(tried)


async def test_a_refused_connection_sent_nothing(client: HttpClient) -> None:
    """Nobody listens: failed without effect, whatever the terms."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        target = RawTarget(hanging, port=free.getsockname()[1])
        outcome = await call(client, target, "POST", terms=UNSAFE)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.code, outcome.error.effect_happened) == (
        "not_sent",
        "connection_failed",
        "no",
    )


async def test_a_name_that_does_not_exist(client: HttpClient) -> None:
    """DNS failed: nothing was sent."""
    request = build_request(item({"url": "http://nowhere.invalid/"}), user_agent="x")
    found = await client.send(request, Permit(), Run())
    assert isinstance(found, Failure)
    assert not found.is_sent


async def test_tls_that_fails_sent_nothing(client: HttpClient) -> None:
    """A server that speaks no TLS, or has a certificate nobody trusts, sees no request."""
    async with raw_target(hanging) as target:
        request = build_request(item({"url": f"https://127.0.0.1:{target.port}/", "timeout": 1}), user_agent="x")
        found = await client.send(request, Permit(), Run())
    assert isinstance(found, Failure)
    assert (found.is_sent, target.seen) == (False, [])


async def test_a_connection_that_never_comes_sent_nothing(client: HttpClient) -> None:
    """A handshake that does not end before the timeout is a failure without effect."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    with listener:
        # TLS to a socket that accepts and stays silent.
        request = build_request(
            item({"url": f"https://127.0.0.1:{listener.getsockname()[1]}/"}, {"timeout": 0.2}), user_agent="x"
        )
        found = await client.send(request, Permit(), Run())
    assert isinstance(found, Failure)
    assert (found.kind, found.is_sent) == ("timeout", False)


async def test_nothing_leaves_after_send_by(client: HttpClient) -> None:
    """A permission that ran out before the connection was ready sends nothing."""
    async with raw_target(saying(OK)) as target:
        past = Permit(send_by=SystemClock().steady_s() - 1)
        outcome = await call(client, target, "POST", terms=UNSAFE, permit=past)
        assert target.seen == []
    assert (outcome.result, code(outcome)) == ("not_sent", "connection_failed")


async def test_it_stops_at_stop_by(client: HttpClient) -> None:
    """A started call ends at `stop_by`, though its timeout would be longer."""
    async with raw_target(hanging) as target:
        until = Permit(stop_by=SystemClock().steady_s() + PAUSE_S)
        outcome = await call(client, target, "POST", terms=UNSAFE, permit=until)
    assert (outcome.result, code(outcome)) == ("unknown", "timeout")


async def test_aiohttp_has_the_switch_that_we_turn(client: HttpClient) -> None:
    """The private switch is there, is on by default, and is off in our session."""
    async with aiohttp.ClientSession() as session:
        assert session._retry_connection is True
    ours = client._session()
    assert ours._retry_connection is False
    await ours.close()


class Connected(asyncio.BaseTransport):
    """A connection to this machine."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Its other end."""
        return ("127.0.0.1", 80) if name == "peername" else default


def test_a_second_hand_over_is_refused() -> None:
    """Were the switch gone, the request itself would refuse to be sent again."""
    transport, exchange = Connected(), Exchange(SystemClock(), None, guard(), Run())
    exchange.turn_to("http://127.0.0.1/")
    exchange.hand_over(transport)
    with pytest.raises(aiohttp.ClientConnectionError):
        exchange.hand_over(transport)
    exchange.turn_to("http://127.0.0.1/other")
    exchange.hand_over(transport)


def errors_of(module: Any) -> list[type[Exception]]:
    """Every exception that a library names."""
    found = [getattr(module, name) for name in module.__all__]
    return [each for each in found if isinstance(each, type) and issubclass(each, Exception)]


@pytest.mark.parametrize("error", errors_of(aiohttp.client_exceptions))
def test_every_error_of_the_library_is_known(error: type[Exception]) -> None:
    """An exception that the library adds and we do not translate fails here."""
    assert issubclass(error, LIBRARY_ERRORS)


def test_errors_of_the_system_are_known() -> None:
    """What reaches us unwrapped is known too."""
    for error in (TimeoutError, ConnectionResetError, BrokenPipeError, ssl.SSLError, socket.gaierror):
        assert issubclass(error, LIBRARY_ERRORS)
