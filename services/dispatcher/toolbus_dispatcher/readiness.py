"""What the dispatcher needs to be ready."""

from typing import TYPE_CHECKING

from toolbus_runtime.health import Check, Probe
from toolbus_runtime.store.database import at_head

if TYPE_CHECKING:
    from toolbus_dispatcher.app import Dispatcher


def probes(dispatcher: "Dispatcher") -> dict[str, Probe]:
    """Each check by its name."""

    async def nats() -> Check:
        ok = dispatcher.bus.is_connected
        return Check("nats", ok, "connected" if ok else "not connected", "" if ok else "start NATS, or look at TOOLBUS_NATS_URL")

    async def consumers() -> Check:
        sick = [name for name, loop in zip(("commands", "outcomes"), dispatcher.loops, strict=True) if not loop.is_healthy]
        detail = f"not reading: {', '.join(sick)}" if sick else "reading commands and outcomes"
        return Check("consumers", not sick, detail, "they are made again by themselves; see the log" if sick else "")

    async def store() -> Check:
        head = await dispatcher.store.head()
        return Check("store", ok=True, detail=f"{head} events")

    async def migrations() -> Check:
        ok = await at_head(dispatcher.settings.database_url)
        return Check("migrations", ok, "at head" if ok else "behind this code", "" if ok else "run `toolbus migrate`")

    return {"nats": nats, "consumers": consumers, "store": store, "migrations": migrations}
