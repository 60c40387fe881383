"""Where a run takes place: an installation with a proxy on every way, and somebody who restarts the dead."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx

from tests.chaos.copier import Copier
from tests.chaos.faults.kind import Shape
from tests.chaos.nest import Nest
from tests.chaos.postgres import DATABASE, Cluster
from tests.chaos.proxy import Link
from tests.chaos.redeliveries import Redeliveries
from tests.chaos.target import Target
from tests.e2e.harness import ROOT, TENANTS, World
from tests.e2e.target import Target as NoTarget
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server_config import HOST

TENANT = TENANTS[0]
LOOK_S = 0.2


class Place:
    """The parts of an installation, for those who use it and for those who break it."""

    def __init__(self, shape: Shape, world: World, target: Target, cluster: Cluster | None) -> None:
        self.shape = shape
        self.world = world
        self.target = target
        self.cluster = cluster
        self.links: dict[str, Link] = {}
        self.copier = Copier()
        self.locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # who breaks something holds it meanwhile
        self.ended: Counter[str] = Counter()  # services that ended although nobody made them
        self.root: Bus
        self.redeliveries: Redeliveries

    @property
    def streams(self) -> Path:
        """The folder of the bus."""
        return self.world.nats.folder / "jetstream"

    @property
    def database(self) -> Cluster:
        """PostgreSQL, in a run that has it."""
        assert self.cluster is not None
        return self.cluster

    @property
    def target_url(self) -> str:
        """Where the executors find the target: behind its proxy."""
        return f"http://{HOST}:{self.links['api_caller-target'].port}"

    async def settle_in(self) -> None:
        """The services run and are ready, behind their proxies."""
        self.root = await self.world.bus(ROOT)
        self.redeliveries = Redeliveries(self.root)
        await self.copier.listen(self.root)
        for name in self.shape.services:
            settings = {"nats_url": f"nats://{HOST}:{self.links[f'{name}-nats'].port}"}
            if f"{name}-postgres" in self.links:
                port = self.links[f"{name}-postgres"].port
                settings["database_url"] = f"postgresql://postgres@{HOST}:{port}/{DATABASE}"
            self.world.start(name, **settings)
        for name in self.shape.replicas("dispatcher"):
            await self.world.until_ready(name)

    async def clients(self) -> list[httpx.AsyncClient]:
        """HTTP to each dispatcher, with the tenant's key."""
        return [await self.world.client(TENANT, name) for name in self.shape.replicas("dispatcher")]

    async def keep(self) -> None:
        """Start again what ended by itself, as whoever runs services does; without end."""
        while True:
            await asyncio.sleep(LOOK_S)
            for name, process in self.world.services.items():
                if not self.locks[name].locked() and not process.is_running:
                    self.ended[name] += 1
                    process.start()


@asynccontextmanager
async def settled(shape: Shape, folder: Path, nest: Nest, target_seed: int | None) -> AsyncIterator[Place]:
    """An installation of this shape, running, in the folder; its processes are gone at the end."""
    cluster: Cluster | None = None
    try:
        if shape.store == "postgres":
            cluster = await asyncio.to_thread(nest.postgres)
            await asyncio.to_thread(cluster.start)
            url = cluster.url(DATABASE)
        else:
            url = nest.sqlite(folder / "toolbus.db")
        world = World(nest.nursery, folder, database_url=url, target=NoTarget())
        async with Target(target_seed, folder / "journal.jsonl") as target, world:
            place = Place(shape, world, target, cluster)
            async with _linked(place):
                await place.settle_in()
                yield place
    finally:
        if cluster is not None:
            (folder / "postgres.log").write_text(cluster.log_text())
            await asyncio.to_thread(cluster.stop)


@asynccontextmanager
async def _linked(place: Place) -> AsyncIterator[None]:
    """Every way of the shape has its proxy."""
    connects = {
        "nats": partial(asyncio.open_connection, HOST, place.world.nats.port),
        "target": partial(asyncio.open_connection, HOST, place.target.port),
    }
    if place.cluster is not None:
        connects["postgres"] = partial(asyncio.open_unix_connection, str(place.cluster.socket))
    try:
        for name in place.shape.links:
            place.links[name] = await Link(name, connects[name.partition("-")[2]]).__aenter__()
        yield
    finally:
        for link in place.links.values():
            await link.__aexit__()
