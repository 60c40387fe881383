"""
Keep-alive targets that close, reset or hang at each stage: how many requests they see, and what is told.

One run of the work sends one request, and says `not_sent` only of what its target never saw. What may be
done again is decided elsewhere.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from tests.integration.api_caller.breaking_target import BreakingTarget, Fault, Stage, breaking_target
from tests.integration.api_caller.calling import PAUSE_S, Prepared, call, ok, prepare, send
from tests.integration.api_caller.raw_target import OK, RawTarget, raw_target, reset, saying
from tests.unit.api_caller.making import READ, UNSAFE
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.permits import Permit
from toolbus_runtime.executing.runs import Run

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
FAULTS: tuple[Fault, ...] = ("close", "reset", "hang")
LARGE = "eHh4" * 4_000_000  # 12 MB in base64: more than the buffers of both sockets take
PATIENCE_S = 30.0  # for what somebody else ends
ENDS = {"unknown": {"connection_lost", "timeout"}, "failed": {"http_status"}, "not_sent": {"connection_failed"}}


def timeout_s(fault: Fault, stage: Stage = "idle") -> float:
    """How long an attempt may take: what hangs is to end by itself, when even a large request has been begun."""
    if fault != "hang":
        return PATIENCE_S
    return 4 * PAUSE_S if stage == "in the request" else PAUSE_S


def unsafe(target: BreakingTarget | RawTarget, method: str, **arguments: Any) -> Prepared:
    """An unsafe call of the target."""
    return prepare(target.url, method, arguments, terms=UNSAFE)


@asynccontextmanager
async def kept(client: HttpClient, stage: Stage, fault: Fault) -> AsyncIterator[dict[str, BreakingTarget]]:
    """A target for each method, to which a connection is open that has carried one request."""
    async with AsyncExitStack() as stack:
        targets = {method: await stack.enter_async_context(breaking_target(stage, fault)) for method in METHODS}
        for target in targets.values():
            ok(await call(client, target, "GET", terms=READ))  # type: ignore[arg-type]  # it has a url
            target.journal.clear()
        yield targets


def check(found: dict[str, Outcome], journals: dict[str, list[str]], result: str, requests: int) -> None:
    """Every method came to this, with so many requests at its target."""
    assert {method: outcome.result for method, outcome in found.items()} == dict.fromkeys(found, result)
    assert {method: len(journals[method]) for method in found} == dict.fromkeys(found, requests)
    if result in ENDS:
        assert {outcome.error.code for outcome in found.values() if outcome.error} <= ENDS[result]


async def all_methods(client: HttpClient, targets: dict[str, Any], **arguments: Any) -> dict[str, Outcome]:
    """One run for each method, side by side; none waits in its own time for the requests of others to be made."""
    prepared = [unsafe(targets[method], method, **arguments) for method in METHODS]
    found = await asyncio.gather(*(send(client, one, Permit(), Run()) for one in prepared))
    return dict(zip(METHODS, found, strict=True))


@pytest.mark.parametrize("fault", ["close", "reset"])
async def test_an_idle_connection_that_is_seen_to_break(client: HttpClient, fault: Fault) -> None:
    """It is not used any more: the request goes over a new connection, once."""
    async with kept(client, "idle", fault) as targets, raw_target(saying(OK)) as other:
        for target in targets.values():
            target.break_off()
        ok(await call(client, other, "GET"))  # the loop has looked at its sockets meanwhile
        found = await all_methods(client, targets, timeout=timeout_s(fault))
        check(found, {method: target.journal for method, target in targets.items()}, "succeeded", 1)


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_idle_connection_that_breaks_unseen(client: HttpClient, fault: Fault) -> None:
    """The request was handed to a dead connection: it is not sent again, and nobody knows, though nothing arrived."""
    async with kept(client, "idle", fault) as targets:
        found = {}
        for method, target in targets.items():
            prepared = unsafe(target, method, timeout=timeout_s(fault))
            target.break_off()
            found[method] = await send(client, prepared, Permit(), Run())
        check(found, {method: target.journal for method, target in targets.items()}, "unknown", 0)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("stage", ["in the request", "after the request", "in the head", "in the body"])
async def test_a_connection_that_breaks_in_an_exchange(client: HttpClient, stage: Stage, *, fault: Fault) -> None:
    """One request, and nobody knows; but an answer to HEAD is whole without a body."""
    async with kept(client, stage, fault) as targets:
        more = {"content": LARGE} if stage == "in the request" else {}
        found = await all_methods(client, targets, timeout=timeout_s(fault, stage), **more)
        journals = {method: target.journal for method, target in targets.items()}
        if stage == "in the body":
            check({"HEAD": found.pop("HEAD")}, journals, "succeeded", 1)
        check(found, journals, "unknown", 1)
        assert {method: journal[0].split(" ")[0] for method, journal in journals.items()} == {m: m for m in METHODS}


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_error_that_breaks_off(client: HttpClient, fault: Fault) -> None:
    """Its status is an answer, and so is what it says about another attempt."""
    async with kept(client, "in the body of an error", fault) as targets:
        found = await all_methods(client, targets, timeout=timeout_s(fault))
        check(found, {method: target.journal for method, target in targets.items()}, "failed", 1)
    assert {outcome.retry_after_s for outcome in found.values()} == {1.0}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_connection_that_never_stands(client: HttpClient, fault: Fault) -> None:
    """It breaks before a byte of the request could leave: nothing was sent, and that is told."""
    opened: list[asyncio.StreamWriter] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        await reader.read(1)  # the first byte of a greeting in TLS
        if fault == "close":
            writer.close()
        elif fault == "reset":
            reset(writer)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    target = SecureTarget(saying(OK), port=server.sockets[0].getsockname()[1])
    found = await all_methods(client, dict.fromkeys(METHODS, target), timeout=timeout_s(fault))
    for writer in opened:
        writer.close()
    server.close()
    check(found, {method: [] for method in METHODS}, "not_sent", 0)
    assert len(opened) == len(METHODS)


class SecureTarget(RawTarget):
    """A target that is spoken to in TLS."""

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://127.0.0.1:{self.port}"
