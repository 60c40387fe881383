"""Large values: found in arguments, and written into an output, as references to where they lie."""

import base64
from collections.abc import Iterator, Mapping

from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json, parse_json
from toolbus_contracts.work import PAYLOAD_KEY, PAYLOAD_PREVIEW_CHARS


def digests_in(value: Json) -> Iterator[str]:
    """Digest of every payload that a value refers to, at any depth."""
    match value:
        case {"$payload": str() as found}:
            yield found
        case dict():
            for item in value.values():
                yield from digests_in(item)
        case list():
            for item in value:
                yield from digests_in(item)
        case _:
            pass


def filled_in(value: Json, found: Mapping[str, Json]) -> Json:
    """The value with every reference replaced by what it refers to."""
    match value:
        case {"$payload": str() as wanted}:
            return found[wanted]
        case dict():
            return {name: filled_in(item, found) for name, item in value.items()}
        case list():
            return [filled_in(item, found) for item in value]
        case _:
            return value


def payload_value(body: bytes) -> Json:
    """What a payload stands for: its JSON value, or its bytes in base64 when it is no strict JSON."""
    try:
        return parse_json(body)
    except Unreadable:
        return base64.b64encode(body).decode()


def reference(body: bytes) -> JsonObject:
    """A reference to a payload, with the beginning of its text."""
    preview = body[: PAYLOAD_PREVIEW_CHARS * 4].decode("utf-8", "ignore")[:PAYLOAD_PREVIEW_CHARS]
    return {PAYLOAD_KEY: digest_bytes(body), "bytes": len(body), "preview": preview}
