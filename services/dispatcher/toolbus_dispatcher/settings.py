"""Settings of the dispatcher."""

from pydantic import Field

from toolbus_dispatcher.holding import TenantPolicy
from toolbus_runtime.settings import HttpSettings


class DispatcherSettings(HttpSettings):
    """What the dispatcher needs to run."""

    command_concurrency: int = Field(1024, ge=1, description="commands from the bus that are handled at once")
    outcome_concurrency: int = Field(1024, ge=1, description="outcomes that are handled at once")
    batch_size: int = Field(256, ge=1, le=1000, description="most commands that are stored in one transaction")
    executor_slots: int = Field(
        200, ge=1, description="how many calls all executors together carry out at once; more is held back, fairly"
    )
    approvals_url: str = Field(
        "", description="where the approvals service listens, to serve its paths behind this port; empty: not here"
    )
    integrations_url: str = Field(
        "", description="where the integrations service listens, to serve its paths behind this port; empty: not here"
    )
    tenants: dict[str, TenantPolicy] = Field(
        {}, description='JSON: by tenant, weight and limits, as {"acme": {"weight": 3, "limits": {"concurrency": 50}}}'
    )
