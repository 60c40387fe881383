"""
Documents that hold tools among other things: tasks and agents, as their authors publish them.

A tool there is `{name, type, description, <section of its type>}`; older documents have `spec` for the section, and
some write name and description of a function inside it. Names of secrets are understood where they are a whole text
(`$ secrets.NAME`, `{{secrets.NAME}}`), behind `Bearer` in an authorization (`{token}` too), and as the capitals that
examples have in place of a key (`BRAVE_API_KEY`) in setup and headers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from toolbus_contracts.secrets import SCHEME
from toolbus_contracts.tools import SECTIONS
from toolbus_contracts.values import Json, pointer

TOOLS: Final = "tools"
_READ_ONLY: Final = ("id", "created_at", "updated_at", "inherited")  # what a server adds to a stored tool
_SCHEMAS: Final = frozenset({"parameters", "params_schema", "schema"})
_SETTINGS: Final = frozenset({"setup", "headers"})
_OVERRIDES: Final = ("url", "method", "headers")
_SPELLED: Final = {"llama-parse": "llama_parse"}  # a page of theirs spells the provider otherwise than all else
_NAME: Final = r"secrets\.[A-Za-z][A-Za-z0-9_]{0,63}"
_BRACED: Final = rf"(?:\{{\s*{_NAME}\s*\}}|\{{\{{\s*{_NAME}\s*\}}\}})"
_WHOLE: Final = re.compile(rf"\$\s+{_NAME}|(?:\$\s+)?{_BRACED}")
_TOKEN: Final = rf"(?:{_BRACED}|\{{\s*[A-Za-z][A-Za-z0-9_]{{0,63}}\s*\}})"
_BEARER: Final = re.compile(
    rf"Bearer {_TOKEN}"
    rf"|\$\s+f(['\"])Bearer {_TOKEN}\1"
    rf"|\$\s+(['\"])Bearer \2\s*\+\s*(?:{_NAME}|{_TOKEN})"
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PLACEHOLDER: Final = re.compile(r"(?=.{3,64}$)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_EXPRESSION: Final = re.compile(r"\$ |.*\{\{|.*\{\s*secrets\.", re.DOTALL)
_BRACES: Final = re.compile(r".*\{\s*[A-Za-z_]", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A part of a document: a tool as a definition, or what is told of a part, such as that it is not used."""

    path: str
    definition: Json = None
    told: str = ""


def holds_tools(document: Json) -> bool:
    """True for a document with a list of tools; a definition of one tool has none."""
    return isinstance(document, dict) and isinstance(document.get(TOOLS), list)


def parts_of(document: dict[str, Json]) -> Iterator[Part]:
    """Every part of a document that holds tools, in the order of its keys."""
    overridden = _overridden(document)
    for key, value in document.items():
        if key != TOOLS:
            yield Part(pointer(key), told="not used yet")
            continue
        for index, tool in enumerate(value):
            yield from _parts_of_tool(tool, pointer(TOOLS, index), overridden)


def _parts_of_tool(tool: Json, path: str, overridden: Mapping[str, tuple[str, ...]]) -> Iterator[Part]:
    if not isinstance(tool, dict):
        yield Part(path, definition=tool)
        return
    kind = tool.get("type")
    if isinstance(kind, str) and kind not in SECTIONS:
        yield Part(path, told=f"not used: nothing here carries out tools of type {kind[:60]}")
        return
    given = overridden.get(str(tool.get("name")), ())
    definition = _definition(tool, given)
    yield Part(path, definition=definition)
    yield from _told(tool, path)
    if given and "api_call" in definition:
        yield Part(path, told=f"steps give its {', '.join(given)}: calls may override that; bind its secrets to hosts")


def _definition(tool: dict[str, Json], given: tuple[str, ...]) -> dict[str, Json]:
    """The tool as a definition; `given`: what the document's own steps override of the request."""
    kind = tool.get("type")
    found = {name: value for name, value in tool.items() if name not in _READ_ONLY and value is not None}
    if "spec" in found and isinstance(kind, str) and kind not in found:
        found = {(kind if name == "spec" else name): value for name, value in found.items()}
    if isinstance(function := found.get("function"), dict):
        found = _with_names_outside(found, function)
    if isinstance(request := found.get("api_call"), dict):
        found["api_call"] = _request(request, given)
    if isinstance(integration := found.get("integration"), dict):
        found["integration"] = _integration(integration)
    return {n: _with_references(value) if n in SECTIONS else value for n, value in found.items()}


def _with_names_outside(tool: dict[str, Json], function: dict[str, Json]) -> dict[str, Json]:
    """The name and the description stand beside the function; those inside count where there are none outside."""
    inside = {name: function[name] for name in ("name", "description") if function.get(name) is not None}
    section = {name: value for name, value in function.items() if name not in {"name", "description"}}
    return {**inside, **tool, "function": section}


