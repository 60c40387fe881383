"""Lulls: while nothing is stored, looks that only a new event gives something to find may be rarer."""

import asyncio

from toolbus_runtime.feed import Feed

AFTER_S = 5.0  # read tables, which lag behind the log, have followed by then
LOOK_EVERY_S = 10.0  # even so, should anything have been missed


class Lull:
    """One kind of look that is made again and again, and whether it may be left out this time."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._head = -1
        self._moved_at = self._looked_at = float("-inf")

    def may_skip(self) -> bool:
        """Whether nothing was stored for a while, and the last look is not long ago; when it says no, look."""
        now = asyncio.get_running_loop().time()
        if self._feed.head != self._head:
            self._head, self._moved_at = self._feed.head, now
        if now - self._moved_at >= AFTER_S and now - self._looked_at < LOOK_EVERY_S:
            return True
        self._looked_at = now
        return False
