"""
The Restate service of the comparison; runs in the environment of the peers, never in ours.

An ASGI application, served by hypercorn or granian, with one handler whose durable step makes one
HTTP GET. The variable BENCH_TARGET holds the target's URL.
"""

import os
from functools import cache

import aiohttp
import restate  # type: ignore[import-not-found]

calls = restate.Service("Calls")
TARGET = os.environ["BENCH_TARGET"]


@cache
def client() -> aiohttp.ClientSession:
    """The one client of this process; made inside its loop."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))


async def get(key: str) -> object:
    """Make the effect; Restate records what it gives."""
    async with client().get(f"{TARGET}?n={key}") as response:
        return await response.json()


@calls.handler()  # type: ignore[untyped-decorator]
async def call(ctx: restate.Context, key: str) -> object:
    """Run the one step; Restate records the result."""
    return await ctx.run_typed("get", get, key=key)


app = restate.app(services=[calls])
