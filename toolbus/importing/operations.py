"""What an OpenAPI document offers: its operations, each with the name that a tool of it has."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from toolbus.importing.documents import Document
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MAX_NAME: Final = 64
_HASH_CHARS: Final = 8
_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Operation:
    """One operation: `id` is what the document calls it, `tool` the name that a tool of it has."""

    id: str
    tool: str
    method: str
    path: str
    item: JsonObject
    spec: JsonObject

    @property
    def tags(self) -> tuple[str, ...]:
        """The groups that the document puts it in."""
        tags = self.spec.get("tags")
        return tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()


def operations_of(document: Document, prefix: str = "") -> tuple[Operation, ...]:
    """
    Every operation of a document, in its order; names are the same whichever of them become tools.

    Raises:
        Unreadable: the document has no paths.
    """
    paths = document.root.get("paths")
    if not isinstance(paths, dict):
        raise Unreadable("invalid_request", f"{document.name} has no paths")
    found: list[Operation] = []
    taken: Counter[str] = Counter()
    for path, told in paths.items():
        try:
            item = document.resolved(told)
        except LookupError:
            continue  # an empty path, or one that stands in another document
        for method in METHODS:
            spec = item.get(method)
            if isinstance(spec, dict):
                own = spec.get("operationId")
                identity = own if isinstance(own, str) and own else f"{method} {path}"
                name = tool_name(identity, prefix)
                taken[name] += 1
                if taken[name] > 1:
                    name = tool_name(f"{identity} {method} {path}", prefix)
                found.append(Operation(identity, name, method.upper(), path, item, spec))
    return tuple(found)


def tool_name(identity: str, prefix: str = "") -> str:
    """A name that tools may have: other characters become `_`, what is too long ends in a hash of the whole."""
    text = re.sub(r"[^A-Za-z0-9_-]+", "_", prefix + identity).strip("_") or "operation"
    if not re.match(r"[A-Za-z_]", text):
        text = "_" + text
    if len(text) <= MAX_NAME:
        return text
    tail = hashlib.sha256(identity.encode()).hexdigest()[:_HASH_CHARS]
    return f"{text[: MAX_NAME - _HASH_CHARS - 1]}_{tail}"


def chosen(operations: Sequence[Operation], tags: Collection[str], ids: Collection[str]) -> list[Operation]:
    """
    The operations with one of the tags or ids; all of them when none is named.

    An id is that of the document, the name of the tool, or `GET /path`.

    Raises:
        Unreadable: a tag or an id that no operation has.
    """
    found = [one for one in operations if not {*one.tags}.isdisjoint(tags) or not _names(one).isdisjoint(ids)]
    known_tags = {tag for one in operations for tag in one.tags}
    for tag in tags:
        if tag not in known_tags:
            raise Unreadable("invalid_request", f"no operation has the tag {tag}; there are {_some(known_tags)}")
    known_ids = {name for one in operations for name in _names(one)}
    for name in ids:
        if name not in known_ids:
            raise Unreadable("invalid_request", f"no operation is called {name}")
    return found if tags or ids else list(operations)


def _names(operation: Operation) -> set[str]:
    return {operation.id, operation.tool, f"{operation.method} {operation.path}"}


def _some(names: Collection[str]) -> str:
    shown = sorted(names)[:20]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "") if shown else "none"


def server_of(document: Document, operation: Operation, told: str | None) -> str:
    """
    Where an operation is served: as told, else the first server that it, its path or the document names.

    Raises:
        LookupError: none is named, or one that needs the document's own address, which is no URL.

    Source: OpenAPI 3.1.1 §4.8.5 (Server Object; variables have defaults, relative URLs start at the document).
    """
    if told is not None:
        return told.rstrip("/")
    lists = (operation.spec.get("servers"), operation.item.get("servers"), document.root.get("servers"))
    servers: Json = next((servers for servers in lists if isinstance(servers, list) and servers), [{"url": "/"}])
    server = servers[0] if isinstance(servers[0], dict) else {}
    variables = server.get("variables")
    url = _VARIABLE.sub(lambda found: _default(variables, found), str(server.get("url", "/")))
    whole = urljoin(document.name, url) if document.name.startswith(("http://", "https://")) else url
    if not whole.startswith(("http://", "https://")) or _VARIABLE.search(whole):
        raise LookupError(f"its server {url[:200]!r} is no whole URL: name one with --server")
    return whole.rstrip("/")


def _default(variables: Json, found: re.Match[str]) -> str:
    variable = variables.get(found[1]) if isinstance(variables, dict) else None
    return str(variable["default"]) if isinstance(variable, dict) and "default" in variable else found[0]
