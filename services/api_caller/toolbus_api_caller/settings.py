"""Settings of the executor of api calls."""

from pydantic import Field, field_validator

from toolbus_contracts.egress import parse_allowances
from toolbus_contracts.errors import Unreadable
from toolbus_runtime.settings import Settings


class ApiCallerSettings(Settings):
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
    egress_allow: str = Field(
        "",
        description="comma list of host[:port], *.suffix[:port], CIDR[:port] that calls may reach although the guard"
        " would refuse it; IPv6 in brackets",
    )

    @field_validator("egress_allow")
    @classmethod
    def _check_allowances(cls, text: str) -> str:
        """A list that cannot be read as a whole opens nothing: the service does not start."""
        try:
            parse_allowances(text)
        except Unreadable as error:
            raise ValueError(error.message) from error
        return text
