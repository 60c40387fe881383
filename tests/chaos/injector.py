"""Does to a place what the plan says, and writes down when."""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack

from tests.chaos.evidence import Span
from tests.chaos.fault import Fault
from tests.chaos.faults import KINDS
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
        kind = KINDS[fault.kind]
        if kind.needs_shim and self._place.has_no_machines:
            self.left_out[fault.kind] += 1
            return
        await asyncio.sleep(fault.at_s)
        async with AsyncExitStack() as stack:
            for name in sorted(kind.locks(fault, self._place.shape)):  # in one order: nobody waits for each other
                await stack.enter_async_context(self._place.locks[name])
            began = time.time()
            await kind.strike(self._place, fault)
            skew_s = float(fault.how.get("skew_s", 0.0))
            self.spans.append(Span(fault.kind, fault.whom, began, time.time(), skew_s))
