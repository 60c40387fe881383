"""Does to a place what the plan says, and writes down when."""

import asyncio
import time
from collections import Counter

from tests.chaos.evidence import Span
from tests.chaos.faults import KINDS
from tests.chaos.faults.kind import Fault
from tests.chaos.place import Place


class Injector:
    """
    Each fault begins at its time, or as soon as nothing else is being done to the same part.

    `spans` are the faults that ended; `left_out` counts, by kind, those that cannot be made on this machine.
    """

    def __init__(self, place: Place, faults: tuple[Fault, ...]) -> None:
        self.spans: list[Span] = []
        self.left_out: Counter[str] = Counter()
        self._place = place
        self._faults = faults

    async def run(self) -> None:
        """Everything has been done, and nothing is broken any more."""
        async with asyncio.TaskGroup() as group:
            for fault in self._faults:
                group.create_task(self._strike(fault))

    async def _strike(self, fault: Fault) -> None:
        await asyncio.sleep(fault.at_s)
        async with self._place.locks[fault.whom]:
            began = time.time()
            await KINDS[fault.kind].strike(self._place, fault)
            self.spans.append(Span(fault.kind, fault.whom, began, time.time()))
