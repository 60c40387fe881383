"""Settings of the approvals service."""

from pydantic import Field, SecretStr

from toolbus_runtime.settings import EgressSettings, HttpSettings, SecretKeySettings


class ApprovalsSettings(HttpSettings, EgressSettings, SecretKeySettings):
    """What the approvals service needs to run."""

    token_key: SecretStr = Field(
        SecretStr(""), description="signs tokens of function calls and sessions of the inbox; the same for all replicas"
    )
    waits_cached: int = Field(2_000, ge=1, description="how many states of waits, calls and keys are kept in memory")
