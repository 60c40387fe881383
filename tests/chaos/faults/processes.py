"""Services die, and services stand still."""

import asyncio
import signal
from random import Random

from tests.chaos.fault import Fault, Kind, Shape
from tests.chaos.place import Place

DOWN_S = (0.0, 2.0)
BLINK_S = (3.5, 6.0)  # longer than a lease
COMA_S = (12.5, 14.0)  # longer than a start's ten seconds and the tools' two


def _draw_kill(name: str, service: str) -> Kind:
    def draw(random: Random, shape: Shape) -> Fault:
        return Fault(name, 0.0, round(random.uniform(*DOWN_S), 2), random.choice(shape.replicas(service)))

    return Kind(name, f"kill -9 of one {service}, another one starts up to 2 s later", draw, kill, weight=1.5)


def _draw_pause(name: str, service: str) -> Kind:
    def draw(random: Random, shape: Shape) -> Fault:
        bounds = random.choice((BLINK_S, BLINK_S, COMA_S))
        return Fault(name, 0.0, round(random.uniform(*bounds), 2), random.choice(shape.replicas(service)))

    about = f"SIGSTOP of one {service}, beyond its lease or beyond the end of every start it holds, then SIGCONT"
    return Kind(name, about, draw, pause)


async def kill(place: Place, fault: Fault) -> None:
    """Kill -9, and another process in its place after a while."""
    process = place.world.services[fault.whom]
    await process.kill()
    await asyncio.sleep(fault.for_s)
    process.start()


async def pause(place: Place, fault: Fault) -> None:
    """The process stands still, as on a machine that swaps or is moved, and goes on as if nothing had been."""
    process = place.world.services[fault.whom]
    process.signal(signal.SIGSTOP)
    try:
        await asyncio.sleep(fault.for_s)
    finally:
        process.signal(signal.SIGCONT)


KINDS = (
    _draw_kill("kill_dispatcher", "dispatcher"),
    _draw_kill("kill_api_caller", "api_caller"),
    _draw_kill("kill_approvals", "approvals"),
    _draw_pause("pause_dispatcher", "dispatcher"),
    _draw_pause("pause_api_caller", "api_caller"),
    _draw_pause("pause_approvals", "approvals"),
)
