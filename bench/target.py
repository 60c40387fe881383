"""
The HTTP target that every contender calls: answers small JSON and keeps a journal of all requests.

Run as its own process: `python -m bench.target PORT`. The journal counts requests by the call key in
the query (`?n=<key>`). Control: `/-/journal` (counts), `/-/keys` (requests by key), `/-/reset`.
"""

import asyncio
import json
import sys
from typing import cast
from urllib.parse import unquote_to_bytes

import uvloop

ANSWER = b'{"ok":true}'
KEPT_EXAMPLES = 20
GET = ord("G")


def response(body: bytes) -> bytes:
    """Frame a JSON body as a complete HTTP/1.1 answer that keeps the connection open."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return head + body


OK = response(ANSWER)


class Journal:
    """Every request that arrived, counted by call key; requests without a key count under the empty one."""

    def __init__(self) -> None:
        self.by_key: dict[bytes, int] = {}

    def record(self, target: bytes) -> None:
        """Count one request by the `n` of its request target."""
        key = b""
        start = target.find(b"?n=")
        if start < 0:
            start = target.find(b"&n=")
        if start >= 0:
            end = target.find(b"&", start + 3)
            key = target[start + 3 :] if end < 0 else target[start + 3 : end]
        self.by_key[key] = self.by_key.get(key, 0) + 1

    def summary(self) -> bytes:
        """Counts as JSON: requests, distinct keys, and the first keys that were seen more than once."""
        doubled = [key for key, count in self.by_key.items() if count > 1]
        told = {
            "requests": sum(self.by_key.values()),
            "keys": len(self.by_key),
            "doubled": len(doubled),
            "examples": [_text(key) for key in doubled[:KEPT_EXAMPLES]],
        }
        return json.dumps(told).encode()

    def keys(self) -> bytes:
        """Requests by call key as JSON."""
        return json.dumps({_text(key): count for key, count in self.by_key.items()}).encode()


def _text(key: bytes) -> str:
    return unquote_to_bytes(key).decode(errors="replace")


class Target(asyncio.Protocol):
    """One connection: HTTP/1.1 with keep-alive and pipelining, no more of it than the clients here need."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.rest = b""
        self.transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport to answer on."""
        self.transport = cast("asyncio.WriteTransport", transport)  # uvloop's is one without inheriting from it

    def data_received(self, data: bytes) -> None:
        """Answer every complete request in the buffer; keep an incomplete one for later."""
        if self.rest:
            data, self.rest = self.rest + data, b""
        answers = b""
        while data:
            length = _request_length(data)
            if length is None or length > len(data):
                self.rest = data
                break
            answers += self.answer(data)
            data = data[length:]
        if answers:
            self.transport.write(answers)

    def answer(self, data: bytes) -> bytes:
        """Journal the first request in the buffer and give its answer."""
        target = data[: data.find(b"\r\n")].split(b" ", 2)[1]
        if not target.startswith(b"/-/"):
            self.journal.record(target)
            return OK
        if target == b"/-/reset":
            self.journal.by_key.clear()
        return response(self.journal.keys() if target == b"/-/keys" else self.journal.summary())


def _request_length(data: bytes) -> int | None:
    """Bytes of the first request with its body; none while its head is incomplete."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    if data[0] == GET:
        return end + 4
    head = data[:end].lower()
    at = head.find(b"\r\ncontent-length:")
    if at < 0:
        return end + 4
    return end + 4 + int(head[at + 17 :].split(b"\r\n", 1)[0])


async def serve(port: int) -> None:
    """Serve on loopback until the process is told to end."""
    journal = Journal()
    server = await asyncio.get_running_loop().create_server(lambda: Target(journal), "127.0.0.1", port, backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
