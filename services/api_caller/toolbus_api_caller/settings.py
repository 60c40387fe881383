"""Settings of the executor of api calls."""

from pydantic import Field

from toolbus_runtime.settings import EgressSettings, SecretSettings


class ApiCallerSettings(EgressSettings, SecretSettings):
    """What the executor of api calls needs to run."""

    api_caller_concurrency: int = Field(200, ge=1, le=4096, description="api calls that are carried out at once")
    api_caller_keepalive_s: float = Field(
        4.0, gt=0, description="how long an idle connection to a target is kept; below the 5 s of common servers"
    )
    api_caller_patience_s: float = Field(
        60.0, gt=0, description="how long to ask for a start, and to tell an outcome, while the bus is away"
    )
    api_caller_body_budget_bytes: int = Field(
        256 * 1024 * 1024,
        ge=1024 * 1024,
        description="answers above 64 KiB that are held at once; what would exceed it waits, up to its timeout",
    )
