"""
Documents that hold tools among other things: tasks and agents, as their authors publish them.

A tool there is `{name, type, description, <section of its type>}`; older documents have `spec` for the section, and
some write name and description of a function inside it. `$ secrets.NAME` as a whole text is a reference to a secret.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolbus_contracts.secrets import SCHEME
from toolbus_contracts.tools import SECTIONS
from toolbus_contracts.values import Json, pointer

TOOLS: Final = "tools"
_READ_ONLY: Final = ("id", "created_at", "updated_at", "inherited")  # what a server adds to a stored tool
_SCHEMAS: Final = frozenset({"parameters", "params_schema", "schema"})
_NAME: Final = r"secrets\.([A-Za-z][A-Za-z0-9_]{0,63})"
_SECRET: Final = re.compile(rf"\$\s+{_NAME}|\{{\s*{_NAME}\s*\}}|\{{\{{\s*{_NAME}\s*\}}\}}")
_EXPRESSION: Final = re.compile(r"\$ |.*\{\{|.*\{\s*secrets\.", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A part of a document: a tool as a definition, or what else is there and why it is not used."""

    path: str
    definition: Json = None
    unused: str = ""


def holds_tools(document: Json) -> bool:
    """True for a document with a list of tools; a definition of one tool has none."""
    return isinstance(document, dict) and isinstance(document.get(TOOLS), list)


def parts_of(document: dict[str, Json]) -> Iterator[Part]:
    """Every part of a document that holds tools, in the order of its keys."""
    for key, value in document.items():
        if key != TOOLS:
            yield Part(pointer(key), unused="not used yet")
            continue
        for index, tool in enumerate(value):
            yield _tool(tool, pointer(TOOLS, index))
            yield from _expressions(tool, pointer(TOOLS, index))


def _tool(tool: Json, path: str) -> Part:
    if not isinstance(tool, dict):
        return Part(path, definition=tool)
    kind = tool.get("type")
    if isinstance(kind, str) and kind not in SECTIONS:
        return Part(path, unused=f"not used: nothing here carries out tools of type {kind[:60]}")
    found = {name: value for name, value in tool.items() if name not in _READ_ONLY and value is not None}
    if "spec" in found and isinstance(kind, str) and kind not in found:
        found = {(kind if name == "spec" else name): value for name, value in found.items()}
    if isinstance(function := found.get("function"), dict):
        found = _with_names_outside(found, function)
    return Part(path, definition={n: _with_references(value) if n in SECTIONS else value for n, value in found.items()})


def _with_names_outside(tool: dict[str, Json], function: dict[str, Json]) -> dict[str, Json]:
    """The name and the description stand beside the function; those inside count where there are none outside."""
    inside = {name: function[name] for name in ("name", "description") if function.get(name) is not None}
    section = {name: value for name, value in function.items() if name not in {"name", "description"}}
    return {**inside, **tool, "function": section}


def _with_references(value: Json) -> Json:
    match value:
        case str():
            found = _SECRET.fullmatch(value.strip())
            return SCHEME + next(filter(None, found.groups())) if found else value
        case list():
            return [_with_references(item) for item in value]
        case dict():
            return {key: _with_references(item) for key, item in value.items()}
        case _:
            return value


def _expressions(value: Json, path: str) -> Iterator[Part]:
    """Texts that their authors meant to be computed: a definition says them as they stand."""
    match value:
        case str():
            if _EXPRESSION.match(value) and not _SECRET.fullmatch(value.strip()):
                yield Part(path, unused="an expression is not computed: it is sent as it stands")
        case list():
            for index, item in enumerate(value):
                yield from _expressions(item, path + pointer(index))
        case dict():
            for key, item in value.items():
                if key not in _SCHEMAS and key != "description":
                    yield from _expressions(item, path + pointer(key))
        case _:
            pass
