"""
References to secrets in definitions: where they may stand, which a call uses, and the section with their values.

In an `api_call`: values of headers, params, cookies, json, data and auth, and the names under `secrets`, each of which
fills the header that it stands under. In an `integration`: its setup. Stored setup goes over both. Of a tool of type
`mcp`: in the settings of its server. Nowhere else.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from toolbus_contracts.errors import Fault
from toolbus_contracts.secrets import SCHEME, name_in, names_in
from toolbus_contracts.stored import HEADERS, part_over
from toolbus_contracts.tools import ApiCallSection, JsonObject, Surface, ToolDefinition
from toolbus_contracts.values import Json, fault_path

AUTHORIZATION: Final = "authorization"  # the header that `auth` fills
PARTS: Final = {"headers": "headers", "params": "params", "cookies": "cookies", "json": "json_body", "data": "data"}
WHOLE_TEXT: Final = f"a reference to a secret is the whole text: {SCHEME}name and nothing else"
_ELSEWHERE: Final = {"url": "url", "files": "files", "content": "content"}


def secret_names(
    definition: ToolDefinition, setup: Mapping[str, Json], surface: Surface | None = None
) -> frozenset[str]:
    """
    The names of all secrets that a call of this tool uses.

    `setup` is what is stored for it; `surface` names those of its MCP server.
    """
    if definition.api_call is not None:
        if not setup:
            return _names_once(_Same(definition.api_call))
        return _names_of(with_setup(definition.api_call, setup))
    if definition.integration is not None:
        return frozenset(names_in({**(definition.integration.setup or {}), **setup}))
    return frozenset(() if surface is None else surface.secrets)


def with_setup(section: ApiCallSection, setup: Mapping[str, Json]) -> ApiCallSection:
    """
    The section with stored setup over it: part by part, and per key where both are objects.

    A stored header is sent in place of what `secrets` or `auth` would fill it with.
    """
    changed: JsonObject = {
        field: part_over(part, setup[part], getattr(section, field)) for part, field in PARTS.items() if part in setup
    }
    stored = setup.get(HEADERS)
    if isinstance(stored, Mapping):
        named = {name.lower() for name in stored}
        if section.secrets:
            changed["secrets"] = {header: one for header, one in section.secrets.items() if header.lower() not in named}
        if AUTHORIZATION in named:
            changed["auth"] = None
    return section.model_copy(update=changed)


def with_values(section: ApiCallSection, values: Mapping[str, str]) -> ApiCallSection:
    """The section with the values of secrets in place of the references to them."""
    changed: JsonObject = {field: filled(getattr(section, field), values) for field in PARTS.values()}
    if section.secrets:
        fills = {header: values[secret.name] for header, secret in section.secrets.items()}
        changed |= {"headers": {**(changed["headers"] or {}), **fills}, "secrets": None}
    if section.auth is not None:
        told = filled(section.auth.model_dump(exclude_none=True), values)
        changed["auth"] = type(section.auth).model_construct(
            bearer=told.get("bearer"),
            basic=None if section.auth.basic is None else section.auth.basic.model_copy(update=told["basic"]),
        )
    return section.model_copy(update=changed)


def reference_faults(definition: ToolDefinition) -> tuple[Fault, ...]:
    """What is wrong with the references in a definition: parts of a text, and places where none is resolved."""
    if definition.api_call is not None:
        return tuple(_faults_of_request(definition.api_call))
    for kind in ("integration", "mcp"):
        section = getattr(definition, kind)
        if section is not None:
            found = _not_whole(getattr(section, "setup", None), kind, "setup")
            misplaced = _anywhere(section.arguments, "no secret is filled in here, but in setup", kind, "arguments")
            return (*found, *misplaced)
    return ()


def _faults_of_request(section: ApiCallSection) -> Iterator[Fault]:
    for part, field in PARTS.items():
        yield from _not_whole(getattr(section, field), "api_call", part)
    if section.auth is not None:
        yield from _not_whole(section.auth.model_dump(exclude_none=True), "api_call", "auth")
    for part, field in _ELSEWHERE.items():
        yield from _anywhere(getattr(section, field), f"no secret is filled in in {part}", "api_call", part)
    fixed: set[str] = set()
    for header in section.headers or {}:
        if header.lower() in fixed:
            yield Fault(fault_path("api_call", HEADERS, header), "this header is there already")
        fixed.add(header.lower())
    for header, secret in (section.secrets or {}).items():
        if name_in(SCHEME + secret.name) is None:
            yield Fault(fault_path("api_call", "secrets", header, "name"), "no secret can have this name")
        if header.lower() in fixed:
            yield Fault(fault_path("api_call", "secrets", header), "headers has this header too")
        fixed.add(header.lower())
    if section.auth is not None and AUTHORIZATION in fixed:
        yield Fault(fault_path("api_call", "auth"), "the header authorization is given besides")


def _names_of(section: ApiCallSection) -> frozenset[str]:
    parts = [getattr(section, field) for field in PARTS.values()]
    auth = None if section.auth is None else section.auth.model_dump()
    return frozenset((*names_in([*parts, auth]), *(secret.name for secret in (section.secrets or {}).values())))


class _Same:
    """A section as a key: executors hold each definition once, and finding its references anew costs as much again."""

    __slots__ = ("section",)

    def __init__(self, section: ApiCallSection) -> None:
        self.section = section

    def __hash__(self) -> int:
        return id(self.section)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.section is self.section


@lru_cache(maxsize=1024)
def _names_once(same: _Same) -> frozenset[str]:
    return _names_of(same.section)


def filled(value: Json, values: Mapping[str, str]) -> Json:
    """The value with those of secrets in place of the references to them, at any depth."""
    match value:
        case str():
            name = name_in(value)
            return value if name is None else values[name]
        case Mapping():
            return {key: filled(item, values) for key, item in value.items()}
        case list():
            return [filled(item, values) for item in value]
        case _:
            return value


def _not_whole(value: Json, *path: str | int) -> Iterator[Fault]:
    return (Fault(where, WHOLE_TEXT) for where, text in _mentions(value, *path) if name_in(text) is None)


def _anywhere(value: Json, message: str, *path: str | int) -> Iterator[Fault]:
    return (Fault(where, message) for where, _ in _mentions(value, *path))


def _mentions(value: Json, *path: str | int) -> Iterator[tuple[str, str]]:
    """Every text in which a reference stands, at any depth, with its path."""
    match value:
        case str():
            if SCHEME in value:
                yield fault_path(*path), value
        case Mapping():
            for key, item in value.items():
                yield from _mentions(item, *path, key)
        case list():
            for index, item in enumerate(value):
                yield from _mentions(item, *path, index)
        case _:
            pass
