"""Check what a definition brings along against what its provider or server says that the tool takes."""

from collections.abc import Iterator, Mapping

from toolbus_contracts.calls import Detail
from toolbus_contracts.errors import Fault, Refused
from toolbus_contracts.secrets import name_in
from toolbus_contracts.stored import StoredValues
from toolbus_contracts.tools import JsonObject, Surface, ToolDefinition, ToolVersion, given_arguments
from toolbus_contracts.values import Json, compact, fault_path, pointer
from toolbus_dispatcher.core.arguments import check_schema, compiled
from toolbus_dispatcher.core.plain_secrets import plain_secrets
from toolbus_dispatcher.core.refusing import InvalidSetup

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
    _refuse(_unfit(given_arguments(definition), surface.arguments, section, "arguments"))
    if definition.integration is None:
        return
    if surface.setup is not None:
        check_schema(surface.setup, section)
    _refuse(setup_faults(definition.integration.setup or {}, surface.setup, section, "setup"))


def setup_faults(setup: JsonObject, schema: JsonObject | None, *path: str) -> Iterator[Fault]:
    """What of the setup a provider would not take, or is a secret; what is missing may come from elsewhere."""
    known = (schema or {}).get("properties") or {}
    for name in setup:
        if name not in known and not (schema or {}).get("additionalProperties"):
            told = ", ".join(known) or "nothing"
            yield Fault(fault_path(*path, name), f"there is no {name} to set up; there is {told}")
    if schema is None:
        return
    plain = tuple(plain_secrets(setup, schema, *path))
    yield from plain or _unfit(setup, schema, *path)  # what does not fit is quoted, and must then be no secret


def check_stored(version: ToolVersion, stored: StoredValues) -> None:
    """
    Let pass stored setup in which no secret is written out; it may have been stored before there was such a tool.

    Raises:
        InvalidSetup: naming the path.
    """
    surface = version.surface
    if not stored.setup or surface is None or surface.setup is None:
        return
    found = tuple(plain_secrets(stored.setup, surface.setup, "setup"))
    if found:
        raise InvalidSetup(tuple(Detail(path=path, message=message) for path, message in found))


def _unfit(given: JsonObject, schema: JsonObject, *path: str) -> Iterator[Fault]:
    """What is given must fit; that something is not given is no fault."""
    if not given:
        return
    optional = {name: value for name, value in schema.items() if name != "required"}
    declared = schema.get("properties") or {}
    whole = {name: value for name, value in given.items() if not _may_refer(value, declared.get(name))}
    found: tuple[Detail, ...] = compiled(compact(optional))(whole)
    yield from (Fault(pointer(*path) + one.path, one.message) for one in found)


def _may_refer(value: Json, schema: Json) -> bool:
    """Whether a value refers to a secret where text may stand: what the text must look like is not known yet."""
    if name_in(value) is None or not isinstance(schema, Mapping):
        return False
    of_type = schema.get("type")
    if of_type is not None:
        return of_type == "string" or (isinstance(of_type, list) and "string" in of_type)
    choices = schema.get("anyOf") or schema.get("oneOf")
    return not isinstance(choices, list) or any(_may_refer(value, choice) for choice in choices)


def _refuse(found: Iterator[Fault]) -> None:
    """Raises: Refused, `invalid_definition`, when there is a fault."""
    if faults := tuple(found):
        raise Refused("invalid_definition", faults[0].message, faults)


def _invalid(path: tuple[str, ...], message: str) -> Refused:
    return Refused("invalid_definition", message, (Fault(pointer(*path), message),))
