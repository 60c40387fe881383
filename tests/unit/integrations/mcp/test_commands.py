"""Which commands may be run: those on the operator's list, word for word."""

import json
from typing import Any

import pytest

from toolbus_contracts.errors import Refused, Unreadable
from toolbus_contracts.mcp import PutMcpServer
from toolbus_integrations.core.mcp_commands import check_command, parse_allowed
from toolbus_integrations.settings import IntegrationsSettings

LISTED = json.dumps([{"argv": ["/srv/files", "/data"], "env": ["TOKEN"]}, {"argv": ["/srv/bare"]}])


def server(*argv: str, **env: str) -> PutMcpServer:
    """A server over stdio."""
    return PutMcpServer.model_validate({"transport": "stdio", "command": argv[0], "args": list(argv[1:]), "env": env})


@pytest.mark.parametrize("text", ["", "  ", "[]"])
def test_nothing_is_listed_until_somebody_lists_it(text: str) -> None:
    """Stdio is off."""
    assert parse_allowed(text) == ()
    with pytest.raises(Refused) as caught:
        check_command(server("/srv/files"), parse_allowed(text))
    assert caught.value.code == "command_denied"


def test_what_is_listed_may_be_run() -> None:
    """With the variables that stand there, or fewer; servers over HTTP run nothing."""
    allowed = parse_allowed(LISTED)
    check_command(server("/srv/files", "/data", TOKEN="x"), allowed)
    check_command(server("/srv/files", "/data"), allowed)
    check_command(server("/srv/bare"), allowed)
    check_command(PutMcpServer.model_validate({"transport": "http", "url": "https://x"}), ())


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (server("/srv/files"), "argument for argument"),
        (server("/srv/files", "/data", "/etc"), "argument for argument"),
        (server("/srv/files", "/data", LD_PRELOAD="/x.so"), "LD_PRELOAD"),
        (server("/srv/bare", TOKEN="x"), "TOKEN"),
    ],
)
def test_what_is_not_listed_may_not(wanted: PutMcpServer, told: str) -> None:
    """Neither a longer nor a shorter command, nor another variable."""
    with pytest.raises(Refused, match=told):
        check_command(wanted, parse_allowed(LISTED))


@pytest.mark.parametrize("text", ["x", "{}", '[{"argv": []}]', '[["/srv/files"]]', '[{"argv": ["x"], "env": ["A B"]}]'])
def test_a_list_that_cannot_be_read_stops_the_service(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a whole it would allow nothing, which is told before anything runs."""
    with pytest.raises(Unreadable):
        parse_allowed(text)
    monkeypatch.setenv("TOOLBUS_MCP_STDIO_ALLOW", text)
    settings: Any = IntegrationsSettings
    with pytest.raises(ValueError, match="mcp_stdio_allow"):
        settings()
