"""Which commands may be run as servers: exactly those that the operator listed."""

import json
from collections.abc import Iterable
from typing import Final

from pydantic import Field, TypeAdapter, ValidationError

from toolbus_contracts.errors import Refused, Unreadable
from toolbus_contracts.mcp import Argument, EnvName, PutMcpServer
from toolbus_contracts.values import Message, pointer

MAX_ALLOWED: Final = 100


class AllowedCommand(Message):
    """
    One command that may be run, argument for argument, and the variables that a server may hand to it.

    `env` holds names only: a variable that is not named here is refused, since some of them (LD_PRELOAD, PYTHONPATH,
    NODE_OPTIONS) make any program run another.
    """

    argv: tuple[Argument, ...] = Field(min_length=1, max_length=65)
    env: frozenset[EnvName] = frozenset()


_LIST = TypeAdapter(tuple[AllowedCommand, ...])


def parse_allowed(text: str) -> tuple[AllowedCommand, ...]:
    """
    The commands in a list as JSON: `[{"argv": ["/srv/files-server", "/data"], "env": ["FILES_TOKEN"]}]`.

    Raises:
        Unreadable: it is no such list; as a whole it allows nothing then.
    """
    if not text.strip():
        return ()
    try:
        return _LIST.validate_python(json.loads(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise Unreadable("invalid_value", f"{pointer(*first['loc'])}: {first['msg']}") from error
    except ValueError as error:
        raise Unreadable("invalid_json", f"not JSON: {error}") from error


def check_command(server: PutMcpServer, allowed: Iterable[AllowedCommand]) -> None:
    """
    The command of a server may be run, with the variables that it hands over; one over http runs none.

    Raises:
        Refused: `command_denied`.
    """
    if server.transport == "http":
        return
    found = next((one for one in allowed if one.argv == server.argv), None)
    if found is None:
        raise Refused("command_denied", "the operator has not listed this command, argument for argument")
    if unnamed := sorted(server.env.keys() - found.env):
        raise Refused("command_denied", f"the operator has not listed these variables for it: {', '.join(unnamed)}")
