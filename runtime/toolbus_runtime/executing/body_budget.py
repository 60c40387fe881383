"""How much of large answers this process holds at once: who wants more waits for those before it."""

import asyncio
from collections import deque


class BodyBudget:
    """
    Room for `total_bytes` of bodies, given in the order in which it is asked for.

    Whoever asks, asks once and for all that it may need: answers that grew side by side, each waiting
    for the other's room, would never end. One that wants more than there is gets all of it.
    """

    def __init__(self, total_bytes: int) -> None:
        self._total = total_bytes
        self._free = total_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def free_bytes(self) -> int:
        """What nobody holds."""
        return self._free

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for room."""
        return bool(self._waiting)

    async def take(self, wanted: int) -> int:
        """So much is taken, at most the whole; waits until it is free."""
        wanted = min(wanted, self._total)
        if not self._waiting and wanted <= self._free:
            self._free -= wanted
            return wanted
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, turn))
        try:
            await turn
        except asyncio.CancelledError:
            self.give_back(0 if turn.cancelled() else wanted)
            raise
        return wanted

    def give_back(self, held: int) -> None:
        """So much is free again, for whoever waits."""
        self._free += held
        self._waiting = deque((wanted, turn) for wanted, turn in self._waiting if not turn.cancelled())
        while self._waiting and self._waiting[0][0] <= self._free:
            wanted, turn = self._waiting.popleft()
            self._free -= wanted
            turn.set_result(None)
