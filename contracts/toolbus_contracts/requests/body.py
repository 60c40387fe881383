"""The body of a request: JSON, a form, raw content, or files; one kind at a time."""

import base64
import binascii
from typing import NamedTuple

from toolbus_contracts.requests.arguments import Parts
from toolbus_contracts.requests.texts import form_pair, header_text, invalid, pairs, plain
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json, compact

_QUOTED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # Source: WHATWG HTML, multipart/form-data
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
    Write the body, or nothing when no argument goes there; `boundary` separates files.

    Raises:
        Refused: `request_invalid` when two kinds meet, or content is not base64.
    """
    kinds = {
        "json": parts.json is not None,
        "data": bool(parts.form) and not parts.files,
        "content": parts.content is not None,
        "files": bool(parts.files),
    }
    wanted = [kind for kind, is_wanted in kinds.items() if is_wanted]
    match wanted:
        case []:
            return None
        case ["json"]:
            return Body(compact(parts.json).encode(), "application/json")
        case ["data"]:
            fields = [form_pair(*pair) for name, value in parts.form.items() for pair in pairs(name, value)]
            return Body("&".join(fields).encode(), "application/x-www-form-urlencoded")
        case ["content"]:
            return Body(decoded("content", parts.content), None)
        case ["files"]:
            return _multipart(parts.form, parts.files, boundary)
        case _:
            raise invalid(f"a request has one body, and this one would have {' and '.join(wanted)}")


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


def _multipart(form: JsonObject, files: JsonObject, boundary: str) -> Body:
    """Source: RFC 7578."""
    found = [_field(*pair) for name, value in form.items() for pair in pairs(name, value)]
    for name, value in files.items():
        found += [_file(name, one) for one in (value if isinstance(value, list) else [value])]
    while any(boundary.encode() in part.content for part in found):
        boundary += "-"
    body = b"".join(f"--{boundary}\r\n{part.head}\r\n\r\n".encode() + part.content + b"\r\n" for part in found)
    return Body(body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}")


def _field(name: str, text: str) -> _Part:
    return _Part(f'Content-Disposition: form-data; name="{name.translate(_QUOTED)}"', text.encode())


def _file(name: str, value: Json) -> _Part:
    told = value if isinstance(value, dict) else {"content": value}
    if not FILE_KEYS.issuperset(told):
        raise invalid(f"files/{name}: only {', '.join(sorted(FILE_KEYS))} are known")
    filename = plain(told.get("filename") or name).translate(_QUOTED)
    kind = header_text("content-type", told.get("content_type") or "application/octet-stream")
    head = f'Content-Disposition: form-data; name="{name.translate(_QUOTED)}"; filename="{filename}"'
    return _Part(f"{head}\r\nContent-Type: {kind}", decoded(f"files/{name}", told.get("content")))
