"""What an MCP server is given to let us in: by the names of secrets, never written out."""

from collections.abc import Iterator
from typing import Final

from toolbus_contracts.errors import Fault, Refused
from toolbus_contracts.mcp import PutMcpServer
from toolbus_contracts.secrets import NOT_WRITTEN_OUT, is_credential, name_in
from toolbus_contracts.values import pointer

_FILES: Final = ("credential", "credentials")


def check_credentials(server: PutMcpServer) -> None:
    """
    Let pass settings that hold no secret in full: they can be read again by whoever operates.

    Raises:
        Refused: `invalid_request`, with the paths.
    """
    faults = tuple(_written_out(server))
    if faults:
        raise Refused("invalid_request", f"{faults[0].path}: {faults[0].message}", faults)


def _written_out(server: PutMcpServer) -> Iterator[Fault]:
    if server.bearer is not None and name_in(server.bearer) is None:
        yield Fault("/bearer", NOT_WRITTEN_OUT)
    env = {name: value for name, value in server.env.items() if not _is_place(name, value)}
    for part, values in (("headers", server.headers), ("env", env)):
        for name, value in values.items():
            if value and is_credential(name) and name_in(value) is None:
                yield Fault(pointer(part, name), NOT_WRITTEN_OUT)


def _is_place(variable: str, value: str) -> bool:
    """Whether it says where credentials lie, and not what they are, as GOOGLE_APPLICATION_CREDENTIALS does."""
    return variable.lower().endswith(_FILES) and value.startswith("/")
