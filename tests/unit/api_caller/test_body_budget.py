"""Room for large answers: never more than there is, in the order of asking, and nothing is lost of it."""

import asyncio

from toolbus_runtime.executing.body_budget import BodyBudget
from toolbus_runtime.executing.runs import Runs


async def test_room_is_given_in_order() -> None:
    """Who asks for little does not overtake who asked before; who wants more than there is gets all of it."""
    budget = BodyBudget(100)
    assert await budget.take(60) == 60
    large, small = asyncio.ensure_future(budget.take(1000)), asyncio.ensure_future(budget.take(10))
    await asyncio.sleep(0)
    assert (large.done(), small.done(), budget.free_bytes) == (False, False, 40)
    budget.give_back(60)
    assert await large == 100
    assert not small.done()
    budget.give_back(100)
    assert await small == 10
    budget.give_back(10)
    assert budget.free_bytes == 100


async def test_who_gives_up_waiting_takes_nothing_along() -> None:
    """Whether its turn had not come yet, or had just come; and those behind it are served."""
    budget = BodyBudget(100)
    await budget.take(100)
    waiting = [asyncio.ensure_future(budget.take(wanted)) for wanted in (100, 30, 30)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    await asyncio.wait({waiting[1]})
    budget.give_back(100)
    waiting[0].cancel()  # its turn has come, and it never hears of it
    await asyncio.wait({waiting[0]})
    assert await waiting[2] == 30
    assert [one.cancelled() for one in waiting] == [True, True, False]
    assert budget.free_bytes == 70


async def test_room_that_is_given_back_passes_by_who_just_gave_up() -> None:
    """Cancelled, and not run since: the room goes to the next one, and none of it is lost."""
    budget = BodyBudget(100)
    await budget.take(100)
    waiting = [asyncio.ensure_future(budget.take(wanted)) for wanted in (60, 70)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    budget.give_back(100)
    await asyncio.wait(waiting)
    assert [one.cancelled() for one in waiting] == [True, False]
    assert budget.free_bytes == 30
    assert not budget.is_wanted


async def test_a_run_holds_its_room_until_it_is_done() -> None:
    """What turns out not to be needed is free at once, the rest when its outcome was told."""
    budget = BodyBudget(100)
    runs = Runs(budget)
    run = runs.begin("call_1", 1)
    await run.take_room(80)
    assert budget.free_bytes == 20
    run.keep_room(30)
    assert budget.free_bytes == 70
    run.keep_room(50)
    assert budget.free_bytes == 70
    runs.done(run)
    assert budget.free_bytes == 100
