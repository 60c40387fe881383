"""Reading tool definitions from YAML (any number in one file) and JSON, and comparing them."""

import json
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import yaml

from toolbus_contracts.errors import Unreadable
from toolbus_contracts.values import Json, parse_json


@dataclass(frozen=True)
class Written:
    """A definition as it was written, and where: file and, in YAML, the line."""

    definition: dict[str, Json]
    place: str

    @property
    def name(self) -> str:
        """The name of the tool."""
        return str(self.definition["name"])


class _Loader(yaml.SafeLoader):
    """
    YAML with the scalars of JSON.

    Source: YAML 1.2.2 §10.2 (JSON schema and core schema): `no`, `on`, dates and `1:30` are text.
    """


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, Json]:
    seen: set[Hashable] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is no text", key_node.start_mark)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"{key!r} stands there twice", key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


def _whole(loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _whole)


def read_definitions(path: str, read_stdin: Callable[[], bytes]) -> list[Written]:
    """
    Read every definition of a file; `-` is standard input. JSON may hold one or a list.

    Raises:
        Unreadable: the file cannot be read, is neither YAML nor JSON, or an entry has no name.
    """
    raw, name = _bytes_of(path, read_stdin)
    is_json = path.endswith(".json") or raw.lstrip()[:1] in {b"{", b"["}
    found = list(_from_json(raw, name) if is_json else _from_yaml(raw, name))
    for item, place in found:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise Unreadable("invalid_definition", f"{place}: a tool definition is an object with a name")
    if not found:
        raise Unreadable("invalid_definition", f"{name} holds no definition")
    return [Written(item, place) for item, place in found]


def _bytes_of(path: str, read_stdin: Callable[[], bytes]) -> tuple[bytes, str]:
    if path == "-":
        return read_stdin(), "standard input"
    try:
        return Path(path).read_bytes(), path
    except OSError as error:
        raise Unreadable("invalid_request", f"{path} cannot be read: {error.strerror}") from error


def _from_json(raw: bytes, name: str) -> Iterator[tuple[Json, str]]:
    try:
        value = parse_json(raw)
    except Unreadable as error:
        raise Unreadable(error.code, f"{name}: {error.message}", error.faults) from error
    for item in value if isinstance(value, list) else [value]:
        yield item, name


def _from_yaml(raw: bytes, name: str) -> Iterator[tuple[Json, str]]:
    try:
        loader = _Loader(raw)
        while loader.check_node():
            node = loader.get_node()
            value = None if node is None else loader.construct_document(node)
            if node is not None and value is not None:
                # the same rules as for JSON: no NUL, no number that would change on its way
                yield parse_json(json.dumps(value).encode()), f"{name}:{node.start_mark.line + 1}"
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        told = getattr(error, "problem", None) or str(error)
        raise Unreadable("invalid_definition", f"{place}: {told}") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise Unreadable("invalid_definition", f"{name}: a value has no form in JSON: {error}") from error
    except Unreadable as error:
        raise Unreadable("invalid_definition", f"{name}: {error.message}", error.faults) from error


def to_yaml(definition: Json) -> str:
    """Write a definition as people write it."""
    return yaml.safe_dump(definition, sort_keys=False, allow_unicode=True, width=100)


def difference(registered: Json | None, written: Json, *, name: str, version: int | None) -> str:
    """The changes that applying `written` would make, as a unified diff; empty when there are none."""
    if registered == written:
        return ""
    before = [] if registered is None else to_yaml(registered).splitlines()
    label = f"{name} (not registered)" if version is None else f"{name} version {version}"
    lines = unified_diff(before, to_yaml(written).splitlines(), label, f"{name} (file)", lineterm="")
    return "\n".join(lines)
