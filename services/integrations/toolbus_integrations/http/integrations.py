"""`/v1/integrations`: what providers there are, what each method takes and gives, and the tool that it makes."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import ValidationError

from toolbus_contracts.errors import Fault, Unreadable
from toolbus_contracts.integrations import MethodView, ProviderView
from toolbus_contracts.tools import IntegrationSection, JsonObject, ToolDefinition, ToolFormat, format_tool
from toolbus_contracts.values import fault_message
from toolbus_integrations.catalogue import surface_of
from toolbus_integrations.http.services import Services, Wired, caller
from toolbus_runtime.http.auth import Caller
from toolbus_runtime.http.document import refusals
from toolbus_runtime.http.responses import JsonResponse
from toolbus_runtime.http.shapes import Page

router = APIRouter(tags=["integrations"])
Reader = Annotated[Caller, caller("read")]
Format = Annotated[ToolFormat, Query(description="whose API reads it")]
Name = Annotated[str | None, Query(description="what the tool is called; <provider>_<method> when absent")]
Description = Annotated[str | None, Query(description="what models read; the method's when absent")]


@router.get("/v1/integrations", response_model=Page[ProviderView])
async def list_providers(parts: Wired, who: Reader) -> Response:  # noqa: ARG001 - whoever may read
    """List all providers by name; one that cannot be used tells why in `fault`."""
    items = [_shown(view) for view in await parts.catalogue.views()]
    return JsonResponse({"items": items, "next_cursor": None})


@router.get("/v1/integrations/{provider}", response_model=ProviderView, responses=refusals(404))
async def get(provider: str, parts: Wired, who: Reader) -> Response:  # noqa: ARG001 - whoever may read
    """Read one provider: its setup and its methods."""
    return JsonResponse(_shown(await parts.catalogue.view(provider)))


@router.get("/v1/integrations/{provider}/tool", response_model=JsonObject, responses=refusals(404, 409, 502))
async def usual_tool(
    provider: str,
    parts: Wired,
    who: Reader,  # noqa: ARG001 - whoever may read
    format: Format = "openai",  # noqa: A002 - the name of the parameter
    name: Name = None,
    description: Description = None,
) -> Response:
    """Write the provider's usual method as a tool, as a model's API wants it."""
    return await _tool(parts, IntegrationSection(provider=provider), format, name=name, description=description)


@router.get("/v1/integrations/{provider}/{method}", response_model=MethodView, responses=refusals(404, 409, 502))
async def get_method(provider: str, method: str, parts: Wired, who: Reader) -> Response:  # noqa: ARG001 - whoever may read
    """Read one method: schemas of what it takes and gives, its contract, how long an attempt may take."""
    _, found = await parts.catalogue.method(provider, method)
    return JsonResponse(found.model_dump(mode="json"))


@router.get("/v1/integrations/{provider}/{method}/tool", response_model=JsonObject, responses=refusals(404, 409, 502))
async def method_tool(
    provider: str,
    method: str,
    parts: Wired,
    who: Reader,  # noqa: ARG001 - whoever may read
    format: Format = "openai",  # noqa: A002 - the name of the parameter
    name: Name = None,
    description: Description = None,
) -> Response:
    """Write a method as a tool, as a model's API wants it."""
    section = IntegrationSection(provider=provider, method=method)
    return await _tool(parts, section, format, name=name, description=description)


async def _tool(
    parts: Services, section: IntegrationSection, shape: ToolFormat, *, name: str | None, description: str | None
) -> Response:
    view, method = await parts.catalogue.method(section.provider, section.method)
    called = name if name is not None else f"{view.provider}_{method.method}"
    return JsonResponse(format_tool(_definition(called, description, section), shape, surface_of(view, method)))


def _definition(name: str, description: str | None, section: IntegrationSection) -> ToolDefinition:
    """The tool of this name. Raises: Unreadable, a name or description that no tool can have."""
    try:
        return ToolDefinition(name=name, description=description or "", integration=section)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        faults = tuple(Fault(f"/query/{one['loc'][0]}", fault_message(one["type"], one["msg"])) for one in found)
        raise Unreadable("invalid_request", faults[0].message, faults) from error


def _shown(view: ProviderView) -> dict[str, Any]:
    return view.model_dump(mode="json")
