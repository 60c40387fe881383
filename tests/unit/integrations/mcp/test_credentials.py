"""What lets us in at an MCP server is named, and not written out."""

from typing import Any

import pytest

from toolbus_contracts.errors import Refused
from toolbus_contracts.mcp import PutMcpServer
from toolbus_contracts.secrets import NOT_WRITTEN_OUT
from toolbus_integrations.core.credentials import check_credentials

HTTP: dict[str, Any] = {"transport": "http", "url": "https://x/mcp"}
STDIO: dict[str, Any] = {"transport": "stdio", "command": "/srv/x"}


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        (HTTP | {"bearer": "plain"}, ["/bearer"]),
        (HTTP | {"headers": {"Authorization": "Bearer plain", "X-Team": "blue"}}, ["/headers/Authorization"]),
        (HTTP | {"bearer": "plain", "headers": {"Cookie": "a=b"}}, ["/bearer", "/headers/Cookie"]),
        (STDIO | {"env": {"FILES_TOKEN": "plain", "ERA": "modern", "MAX_TOKENS": "7"}}, ["/env/FILES_TOKEN"]),
        (
            STDIO | {"env": {"GOOGLE_APPLICATION_CREDENTIALS": '{"key":"plain"}'}},
            ["/env/GOOGLE_APPLICATION_CREDENTIALS"],
        ),
        (STDIO | {"env": {"AWS_SECRET_ACCESS_KEY": "/plain+base64"}}, ["/env/AWS_SECRET_ACCESS_KEY"]),
        (HTTP | {"headers": {"X-Credentials": "/plain"}}, ["/headers/X-Credentials"]),
    ],
)
def test_a_secret_that_is_written_out_is_refused(settings: dict[str, Any], paths: list[str]) -> None:
    """With the paths to all of them, and without their values."""
    with pytest.raises(Refused) as caught:
        check_credentials(PutMcpServer.model_validate(settings))
    assert caught.value.code == "invalid_request"
    assert [fault.path for fault in caught.value.faults] == paths
    assert {fault.message for fault in caught.value.faults} == {NOT_WRITTEN_OUT}
    assert "plain" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        HTTP,
        HTTP | {"bearer": "secret://k", "headers": {"X-Api-Key": "secret://k", "X-Team": "blue", "X-Token": ""}},
        STDIO | {"env": {"FILES_TOKEN": "secret://k", "ERA": "modern"}},
        STDIO
        | {"env": {"GOOGLE_APPLICATION_CREDENTIALS": "/etc/account.json", "MAX_TOKEN": "4096", "page_token": "a"}},
    ],
)
def test_names_of_secrets_and_other_settings_pass(settings: dict[str, Any]) -> None:
    """What is empty is no secret; nor is the place of a file, or how much text is wanted."""
    server = PutMcpServer.model_validate(settings)
    check_credentials(server)
    assert server.bearer in (None, "secret://k")
