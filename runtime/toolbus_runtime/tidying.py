"""Tidying: after much work, when it is calm again, memory that nobody uses goes back to the system."""

import asyncio
import ctypes
import gc

from toolbus_runtime.feed import Feed

LOOK_S = 10.0
MUCH = 10_000  # events; before so many a look through everything is not worth the tenths of a second that it may take


class Tidying:
    """
    Looks for garbage and trims the heap once after much was stored, when nothing more is.

    The collector is set to look through everything hardly ever (`process`), and the C library keeps what was freed
    in between: a service that handled a hundred thousand calls would keep what it needed at its busiest for good.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._tidied_at = 0  # head of the log then
        self.count = 0

    async def run(self) -> None:
        """Tidy up until cancelled."""
        seen = self._feed.head
        while True:
            await asyncio.sleep(LOOK_S)
            head = self._feed.head
            if head == seen and head - self._tidied_at >= MUCH:
                self._tidied_at = head
                self.count += 1
                tidy_up()
            seen = head


def tidy_up() -> None:
    """What is not used is given back, as far as the platform knows how."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
    if trim is not None:
        trim(0)
