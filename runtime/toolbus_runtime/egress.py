"""
The egress guard at the socket: names are resolved by us, and connections go to the addresses that were checked.

One guard per process and one connector per guard, so that every connection in the pool was made under the same
rules. A request is checked three times: its url before anything else (`examine`), every address of a name that is
looked up (`resolve`, the connector's only resolver), and the peer of the connection it is about to be written to,
kept-alive or new (`check_peer`).
"""

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from ssl import SSLContext

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from toolbus_contracts.egress import EgressRules, Place

Lookup = Callable[[str], Awaitable[tuple[str, ...]]]

# The system's resolver tells no time to live. What is kept are the addresses, not the verdict on them, and a
# connection goes to nothing else: a stale answer may miss a move, but never a check.
LOOKUP_TTL_S = 5.0
MAX_LOOKUPS = 1024
LOOKUP_THREADS = 32  # of their own: slow name servers must not hold up other work of the process


class SystemLookup:
    """Asks the resolver of the operating system, in threads of its own."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUP_THREADS, thread_name_prefix="lookup")

    async def __call__(self, host: str) -> tuple[str, ...]:
        """
        Every address of a name.

        Raises:
            OSError: it has none, or nobody knows.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, _addresses, host)

    def close(self) -> None:
        """No further lookup begins."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class EgressGuard(AbstractResolver):
    """The rules, applied; `lookup` finds the addresses of a name, the system's resolver unless given."""

    def __init__(
        self, rules: EgressRules, lookup: Lookup | None = None, *, steady_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._rules = rules
        self._lookup: Lookup = lookup or SystemLookup()
        self._steady_s = steady_s
        self._asked: OrderedDict[str, tuple[float, asyncio.Task[tuple[str, ...]]]] = OrderedDict()
        # Verdicts that follow from the rules alone, which never change; a refusal is found anew each time.
        self._examined = lru_cache(maxsize=4096)(rules.examine)
        self._peer_is_fine = lru_cache(maxsize=8192)(self._check_address)

    def examine(self, origin: str) -> Place:
        """
        Where an origin (`https://host:port`, without a path) leads, refused as far as that needs no DNS.

        Raises:
            Refused: `egress_denied`.
        """
        return self._examined(origin)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """
        All addresses of a host, each of them checked.

        Raises:
            Refused: `egress_denied`; one refused address refuses them all.
            OSError: the host has no address.
        """
        place = self.examine(f"http://{host}:{port}")
        found = await self._lookup_once(host)
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "the name has no address")
        self._rules.examine_addresses(place, found)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in found
            if family in {socket.AF_UNSPEC, socket.AF_INET6 if ":" in address else socket.AF_INET}
        ]

    def check_peer(self, place: Place, transport: asyncio.BaseTransport | None) -> None:
        """
        The connection leads to an address that the place may have.

        Raises:
            Refused: `egress_denied`.
            ClientConnectionError: the connection is gone.
        """
        peer = None if transport is None else transport.get_extra_info("peername")
        if not peer:
            raise aiohttp.ClientConnectionError("the connection broke before it was used")
        self._peer_is_fine(place, peer[0])

    async def close(self) -> None:
        """Lookups on their way are given up."""
        for _, task in self._asked.values():
            task.cancel()
        self._asked.clear()
        if isinstance(self._lookup, SystemLookup):
            self._lookup.close()

    def _check_address(self, place: Place, address: str) -> bool:
        self._rules.examine_addresses(place, (address,))
        return True

    async def _lookup_once(self, host: str) -> tuple[str, ...]:
        """The addresses of a name: asked once for all who want to know in the next seconds; failures are not kept."""
        until, task = self._asked.get(host, (0.0, None))
        if task is None or self._steady_s() >= until or (task.done() and _has_failed(task)):
            task = asyncio.ensure_future(self._find(host))
            task.add_done_callback(_has_failed)
            self._asked[host] = self._steady_s() + LOOKUP_TTL_S, task
            self._asked.move_to_end(host)
            if len(self._asked) > MAX_LOOKUPS:
                self._asked.popitem(last=False)
        return await asyncio.shield(task)

    async def _find(self, host: str) -> tuple[str, ...]:
        return await self._lookup(host)


def guarded_connector(guard: EgressGuard, *, keepalive_s: float, ssl: SSLContext) -> aiohttp.TCPConnector:
    """Connections, as many as are wanted, to what the guard resolved and to nothing else."""
    # aiohttp's own cache of names would outlive ours; its key knows nothing of rules.
    return aiohttp.TCPConnector(limit=0, keepalive_timeout=keepalive_s, ssl=ssl, resolver=guard, use_dns_cache=False)


def _addresses(host: str) -> tuple[str, ...]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def _has_failed(task: asyncio.Task[tuple[str, ...]]) -> bool:
    """Whether it failed; an error that nobody waits for any more is known hereby."""
    return task.cancelled() or task.exception() is not None
