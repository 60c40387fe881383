"""An OpenAPI document: read from a file or a URL, and looked up in. Nothing that it refers to outside is fetched."""

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import httpx
import yaml

from toolbus.json_yaml import with_json_scalars
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024
FETCH_TIMEOUT_S: Final = 60.0
MAX_REFERENCES: Final = 32  # that lead from one to the next
_SERVED: Final = re.compile(r"3\.[01](\..*)?")


@dataclass(frozen=True)
class Document:
    """An OpenAPI document of version 3.0 or 3.1; `name` is its file or URL."""

    root: JsonObject
    name: str

    @property
    def is_3_0(self) -> bool:
        """True when its schemas are in the dialect of OpenAPI 3.0, which is not quite JSON Schema."""
        return str(self.root["openapi"]).startswith("3.0")

    def at(self, reference: Json) -> Json:
        """
        What a `$ref` points to.

        Raises:
            LookupError: it leads out of the document, or nowhere.

        Source: RFC 6901 §6.
        """
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise LookupError(f"{str(reference)[:200]} leads out of the document")
        found: Json = self.root
        for part in unquote(reference[1:]).split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                raise LookupError(f"{reference[:200]} leads nowhere")
        return found

    def resolved(self, value: Json) -> JsonObject:
        """
        An object, or the one that its `$ref` leads to.

        Raises:
            LookupError: there is none.
        """
        for _ in range(MAX_REFERENCES):
            if not isinstance(value, dict):
                raise LookupError("something else stands where an object must")  # noqa: TRY004 - one error for what is not there
            if "$ref" not in value:
                return value
            value = self.at(value["$ref"])
        raise LookupError("references lead in a circle")


def read_document(source: str) -> Document:
    """
    Read a document, JSON or YAML, from a file or from an http(s) URL.

    Raises:
        Unreadable: it cannot be read or fetched, or is no OpenAPI document of version 3.0 or 3.1.
    """
    is_url = source.startswith(("http://", "https://"))
    root = _parsed(_fetched(source) if is_url else _read(source), source)
    if not isinstance(root, dict):
        raise Unreadable("invalid_request", f"{source} is no OpenAPI document: it is no object")
    if "swagger" in root:
        told = f"{source} is Swagger {root['swagger']}; convert it to OpenAPI 3.0 or 3.1 first"
        raise Unreadable("invalid_request", told)
    version = root.get("openapi")
    if not isinstance(version, str) or not _SERVED.fullmatch(version):
        told = "has no field openapi" if version is None else f"is of OpenAPI {str(version)[:20]}"
        raise Unreadable("invalid_request", f"{source} {told}; 3.0 and 3.1 can be imported")
    return Document(root, source)


def _read(path: str) -> bytes:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise Unreadable("invalid_request", f"{path} cannot be read: {error.strerror}") from error
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise _too_large(path)
    return raw


def _fetched(url: str) -> bytes:
    raw = bytearray()
    try:
        with httpx.stream("GET", url, follow_redirects=True, timeout=FETCH_TIMEOUT_S) as answer:
            if not answer.is_success:
                raise Unreadable("invalid_request", f"{url} answers {answer.status_code}")
            for part in answer.iter_bytes():
                raw += part
                if len(raw) > MAX_DOCUMENT_BYTES:
                    raise _too_large(url)
    except httpx.InvalidURL as error:
        raise Unreadable("invalid_request", f"{url} is no URL: {error}") from error
    except httpx.HTTPError as error:
        raise Unreadable("invalid_request", f"{url} cannot be fetched: {str(error) or type(error).__name__}") from error
    return bytes(raw)


def _too_large(name: str) -> Unreadable:
    return Unreadable("invalid_request", f"{name} is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB")


def _parsed(raw: bytes, name: str) -> Json:
    try:
        if raw.lstrip()[:1] == b"{":
            return json.loads(raw)
        return yaml.load(raw, _LOADER)  # noqa: S506 - a safe loader, with fewer types still
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise Unreadable("invalid_request", f"{place}: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Unreadable("invalid_request", f"{name} is neither JSON nor YAML: {error}") from error


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Hashable, Json]:
    """Keys are text, as in JSON: `200:` is how documents write the status of an answer."""
    return {
        key.value: loader.construct_object(value, deep=True)
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode)
    }


# libyaml, where PyYAML was built with it, reads a large document in a tenth of the time
_LOADER: type[yaml.SafeLoader] = with_json_scalars(
    type("_Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
)
_LOADER.add_constructor("tag:yaml.org,2002:map", _mapping)
