"""The HTTP application of the approvals service."""

from fastapi import FastAPI

from toolbus_approvals.http import agreements, functions, waits, webhooks
from toolbus_approvals.http.services import Services
from toolbus_contracts.waits import (
    AnswerWait,
    ApproveWait,
    CompleteCall,
    DelegateWait,
    DenyWait,
    GiveDelegation,
    GiveGrant,
    HeartbeatWait,
    LeaseWaits,
    ReleaseWait,
    SimulateWait,
)
from toolbus_contracts.webhooks import PutWebhook, RotateWebhook
from toolbus_runtime.health import Probe
from toolbus_runtime.http.application import application

ROUTERS = (  # /v1/waits/lease is no wait: functions come first
    functions.router,
    waits.router,
    agreements.grants,
    agreements.delegations,
    webhooks.router,
)
BODIES = (
    ApproveWait,
    DenyWait,
    AnswerWait,
    DelegateWait,
    SimulateWait,
    LeaseWaits,
    HeartbeatWait,
    ReleaseWait,
    CompleteCall,
    GiveGrant,
    GiveDelegation,
    PutWebhook,
    RotateWebhook,
)


def make_application(services: Services | None, probes: dict[str, Probe]) -> FastAPI:
    """Make the application; without services it can only describe itself."""
    return application(ROUTERS, services, probes, BODIES)
