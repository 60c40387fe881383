"""Surfaces: what a provider or an MCP server says of one of its tools, as it was when the tool was defined."""

from operator import not_

from pydantic import Field

from toolbus_contracts.tools.policies import JsonObject
from toolbus_contracts.tools.terms import Contract
from toolbus_contracts.values import Message


class Surface(Message):
    """
    One tool of a provider or a server, as whoever runs it describes it.

    `version` is that of the provider's package or of the server. `setup` is the schema of what has to be set up.
    `secrets` names those that the settings of the server refer to.
    """

    description: str = ""
    arguments: JsonObject = Field(default_factory=dict)
    output: JsonObject | None = None
    setup: JsonObject | None = None
    contract: Contract | None = None
    timeout_s: float | None = None
    version: str = ""
    secrets: tuple[str, ...] = Field((), exclude_if=not_)
