"""One attempt at a real target, and what came of it."""

import asyncio
from dataclasses import dataclass
from typing import Any

from tests.integration.api_caller.raw_target import RawTarget, Seen
from tests.unit.api_caller.making import READ, item, judged
from toolbus_api_caller.adapters.http_client import HttpClient
from toolbus_api_caller.core.request import build_request
from toolbus_api_caller.core.response import wanted_of
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.executing.outcomes import Failure, Outcome, judge_failure
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.requests.request import METHODS, HttpRequest
from toolbus_contracts.tools import Terms
from toolbus_contracts.work import WorkItem
from toolbus_runtime.egress import EgressGuard, Lookup
from toolbus_runtime.executing.runs import Run

PAUSE_S = 0.5  # for what must come to an end by itself; long enough to be sent on a busy machine
ALL = sorted(METHODS)
MOST = sorted(METHODS - {"CONNECT"})  # CONNECT names a host and port only


def guard(allowed: str = "127.0.0.0/8", lookup: Lookup | None = None) -> EgressGuard:
    """A guard that lets this machine be reached, where the targets of these tests are."""
    return EgressGuard(EgressRules(parse_allowances(allowed)), lookup)


@dataclass(frozen=True)
class Prepared:
    """A request that is ready to be sent, and the work that it is part of."""

    work: WorkItem
    request: HttpRequest


def prepare(
    url: str, method: str, arguments: dict[str, Any] | None = None, *, terms: Terms = READ, **section: Any
) -> Prepared:
    """The request of an attempt at the target with this url."""
    more = {name: section.pop(name) for name in ("definition",) if name in section}
    url += section.pop("path", "/" if method == "CONNECT" else "/v1/x")
    work = item({"method": method, "url": url, **section}, arguments, terms=terms, **more)
    return Prepared(work, build_request(work, user_agent="toolbus/test"))


async def send(client: HttpClient, prepared: Prepared, permit: Permit, run: Run) -> Outcome:
    """What came of sending it."""
    found = await client.send(prepared.request, permit, run)
    if isinstance(found, Failure):
        return judge_failure(found, prepared.work.terms)
    return judged(found, wanted_of(prepared.work, prepared.request))


async def call(
    client: HttpClient,
    target: RawTarget,
    method: str,
    arguments: dict[str, Any] | None = None,
    *,
    permit: Permit = Permit(),  # noqa: B008 - a value without state
    run: Run | None = None,
    **more: Any,
) -> Outcome:
    """One attempt at the target, judged."""
    return await send(client, prepare(target.url, method, arguments, **more), permit, run or Run())


def ok(outcome: Outcome) -> dict[str, Any]:
    """The output of a success."""
    assert outcome.error is None, outcome.error
    assert outcome.output is not None
    return outcome.output


def code(outcome: Outcome) -> str:
    """The code of a failure."""
    assert outcome.error is not None
    return outcome.error.code


async def hanging(seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Never answer."""
    await asyncio.Event().wait()
    return False
