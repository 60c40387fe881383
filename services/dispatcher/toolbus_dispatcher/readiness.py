"""What the dispatcher needs to be ready."""

from typing import TYPE_CHECKING

from toolbus_runtime.health import Check, Probe
from toolbus_runtime.store.database import at_head

if TYPE_CHECKING:
    from toolbus_dispatcher.app import Dispatcher


def probes(dispatcher: "Dispatcher") -> dict[str, Probe]:
    """Each check by its name."""
    is_migrated = False

    async def nats() -> Check:
        if dispatcher.bus.is_connected:
            return Check("nats", ok=True, detail="connected")
        return Check("nats", ok=False, detail="not connected", hint="start NATS, or look at TOOLBUS_NATS_URL")

    async def consumers() -> Check:
        loops = zip(("commands", "outcomes"), dispatcher.loops, strict=True)
        sick = [name for name, loop in loops if not loop.is_healthy]
        if not sick:
            return Check("consumers", ok=True, detail="reading commands and outcomes")
        hint = "they are made again by themselves; see the log"
        return Check("consumers", ok=False, detail=f"not reading: {', '.join(sick)}", hint=hint)

    async def store() -> Check:
        head = await dispatcher.store.head()
        return Check("store", ok=True, detail=f"{head} events")

    async def migrations() -> Check:
        # Once there is enough, since schemas only grow: a look costs a connection, and on SQLite the write lock.
        nonlocal is_migrated
        is_migrated = is_migrated or await at_head(dispatcher.settings.database_url)
        if is_migrated:
            return Check("migrations", ok=True, detail="at head")
        return Check("migrations", ok=False, detail="behind this code", hint="run `toolbus migrate`")

    async def orphans() -> Check:
        count = dispatcher.orphans.count
        if not count:
            return Check("orphans", ok=True, detail="0 calls that nothing would move")
        hint = "they are taken up again by themselves; report what the log says of orphans.found"
        return Check("orphans", ok=False, is_required=False, detail=f"{count} calls stand still", hint=hint)

    return {"nats": nats, "consumers": consumers, "store": store, "migrations": migrations, "orphans": orphans}
