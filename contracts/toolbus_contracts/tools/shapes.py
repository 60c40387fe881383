"""The shapes in which models read a tool, and the arguments that they may give."""

from collections.abc import Mapping
from typing import Literal, get_args

from toolbus_contracts.errors import Fault, Refused
from toolbus_contracts.tools.definitions import ToolDefinition
from toolbus_contracts.tools.policies import JsonObject
from toolbus_contracts.tools.surfaces import Surface
from toolbus_contracts.tools.terms import Terms
from toolbus_contracts.values import Json


def presets(definition: ToolDefinition, setup: Mapping[str, Json] | None = None) -> JsonObject:
    """Arguments that the definition, or what is stored for an `api_call`, fills: no model sees them or changes them."""
    section = definition.api_call
    if section is None:
        return given_arguments(definition)
    filled: JsonObject = {}
    for part in (section.params, section.json_body, section.data):
        if isinstance(part, dict):
            filled.update(part)
    for name in ("params", "json", "data") if setup else ():
        if isinstance(part := setup.get(name) if setup else None, dict):
            filled.update(part)
    if not filled:
        return filled
    declared = _properties(section.params_schema)
    return {name: value for name, value in filled.items() if name in declared}


def given_arguments(definition: ToolDefinition) -> JsonObject:
    """The arguments that the definition of an integration or of an MCP server's tool brings along."""
    section = definition.integration or definition.mcp
    return dict(section.arguments or {}) if section is not None else {}


def schema_of(definition: ToolDefinition, surface: Surface | None = None) -> JsonObject | None:
    """The JSON Schema that a tool has for its arguments; none when it takes any."""
    if definition.api_call is not None:
        return definition.api_call.params_schema
    if definition.function is not None:
        return definition.function.parameters
    return surface.arguments if surface is not None else None


def parameters(
    definition: ToolDefinition, surface: Surface | None = None, filled: Mapping[str, Json] | None = None
) -> JsonObject:
    """
    JSON Schema of the arguments that a model may give, without those that are filled already.

    `filled` are arguments that stored values bring, besides the presets. What a person is asked for may be given
    beforehand, and need not be.
    """
    found = dict(schema_of(definition, surface) or {})
    hidden = presets(definition) if filled is None else {**presets(definition), **filled}
    properties = {k: v for k, v in _properties(found).items() if k not in hidden}
    found = {"type": "object", **found, "properties": properties}
    if "required" in found:
        asked = definition.ask_user.fields if definition.ask_user else {}
        found["required"] = [name for name in found["required"] if name not in hidden and name not in asked]
    return found


def _properties(schema: JsonObject | None) -> JsonObject:
    declared = (schema or {}).get("properties")
    return declared if isinstance(declared, dict) else {}


ToolFormat = Literal["openai", "openai_responses", "anthropic", "gemini", "mcp"]


def format_tool(
    definition: ToolDefinition,
    shape: str,
    surface: Surface | None = None,
    filled: Mapping[str, Json] | None = None,
) -> JsonObject:
    """
    Write a tool as a model's API wants it, under its own name; where it has no description, its provider's.

    Raises:
        Refused: `unsupported_format`.

    Source: OpenAI Chat Completions and Responses `tools` (a Responses tool is strict unless it says not to be),
    Anthropic Messages `tools`, Gemini `FunctionDeclaration` (`parametersJsonSchema` takes JSON Schema whole),
    MCP `tools/list`.
    """
    name, schema = definition.name, parameters(definition, surface, filled)
    description = definition.description or (surface.description if surface is not None else "")
    told: JsonObject = {"name": name, "description": description}
    match shape:
        case "openai":
            return {"type": "function", "function": {**told, "parameters": schema}}
        case "openai_responses":
            return {"type": "function", **told, "parameters": schema, "strict": False}
        case "anthropic":
            return {**told, "input_schema": schema}
        case "gemini":
            return {**told, "parametersJsonSchema": schema}
        case "mcp":
            return {**told, "inputSchema": schema, "annotations": _hints(definition.terms(surface))}
        case _:
            message = f"format {shape!r} is not one of {', '.join(get_args(ToolFormat))}"
            raise Refused("unsupported_format", message, (Fault("/query/format", message),))


def _hints(terms: Terms) -> JsonObject:
    """MCP's hints say what the terms say."""
    return {
        "readOnlyHint": terms.effect == "read",
        "destructiveHint": terms.effect == "dangerous",
        "idempotentHint": terms.idempotency in {"native", "required"},
        "openWorldHint": terms.effect == "external",
    }
