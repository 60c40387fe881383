"""Check a call's arguments against the tool's schema; every fault is named by its path."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Final

import jsonschema_rs

from toolbus_contracts.calls import Detail
from toolbus_contracts.errors import Fault, Refused
from toolbus_contracts.schema_cost import MAX_KEPT_CHECKS, MAX_STEPS, StepCounter, is_listable, room_for_expression
from toolbus_contracts.secrets import SCHEME, name_in
from toolbus_contracts.stored import NOTHING, STORABLE_TYPES, StoredValues
from toolbus_contracts.tools import AskUser, JsonObject, ToolDefinition, ToolVersion, presets, schema_of
from toolbus_contracts.values import Json, compact, fault_path, pointer

PARTS: Final = ("params", "json", "data")  # parts of the explicit form that hold properties
MAX_SCHEMA_CHARS: Final = 64 * 1024
MAX_FAULTS: Final = 100  # a large list can be wrong in every item; an answer must stay readable
EXPLICIT_FORM: Final = frozenset(
    {
        "params",
        "json",
        "data",
        "content",
        "files",
        "cookies",
        "headers",
        "follow_redirects",
        "timeout",
        "url",
        "method",
        "include_response_content",
    }
)
NEVER_FILLED: Final = "no secret is filled in in arguments; only a definition and stored setup may refer to one"
Check = Callable[[Json], tuple[Detail, ...]]


def check_arguments(version: ToolVersion, arguments: JsonObject, stored: StoredValues = NOTHING) -> tuple[Detail, ...]:
    """
    What is wrong with the arguments; nothing when they fit.

    The properties that the definition fills, or what is `stored`, count as given. In the explicit form of an `api_call`
    (`params`, `json`, … and no declared property) the schema holds for what `params`, `json` and `data`
    give together. Source: DESIGN §7.
    """
    definition = version.definition
    schema = schema_of(definition, version.surface)
    if schema is None:
        return ()
    filled = presets(definition, stored.setup) | stored.arguments
    check = _check_of(version.definition_hash, schema)
    declared = schema.get("properties")
    if definition.api_call and is_explicit(arguments, declared if isinstance(declared, Mapping) else {}):
        return _check_parts(arguments, filled, check)
    return check({**arguments, **filled})


def check_proposed(
    version: ToolVersion, arguments: JsonObject, ask_user: AskUser | None, stored: StoredValues = NOTHING
) -> tuple[Detail, ...]:
    """What is wrong with the arguments of a new call; what a person is still asked for may be missing."""
    faults = check_arguments(version, arguments, stored)
    awaited = {pointer(name) for name in (ask_user.fields if ask_user else ()) if name not in arguments}
    return tuple(fault for fault in faults if fault.path not in awaited)


def check_references(definition: ToolDefinition, arguments: Json) -> tuple[Detail, ...]:
    """
    Where the arguments refer to secrets, of a tool whose executor fills in some; whoever calls it may name none.

    What only mentions a reference inside of other text is text.
    """
    if definition.tool_type not in STORABLE_TYPES:
        return ()
    return tuple(Detail(path=path, message=NEVER_FILLED) for path in islice(_references(arguments), MAX_FAULTS))


def _references(value: Json, *path: str | int) -> Iterator[str]:
    """The path of every text that is a reference, at any depth."""
    match value:
        case str():
            if value.startswith(SCHEME) and name_in(value):  # most texts are asked no further
                yield fault_path(*path)
        case Mapping():
            for name, item in value.items():
                yield from _references(item, *path, name)
        case list():
            for index, item in enumerate(value):
                yield from _references(item, *path, index)
        case _:
            pass


def _check_parts(arguments: JsonObject, filled: JsonObject, check: Check) -> tuple[Detail, ...]:
    """Check what all parts say together: a second part must not carry past the schema what the first may not."""
    part_of: dict[str, str] = {}
    given: JsonObject = {}
    for part in PARTS:
        inner = arguments.get(part)
        for name, value in inner.items() if isinstance(inner, dict) else ():
            if name in given:
                return (Detail(path=pointer(part, name), message=f"given in {part_of[name]} already"),)
            part_of[name], given[name] = part, value
    home = next((part for part in PARTS if isinstance(arguments.get(part), dict)), "params")
    found = check({**given, **filled})
    return tuple(Detail(path=_path_in(part_of, home, one.path), message=one.message) for one in found)


def _path_in(part_of: Mapping[str, str], home: str, path: str) -> str:
    """A path inside the merged properties, as a path inside the arguments."""
    name = path[1:].partition("/")[0].replace("~1", "/").replace("~0", "~")
    return pointer(part_of.get(name, home)) + path


_checks: dict[str, Check] = {}  # by definition hash: writing the schema out to look it up costs more than the check


def _check_of(definition_hash: str, schema: JsonObject) -> Check:
    check = _checks.get(definition_hash)
    if check is None:
        if len(_checks) >= MAX_KEPT_CHECKS:
            _checks.clear()
        check = _checks[definition_hash] = compiled(compact(schema))
    return check


def is_explicit(arguments: Mapping[str, Json], declared: Mapping[str, Json]) -> bool:
    """True when the arguments say part by part what the request holds, instead of naming properties."""
    return bool(arguments) and arguments.keys() <= EXPLICIT_FORM and not arguments.keys() & declared.keys()


def check_schema(schema: JsonObject, *path: str) -> None:
    """
    Refuse a schema that could not be used, or not safely.

    Raises:
        Refused: `invalid_definition`.
    """
    text = compact(schema)
    if len(text) > MAX_SCHEMA_CHARS:
        raise _invalid(pointer(*path), f"a schema may have at most {MAX_SCHEMA_CHARS} characters")
    try:
        compiled(text)
    except ValueError as error:
        told = str(error).splitlines()[0]
        raise _invalid(pointer(*path), f"not a usable JSON Schema: {told}") from error


def _invalid(path: str, message: str) -> Refused:
    return Refused("invalid_definition", message, (Fault(path, message),))


def _refuse_reference(uri: str) -> Json:
    """Validators fetch remote references by default; a schema is input and must not make us do so."""
    raise ValueError(f"a schema may not refer to {uri}")


@lru_cache(maxsize=MAX_KEPT_CHECKS)
def compiled(schema_text: str) -> Check:
    """
    Compile a schema once.

    Raises:
        ValueError: it is no JSON Schema, or its references lead outside or in a circle.
    """
    schema = json.loads(schema_text)
    counter = StepCounter(schema)
    validator = jsonschema_rs.Draft202012Validator(
        schema,
        retriever=_refuse_reference,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=room_for_expression(schema)),
    )

    def check(value: Json) -> tuple[Detail, ...]:
        if not counter.allows(value):
            return (Detail(path="", message=f"checking it would take more than {MAX_STEPS} steps"),)
        if validator.is_valid(value):
            return ()
        errors = validator.iter_errors(value) if is_listable(value) else _first_error(validator, value)
        return tuple(_detail(error) for error in islice(errors, MAX_FAULTS))

    return check


def _first_error(validator: jsonschema_rs.Draft202012Validator, value: Json) -> Iterator[jsonschema_rs.ValidationError]:
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        yield error


def _detail(error: jsonschema_rs.ValidationError) -> Detail:
    """Name the fault by its path; a missing property by the path that it would have."""
    missing = getattr(error.kind, "property", None) if error.kind.name == "required" else None
    path = [*error.instance_path, *([missing] if missing else [])]
    return Detail(path=fault_path(*path), message=error.message[:500])
