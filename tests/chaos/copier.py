"""Keeps what was published on the bus lately, so that it can be published again."""

import asyncio
from collections import deque
from typing import NamedTuple

from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.listening import Incoming

HEARD = {"work": "toolbus.work.>", "int": "toolbus.int.>", "cmd": "toolbus.cmd.>"}
KEPT = 400  # messages; a copy of more would be a load of its own


class Copy(NamedTuple):
    """A message as it was published, and when, by the loop's clock."""

    at: float
    subject: str
    data: bytes


class Copier:
    """Listens, as a user that may hear everything, to work, outcomes and commands."""

    def __init__(self) -> None:
        self._heard: dict[str, deque[Copy]] = {name: deque(maxlen=KEPT) for name in HEARD}

    async def listen(self, root: Bus) -> None:
        """Everything that is published from now on is kept for a while."""
        for name, subject in HEARD.items():
            await root.subscribe(subject, self._keep(name))

    def lately(self, what: str, seconds: float) -> list[Copy]:
        """What was published in the last seconds: `work`, `int`, `cmd` or `all`."""
        after = asyncio.get_running_loop().time() - seconds
        names = HEARD if what == "all" else (what,)
        return [copy for name in names for copy in self._heard[name] if copy.at >= after]

    def _keep(self, name: str) -> "Keep":
        return Keep(self._heard[name])


class Keep:
    """Takes messages into one list."""

    def __init__(self, heard: deque[Copy]) -> None:
        self._heard = heard

    def __call__(self, message: Incoming) -> None:
        """A message came."""
        self._heard.append(Copy(asyncio.get_running_loop().time(), message.subject, message.data))
