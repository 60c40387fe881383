"""Large values: moved out of arguments and outputs before they are decided, and found again."""

from collections.abc import Mapping
from typing import Protocol

from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import NotFound
from toolbus_contracts.values import Json, compact, parse_json
from toolbus_contracts.work import PAYLOAD_KEY, PAYLOAD_PREVIEW_CHARS, PAYLOAD_THRESHOLD_BYTES


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


def reference(text: str, payload_digest: str) -> dict[str, Json]:
    """What stands in the place of a large value."""
    return {PAYLOAD_KEY: payload_digest, "bytes": len(text.encode()), "preview": text[:PAYLOAD_PREVIEW_CHARS]}


def slim(value: Json) -> tuple[Json, dict[str, bytes]]:
    """
    Move what is over 64 KiB out: first single fields, then the whole when it is still too large.

    Gives the slim value and the bodies by digest (their JSON text in UTF-8).
    """
    bodies: dict[str, bytes] = {}

    def moved(part: Json) -> Json:
        text = compact(part)
        encoded = text.encode()
        if len(encoded) <= PAYLOAD_THRESHOLD_BYTES:
            return part
        name = digest_bytes(encoded)
        bodies[name] = encoded
        return reference(text, name)

    if isinstance(value, Mapping) and not is_reference(value):
        value = {name: part if is_reference(part) else moved(part) for name, part in value.items()}
    return moved(value), bodies


async def keep_large(store: PayloadStore, tenant: str, value: Json) -> Json:
    """Store what is over 64 KiB as payloads and give the value with references in their place."""
    slimmed, bodies = slim(value)
    if bodies:
        await store.put_payloads(tenant, bodies)
    return slimmed


async def resolve(store: PayloadStore, tenant: str, value: dict[str, Json]) -> dict[str, Json]:
    """
    Put the values back that references in these arguments stand for.

    Raises:
        NotFound: this tenant has no such payload.
        Unreadable: the payload is not JSON.
    """
    found = dict(value)
    for name, part in value.items():
        if is_reference(part):
            body = await store.get_payload(tenant, str(part[PAYLOAD_KEY]))
            if body is None:
                raise NotFound(f"there is no payload {part[PAYLOAD_KEY]} (argument {name})")
            found[name] = parse_json(body)
    return found


async def collect(store: PayloadStore, bus: PayloadBus, tenant: str, output: Json) -> Json:
    """
    Bring the bodies that an output refers to from the bus into the store.

    A body that was lost on the way is marked `missing` beside its digest.
    """
    if not isinstance(output, Mapping):
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
