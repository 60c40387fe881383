"""Health: what `/readyz` and `toolbus doctor` ask. Liveness is the process; readiness is what it depends on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any

from toolbus_contracts.errors import ToolbusError

TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Check:
    """
    What one check found; `hint` says what to do when it is not ok.

    A process is ready without what is not `is_required`: it is wrong all the same.
    """

    name: str
    ok: bool
    detail: str
    hint: str = ""
    is_required: bool = True


Probe = Callable[[], Awaitable[Check]]


async def examine(probes: dict[str, Probe]) -> list[Check]:
    """Run every check; one that fails or takes too long is not ok, and says so."""
    return list(await asyncio.gather(*(_guarded(name, probe) for name, probe in probes.items())))


async def _guarded(name: str, probe: Probe) -> Check:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await probe()
    except TimeoutError:
        return Check(name, ok=False, detail=f"no answer within {TIMEOUT_S:g} s", hint="is it running and reachable?")
    except (ToolbusError, OSError) as error:
        return Check(name, ok=False, detail=str(error)[:300], hint="is it running and reachable?")


def report(checks: list[Check]) -> dict[str, Any]:
    """Tell what was found."""
    return {
        "ready": all(check.ok or not check.is_required for check in checks),
        "checks": [_told(check) for check in checks],
    }


def _told(check: Check) -> dict[str, Any]:
    return {name: value for name, value in asdict(check).items() if name != "is_required"}
