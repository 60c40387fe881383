"""Settings of the integrations service."""

from pydantic import Field

from toolbus_runtime.settings import EgressSettings, HttpSettings, SecretSettings


class IntegrationsSettings(HttpSettings, EgressSettings, SecretSettings):
    """What the integrations service needs to run."""

    integrations_concurrency: int = Field(
        100, ge=1, le=4096, description="calls of integrations that are carried out at once, and as many of MCP servers"
    )
    integrations_patience_s: float = Field(
        60.0, gt=0, description="how long to ask for a start, and to tell an outcome, while the bus is away"
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
