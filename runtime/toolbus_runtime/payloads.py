"""Large values: moved out of arguments and outputs before they are decided; a reference stands in their place."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.values import Json, compact, parse_json
from toolbus_contracts.work import PAYLOAD_KEY, PAYLOAD_PREVIEW_CHARS, PAYLOAD_THRESHOLD_BYTES


class PayloadStore(Protocol):
    """Where payloads rest."""

    async def put_payloads(self, tenant: str, payloads: Mapping[str, bytes]) -> None:
        """Keep large values by digest."""

    async def get_payload(self, tenant: str, payload_digest: str) -> bytes | None:
        """A large value by its digest."""


def is_reference(value: Json) -> bool:
    """True for `{"$payload": "sha256:…"}`, with or without size and preview."""
    return isinstance(value, Mapping) and isinstance(value.get(PAYLOAD_KEY), str)


def references(value: Json) -> Iterator[str]:
    """
    The digest of every payload that a value refers to, at any depth, as an executor will look for them.

    Each of them must be looked up as the tenant's own: on the bus payloads lie by digest alone.
    """
    if is_reference(value):
        yield str(value[PAYLOAD_KEY])
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def reference(text: str, payload_digest: str) -> dict[str, Json]:
    """What stands in the place of a large value."""
    return {PAYLOAD_KEY: payload_digest, "bytes": len(text.encode()), "preview": text[:PAYLOAD_PREVIEW_CHARS]}


def slim(value: Json, whole: Json = None) -> tuple[Json, dict[str, bytes]]:
    """
    Move what is over 64 KiB out: single fields, or the whole when it would still be too large.

    Gives the slim value and the bodies by digest (their JSON text in UTF-8). `whole` is the value with its
    own references resolved: a body never holds references, because nobody looks for them there.
    """
    if not isinstance(value, Mapping) or is_reference(value):
        return _moved(value)
    bodies: dict[str, bytes] = {}
    slimmed: dict[str, Json] = {}
    for name, part in value.items():
        slimmed[name], moved = (part, {}) if is_reference(part) else _moved(part)
        bodies |= moved
    if len(compact(slimmed).encode()) <= PAYLOAD_THRESHOLD_BYTES:
        return slimmed, bodies
    return _moved(value if whole is None else whole)


def _moved(part: Json) -> tuple[Json, dict[str, bytes]]:
    text = compact(part)
    encoded = text.encode()
    if len(encoded) <= PAYLOAD_THRESHOLD_BYTES:
        return part, {}
    name = digest_bytes(encoded)
    return reference(text, name), {name: encoded}


async def keep_large(store: PayloadStore, tenant: str, value: Json) -> Json:
    """Store what is over 64 KiB as payloads and give the value with references in their place."""
    slimmed, bodies = slim(value)
    if bodies:
        await store.put_payloads(tenant, bodies)
    return slimmed


async def whole(store: PayloadStore, tenant: str, value: Json, room_bytes: int) -> tuple[Json, int]:
    """
    The value with the bodies that its references stand for, whole or field by field, and their size in bytes.

    What does not fit into `room_bytes` any more, or is not there, stays a reference.
    """
    if is_reference(value):
        body = await store.get_payload(tenant, str(value[PAYLOAD_KEY])) if _size(value) <= room_bytes else None
        return (value, 0) if body is None or len(body) > room_bytes else (parse_json(body), len(body))
    if not isinstance(value, Mapping):
        return value, 0
    filled: dict[str, Json] = {}
    size = 0
    for name, part in value.items():
        filled[name], more = await whole(store, tenant, part, room_bytes - size) if is_reference(part) else (part, 0)
        size += more
    return filled, size


def _size(reference_: Mapping[str, Json]) -> int:
    """How large a body is, as its reference says; clients need not say it."""
    size = reference_.get("bytes")
    return size if isinstance(size, int) else 0
