"""Lulls: what a new event alone can bring is looked for rarely while there is none."""

from tests.unit.runtime.things import Store, in_virtual_time, pass_time
from toolbus_runtime.feed import Feed
from toolbus_runtime.lull import AFTER_S, LOOK_EVERY_S, Lull


def test_while_nothing_is_stored_most_looks_are_left_out() -> None:
    """One a second before, one in ten seconds in a lull, and at once one a second again when something comes."""

    async def scenario() -> tuple[int, int, int]:
        feed = Feed(Store())
        lull = Lull(feed)

        async def looks(seconds: int) -> int:
            found = 0
            for _ in range(seconds):
                found += not lull.may_skip()
                await pass_time(1.0)
            return found

        before = await looks(round(AFTER_S))
        during = await looks(round(3 * LOOK_EVERY_S))
        feed.wake(1)
        return before, during, await looks(3)

    before, during, after = in_virtual_time(scenario())
    assert (before, after) == (AFTER_S, 3)
    assert 2 <= during <= 3
