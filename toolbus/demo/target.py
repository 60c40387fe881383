"""The API that the demo's tools call: a small HTTP server on this machine that counts what reaches it."""

from typing import Self

from aiohttp import web


class Target:
    """A weather service and a notebook; `seen` counts requests by method and path."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> int:
        """How many requests reached it."""
        return sum(self.seen.values())

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/v1/{city}/weather", self._weather)
        app.router.add_post("/v1/notes", self._note)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _weather(self, request: web.Request) -> web.Response:
        self._count(request)
        city = request.match_info["city"]
        return web.json_response({"city": city, "celsius": sum(city.encode()) % 35, "days": request.query.get("days")})

    async def _note(self, request: web.Request) -> web.Response:
        self._count(request)
        return web.json_response({"kept": await request.json()}, status=201)

    def _count(self, request: web.Request) -> None:
        key = f"{request.method} {request.path}"
        self.seen[key] = self.seen.get(key, 0) + 1
