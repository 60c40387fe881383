"""The egress guard: what is looked up, how often, and that nothing slips between the check and the connection."""

import asyncio
import socket
from typing import Any

import aiohttp
import pytest

from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.errors import Refused
from toolbus_runtime.egress import LOOKUP_TTL_S, MAX_LOOKUPS, EgressGuard


class Names:
    """A DNS of our own: each lookup of a name takes its next answer, and the last one stays."""

    def __init__(self, **answers: list[tuple[str, ...] | OSError]) -> None:
        self.answers = {name.replace("_", "."): list(found) for name, found in answers.items()}
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.is_asked = asyncio.Event()

    async def __call__(self, host: str) -> tuple[str, ...]:
        """The next answer."""
        self.asked.append(host)
        self.is_asked.set()
        await self.gate.wait()
        answers = self.answers.get(host, [("8.8.8.8",)])
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(found, OSError):
            raise found
        return found


class Clock:
    """Seconds, as told."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        """Now."""
        return self.at


class Connection(asyncio.BaseTransport):
    """A connection whose other end is this address."""

    def __init__(self, *peer: Any) -> None:
        super().__init__()
        self._peer = peer or None

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Its other end."""
        return self._peer if name == "peername" else default


def guard(names: Names, allowed: str = "", clock: Clock | None = None) -> EgressGuard:
    """A guard with a DNS of our own."""
    return EgressGuard(EgressRules(parse_allowances(allowed)), names, steady_s=clock or Clock())


async def addresses(guarded: EgressGuard, host: str, port: int = 443) -> list[str]:
    """What a host resolves to."""
    return [one["host"] for one in await guarded.resolve(host, port)]


async def test_every_address_is_handed_on() -> None:
    """With its family and as a number, so that nobody looks it up again."""
    made = guard(Names(api_test=[("8.8.8.8", "2606:4700::1111")]))
    four, six = await made.resolve("api.test", 443)
    assert (four["host"], four["port"], four["family"]) == ("8.8.8.8", 443, socket.AF_INET)
    assert (six["host"], six["family"], six["hostname"]) == ("2606:4700::1111", socket.AF_INET6, "api.test")
    assert four["flags"] & socket.AI_NUMERICHOST
    (only,) = await made.resolve("api.test", 443, socket.AF_INET6)
    assert only["host"] == "2606:4700::1111"


@pytest.mark.parametrize("found", [("8.8.8.8", "127.0.0.1"), ("::1",), ("169.254.169.254",), ("fe80::1%2",)])
async def test_a_single_refused_address_refuses_the_name(found: tuple[str, ...]) -> None:
    """Nothing is picked."""
    with pytest.raises(Refused, match=r"^api\.test:443 is not reached"):
        await guard(Names(api_test=[found])).resolve("api.test", 443)


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "127.1", "2130706433", "metadata.google.internal", "a b"])
async def test_what_is_refused_outright_is_not_looked_up(host: str) -> None:
    """Not even DNS hears of it."""
    names = Names()
    with pytest.raises(Refused):
        await guard(names).resolve(host, 80)
    assert names.asked == []


async def test_addresses_are_kept_for_a_short_time() -> None:
    """One lookup serves all who ask within the time; afterwards it is done again."""
    names, clock = Names(), Clock()
    made = guard(names, clock=clock)
    await asyncio.gather(*(addresses(made, "api.test") for _ in range(50)))
    clock.at = LOOKUP_TTL_S - 0.001
    await addresses(made, "api.test")
    assert names.asked == ["api.test"]
    clock.at = LOOKUP_TTL_S
    await addresses(made, "api.test")
    assert names.asked == ["api.test", "api.test"]


async def test_a_name_that_moves_inside_is_refused() -> None:
    """The answer that is used is the answer that was checked; the next one is checked again."""
    names, clock = Names(api_test=[("8.8.8.8",), ("127.0.0.1",)]), Clock()
    made = guard(names, clock=clock)
    assert await addresses(made, "api.test") == ["8.8.8.8"]
    assert await addresses(made, "api.test") == ["8.8.8.8"]
    clock.at = LOOKUP_TTL_S
    with pytest.raises(Refused):
        await addresses(made, "api.test")


