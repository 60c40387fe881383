"""
How often a target sees a request, through the whole system: every method, stage and fault, both contracts.

Every call may be tried twice. Source: DESIGN §5.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.harness import World, world
from tests.e2e.nursery import Nursery
from tests.integration.api_caller.breaking_target import Fault, Stage, breaking_target
from tests.integration.api_caller.raw_target import reset
from tests.nats_fixtures import until

METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
FAULTS: Final[tuple[Fault, ...]] = ("close", "reset", "hang")
SENT: Final[tuple[Stage, ...]] = ("in the request", "after the request", "in the head", "in the body")
CONTRACTS: Final = {"safe": "required", "unsafe": "none"}  # what a tool of this name says of its idempotency
LARGE: Final = "eHh4" * 25_000  # more than travels inside a message
Expected = tuple[str, int]  # how the call stands in the end, and how many requests its target saw


@dataclass
class Case:
    """One call to a target of its own."""

    tool: str
    method: str
    stage: str
    fault: Fault
    expected: Expected
    url: str = ""
    seen: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the call is given."""
        more = {"content": LARGE} if self.stage == "in the request" else {}
        return {"method": self.method, "url": f"{self.url}/case", **more}

    def found(self, status: str) -> Expected:
        """How it came out."""
        return status, sum(" /warm " not in line for line in self.seen)


def expected(tool: str, method: str, stage: Stage, fault: Fault) -> Expected:
    """What the table allows."""
    is_safe = tool == "safe"
    if stage == "idle" and fault != "hang":
        return "succeeded", 1  # the connection was seen to be dead before anything was handed to it
    if stage == "idle":
        return ("succeeded", 1) if is_safe else ("in_doubt", 0)  # what was handed over never arrived; the second did
    if stage == "in the body" and method == "HEAD":
        return "succeeded", 1  # there is no body that could break
    if stage == "in the body of an error":
        if method == "HEAD" and fault == "hang":
            return "failed", 1  # it is whole, so its connection is used again, on which nobody reads
        return "failed", 2 if is_safe else 1  # 503 with Retry-After
    return ("failed", 2) if is_safe else ("in_doubt", 1)


async def kept_alive(stack: AsyncExitStack) -> AsyncIterator[Case]:
    """Every case in which the connection stands and has carried a request before."""
    for stage in ("idle", *SENT, "in the body of an error"):
        for fault in FAULTS:
            for method in METHODS:
                for tool in CONTRACTS:
                    target = await stack.enter_async_context(
                        breaking_target(stage, fault, is_mended=stage == "idle", waits=False)
                    )
                    case = Case(tool, method, stage, fault, expected(tool, method, stage, fault))
                    case.url, case.seen = target.url, target.journal
                    yield case


async def unconnected(stack: AsyncExitStack) -> AsyncIterator[Case]:
    """Every case in which TLS does not come about: tried twice whatever the contract."""
    for fault in FAULTS:
        for method in METHODS:
            for tool in CONTRACTS:
                case = Case(tool, method, "never stands", fault, ("failed", 2))
                port = await stack.enter_async_context(no_tls(case))
                case.url = f"https://127.0.0.1:{port}"
                yield case


@asynccontextmanager
async def no_tls(case: Case) -> AsyncIterator[int]:
    """The port of a target that breaks every connection at its first byte; it counts connections."""
    opened: list[asyncio.StreamWriter] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        case.seen.append("a connection")
        await reader.read(1)
        if case.fault == "close":
            writer.close()
        elif case.fault == "reset":
            reset(writer)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in opened:
            writer.close()


async def define(world: World) -> None:
    """A tool for each contract, and one that opens connections; the call says where and how."""
    for name, idempotency in {**CONTRACTS, "warm": "required"}.items():
        section = {"method": "POST", "url": "http://127.0.0.1:1/", "overridable": ["url", "method"]}
        contract = {"effect": "write", "idempotency": idempotency}
        retry = {"attempts": 2, "first_delay_s": 0.05}
        body = {"name": name, "api_call": section, "contract": contract, "retry": retry, "timeout_s": 2.0}
        answer = await world.http.put(f"/v1/tools/{name}", json=body)
        assert answer.is_success, answer.text


async def submit(world: World, tool: str, arguments: dict[str, Any], gate: asyncio.Semaphore) -> str:
    """The id of the accepted call."""
    async with gate:
        answer = await world.http.post("/v1/calls", json={"tool": tool, "arguments": arguments})
    assert answer.is_success, answer.text
    return str(answer.json()["id"])


async def until_known(world: World, call_ids: Iterable[str]) -> None:
    """Every call has ended, or is in doubt."""
    open_ = set(call_ids)

    async def are_known() -> bool:
        await world.ledger.refresh()
        open_.difference_update([i for i in open_ if world.ledger.kinds(i)[-1] == "in_doubt" or world.ledger.end_of(i)])
        return not open_

    await until(are_known, within_s=60.0)


@pytest.mark.timeout(150)
async def test_every_method_stage_and_fault(nursery: Nursery, tmp_path: Path, sqlite_url: str) -> None:
    """A safe call is sent again, an unsafe one only when nothing of it was sent; each attempt is one request."""
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(world(nursery, tmp_path, sqlite_url, "dispatcher"))
        made.start("api_caller", api_caller_keepalive_s=60)
        await define(made)
        gate = asyncio.Semaphore(20)
        warmed = [case async for case in kept_alive(stack)]
        warm = [submit(made, "warm", {"url": f"{case.url}/warm"}, gate) for case in warmed]
        ids = await asyncio.gather(*warm)
        await until_known(made, ids)
        assert Counter(map(made.ledger.end_of, ids)) == {"succeeded": len(ids)}
        cases = warmed + [case async for case in unconnected(stack)]
        ids = await asyncio.gather(*(submit(made, case.tool, case.arguments, gate) for case in cases))
        await until_known(made, ids)
        wrong = {}
        for case, call_id in zip(cases, ids, strict=True):
            found = case.found(made.ledger.end_of(call_id) or made.ledger.kinds(call_id)[-1])
            if found != case.expected:
                wrong[case.tool, case.method, case.stage, case.fault] = found, made.ledger.kinds(call_id)
        assert wrong == {}
        assert len(cases) == 7 * 3 * 2 * 7
