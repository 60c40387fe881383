"""A call as the host gives it to a method, in the test's own process; loopback may be reached unless told otherwise."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from pytest_httpserver import HTTPServer

from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.executing.secrets import Secret
from toolbus_integrations.host.call import HostedCall
from toolbus_integrations.host.exchange import Exchange, current_exchange
from toolbus_integrations.host.network import Network
from toolbus_runtime.executing.clock import SystemClock

Raw = Callable[[bytes], Awaitable[str]]


def hosted(
    network: Network,
    folder: Path,
    *,
    allow: str = "127.0.0.0/8",
    max_output_bytes: int = 100_000,
    send_by: float | None = None,
    secrets: Sequence[Secret] = (),
) -> HostedCall:
    """The call; what it sends is noted in `exchange`."""
    rules = EgressRules(parse_allowances(allow))
    exchange = Exchange(rules, SystemClock(), lambda: None, send_by=send_by, secrets=secrets)
    current_exchange.set(exchange)
    return HostedCall("acme", "call_1", folder, max_output_bytes, network, exchange, "toolbus/test")


def at(server: HTTPServer, path: str = "/") -> str:
    """Where the server is, by its address."""
    return f"http://127.0.0.1:{server.port}{path}"
