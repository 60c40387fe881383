"""The HTTP application of the dispatcher."""

from fastapi import FastAPI

from toolbus_contracts.calls import SubmitCall
from toolbus_contracts.executions import CancelExecution, FinishExecution, StartExecution
from toolbus_contracts.keys import CreateKey
from toolbus_contracts.stored import StoredValues
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.http import calls, dead, executions, keys, log, stored, tools
from toolbus_dispatcher.http.services import Services
from toolbus_runtime.health import Probe
from toolbus_runtime.http.application import application

RESOURCES = (calls, tools, stored, executions, keys, log, dead)
BODIES = (SubmitCall, ToolDefinition, StartExecution, FinishExecution, CancelExecution, CreateKey, StoredValues)


def make_application(services: Services | None, probes: dict[str, Probe]) -> FastAPI:
    """Make the application; without services it can only describe itself."""
    return application([resource.router for resource in RESOURCES], services, probes, BODIES)
