"""Reading tool definitions from YAML (any number in one file) and JSON, and comparing them."""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import yaml

from toolbus.json_yaml import with_json_scalars
from toolbus.published import holds_tools, parts_of
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.values import Json, parse_json, pointer


@dataclass(frozen=True)
class Written:
    """A definition as it was written, and where: file, in YAML the line, and the path inside a larger document."""

    definition: dict[str, Json]
    place: str

    @property
    def name(self) -> str:
        """The name of the tool."""
        return str(self.definition["name"])


class _Loader(yaml.SafeLoader):
    """YAML with the scalars of JSON, in which no key stands twice."""


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


with_json_scalars(_Loader).add_constructor("tag:yaml.org,2002:map", _mapping)


@dataclass(frozen=True)
class _Document:
    """A value that a file holds; in YAML with the lines on which it and its parts begin, by JSON Pointer."""

    value: Json
    file: str
    lines: Mapping[str, int]

    def place(self, path: str = "") -> str:
        """Where a part stands: file, line, path."""
        line = self.lines.get(path)
        return self.file + ("" if line is None else f":{line}") + (f" {path}" if path else "")


def read_definitions(
    path: str, read_stdin: Callable[[], bytes], tell: Callable[[str], None] = lambda _: None
) -> list[Written]:
    """
    Read every definition of a file; `-` is standard input. JSON may hold one or a list.

    A document with a list under `tools` (a task, an agent) gives those; `tell` hears of each thing that is not used,
    or not as it stands.

    Raises:
        Unreadable: the file cannot be read, is neither YAML nor JSON, or an entry has no name.
    """
    raw, name = _bytes_of(path, read_stdin)
    is_json = path.endswith(".json") or raw.lstrip()[:1] in {b"{", b"["}
    documents = list(_from_json(raw, name) if is_json else _from_yaml(raw, name))
    found = [written for document in documents for written in _written(document, tell)]
    if not found:
        raise Unreadable("invalid_definition", f"{name} holds no definition")
    return found


def _written(document: _Document, tell: Callable[[str], None]) -> Iterator[Written]:
    if not holds_tools(document.value):
        yield _named(document.value, document.place())
        return
    for part in parts_of(document.value):
        place = document.place(part.path)
        if part.definition is None:
            tell(f"{place}: {part.told}")
        else:
            yield _named(part.definition, place)


def _named(item: Json, place: str) -> Written:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise Unreadable("invalid_definition", f"{place}: a tool definition is an object with a name")
    return Written(item, place)


def _bytes_of(path: str, read_stdin: Callable[[], bytes]) -> tuple[bytes, str]:
    if path == "-":
        return read_stdin(), "standard input"
    try:
        return Path(path).read_bytes(), path
    except OSError as error:
        raise Unreadable("invalid_request", f"{path} cannot be read: {error.strerror}") from error


def _from_json(raw: bytes, name: str) -> Iterator[_Document]:
    try:
        value = parse_json(raw)
    except Unreadable as error:
        raise Unreadable(error.code, f"{name}: {error.message}", error.faults) from error
    for item in value if isinstance(value, list) else [value]:
        yield _Document(item, name, {})


def _from_yaml(raw: bytes, name: str) -> Iterator[_Document]:
    try:
        loader = _Loader(raw)
        while loader.check_node():
            node = loader.get_node()
            value = None if node is None else loader.construct_document(node)
            if node is not None and value is not None:
                # the same rules as for JSON: no NUL, no number that would change on its way
                yield _Document(parse_json(json.dumps(value).encode()), name, dict(_lines(node)))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        told = getattr(error, "problem", None) or str(error)
        raise Unreadable("invalid_definition", f"{place}: {told}") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise Unreadable("invalid_definition", f"{name}: a value has no form in JSON: {error}") from error
    except Unreadable as error:
        raise Unreadable("invalid_definition", f"{name}: {error.message}", error.faults) from error


def _lines(node: yaml.Node, path: str = "") -> Iterator[tuple[str, int]]:
    """The line, counted from 1, of every part of a document: where its key stands, or the item of a list."""
    if not path:
        yield path, node.start_mark.line + 1
    match node:
        case yaml.MappingNode():
            parts = [(pointer(key.value), key, value) for key, value in node.value]
        case yaml.SequenceNode():
            parts = [(pointer(index), item, item) for index, item in enumerate(node.value)]
        case _:
            return
    for name, place, part in parts:
        yield path + name, place.start_mark.line + 1
        yield from _lines(part, path + name)


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
