"""The outside world of these tests: an HTTP server in this process that keeps a journal of every request."""

import asyncio
import time
from collections import Counter
from typing import Self

from aiohttp import web


class Target:
    """
    Journals each request when it arrives, then answers, unless it was told to hold answers back.

    `/items/{name}` answers at once; while `hold_after` is set, only so many more are answered and the rest wait
    for `release`. `/hang/{name}` is answered by `release_hanging` alone, `/status/{code}/{name}` by that status
    (with the Retry-After of `?after=`), `/slow/{ms}/{name}` after so many milliseconds.
    """

    def __init__(self) -> None:
        self.journal: list[str] = []  # "GET /items/7", in order of arrival
        self.keys: dict[str, list[str]] = {}  # the Idempotency-Key of each request, by the same text
        self.answered = 0
        self.arrivals: list[float] = []  # of requests under `/slow`, in seconds of a steady clock
        self.most_at_once = 0
        self._at_once = 0
        self.port = 0
        self._left: int | None = None
        self._open = asyncio.Event()
        self._unhang = asyncio.Event()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def counts(self) -> Counter[str]:
        """How often each request came."""
        return Counter(self.journal)

    def hold_after(self, answers: int) -> None:
        """Answer so many requests more, then hold back the answers until `release`."""
        self._left = answers
        self._open.clear()

    def release(self) -> None:
        """Answer everything that waits, and all that comes."""
        self._left = None
        self._open.set()

    def release_hanging(self) -> None:
        """Answer what hangs under `/hang`, and what comes there from now on."""
        self._unhang.set()

    def hang_again(self) -> None:
        """What comes under `/hang` from now on hangs."""
        self._unhang = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/items/{name}", self._item)
        app.router.add_route("*", "/hang/{name}", self._hang)
        app.router.add_route("*", "/slow/{ms}/{name}", self._slow)
        app.router.add_route("*", "/status/{code}/{name}", self._status)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()
        self.release_hanging()
        if self._runner is not None:
            await self._runner.cleanup()

    def _note(self, request: web.Request) -> None:
        line = f"{request.method} {request.path}"
        self.journal.append(line)
        self.keys.setdefault(line, []).append(request.headers.get("Idempotency-Key", ""))

    async def _item(self, request: web.Request) -> web.Response:
        self._note(request)
        if self._left is not None:
            if self._left <= 0:
                await self._open.wait()
            else:
                self._left -= 1
        self.answered += 1
        return web.json_response({"name": request.match_info["name"]})

    async def _slow(self, request: web.Request) -> web.Response:
        self.arrivals.append(time.monotonic())
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(int(request.match_info["ms"]) / 1000)
        self._at_once -= 1
        return web.json_response({})

    async def _status(self, request: web.Request) -> web.Response:
        self._note(request)
        headers = {"Retry-After": request.query["after"]} if "after" in request.query else {}
        return web.json_response({}, status=int(request.match_info["code"]), headers=headers)

    async def _hang(self, request: web.Request) -> web.Response:
        self._note(request)
        await self._unhang.wait()
        return web.json_response({"name": request.match_info["name"]})
