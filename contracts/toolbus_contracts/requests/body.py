"""The body of a request: JSON, a form, raw content, or files; one kind at a time."""

import base64
import binascii
from typing import NamedTuple
from urllib.parse import quote_plus

from toolbus_contracts.requests.arguments import Parts
from toolbus_contracts.requests.styles import styled, written_pairs
from toolbus_contracts.requests.texts import header_text, invalid, plain
from toolbus_contracts.tools import Style
from toolbus_contracts.values import Json, compact

_QUOTED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # Source: WHATWG HTML, multipart/form-data
MULTIPART = "multipart/form-data"
FILE_KEYS = frozenset({"filename", "content", "content_type"})


class Body(NamedTuple):
    """Bytes to send and the content type that describes them, where there is one."""

    content: bytes
    content_type: str | None


class _Part(NamedTuple):
    head: str
    content: bytes


def encode(parts: Parts, boundary: str) -> Body | None:
    """
    Write the body, or nothing when no argument goes there; `boundary` separates the parts of a multipart form.

    Raises:
        Refused: `request_invalid` when two kinds meet, content is not base64, or a style cannot carry a value.
    """
    is_multipart = bool(parts.files) or is_called_multipart(parts)
    kinds = {
        "json": parts.json is not None,
        "data": bool(parts.form) and not is_multipart,
        "content": parts.content is not None,
        "files": bool(parts.files or parts.form) and is_multipart,
    }
    wanted = [kind for kind, is_wanted in kinds.items() if is_wanted]
    match wanted:
        case []:
            return None
        case ["json"]:
            return Body(compact(parts.json).encode(), "application/json")
        case ["data"]:
            return Body("&".join(_urlencoded(parts)).encode(), "application/x-www-form-urlencoded")
        case ["content"]:
            return Body(decoded("content", parts.content), None)
        case ["files"]:
            return _multipart(parts, boundary)
        case _:
            raise invalid(f"a request has one body, and this one would have {' and '.join(wanted)}")


def is_called_multipart(parts: Parts) -> bool:
    """Whether the headers call the body a form in parts, as which it is then written."""
    told = next((value for name, value in parts.headers.items() if name.lower() == "content-type"), None)
    return isinstance(told, str) and told.partition(";")[0].strip().lower() == MULTIPART


def _urlencoded(parts: Parts) -> list[str]:
    """Source: WHATWG URL, application/x-www-form-urlencoded."""
    found: list[str] = []
    for name, value in parts.form.items():
        found += written_pairs(name, value, parts.styles.get(name), quote_plus)
    return found


def decoded(name: str, value: Json) -> bytes:
    """
    The bytes that a base64 text stands for.

    Raises:
        Refused: `request_invalid`.
    """
    if not isinstance(value, str):
        raise invalid(f"{name} is not base64 text")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid(f"{name} is not base64 text") from error


def _multipart(parts: Parts, boundary: str) -> Body:
    """Source: RFC 7578."""
    found = [one for name, value in parts.form.items() for one in _fields(name, value, parts.styles.get(name))]
    for name, value in parts.files.items():
        found += [_file(name, one) for one in (value if isinstance(value, list) else [value])]
    while any(boundary.encode() in part.content for part in found):
        boundary += "-"
    body = b"".join(f"--{boundary}\r\n{part.head}\r\n\r\n".encode() + part.content + b"\r\n" for part in found)
    return Body(body + f"--{boundary}--\r\n".encode(), f"{MULTIPART}; boundary={boundary}")


def _fields(name: str, value: Json, style: Style | None) -> list[_Part]:
    """Parts of one field: objects are JSON and say so. Source: OpenAPI 3.1.1 §4.8.15.1.1 (contentType)."""
    if style is not None:
        return [_field(one, text) for one, text in styled(name, value, style)]
    items = value if isinstance(value, list) else [value]
    return [_field(name, plain(item), is_json=isinstance(item, dict)) for item in items if item is not None]


def _field(name: str, text: str, *, is_json: bool = False) -> _Part:
    head = f'Content-Disposition: form-data; name="{name.translate(_QUOTED)}"'
    return _Part(f"{head}\r\nContent-Type: application/json" if is_json else head, text.encode())


def _file(name: str, value: Json) -> _Part:
    told = value if isinstance(value, dict) else {"content": value}
    if not FILE_KEYS.issuperset(told):
        raise invalid(f"files/{name}: only {', '.join(sorted(FILE_KEYS))} are known")
    filename = plain(told.get("filename") or name).translate(_QUOTED)
    kind = header_text("content-type", told.get("content_type") or "application/octet-stream")
    head = f'Content-Disposition: form-data; name="{name.translate(_QUOTED)}"; filename="{filename}"'
    return _Part(f"{head}\r\nContent-Type: {kind}", decoded(f"files/{name}", told.get("content")))
