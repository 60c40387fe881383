"""One run: an installation, a load, the plan's faults, then quiet until everything stands, then the verdict."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from tests.chaos.clients import Clients
from tests.chaos.collecting import Trial, judge
from tests.chaos.injector import Injector
from tests.chaos.nest import Nest
from tests.chaos.people import People, Speech
from tests.chaos.place import Place, settled
from tests.chaos.plan import Plan
from tests.chaos.quiet import Quiet
from tests.chaos.result import Result
from tests.chaos.settling import Operator
from tests.chaos.tools import CALM_TIMEOUT_S, TIMEOUT_S, define
from tests.chaos.workers import Workers

QUIET_S = 60.0  # after the last fault everything has to stand within this time
DRAINED_S = 20.0  # work that was taken by another comes back when that one's time is over
SHOWN_S = 70.0  # on a busy machine the product counts its orphans once a minute
HEARD_S = 10.0  # a word that was said again while everything came to stand still
CALM_S = 1200.0  # without faults the load is what takes time


async def run(plan: Plan, folder: Path, nest: Nest) -> Result:
    """
    The result of the plan, carried out in the folder.

    The folder holds what services said, the journal, and what was found; it is removed when nothing was wrong.
    """
    _prepare(plan, folder)
    began = time.monotonic()
    async with settled(plan, folder, nest) as place:
        result = await _carry_out(plan, place)
    result = replace(result, duration_s=round(time.monotonic() - began, 1))
    if result.violations:
        (folder / "verdict.txt").write_text("\n".join((*result.violations, *result.remarks)) + "\n")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _prepare(plan: Plan, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "plan.txt").write_text(f"{plan}\n")


async def _carry_out(plan: Plan, place: Place) -> Result:
    """The load and the faults, then quiet, then the verdict."""
    await define(place, timeout_s=CALM_TIMEOUT_S if plan.is_calm else TIMEOUT_S)
    clients, injector = Clients(place, plan), Injector(place, plan.faults)
    speech = Speech(place, plan)
    people, workers = People(speech, plan), Workers(place, speech, plan)
    trial = Trial(plan, place, clients, injector, Quiet(place, people), Operator(place, plan), speech)
    for party in (clients, speech, people, workers):
        await party.prepare()
    async with (
        _background(place.keep()),
        _background(place.redeliveries.watch()),
        _background(people.work()),
        _background(workers.work()),
    ):
        load = asyncio.create_task(clients.run())
        async with _background(trial.operator.work()):
            await injector.run()
        last_at = time.monotonic()
        within_s = CALM_S if plan.is_calm else QUIET_S
        with suppress(TimeoutError):
            await asyncio.wait_for(load, within_s)
        left_s = max(last_at + within_s - time.monotonic(), 1.0)
        has_settled = await trial.quiet.until_all_stand(clients.accepted, left_s)
        await trial.quiet.until_heard(speech.pending, HEARD_S)
        settled_s = time.monotonic() - last_at
        if has_settled:
            await trial.quiet.until_drained(DRAINED_S)
        await trial.quiet.until_shown(clients.accepted, SHOWN_S)
        return replace(await judge(trial), settled_s=round(settled_s, 1))


@asynccontextmanager
async def _background(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """The work goes on meanwhile; when it failed, that is raised at the end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
