"""The ways between the parties are slow, silent, cut, or late."""

import asyncio
from random import Random

from tests.chaos.fault import Draw, Fault, Kind, Shape
from tests.chaos.place import Place
from tests.chaos.proxy import Weather

LASTS_S = (0.3, 4.0)
LONG_S = (6.0, 9.0)  # longer than an ask waits, and than a leader's lease
TARGET_S = (0.2, 1.0)  # what an executor sends meanwhile fails or is in doubt, and is lost to every later fault
ABOUT: dict[Weather, str] = {
    "slow": "every piece that passes one link waits up to 0.3 s",
    "held": "nothing passes one link, and then all of it does",
    "lost": "one link swallows everything, and then cuts those who lost something",
    "reset": "one link resets its connections, and every new one",
    "half": "one link cuts connections in the middle of an answer",
}


def _draw(weather: Weather) -> Draw:
    def draw(random: Random, shape: Shape) -> Fault:
        whom = random.choice(shape.links)
        bounds = LASTS_S
        if whom.endswith("-target"):
            bounds = TARGET_S
        elif weather in {"held", "lost"} and random.random() < 1 / 3:
            bounds = LONG_S
        how = {"delay_s": round(random.uniform(0.02, 0.3), 3)} if weather == "slow" else {}
        return Fault(f"{weather}_link", 0.0, round(random.uniform(*bounds), 2), whom, how)

    return draw


def _kind(weather: Weather) -> Kind:
    async def strike(place: Place, fault: Fault) -> None:
        link = place.links[fault.whom]
        link.turn(weather, delay_s=float(fault.how.get("delay_s", 0.0)))
        try:
            await asyncio.sleep(fault.for_s)
        finally:
            link.clear()

    return Kind(f"{weather}_link", ABOUT[weather], _draw(weather), strike)


KINDS = tuple(_kind(weather) for weather in ABOUT)
