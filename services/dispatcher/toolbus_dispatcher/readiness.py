"""What the dispatcher needs to be ready."""

from typing import TYPE_CHECKING

from toolbus_runtime.health import Check, Probe
from toolbus_runtime.readiness import shared_probes

if TYPE_CHECKING:
    from toolbus_dispatcher.app import Dispatcher


def probes(dispatcher: "Dispatcher") -> dict[str, Probe]:
    """Each check by its name."""

    async def consumers() -> Check:
        loops = zip(("commands", "outcomes"), dispatcher.loops, strict=True)
        sick = [name for name, loop in loops if not loop.is_healthy]
        if not sick:
            return Check("consumers", ok=True, detail="reading commands and outcomes")
        hint = "they are made again by themselves; see the log"
        return Check("consumers", ok=False, detail=f"not reading: {', '.join(sick)}", hint=hint)

    async def orphans() -> Check:
        count = dispatcher.orphans.count
        if not count:
            return Check("orphans", ok=True, detail="0 calls that nothing would move")
        hint = "they are taken up again by themselves; report what the log says of orphans.found"
        return Check("orphans", ok=False, is_required=False, detail=f"{count} calls stand still", hint=hint)

    shared = shared_probes(dispatcher.bus, dispatcher.store, dispatcher.settings.database_url)
    return {"nats": shared.pop("nats"), "consumers": consumers, **shared, "orphans": orphans}
