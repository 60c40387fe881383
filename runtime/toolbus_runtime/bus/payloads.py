"""
Large bodies on their way between services: parts of half a mebibyte, one subject each.

The last part is written first and part 0, which tells the number of parts, last: who finds part 0
finds all. What is read is hashed again, so a wrong body is never handed out. Writing twice is harmless.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.errors import BusRefused
from toolbus_contracts.subjects import PAYLOAD_BUCKET, payload_chunk
from toolbus_runtime.bus.replies import STATUS

if TYPE_CHECKING:
    from toolbus_runtime.bus.connection import Bus

PART_BYTES = 512 * 1024
PARTS_HEADER = "Toolbus-Parts"
MAX_PAYLOAD_BYTES = 50 * 1024 * 1024
PARTS_AT_ONCE = 16
READ_TIMEOUT_S = 10.0


async def put_payload(bus: "Bus", digest: str, body: bytes) -> None:
    """
    The body can be read by its digest for about a day.

    Raises:
        BusRefused: it is larger than 50 MiB.
        Unavailable: the bus did not take all of it; write it again.
    """
    if len(body) > MAX_PAYLOAD_BYTES:
        raise BusRefused(f"a payload of {len(body)} bytes is over {MAX_PAYLOAD_BYTES}")
    count = max(1, -(-len(body) // PART_BYTES))
    headers = {PARTS_HEADER: str(count)}
    window = asyncio.Semaphore(PARTS_AT_ONCE)

    async def put(number: int) -> None:
        async with window:
            part = body[number * PART_BYTES : (number + 1) * PART_BYTES]
            await bus.publish(payload_chunk(digest, number), part, headers)

    puts = [asyncio.ensure_future(put(number)) for number in range(1, count)]
    try:
        await asyncio.gather(*puts)  # not a task group: the first failure is raised as it is
    finally:
        for one in puts:
            one.cancel()
    await put(0)


async def get_payload(bus: "Bus", digest: str) -> bytes | None:
    """
    The body with this digest; None when it is not there (any more), or not whole.

    Raises:
        Unavailable: the bus is away.
    """
    first = await _part(bus, digest, 0)
    if first is None:
        return None
    headers, body = first
    count = int(headers.get(PARTS_HEADER, "1"))
    if count > 1:
        window = asyncio.Semaphore(PARTS_AT_ONCE)

        async def get(number: int) -> bytes | None:
            async with window:
                found = await _part(bus, digest, number)
                return None if found is None else found[1]

        parts = await asyncio.gather(*(get(number) for number in range(1, count)))
        if any(part is None for part in parts):
            return None
        body = b"".join((body, *(part for part in parts if part is not None)))
    return body if await asyncio.to_thread(digest_bytes, body) == digest else None


async def _part(bus: "Bus", digest: str, number: int) -> tuple[Mapping[str, str], bytes] | None:
    subject = payload_chunk(digest, number)
    reply = await bus.request(f"$JS.API.DIRECT.GET.{PAYLOAD_BUCKET}.{subject}", b"", timeout_s=READ_TIMEOUT_S)
    if STATUS not in reply.headers:
        return reply.headers, reply.data
    # A replica that lags answers a direct read with "not found": the leader knows.
    stored = await bus.last_message(PAYLOAD_BUCKET, subject)
    return None if stored is None else (stored.headers, stored.data)
