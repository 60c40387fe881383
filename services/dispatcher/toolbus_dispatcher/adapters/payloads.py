"""Large values: moved out of arguments and outputs before they are decided, and found again."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import Fault, NotFound, Unreadable
from toolbus_contracts.values import Json, compact, parse_json
from toolbus_contracts.work import PAYLOAD_KEY, PAYLOAD_PREVIEW_CHARS, PAYLOAD_THRESHOLD_BYTES

MAX_RESOLVED_BYTES = 50 * 1024 * 1024  # what the payload bucket takes; a hundred references to one body count each
READ_ASIDE_BYTES = 256 * 1024  # reading more than this in the loop would hold up everybody


class PayloadStore(Protocol):
    """Where payloads rest."""

    async def put_payloads(self, tenant: str, payloads: Mapping[str, bytes]) -> None:
        """Keep large values by digest."""

    async def get_payload(self, tenant: str, payload_digest: str) -> bytes | None:
        """A large value by its digest."""


class PayloadBus(Protocol):
    """How bodies travel from an executor."""

    async def get_payload(self, payload_digest: str) -> bytes | None:
        """The body that an executor laid down."""


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


async def resolve(store: PayloadStore, tenant: str, arguments: dict[str, Json]) -> dict[str, Json]:
    """
    The arguments with the values that their references stand for.

    Raises:
        NotFound: this tenant has no such payload.
        Unreadable: a payload is not JSON, or stands for all arguments and is no object; `body_too_large`
            when all references together stand for too much.
    """
    found: dict[str, Json] = {}
    room = MAX_RESOLVED_BYTES
    for name, times in Counter(references(arguments)).items():
        body = await store.get_payload(tenant, name)
        if body is None:
            raise NotFound(f"there is no payload {name}")
        room -= len(body) * times
        if room < 0:
            raise Unreadable("body_too_large", f"the payloads stand for more than {MAX_RESOLVED_BYTES} bytes")
        found[name] = await _read(body)
    resolved = _filled(arguments, found)
    if not isinstance(resolved, dict):
        raise Unreadable("invalid_request", "no object", (Fault("/arguments", "the payload is no object"),))
    return resolved


async def _read(body: bytes) -> Json:
    return parse_json(body) if len(body) <= READ_ASIDE_BYTES else await asyncio.to_thread(parse_json, body)


def with_own_references(arguments: dict[str, Json], resolved: dict[str, Json]) -> dict[str, Json]:
    """The arguments as they rest: references that stand for all or for one argument stay, deeper ones are resolved."""
    if is_reference(arguments):
        return arguments
    return {name: part if is_reference(part) else resolved[name] for name, part in arguments.items()}


def _filled(value: Json, found: Mapping[str, Json]) -> Json:
    if is_reference(value):
        return found[value[PAYLOAD_KEY]]
    if isinstance(value, Mapping):
        return {name: _filled(part, found) for name, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, found) for part in value]
    return value


async def collect(store: PayloadStore, bus: PayloadBus, tenant: str, output: Json) -> Json:
    """
    Bring the bodies that an output refers to from the bus into the store.

    A body that was lost on the way is marked `missing` beside its digest.
    """
    if not isinstance(output, Mapping) or not any(map(is_reference, output.values())):
        return output
    found = dict(output)
    for name, part in output.items():
        if not is_reference(part):
            continue
        payload_digest = str(part[PAYLOAD_KEY])
        body = await bus.get_payload(payload_digest)
        if body is not None:
            await store.put_payloads(tenant, {payload_digest: body})
        elif await store.get_payload(tenant, payload_digest) is None:
            found[name] = {**part, "missing": True}
    return found
