"""NATS and PostgreSQL die, are restarted, and the bus loses what it held."""

import asyncio
import shutil
from random import Random

from tests.chaos.fault import Draw, Fault, Kind, Shape
from tests.chaos.place import Place

DOWN_S = (0.0, 2.5)
POSTGRES = frozenset({"postgres"})


def _down(name: str, whom: str) -> Draw:
    def draw(random: Random, _: Shape) -> Fault:
        return Fault(name, 0.0, round(random.uniform(*DOWN_S), 2), whom)

    return draw


async def kill_nats(place: Place, fault: Fault) -> None:
    """Kill -9 of the bus."""
    await place.world.nats.kill()
    await asyncio.sleep(fault.for_s)
    await place.world.nats.start()


async def restart_nats(place: Place, fault: Fault) -> None:
    """The bus is stopped in order and started again."""
    await place.world.nats.stop()
    await asyncio.sleep(fault.for_s)
    await place.world.nats.start()


async def lose_bus(place: Place, fault: Fault) -> None:
    """The bus dies and starts with nothing."""
    await place.world.nats.kill()
    await asyncio.to_thread(shutil.rmtree, place.streams)
    await asyncio.sleep(fault.for_s)
    await place.world.nats.start()


async def roll_back_bus(place: Place, fault: Fault) -> None:
    """The bus is stopped for a copy, dies `age_s` seconds later, and starts with that copy."""
    nats, copy = place.world.nats, place.world.folder / "older"
    await nats.stop()
    await asyncio.to_thread(shutil.copytree, place.streams, copy)
    await nats.start()
    await asyncio.sleep(float(fault.how["age_s"]))
    await nats.kill()
    await asyncio.to_thread(shutil.rmtree, place.streams)
    await asyncio.to_thread(copy.rename, place.streams)
    await asyncio.sleep(fault.for_s)
    await nats.start()


def _draw_roll_back(random: Random, _: Shape) -> Fault:
    how = {"age_s": round(random.uniform(0.3, 4.0), 2)}
    return Fault("roll_back_bus", 0.0, round(random.uniform(*DOWN_S), 2), "nats", how)


async def kill_postgres(place: Place, fault: Fault) -> None:
    """Kill -9 of every process of the database."""
    await asyncio.to_thread(place.database.kill)
    await asyncio.sleep(fault.for_s)
    await asyncio.to_thread(place.database.start)


async def restart_postgres(place: Place, fault: Fault) -> None:
    """The database is shut down in order, with its connections cut, and started again."""
    await asyncio.to_thread(place.database.shut_down)
    await asyncio.sleep(fault.for_s)
    await asyncio.to_thread(place.database.start)


KINDS = (
    Kind("kill_nats", "kill -9 of the NATS server", _down("kill_nats", "nats"), kill_nats),
    Kind("restart_nats", "NATS is stopped in order and started again", _down("restart_nats", "nats"), restart_nats),
    Kind("lose_bus", "NATS is killed and JetStream's folder deleted", _down("lose_bus", "nats"), lose_bus),
    Kind(
        "roll_back_bus",
        "NATS is killed and JetStream's folder replaced by a copy of up to 4 s before",
        _draw_roll_back,
        roll_back_bus,
    ),
    Kind(
        "kill_postgres",
        "kill -9 of every process of PostgreSQL",
        _down("kill_postgres", "postgres"),
        kill_postgres,
        POSTGRES,
        weight=1.5,
    ),
    Kind(
        "restart_postgres",
        "PostgreSQL is shut down in order, which cuts its connections, and started again",
        _down("restart_postgres", "postgres"),
        restart_postgres,
        POSTGRES,
    ),
)