async def test_what_is_kept_is_no_verdict() -> None:
    """The same addresses are judged for every port by itself."""
    made = guard(names := Names(api_test=[("10.0.0.1",)]), "10.0.0.0/8:443")
    assert await addresses(made, "api.test", 443) == ["10.0.0.1"]
    with pytest.raises(Refused):
        await addresses(made, "api.test", 80)
    assert names.asked == ["api.test"]


async def test_failures_are_not_kept() -> None:
    """A name that was not found may be found a moment later; no address at all is a failure too."""
    made = guard(names := Names(api_test=[socket.gaierror(1, "no"), (), ("8.8.8.8",)]), clock=(clock := Clock()))
    with pytest.raises(socket.gaierror):
        await addresses(made, "api.test")
    with pytest.raises(socket.gaierror):
        await addresses(made, "api.test")
    clock.at = LOOKUP_TTL_S
    assert await addresses(made, "api.test") == ["8.8.8.8"]
    assert len(names.asked) == 3


async def test_whoever_gives_up_disturbs_nobody() -> None:
    """A lookup goes on for the others when one of those who wait is cancelled."""
    names = Names()
    names.gate.clear()
    made = guard(names)
    first, second = (asyncio.create_task(addresses(made, "api.test")) for _ in range(2))
    await names.is_asked.wait()
    first.cancel()
    names.gate.set()
    assert await second == ["8.8.8.8"]
    assert names.asked == ["api.test"]


async def test_the_memory_of_names_is_bounded() -> None:
    """Many names push the oldest out."""
    made = guard(names := Names())
    for number in range(MAX_LOOKUPS + 1):
        await addresses(made, f"n{number}.test")
    await addresses(made, f"n{MAX_LOOKUPS}.test")
    assert len(names.asked) == MAX_LOOKUPS + 1
    await addresses(made, "n0.test")
    assert len(names.asked) == MAX_LOOKUPS + 2


async def test_the_other_end_of_a_connection_is_checked() -> None:
    """Kept-alive or new: where it leads decides, whatever it was made for."""
    made = guard(Names(), "intra.test, 10.0.0.0/8:80")
    public, intra = made.examine("https://api.test"), made.examine("https://intra.test")
    made.check_peer(public, Connection("8.8.8.8", 443))
    made.check_peer(public, Connection("2606:4700::1111", 443, 0, 0))
    made.check_peer(intra, Connection("127.0.0.1", 443))
    made.check_peer(made.examine("http://api.test"), Connection("10.0.0.1", 80))
    for peer in (("127.0.0.1", 443), ("10.0.0.1", 443), ("::1", 443, 0, 0), ("fe80::1%2", 443, 0, 2)):
        with pytest.raises(Refused):
            made.check_peer(public, Connection(*peer))
    with pytest.raises(Refused):
        made.check_peer(intra, Connection("169.254.169.254", 443))


async def test_a_connection_that_is_gone_is_told() -> None:
    """Without another end nothing is sent."""
    made = guard(Names())
    for gone in (None, Connection()):
        with pytest.raises(aiohttp.ClientConnectionError):
            made.check_peer(made.examine("https://api.test"), gone)


async def test_closing_gives_up_lookups() -> None:
    """Whoever waits is cancelled."""
    names = Names()
    names.gate.clear()
    made = guard(names)
    waiting = asyncio.create_task(addresses(made, "api.test"))
    await names.is_asked.wait()
    await made.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_the_system_is_asked_by_itself() -> None:
    """Without a DNS of our own the system's resolver answers, and what it says of this machine is refused."""
    made = EgressGuard(EgressRules(parse_allowances("localhost")))
    found = await addresses(made, "localhost", 80)
    assert set(found) <= {"127.0.0.1", "::1"}
    assert found
    await made.close()
