"""What the machine does: it loses power, its disk is full, its clock jumps. Made by the C library."""

import asyncio
import shutil
from random import Random

from tests.chaos.fault import Fault, Kind, Shape
from tests.chaos.place import Place

DOWN_S = (0.0, 1.0)
FULL_S = (0.5, 4.0)
JUMPED_S = (0.5, 5.0)
SKEWS_S = (-86_400.0, -3_600.0, -30.0, -3.0, 3.0, 30.0, 3_600.0, 86_400.0)


def _draw_power_loss(random: Random, shape: Shape) -> Fault:
    whom = "postgres" if shape.store == "postgres" else "dispatcher"
    how = {"bus": random.choice(("kept", "lost")), "draw": random.randrange(10**6)}
    return Fault("power_loss", 0.0, round(random.uniform(*DOWN_S), 2), whom, how)


async def lose_power(place: Place, fault: Fault) -> None:
    """Everything on the database's machine dies at once; of its files only what was synced is left."""
    if place.cluster is not None:
        await asyncio.to_thread(place.cluster.kill)
        await asyncio.to_thread(place.machines.lose_power, str(fault.how["draw"]))
        await asyncio.sleep(fault.for_s)
        await asyncio.to_thread(place.cluster.start)
        return
    world = place.world
    await asyncio.gather(world.nats.kill(), *(process.kill() for process in world.services.values()))
    world.nursery.__exit__()  # it has the library in it too
    await asyncio.to_thread(place.machines.lose_power, str(fault.how["draw"]))
    if fault.how["bus"] == "lost":
        await asyncio.to_thread(shutil.rmtree, place.streams)
    await asyncio.to_thread(world.nursery.__enter__)
    await world.nats.start()
    for process in world.services.values():
        process.start()


def _locks(fault: Fault, shape: Shape) -> list[str]:
    """One machine holds everything where the database is a file."""
    return ["postgres"] if shape.store == "postgres" else ["nats", *shape.services]


def _draw_disk_full(random: Random, shape: Shape) -> Fault:
    whom = "postgres" if shape.store == "postgres" else "dispatcher"
    how = {"writes": random.choice(("every", "longer"))}
    return Fault("disk_full", 0.0, round(random.uniform(*FULL_S), 2), whom, how)


async def fill_disk(place: Place, fault: Fault) -> None:
    """The disk of the database is full, and then somebody makes room; a server that gave up is started again."""
    place.machines.fill_disk(every_write=fault.how["writes"] == "every")
    try:
        await asyncio.sleep(fault.for_s)
    finally:
        place.machines.free_disk()
    if place.cluster is not None:
        await asyncio.to_thread(place.cluster.revive)


def _draw_jump(random: Random, shape: Shape) -> Fault:
    parties = [*shape.services, *(["postgres"] if shape.store == "postgres" else [])]
    how = {"skew_s": random.choice(SKEWS_S)}
    return Fault("clock_jump", 0.0, round(random.uniform(*JUMPED_S), 2), random.choice(parties), how)


async def jump_clock(place: Place, fault: Fault) -> None:
    """One party's wall clock is off, and then it is set right."""
    place.machines.jump(fault.whom, float(fault.how["skew_s"]))
    try:
        await asyncio.sleep(fault.for_s)
    finally:
        place.machines.jump(fault.whom, 0.0)


KINDS = (
    Kind(
        "power_loss",
        "kill -9 of all that runs where the database is, and everything that was not synced is gone, or half of it",
        _draw_power_loss,
        lose_power,
        locks=_locks,
        needs_shim=True,
        touches_disk=True,
    ),
    Kind(
        "disk_full",
        "writes to the database's disk fail with ENOSPC for up to 4 s",
        _draw_disk_full,
        fill_disk,
        needs_shim=True,
        touches_disk=True,
    ),
    Kind(
        "clock_jump",
        "one wall clock is 3 s to a day off for up to 5 s, and is then set right",
        _draw_jump,
        jump_clock,
        locks=lambda fault, _: [f"clock of {fault.whom}"],  # whose clock is off may die meanwhile
        needs_shim=True,
    ),
)
