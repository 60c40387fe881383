"""Where a run takes place: an installation with a proxy on every way, and somebody who restarts the dead."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import httpx

from tests.chaos.copier import Copier
from tests.chaos.fault import Shape
from tests.chaos.machine import Machines
from tests.chaos.nest import Nest
from tests.chaos.plan import Plan
from tests.chaos.postgres import DATABASE, Cluster
from tests.chaos.proxy import Link
from tests.chaos.redeliveries import Redeliveries
from tests.chaos.target import Target
from tests.e2e.harness import ROOT, TENANTS, World
from tests.e2e.nursery import Nursery
from tests.e2e.target import Target as NoTarget
from tests.ports import free_port
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server_config import HOST

TENANT = TENANTS[0]
LOOK_S = 0.2
SHOWN_CHARS = 2000


class Place:
    """The parts of an installation, for those who use it and for those who break it."""

    def __init__(
        self, shape: Shape, world: World, target: Target, *, cluster: Cluster | None, machines: Machines | None
    ) -> None:
        self.shape = shape
        self.world = world
        self.target = target
        self.cluster = cluster
        self.links: dict[str, Link] = {}
        self.copier = Copier()
        self.locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # who breaks something holds it meanwhile
        self.ended: list[str] = []  # what services said last that ended although nobody made them
        self.root: Bus
        self.redeliveries: Redeliveries
        self._machines = machines

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
    def has_no_machines(self) -> bool:
        """Whether the C library is not there to break them."""
        return self._machines is None

    @property
    def machines(self) -> Machines:
        """The machines, in a run that has the C library."""
        assert self._machines is not None
        return self._machines

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
        for name in (*self.shape.replicas("dispatcher"), *self.shape.replicas("approvals")):
            await self.world.until_ready(name)
        if self._machines is not None:
            assert all(self._machines.is_under(process.pid) for process in self.world.services.values())

    async def clients(self) -> list[httpx.AsyncClient]:
        """HTTP to each dispatcher, with the tenant's key."""
        return [await self.world.client(TENANT, name) for name in self.shape.replicas("dispatcher")]

    async def desks(self) -> list[httpx.AsyncClient]:
        """HTTP to each process that serves waits: the approvals services behind proxies, the dispatchers before one."""
        found = await self.clients()
        for name in self.shape.replicas("approvals"):
            http = await self.world.client(TENANT, name)
            http.base_url = f"http://{HOST}:{self.links[f'people-{name}'].port}"
            found.append(http)
        return found

    async def keep(self) -> None:
        """Start again what ended by itself, as whoever runs services does; without end."""
        while True:
            await asyncio.sleep(LOOK_S)
            for name, process in self.world.services.items():
                if not self.locks[name].locked() and not process.is_running:
                    self.ended.append(f"{name} ended by itself: {_last_lines(process.log)}")
                    process.start()


def _last_lines(log: Path) -> str:
    return log.read_text(errors="replace")[-SHOWN_CHARS:]


@asynccontextmanager
async def settled(plan: Plan, folder: Path, nest: Nest) -> AsyncIterator[Place]:
    """The installation of a plan, running, in the folder; its processes are gone at the end."""
    shape = plan.shape
    async with AsyncExitStack() as stack:
        cluster = await _cluster(stack, folder, nest) if shape.store == "postgres" else None
        url = cluster.url(DATABASE) if cluster is not None else nest.sqlite(folder / "db" / "toolbus.db")
        machines = Machines(nest.library, folder, cluster) if nest.library is not None else None
        nursery = nest.nursery
        if machines is not None and cluster is not None:
            cluster.put_under(machines.of_database)
        elif machines is not None and plan.touches_disk:
            nursery = await _nursery(stack, machines)
        if cluster is not None:
            await asyncio.to_thread(cluster.start)
        target = Target(plan.seed if plan.is_target_moody else None, folder / "journal.jsonl")
        world = World(nursery, folder, database_url=url, target=NoTarget())
        place = Place(shape, world, target, cluster=cluster, machines=machines)
        await stack.enter_async_context(target)
        await stack.enter_async_context(world)
        await stack.enter_async_context(_linked(place))
        await place.settle_in()
        yield place


async def _cluster(stack: AsyncExitStack, folder: Path, nest: Nest) -> Cluster:
    """A fresh PostgreSQL, gone at the end; what it said stays in the folder."""
    cluster = await asyncio.to_thread(nest.postgres)

    async def end() -> None:
        (folder / "postgres.log").write_text(cluster.log_text())
        await asyncio.to_thread(cluster.stop)

    stack.push_async_callback(end)
    return cluster


async def _nursery(stack: AsyncExitStack, machines: Machines) -> Nursery:
    """Where services of this run alone are born: under the library."""
    nursery = Nursery(machines.of_services)
    await asyncio.to_thread(nursery.__enter__)
    stack.callback(nursery.__exit__)
    return nursery


@asynccontextmanager
async def _linked(place: Place) -> AsyncIterator[None]:
    """Every way of the shape has its proxy."""
    connects = {
        "nats": partial(asyncio.open_connection, HOST, place.world.nats.port),
        "target": partial(asyncio.open_connection, HOST, place.target.port),
    }
    for name in place.shape.replicas("approvals"):
        port = place.world.ports.setdefault(name, free_port())
        connects[name] = partial(asyncio.open_connection, HOST, port)
    if place.cluster is not None:
        connects["postgres"] = partial(asyncio.open_unix_connection, str(place.cluster.socket))
    try:
        for name in place.shape.links:
            place.links[name] = await Link(name, connects[name.partition("-")[2]]).__aenter__()
        yield
    finally:
        for link in place.links.values():
            await link.__aexit__()
