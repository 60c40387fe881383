"""What the surface of a tool is good for: schema, terms, time, hash, and the shapes that models read."""

from typing import Any

import pytest

from toolbus_contracts.tools import Surface, Terms, ToolDefinition, ToolVersion, format_tool, parameters

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}, "lang": {"type": "string"}},
    "required": ["query", "limit"],
}
READ: dict[str, Any] = {"effect": "read", "idempotency": "native"}
SURFACE = Surface.model_validate(
    {"description": "Searches.", "arguments": SCHEMA, "contract": READ, "timeout_s": 12.0, "version": "1"}
)


def search(**changes: Any) -> ToolDefinition:
    """A tool of a provider, with some arguments of its own."""
    section = {"provider": "wikipedia", "method": "search", "arguments": {"limit": 3}}
    return ToolDefinition.model_validate({"name": "look_up", "integration": section, **changes})


def read_file(**changes: Any) -> ToolDefinition:
    """A tool of an MCP server."""
    return ToolDefinition.model_validate({"name": "read", "mcp": {"server": "files", "tool": "read_file"}, **changes})


def test_a_provider_vouches_and_a_server_does_not() -> None:
    """What the definition says comes first; without anybody's word a tool writes and is never repeated."""
    assert search().terms(SURFACE) == Terms(**READ, is_asserted=True, provenance="provider")
    assert search(contract={"effect": "write", "idempotency": "none"}).terms(SURFACE).provenance == "definition"
    assert read_file().terms(SURFACE) == search().terms() == Terms()


@pytest.mark.parametrize(
    ("definition", "surface", "seconds"),
    [
        (search(), SURFACE, 12.0),
        (search(timeout_s=5.0), SURFACE, 5.0),
        (search(), Surface(), 30.0),
        (read_file(), None, 30.0),
        (ToolDefinition.model_validate({"name": "f", "function": {}}), None, 30.0),
    ],
)
def test_the_time_of_an_attempt(definition: ToolDefinition, surface: Surface | None, seconds: float) -> None:
    """The definition's, else the provider's, else half a minute."""
    assert definition.attempt_s(surface) == seconds


def test_the_hash_covers_what_may_change_the_effect() -> None:
    """A new version or schema is another tool; another description is not."""
    found = search().definition_hash(SURFACE)
    assert found != search().definition_hash()
    assert found == search().definition_hash(SURFACE.model_copy(update={"description": "Finds."}))
    changes: tuple[dict[str, Any], ...] = ({"version": "2"}, {"arguments": {}}, {"timeout_s": 13.0}, {"contract": None})
    for change in changes:
        assert found != search().definition_hash(SURFACE.model_copy(update=change))
    assert search().execution_hash(SURFACE) != search().execution_hash()


def test_models_do_not_see_what_is_filled() -> None:
    """By the definition, or by stored values; what is left keeps its rules."""
    found = parameters(search(), SURFACE, {"lang": "de"})
    assert found == {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def test_a_tool_is_told_under_its_own_name_in_every_shape() -> None:
    """A description that it does not have is its provider's."""
    schema = parameters(search(), SURFACE)
    told = {"name": "look_up", "description": "Searches."}
    expected: dict[str, dict[str, Any]] = {
        "openai": {"type": "function", "function": {**told, "parameters": schema}},
        "openai_responses": {"type": "function", **told, "parameters": schema, "strict": False},
        "anthropic": {**told, "input_schema": schema},
        "gemini": {**told, "parametersJsonSchema": schema},
    }
    assert {shape: format_tool(search(), shape, SURFACE) for shape in expected} == expected
    assert format_tool(search(), "mcp", SURFACE)["annotations"]["readOnlyHint"] is True
    assert format_tool(search(description="Ours."), "anthropic", SURFACE)["description"] == "Ours."


def test_a_version_has_the_terms_of_its_surface() -> None:
    """Whoever decides about a call asks the version."""
    definition = search()
    version = ToolVersion.model_validate(
        {
            "scope": "tenant",
            "version": 1,
            "definition": definition,
            "definition_hash": definition.definition_hash(SURFACE),
            "defined_at": "2026-01-02T00:00:00Z",
            "surface": SURFACE,
        }
    )
    assert (version.terms.provenance, version.attempt_s) == ("provider", 12.0)
