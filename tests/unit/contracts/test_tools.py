"""Tools: definitions, contracts, hashes, the shapes for models, and versions."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from toolbus_contracts.errors import Fault, NotFound, Refused
from toolbus_contracts.tools import (
    Terms,
    Tool,
    ToolDefined,
    ToolDefinition,
    ToolRetired,
    evolve_tool,
    format_tool,
    parameters,
    presets,
    tool_stream_id,
    view_tool,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SECTIONS: dict[str, dict[str, Any]] = {
    "function": {"parameters": {"type": "object", "properties": {"to": {"type": "string"}}}},
    "integration": {"provider": "wikipedia"},
    "api_call": {"method": "GET", "url": "https://a.example/{city}"},
    "system": {"resource": "call", "operation": "list"},
    "mcp": {"server": "files", "tool": "read"},
}


def define(tool_name: str = "t", /, **parts: Any) -> ToolDefinition:
    """A definition from its parts."""
    return ToolDefinition.model_validate({"name": tool_name, **parts})


def api_call(**section: Any) -> ToolDefinition:
    """A POST with this section."""
    return define(api_call={"method": "POST", "url": "https://a.example", **section})


@pytest.mark.parametrize("tool_type", SECTIONS)
def test_the_type_follows_from_the_section(tool_type: str) -> None:
    """It may be left out when exactly one section is there; the section is shown as plain JSON."""
    definition = define(**{tool_type: SECTIONS[tool_type]})
    assert definition.type == definition.tool_type == tool_type
    assert SECTIONS[tool_type].items() <= definition.section().items()
    assert define(type=tool_type, **{tool_type: SECTIONS[tool_type]}) == definition


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"type": "mcp"},
        {"type": "mcp", "system": SECTIONS["system"]},
        {"mcp": SECTIONS["mcp"], "system": SECTIONS["system"]},
        {"mcp": SECTIONS["mcp"], "retires": True},
        {"mcp": SECTIONS["mcp"], "timeout_s": 0},
        {"mcp": SECTIONS["mcp"], "forward_principal": "X Name"},
        {"api_call": {"method": "GET", "url": "ftp://a.example"}},
        {"api_call": {"method": "get", "url": "https://a.example"}},
        {"function": {"name": "mine"}},
    ],
)
def test_a_definition_that_promises_what_nobody_keeps_is_refused(parts: dict[str, Any]) -> None:
    """No section, two of them, another type, unknown fields or values out of bounds."""
    with pytest.raises(ValidationError):
        define(**parts)


def test_something_else_than_an_object_is_refused() -> None:
    """A definition is an object, and the message says so."""
    with pytest.raises(ValidationError, match="dictionary"):
        ToolDefinition.model_validate("refund")


@pytest.mark.parametrize("name", ["", "9lives", "a b", "a.b", "é", "a" * 65, "a\n"])
def test_names_are_what_every_model_takes(name: str) -> None:
    """Letters, digits, underscore and dash, at most 64, not starting with a digit."""
    with pytest.raises(ValidationError):
        define(name, mcp=SECTIONS["mcp"])


@pytest.mark.parametrize(
    ("definition", "terms", "is_safe"),
    [
        (define(mcp=SECTIONS["mcp"]), Terms(), False),
        (api_call(), Terms(), False),
        (
            define(api_call=SECTIONS["api_call"]),
            Terms(effect="read", idempotency="native", is_asserted=True, provenance="method"),
            True,
        ),
        (
            define(api_call=SECTIONS["api_call"], contract={"effect": "dangerous", "idempotency": "none"}),
            Terms(effect="dangerous", idempotency="none", is_asserted=True, provenance="definition"),
            False,
        ),
        (
            define(mcp=SECTIONS["mcp"], contract={"effect": "write", "idempotency": "required"}),
            Terms(effect="write", idempotency="required", is_asserted=True, provenance="definition"),
            True,
        ),
        (
            define(mcp=SECTIONS["mcp"], contract={"effect": "write", "idempotency": "best_effort"}),
            Terms(effect="write", idempotency="best_effort", is_asserted=True, provenance="definition"),
            False,
        ),
    ],
)
def test_the_contract_in_force(definition: ToolDefinition, terms: Terms, is_safe: bool) -> None:
    """What the owner wrote counts, then the HTTP method, else write and none. Source: DESIGN §5, note 1."""
    assert definition.terms() == terms
    assert definition.terms().is_safe_to_repeat == is_safe


def test_unasserted_terms_are_never_safe() -> None:
    """Words that nobody vouched for do not make a second effect harmless."""
    assert not Terms(effect="read", idempotency="native").is_safe_to_repeat


def test_definition_hashes_never_change() -> None:
    """A manifest pins them: a field added later may not change the hash of a definition without it."""
    definition = define("refund", description="any", api_call={"method": "POST", "url": "https://pay.example/refunds"})
    assert definition.definition_hash() == "sha256:3c197e6bba2a24d893898b300dcaedb7ba12aa51aa78535c5c695883550d194f"
    assert definition.execution_hash() == "sha256:1832ebe3e93ed6fcc515eb129b29264dcd3df7ab81b09635097a90b86b24b0c5"


@pytest.mark.parametrize(
    "section",
    [
        {"params_schema": {"properties": {"a": {"default": None}}}},
        {"params_schema": {"properties": {"a": {"default": 0}}}},
        {"json": {"a": None}},
        {"json": {"a": 1}},
        {"headers": {"x": "1"}},
        {"secrets": {"x": {"name": "s"}}},
        {"follow_redirects": True},
        {"overridable": ["url"]},
        {"url": "https://b.example"},
        {"method": "PUT"},
    ],
)
def test_whatever_changes_the_effect_changes_the_hash(section: dict[str, Any]) -> None:
    """Null inside a schema or a body counts too; only the description is left out."""
    hashes = {api_call().definition_hash(), api_call(params_schema={"properties": {"a": {}}}).definition_hash()}
    assert api_call(**section).definition_hash() not in hashes


def test_presets_are_what_the_definition_fills() -> None:
    """Only declared properties count; the later place wins; text parameters fill nothing."""
    definition = api_call(
        params={"a": 1, "b": 1},
        json={"b": 2, "c": 2},
        data={"d": 3},
        params_schema={"properties": {"a": {}, "b": {}, "d": {}, "e": {}}},
    )
    assert presets(definition) == {"a": 1, "b": 2, "d": 3}
    assert presets(api_call(params="a=1", params_schema={"properties": {"a": {}}})) == {}
    assert presets(define(mcp=SECTIONS["mcp"])) == {}


def test_models_do_not_see_what_is_filled() -> None:
    """A filled property is neither offered nor required."""
    definition = api_call(
        json={"currency": "EUR"},
        params_schema={
            "properties": {"currency": {"type": "string"}, "charge": {"type": "string"}},
            "required": ["currency", "charge"],
            "additionalProperties": False,
        },
    )
    assert parameters(definition) == {
        "type": "object",
        "properties": {"charge": {"type": "string"}},
        "required": ["charge"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("definition", "schema"),
    [
        (api_call(), {"type": "object", "properties": {}}),
        (api_call(params_schema={"properties": True}), {"type": "object", "properties": {}}),
        (define(mcp=SECTIONS["mcp"]), {"type": "object", "properties": {}}),
        (define(function=SECTIONS["function"]), SECTIONS["function"]["parameters"]),
    ],
)
def test_there_is_always_a_schema_of_arguments(definition: ToolDefinition, schema: dict[str, Any]) -> None:
    """Models want an object schema, also where nothing was declared."""
    assert parameters(definition) == schema


def test_one_definition_in_every_shape() -> None:
    """The same name, description and schema, as each API spells them."""
    definition = define("draft", description="Write.", function=SECTIONS["function"])
    schema = SECTIONS["function"]["parameters"]
    function = {"name": "draft", "description": "Write.", "parameters": schema}
    assert format_tool(definition, "openai") == {"type": "function", "function": function}
    assert format_tool(definition, "anthropic") == {"name": "draft", "description": "Write.", "input_schema": schema}
    assert format_tool(definition, "mcp") == {
        "name": "draft",
        "description": "Write.",
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": False,
            "openWorldHint": False,
        },
    }
    with pytest.raises(Refused) as caught:
        format_tool(definition, "cobol")
    message = "format 'cobol' is not one of openai, openai_responses, anthropic, gemini, mcp"
    assert caught.value.code == "unsupported_format"
    assert (caught.value.message, caught.value.faults) == (message, (Fault("/query/format", message),))


@pytest.mark.parametrize(
    ("effect", "idempotency", "hints"),
    [
        ("read", "none", {"readOnlyHint"}),
        ("dangerous", "none", {"destructiveHint"}),
        ("external", "best_effort", {"openWorldHint"}),
        ("write", "native", {"idempotentHint"}),
        ("write", "required", {"idempotentHint"}),
    ],
)
def test_mcp_hints_say_what_the_terms_say(effect: str, idempotency: str, hints: set[str]) -> None:
    """Each hint is true exactly when the contract in force says so. Source: MCP `tools/list`, annotations."""
    definition = define(mcp=SECTIONS["mcp"], contract={"effect": effect, "idempotency": idempotency})
    annotations = format_tool(definition, "mcp")["annotations"]
    assert {name for name, is_true in annotations.items() if is_true} == hints


def test_sections_and_views_are_spelled_as_their_owner_did() -> None:
    """`json` and `schema` keep their names, and what was not given is not shown."""
    definition = api_call(json={"a": 1}, schema={"type": "object"})
    section = {"method": "POST", "url": "https://a.example", "json": {"a": 1}, "schema": {"type": "object"}}
    assert definition.section() == {**section, "overridable": []}
    event = ToolDefined(
        scope="tenant", version=1, definition=definition, definition_hash=definition.definition_hash(), at=NOW
    )
    view = view_tool(evolve_tool(Tool(), event).version(1))
    assert view.definition["api_call"] == definition.section()
    assert (view.scope, view.definition_hash, view.defined_at) == ("tenant", event.definition_hash, NOW)


def defined(version: int, **parts: Any) -> ToolDefined:
    """The event that a version exists."""
    definition = define("refund", timeout_s=version, mcp=SECTIONS["mcp"], **parts)
    return ToolDefined(
        scope="tenant", version=version, definition=definition, definition_hash=definition.definition_hash(), at=NOW
    )


def test_versions_follow_one_another() -> None:
    """The latest counts for new calls, all of them stay readable by number."""
    tool = evolve_tool(evolve_tool(Tool(), defined(1)), defined(2))
    assert tool.latest == tool.version(2)
    assert tool.version(1).definition.timeout_s == 1
    for number in (0, 3):
        with pytest.raises(NotFound, match="the latest is 2"):
            tool.version(number)


def test_a_retired_tool_takes_no_calls_until_it_is_defined_again() -> None:
    """Retiring keeps the history; a new version brings the tool back."""
    retired = evolve_tool(evolve_tool(Tool(), defined(1)), ToolRetired(scope="tenant", name="refund", at=NOW))
    assert (retired.latest, retired.retired_at) == (None, NOW)
    assert retired.version(1).version == 1
    again = evolve_tool(retired, defined(2))
    assert again.latest == again.version(2)
    assert again.version(1).version == 1
    assert Tool().latest is None


def test_a_view_shows_one_version() -> None:
    """Definition without empty fields, terms in force, and when it was defined or retired."""
    version = evolve_tool(Tool(), defined(1, description="Give back.")).version(1)
    view = view_tool(version, retired_at=NOW)
    assert (view.name, view.type, view.version, view.contract) == ("refund", "mcp", 1, Terms())
    assert (view.description, view.retired_at) == ("Give back.", NOW)
    assert "api_call" not in view.definition


def test_a_tool_is_found_by_scope_and_name() -> None:
    """The same name in two scopes is two tools."""
    assert tool_stream_id("agent:anna", "refund") == "agent:anna:refund"


def test_a_definition_that_nobody_validated_has_no_type() -> None:
    """That is a fault of ours, and said aloud."""
    with pytest.raises(AssertionError, match=r"^validation fills the type$"):
        _ = api_call().model_copy(update={"type": None}).tool_type
