"""Large values that are referred to: found again, in the store or on the bus."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from toolbus_contracts.errors import Fault, NotFound, Unreadable
from toolbus_contracts.values import Json, parse_json
from toolbus_contracts.work import PAYLOAD_KEY
from toolbus_runtime.payloads import PayloadStore, is_reference, references

MAX_RESOLVED_BYTES = 50 * 1024 * 1024  # what the payload bucket takes; a hundred references to one body count each
READ_ASIDE_BYTES = 256 * 1024  # reading more than this in the loop would hold up everybody


class PayloadBus(Protocol):
    """How bodies travel from an executor."""

    async def get_payload(self, payload_digest: str) -> bytes | None:
        """The body that an executor laid down."""


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
