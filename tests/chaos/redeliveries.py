"""How often the bus delivered something again, as its durables count."""

import asyncio

from toolbus_contracts.errors import ToolbusError
from toolbus_contracts.subjects import DURABLES
from toolbus_runtime.bus.connection import Bus

LOOK_S = 0.5


class Redeliveries:
    """
    Looks at every durable now and then; a durable that was made anew counts from nothing.

    A durable numbers its deliveries and knows how far it came in its stream: what it delivered beyond that
    came again. What happened between the last look and a loss is not seen, so the truth is a little higher.
    """

    def __init__(self, root: Bus) -> None:
        self._root = root
        self._found: dict[tuple[str, str, str], int] = {}

    @property
    def count(self) -> int:
        """How many so far."""
        return sum(self._found.values())

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Look once; nothing is seen while the bus is away."""
        for durable in DURABLES.values():
            try:
                told = await self._root.api(f"CONSUMER.INFO.{durable.stream}.{durable.name}", timeout_s=1.0)
            except ToolbusError:
                continue
            delivered = told["delivered"]
            again = max(0, delivered["consumer_seq"] - delivered["stream_seq"])
            key = (durable.stream, durable.name, told["created"])
            self._found[key] = max(again, self._found.get(key, 0))
