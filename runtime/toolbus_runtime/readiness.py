"""What every service with a store needs to be ready: the bus, the store, and the newest schema."""

from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.health import Check, Probe
from toolbus_runtime.store.database import at_head
from toolbus_runtime.store.port import EventStore


def shared_probes(bus: Bus, store: EventStore, database_url: str) -> dict[str, Probe]:
    """Each check by its name."""
    is_migrated = False

    async def nats() -> Check:
        if bus.is_connected:
            return Check("nats", ok=True, detail="connected")
        return Check("nats", ok=False, detail="not connected", hint="start NATS, or look at TOOLBUS_NATS_URL")

    async def events() -> Check:
        head = await store.head()
        return Check("store", ok=True, detail=f"{head} events")

    async def migrations() -> Check:
        # Once there is enough, since schemas only grow: a look costs a connection, and on SQLite the write lock.
        nonlocal is_migrated
        is_migrated = is_migrated or await at_head(database_url)
        if is_migrated:
            return Check("migrations", ok=True, detail="at head")
        return Check("migrations", ok=False, detail="behind this code", hint="run `toolbus migrate`")

    return {"nats": nats, "store": events, "migrations": migrations}
