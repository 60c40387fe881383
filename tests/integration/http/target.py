"""A server that tools call: it echoes, and it answers as no server should."""

import asyncio
import json

HUGE = 200 * 1024
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
ANSWERS: dict[str, bytes] = {
    "/nul": PLAIN + b'{"a": "x\\u0000y"}',
    "/raw_nul": PLAIN + b'{"a": "x\x00y"}',
    "/nan": PLAIN + b'{"a": NaN, "b": Infinity}',
    "/surrogate": PLAIN + b'{"a": "\\ud800"}',
    "/big_integer": PLAIN + b'{"a": 9007199254740993}',
    "/duplicate": PLAIN + b'{"a": 1, "a": 2}',
    "/deep": PLAIN + b"[" * 10_000 + b"]" * 10_000,
    "/broken": PLAIN + b'{"a": ',
    "/latin": PLAIN + b'{"a": "\xff\xfe"}',
    "/empty": PLAIN,
    "/huge": PLAIN + b'{"a": "' + b"x" * HUGE + b'"}',
    "/huge_key": PLAIN + b'{"' + b"k" * HUGE + b'": NaN}',
    "/forged": PLAIN + b'{"$payload": "sha256:' + b"0" * 64 + b'", "bytes": 1}',
    "/text": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nhe\x00llo",
    "/header_nul": b"HTTP/1.1 200 OK\r\nX-Odd: \xff\xfe\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    "/no_status": b"garbage\r\n\r\n",
    "/status_999": b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{}",
    "/bad_gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope",
    "/fails": b"HTTP/1.1 500 Oops\r\nContent-Length: 6\r\nConnection: close\r\n\r\n\x00\xffoops",
    "/refuses": b"HTTP/1.1 422 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
}


class Target:
    """Listens on a free port; `/echo` tells what it got, `/slow` never answers, the rest stands in `ANSWERS`."""

    def __init__(self) -> None:
        self.url = ""
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """It listens on return."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=64 * 1024 * 1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Nobody is served any more."""
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if path.startswith("/slow"):
            await asyncio.Event().wait()
        if path.startswith("/echo"):
            told = {"method": method, "path": path, "headers": headers, "body": body.decode("utf-8", "replace")}
            writer.write(PLAIN + json.dumps(told).encode())
        else:
            writer.write(ANSWERS[path.partition("?")[0]])
        await writer.drain()
