"""Settings of the integrations service."""

from pydantic import Field, field_validator

from toolbus_contracts.errors import Unreadable
from toolbus_integrations.core.mcp_commands import parse_allowed
from toolbus_runtime.settings import EgressSettings, HttpSettings, SecretSettings


class IntegrationsSettings(HttpSettings, EgressSettings, SecretSettings):
    """What the integrations service needs to run."""

    integrations_concurrency: int = Field(
        100, ge=1, le=4096, description="calls of integrations that are carried out at once, and as many of MCP servers"
    )
    integrations_patience_s: float = Field(
        60.0, gt=0, description="how long to ask for a start, and to tell an outcome, while the bus is away"
    )
    integrations_output_budget_bytes: int = Field(
        512 * 1024**2,
        ge=1024**2,
        description="outputs that calls of integrations and MCP servers may have altogether; each waits, before it"
        " begins, until there is room for the `max_output_bytes` of its tool",
    )
    provider_memory_bytes: int = Field(
        1024**3, ge=128 * 1024**2, description="memory that the process of one provider may take before it is ended"
    )
    provider_idle_s: float = Field(
        300.0, gt=0, description="how long the process of a provider stays when nobody calls it"
    )
    provider_silence_s: float = Field(
        10.0, gt=0, description="how long the process of a provider may give no sign of life before it is ended"
    )
    mcp_idle_s: float = Field(120.0, gt=0, description="how long a connection to an MCP server stays when nobody calls")
    mcp_stdio_allow: str = Field(
        "",
        description='MCP servers that may be run as processes, as JSON: `[{"argv": ["/srv/files", "/data"], "env":'
        ' ["TOKEN"]}]`; the whole command is compared, and `env` names what a server may hand to it. Empty: none',
    )

    @field_validator("mcp_stdio_allow")
    @classmethod
    def _check_allowed(cls, text: str) -> str:
        """A list that cannot be read allows nothing: the service does not start."""
        try:
            parse_allowed(text)
        except Unreadable as error:
            raise ValueError(error.message) from error
        return text
