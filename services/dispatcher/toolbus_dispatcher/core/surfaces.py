"""Check what a definition brings along against what its provider or server says that the tool takes."""

from collections.abc import Mapping

from toolbus_contracts.calls import Detail
from toolbus_contracts.errors import Fault, Refused
from toolbus_contracts.secrets import name_in
from toolbus_contracts.tools import JsonObject, Surface, ToolDefinition, given_arguments
from toolbus_contracts.values import Json, compact, pointer
from toolbus_dispatcher.core.arguments import check_schema, compiled

MAX_SURFACE_CHARS = 192 * 1024  # with the definition it must fit into one event


def check_surface(definition: ToolDefinition, surface: Surface) -> None:
    """
    Refuse a definition whose setup or arguments its tool would not take.

    What is missing may still come from stored values or from the call. A reference to a secret counts as text.

    Raises:
        Refused: `invalid_definition`, with the path.
    """
    section = definition.tool_type
    if len(compact(surface.model_dump(mode="json"))) > MAX_SURFACE_CHARS:
        raise _invalid((section,), f"what is said of this tool has more than {MAX_SURFACE_CHARS} characters")
    check_schema(surface.arguments, section)
    _check_given(given_arguments(definition), surface.arguments, section, "arguments")
    if definition.integration is None:
        return
    setup = definition.integration.setup or {}
    if surface.setup is not None:
        check_schema(surface.setup, section)
    check_setup(setup, surface.setup, section, "setup")


def check_setup(setup: JsonObject, schema: JsonObject | None, *path: str) -> None:
    """
    Refuse setup that a provider would not take; what is missing may come from elsewhere.

    Raises:
        Refused: `invalid_definition`, with the path.
    """
    known = (schema or {}).get("properties") or {}
    for name in setup:
        if name not in known and not (schema or {}).get("additionalProperties"):
            told = ", ".join(known) or "nothing"
            raise _invalid((*path, name), f"there is no {name} to set up; there is {told}")
    if schema is not None:
        _check_given(setup, schema, *path)


def _check_given(given: JsonObject, schema: JsonObject, *path: str) -> None:
    """What is given must fit; that something is not given is no fault."""
    if not given:
        return
    optional = {name: value for name, value in schema.items() if name != "required"}
    declared = schema.get("properties") or {}
    whole = {name: value for name, value in given.items() if not _may_refer(value, declared.get(name))}
    found: tuple[Detail, ...] = compiled(compact(optional))(whole)
    if found:
        raise _invalid(path, found[0].message, tuple(Fault(pointer(*path) + one.path, one.message) for one in found))


def _may_refer(value: Json, schema: Json) -> bool:
    """Whether a value refers to a secret where text may stand: what the text must look like is not known yet."""
    if name_in(value) is None or not isinstance(schema, Mapping):
        return False
    of_type = schema.get("type")
    if of_type is not None:
        return of_type == "string" or (isinstance(of_type, list) and "string" in of_type)
    choices = schema.get("anyOf") or schema.get("oneOf")
    return not isinstance(choices, list) or any(_may_refer(value, choice) for choice in choices)


def _invalid(path: tuple[str, ...], message: str, faults: tuple[Fault, ...] = ()) -> Refused:
    return Refused("invalid_definition", message, faults or (Fault(pointer(*path), message),))
