"""The HTTP application of the integrations service."""

from types import ModuleType

from fastapi import FastAPI
from pydantic import BaseModel

from toolbus_contracts.mcp import PutMcpServer
from toolbus_contracts.secrets import PutSecret
from toolbus_integrations.http import integrations, mcp_servers, secrets
from toolbus_integrations.http.services import Services
from toolbus_runtime.health import Probe
from toolbus_runtime.http.application import application

RESOURCES: tuple[ModuleType, ...] = (integrations, secrets, mcp_servers)
BODIES: tuple[type[BaseModel], ...] = (PutSecret, PutMcpServer)


def make_application(services: Services | None, probes: dict[str, Probe]) -> FastAPI:
    """Make the application; without services it can only describe itself."""
    return application([resource.router for resource in RESOURCES], services, probes, BODIES)
