"""Where the secrets of a server may go."""

from collections.abc import Iterable, Mapping

import pytest

from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.mcp import PutMcpServer
from toolbus_integrations.mcp.targets import target_of

OVER_HTTP = PutMcpServer(transport="http", url="https://mcp.example/mcp", bearer="secret://key")
AS_PROGRAM = PutMcpServer(transport="stdio", command="/srv/server", env={"KEY": "secret://key"})


def resolved(*hosts: str) -> object:
    """The secret, bound to these hosts."""

    async def resolve(names: Iterable[str]) -> Mapping[str, Secret]:
        return {name: Secret(name, "a value of it", hosts=hosts) for name in names}

    return resolve


@pytest.mark.parametrize(
    ("settings", "hosts"),
    [(OVER_HTTP, ("other.example",)), (OVER_HTTP, ("mcp.example:8443",)), (AS_PROGRAM, ("mcp.example",))],
)
async def test_a_bound_secret_goes_nowhere_else(settings: PutMcpServer, hosts: tuple[str, ...]) -> None:
    """A program could send it anywhere, and nobody would see it."""
    with pytest.raises(Refused) as refusal:
        await target_of("acme", "thing", settings, resolved(*hosts))  # type: ignore[arg-type]
    assert refusal.value.code == "secret_not_allowed"
    assert "key" in refusal.value.message


@pytest.mark.parametrize(
    ("settings", "hosts"),
    [(OVER_HTTP, ("mcp.example",)), (OVER_HTTP, ()), (OVER_HTTP, ("*.example",)), (AS_PROGRAM, ())],
)
async def test_a_secret_goes_where_it_may(settings: PutMcpServer, hosts: tuple[str, ...]) -> None:
    """In the header, or in the environment."""
    found = await target_of("acme", "thing", settings, resolved(*hosts))  # type: ignore[arg-type]
    assert "a value of it" in {
        *found.env.values(),
        *(value.removeprefix("Bearer ") for value in found.headers.values()),
    }
