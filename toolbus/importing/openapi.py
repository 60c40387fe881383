"""From an OpenAPI document to definitions of tools: each operation becomes one, or is left with the reason."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from toolbus.importing.arguments import Argument, arguments_of
from toolbus.importing.bodies import body_of
from toolbus.importing.documents import Document
from toolbus.importing.operations import Operation, server_of
from toolbus.importing.schemas import TooLarge, Translation
from toolbus.importing.security import Credentials, credentials_of
from toolbus.importing.styles import Unsendable
from toolbus.importing.values import shortened
from toolbus_contracts.tools import QUERY_METHODS, JsonObject, ToolDefinition
from toolbus_contracts.values import Json, compact

MAX_DESCRIPTION: Final = 4096
MAX_SCHEMA_CHARS: Final = 32 * 1024  # a model reads every tool that it is offered: 8,000 tokens are plenty for one
READ_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "TRACE"})  # Source: RFC 9110 §9.3: content has no meaning there
# How much of schemas is carried over: levels, and characters of each description. The first that fits is taken.
FULL: Final = (20, 1000)
ROOMS: Final = (FULL, (20, 120), (8, 120), (6, 80), (5, 80), (4, 80), (3, 80), (2, 80), (1, 80))
_NAMED: Final = re.compile(r"\{([^{}/?#]+)\}")


@dataclass(frozen=True)
class Made:
    """A tool of an operation. `notes` tell what it cannot do that the operation can; `secrets` what each must hold."""

    operation: Operation
    definition: JsonObject
    notes: tuple[str, ...]
    secrets: dict[str, str]


@dataclass(frozen=True)
class Left:
    """An operation that no tool was made of, and why."""

    operation: Operation
    reason: str


def tools_of(
    document: Document, operations: Sequence[Operation], *, server: str | None = None, secret_prefix: str = ""
) -> Iterator[Made | Left]:
    """Make a tool of each operation, in their order; `server` stands in the place of those that the document names."""
    for operation in operations:
        try:
            yield _made(document, operation, server, secret_prefix)
        except Unsendable as error:
            yield Left(operation, str(error))
        except LookupError as error:
            yield Left(operation, str(error.args[0]))


def _made(document: Document, operation: Operation, server: str | None, secret_prefix: str) -> Made:
    credentials = credentials_of(document, operation.spec, secret_prefix)
    url = server_of(document, operation, server) + _path(operation.path)
    for depth, max_text in ROOMS:
        translation = Translation(document, depth, max_text)
        try:
            section = _section(operation, url, credentials, translation)
        except TooLarge:
            continue
        if len(compact(section)) <= MAX_SCHEMA_CHARS:
            definition = {"name": operation.tool, "description": _description(operation), "api_call": section}
            return Made(operation, _checked(definition), tuple(translation.notes), credentials.secrets)
    raise Unsendable(f"its schema is larger than {MAX_SCHEMA_CHARS} characters")


def _path(path: str) -> str:
    if "#" in path:
        raise Unsendable("its path holds a #, and what follows one is never sent")
    if "{" in _NAMED.sub("", path):
        raise Unsendable("its path holds a { that begins no name")
    return path if path.startswith("/") else f"/{path}"


def _section(operation: Operation, url: str, credentials: Credentials, translation: Translation) -> JsonObject:
    arguments = _without(
        arguments_of(operation.item.get("parameters"), operation.spec.get("parameters"), translation), credentials
    )
    named = set(_NAMED.findall(url))
    arguments = [one for one in arguments if one.place != "path" or one.name in named]
    if missing := named - {one.name for one in arguments if one.place == "path"}:
        raise Unsendable(f"its path names {', '.join(sorted(missing))}, which no parameter describes")
    taken = {*(one.name for one in arguments), *credentials.fixed.get("params", {})}
    body = body_of(_body_told(operation, translation), translation, taken)
    arguments += body.arguments
    section: JsonObject = {"method": operation.method, "url": url}
    for name in ("headers", "params", "cookies"):
        if fixed := {**body.fixed.get(name, {}), **credentials.fixed.get(name, {})}:
            section[name] = fixed
    for name, parts in (("auth", credentials.fixed), ("json", body.fixed)):
        if name in parts:
            section[name] = parts[name]
    section["params_schema"] = _schema(arguments)
    if places := _places(arguments, operation.method):
        section["params_in"] = places
    if styles := {one.name: one.style for one in arguments if one.style is not None}:
        section["params_style"] = styles
    return section


def _without(arguments: list[Argument], credentials: Credentials) -> list[Argument]:
    """Some documents describe the key as a parameter too; the definition fixes it."""
    part_of = {"header": "headers", "query": "params", "cookie": "cookies"}
    fixed = {(part, name.lower()) for part, names in credentials.fixed.items() for name in names}
    kept = [one for one in arguments if (part_of.get(one.place), one.name.lower()) not in fixed]
    if same := credentials.fixed.get("params", {}).keys() & {one.name for one in kept}:
        raise Unsendable(f"{', '.join(same)} is both a parameter and the key in the query")
    return kept


def _body_told(operation: Operation, translation: Translation) -> Json:
    """The body as the document describes it; that of a request which only reads is not to be sent."""
    told = operation.spec.get("requestBody")
    if told is None or operation.method not in READ_WITHOUT_BODY:
        return told
    try:
        is_required = translation.document.resolved(told).get("required") is True
    except LookupError:
        is_required = False
    if is_required:
        raise Unsendable("it only reads, and yet needs a body")
    translation.notes["the body of a request that only reads: left out"] = None
    return None


def _schema(arguments: Sequence[Argument]) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {one.name: one.schema for one in arguments}}
    if required := [one.name for one in arguments if one.is_required]:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def _places(arguments: Sequence[Argument], method: str) -> dict[str, str]:
    """The places that an argument would not go to anyway. Source: DESIGN §7."""
    usual = "query" if method in QUERY_METHODS else "json"
    return {one.name: one.place for one in arguments if one.place not in {usual, "path"}}


def _description(operation: Operation) -> str:
    texts = [operation.spec.get("summary"), operation.spec.get("description")]
    found = list(dict.fromkeys(text.strip() for text in texts if isinstance(text, str) and text.strip()))
    if operation.spec.get("deprecated") is True:
        found.insert(0, "Deprecated.")
    return shortened("\n\n".join(found), MAX_DESCRIPTION)


def _checked(definition: JsonObject) -> JsonObject:
    """A definition as every server takes it."""
    try:
        ToolDefinition.model_validate(definition)
    except ValidationError as error:
        fault = error.errors()[0]
        raise Unsendable(f"no tool can say that: {'/'.join(map(str, fault['loc']))}: {fault['msg']}"[:300]) from error
    return definition
