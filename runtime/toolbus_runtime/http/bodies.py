"""Request bodies: bounded, strict JSON."""

from fastapi import Request
from starlette.requests import ClientDisconnect

from toolbus_contracts.errors import Fault, ToolbusError, Unreadable
from toolbus_contracts.values import Json, parse_json

MAX_BODY_BYTES = 1024 * 1024
MAX_PAYLOAD_BYTES = 50 * 1024 * 1024


async def read_bytes(request: Request, limit: int = MAX_BODY_BYTES) -> bytes:
    """
    Read the body, and not a byte more than `limit`.

    Raises:
        ToolbusError: `body_too_large`.
        Unreadable: the client left.
    """
    declared = request.headers.get("content-length", "0")
    parts: list[bytes] = []
    size = int(declared) if declared.isdigit() else 0
    if size <= limit:
        size = 0
        try:
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    break
                parts.append(part)
        except ClientDisconnect as error:  # nobody hears this; it must not look like a fault of ours
            raise Unreadable("invalid_request", "the client left before the end of the body") from error
    if size > limit:
        raise ToolbusError("body_too_large", f"the body is over {limit} bytes")
    return b"".join(parts)


async def read_object(request: Request, *, is_required: bool = False) -> tuple[dict[str, Json], int]:
    """
    Read a JSON object and its size in bytes; an absent body is an empty object where none `is_required`.

    Raises:
        Unreadable: no strict JSON, no object, or nothing.
        ToolbusError: `body_too_large`.
    """
    raw = await read_bytes(request)
    value = parse_json(raw) if is_required or raw.strip() else {}
    if not isinstance(value, dict):
        raise Unreadable("invalid_request", "the body must be a JSON object", (Fault("", "not an object"),))
    return value, len(raw)
