"""Messages come twice, and messages come late."""

import asyncio
from random import Random

from tests.chaos.fault import Draw, Fault, Kind, Shape
from tests.chaos.place import Place
from toolbus_contracts.errors import ToolbusError

SEEN_S = (0.5, 5.0)
LATE_S = (2.0, 13.0)


def _draw(name: str, bounds: tuple[float, float]) -> Draw:
    def draw(random: Random, _: Shape) -> Fault:
        how = {"seen_s": round(random.uniform(*SEEN_S), 2), "copies": random.randint(1, 3)}
        return Fault(name, 0.0, round(random.uniform(*bounds), 2), random.choice(("work", "int", "cmd", "all")), how)

    return draw


async def repeat(place: Place, fault: Fault) -> None:
    """Copies of what was published lately, and of what lies in the streams, are published again after `for_s`."""
    copies = place.copier.lately(fault.whom, float(fault.how["seen_s"]))
    await asyncio.sleep(fault.for_s)
    for message in copies * int(fault.how["copies"]):
        try:
            await place.root.publish(message.subject, message.data)
        except ToolbusError:  # the bus is away: it is another fault's turn
            await asyncio.sleep(0.1)


KINDS = (
    Kind(
        "duplicates",
        "work, outcomes or commands of the last seconds are published again, up to three times",
        _draw("duplicates", (0.0, 0.2)),
        repeat,
    ),
    Kind("late_duplicates", "the same, 2 to 13 s later", _draw("late_duplicates", LATE_S), repeat),
)