def _request(section: dict[str, Json], given: tuple[str, ...]) -> dict[str, Json]:
    found = dict(section)
    if isinstance(headers := found.get("headers"), dict):
        token, found["headers"] = _without_token(headers)
        if token is not None:
            found = {"auth": {"bearer": token}, **found} if "auth" not in found else {**found, "headers": headers}
        found["headers"] = _without_placeholders(found["headers"])
    if given:
        found.setdefault("overridable", list(given))
    return found


def _integration(section: dict[str, Json]) -> dict[str, Json]:
    found = dict(section)
    if isinstance(provider := found.get("provider"), str):
        found["provider"] = _SPELLED.get(provider, provider)
    if isinstance(setup := found.get("setup"), dict):
        found["setup"] = _without_placeholders(setup)
        if provider == "mcp" and isinstance(headers := setup.get("http_headers"), dict):
            token, rest = _without_token(headers)
            if token is not None and "bearer" not in setup:
                found["setup"] |= {"bearer": token, "http_headers": _without_placeholders(rest)}
    return found


def _without_token(headers: dict[str, Json]) -> tuple[str | None, dict[str, Json]]:
    """The reference to the token of the one authorization that names one, and the headers without it."""
    found = {name: token for name, text in headers.items() if (token := _bearer(name, text)) is not None}
    if len(found) != 1:
        return None, headers
    ((name, token),) = found.items()
    return token, {other: value for other, value in headers.items() if other != name}


def _bearer(header: str, value: Json) -> str | None:
    """The reference in `Bearer {secrets.NAME}` or `Bearer {token}`, however that is put together."""
    if header.lower() != "authorization" or not isinstance(value, str) or not _BEARER.fullmatch(value.strip()):
        return None
    return _reference(value)


def _reference(text: str) -> str:
    """The reference to the one secret that a text names, which is its last word."""
    words: list[str] = _WORD.findall(text)
    return SCHEME + words[-1]


def _without_placeholders(value: Json) -> Json:
    """Capitals in place of a value are the name of a secret."""
    match value:
        case str():
            return SCHEME + value if _PLACEHOLDER.fullmatch(value) else value
        case list():
            return [_without_placeholders(item) for item in value]
        case dict():
            return {key: _without_placeholders(item) for key, item in value.items()}
        case _:
            return value


def _with_references(value: Json) -> Json:
    match value:
        case str():
            return _reference(value) if _WHOLE.fullmatch(value.strip()) else value
        case list():
            return [_with_references(item) for item in value]
        case dict():
            return {key: _with_references(item) for key, item in value.items()}
        case _:
            return value


def _overridden(document: dict[str, Json]) -> dict[str, tuple[str, ...]]:
    """By the name of a tool, what steps of the document give that a definition fixes."""
    found: dict[str, set[str]] = {}
    for tool, arguments in _steps({key: value for key, value in document.items() if key != TOOLS}):
        found.setdefault(tool, set()).update(arguments)
    return {tool: tuple(name for name in _OVERRIDES if name in names) for tool, names in found.items()}


def _steps(value: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    """Every step that calls a tool, at any depth: the tool's name, and its arguments."""
    if isinstance(value, list):
        for item in value:
            yield from _steps(item)
    elif isinstance(value, dict):
        tool, arguments = value.get("tool"), value.get("arguments")
        if isinstance(tool, str) and isinstance(arguments, dict):
            yield tool, arguments
        for item in value.values():
            yield from _steps(item)


def _told(value: Json, path: str, *, key: str = "", is_setting: bool = False) -> Iterator[Part]:
    """Texts that mean something else than they say, and those that their authors meant to be computed."""
    match value:
        case str():
            if is_setting and (name := _named_anew(key, value)) is not None:
                yield Part(path, told=f"stands for a secret: toolbus secrets set {name}")
            elif _is_expression(value, key):
                yield Part(path, told="an expression is not computed: it is sent as it stands")
        case list():
            for index, item in enumerate(value):
                yield from _told(item, path + pointer(index), key=key, is_setting=is_setting)
        case dict():
            for name, item in value.items():
                if name not in _SCHEMAS and name != "description":
                    is_inside = is_setting or name in _SETTINGS
                    yield from _told(item, path + pointer(name), key=name, is_setting=is_inside)
        case _:
            pass


def _named_anew(key: str, text: str) -> str | None:
    """The name of the secret that a text stands for without saying that it is one."""
    if _PLACEHOLDER.fullmatch(text):
        return text
    token = _bearer(key, text)
    return None if token is None or "secrets." in text else token.removeprefix(SCHEME)


def _is_expression(text: str, key: str) -> bool:
    """Whether it is not sent as its author meant it. In a url, a name in braces is an argument's place."""
    if _WHOLE.fullmatch(text.strip()) or _bearer(key, text) is not None:
        return False
    return bool(_EXPRESSION.match(text) or (key != "url" and _BRACES.match(text)))
