"""Large values in and out of the payload bucket."""

import asyncio

from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import Refused, Unavailable
from toolbus_contracts.executing.payloads import digests_in, filled_in, payload_value, reference
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json
from toolbus_contracts.work import WorkItem
from toolbus_runtime.executing.executor_bus import ExecutorBus


class PayloadBucket:
    """Where arguments and outputs above 64 KiB lie while they are on their way."""

    def __init__(self, bus: ExecutorBus) -> None:
        self._bus = bus

    async def resolved(self, item: WorkItem) -> WorkItem:
        """
        The work item with its large arguments in their places.

        Raises:
            Refused: `payload_missing`, one of them is lost.
            Unavailable: the bus is away.
        """
        wanted = set(digests_in(item.arguments))
        if not wanted:
            return item
        found: dict[str, Json] = {}
        for digest in wanted:
            body = await self._bus.get_payload(digest)
            if body is None or await asyncio.to_thread(digest_bytes, body) != digest:
                raise Refused("payload_missing", f"the payload {digest} was lost on its way")
            found[digest] = await asyncio.to_thread(payload_value, body)  # megabytes would hold up every other call
        return item.model_copy(update={"arguments": filled_in(item.arguments, found)})

    async def put_large(self, output: JsonObject, large: dict[str, bytes]) -> JsonObject:
        """
        The output with references in place of what is large, which lies in the bucket on return.

        Raises:
            Unavailable: the bus is away.
        """
        found = dict(output)
        for field, body in large.items():
            found[field] = reference(body)
            await self._put(found[field]["$payload"], body)
        return found

    async def _put(self, digest: str, body: bytes) -> None:
        try:
            await self._bus.put_payload(digest, body)
        except ExceptionGroup as group:  # parts are written at once, and may fail at once
            raise Unavailable(f"the payload {digest} was not taken: {group.exceptions[0]}") from group
