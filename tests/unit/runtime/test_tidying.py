"""Memory goes back to the system once after much work, when it is calm."""

from tests.unit.runtime.things import Store, background, in_virtual_time, pass_time
from toolbus_runtime.feed import Feed
from toolbus_runtime.tidying import LOOK_S, MUCH, Tidying


def test_after_much_work_it_is_tidied_once() -> None:
    """Not while more comes, not after a little, and again after much more."""

    async def scenario() -> list[int]:
        feed = Feed(Store())
        tidying, found = Tidying(feed), []
        async with background(tidying.run()):
            for head in (MUCH - 1, MUCH, MUCH + 1, MUCH + 1, MUCH + 1, MUCH + 2, MUCH + 2, 3 * MUCH, 3 * MUCH):
                feed.wake(head)
                await pass_time(LOOK_S)
                found.append(tidying.count)
        return found

    assert in_virtual_time(scenario()) == [0, 0, 0, 1, 1, 1, 1, 1, 2]
