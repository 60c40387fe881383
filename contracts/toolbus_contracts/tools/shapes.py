"""The shapes in which models read a tool, and the arguments that they may give."""

from typing import Literal

from toolbus_contracts.errors import Fault, Refused
from toolbus_contracts.tools.definitions import ApiCallSection, FunctionSection, ToolDefinition
from toolbus_contracts.tools.policies import JsonObject


def presets(definition: ToolDefinition) -> JsonObject:
    """Arguments that the definition itself fills: no model sees them, no call changes them."""
    section = definition.api_call
    if section is None:
        return {}
    filled: JsonObject = {}
    for part in (section.params, section.json_body, section.data):
        if isinstance(part, dict):
            filled.update(part)
    declared = _properties(section.params_schema)
    return {name: value for name, value in filled.items() if name in declared}


def parameters(definition: ToolDefinition) -> JsonObject:
    """
    JSON Schema of the arguments that a model may give, without those that are filled already.

    What a person is asked for may be given beforehand, and need not be.
    """
    match definition:
        case ToolDefinition(api_call=ApiCallSection(params_schema=schema)):
            found = dict(schema or {})
        case ToolDefinition(function=FunctionSection(parameters=schema)):
            found = dict(schema)
        case _:
            found = {}
    hidden = presets(definition)
    properties = {k: v for k, v in _properties(found).items() if k not in hidden}
    found = {"type": "object", **found, "properties": properties}
    if "required" in found:
        asked = definition.ask_user.fields if definition.ask_user else {}
        found["required"] = [name for name in found["required"] if name not in hidden and name not in asked]
    return found


def _properties(schema: JsonObject | None) -> JsonObject:
    declared = (schema or {}).get("properties")
    return declared if isinstance(declared, dict) else {}


ToolFormat = Literal["openai", "anthropic", "mcp"]


def format_tool(definition: ToolDefinition, shape: str) -> JsonObject:
    """
    Write a tool as a model's API wants it.

    Raises:
        Refused: `unsupported_format`.

    Source: OpenAI Chat Completions `tools`, Anthropic Messages `tools`, MCP `tools/list`.
    """
    name, description, schema = definition.name, definition.description, parameters(definition)
    match shape:
        case "openai":
            return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
        case "anthropic":
            return {"name": name, "description": description, "input_schema": schema}
        case "mcp":
            return {"name": name, "description": description, "inputSchema": schema, "annotations": _hints(definition)}
        case _:
            message = f"format {shape!r} is not one of openai, anthropic, mcp"
            raise Refused("unsupported_format", message, (Fault("/query/format", message),))


def _hints(definition: ToolDefinition) -> JsonObject:
    """MCP's hints say what the terms say."""
    terms = definition.terms
    return {
        "readOnlyHint": terms.effect == "read",
        "destructiveHint": terms.effect == "dangerous",
        "idempotentHint": terms.idempotency in {"native", "required"},
        "openWorldHint": terms.effect == "external",
    }
