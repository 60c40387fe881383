"""The machines of a run, where the C library is there to break them: their disk, their memory of it, their clocks."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

from tests.chaos import shim
from tests.chaos.postgres import Cluster

OWN_CLOCK = Path("/proc/self/cwd/clock")  # each process runs in a folder of its own: one name, many clocks


def clocks(library: Path) -> dict[str, str]:
    """What services are started under whose clocks alone can be off."""
    return shim.environment(library, clock=OWN_CLOCK)


class Machines:
    """
    Faults below the programs: made before anything runs, under the environments that it gives.

    `live` is the folder of the database, `clocks` are the files that say how far off each party's clock is.
    """

    def __init__(self, library: Path, folder: Path, cluster: Cluster | None) -> None:
        self.live = cluster.data if cluster is not None else folder / "db"
        self._library = library
        self._full = (cluster.directory if cluster is not None else folder) / "disk-full"
        self._folder = folder
        self._cluster = cluster
        shim.begin(self.live)

    @property
    def of_services(self) -> dict[str, str]:
        """What services are started under that have the database on their own disk."""
        return shim.environment(self._library, live=self.live, disk_full=self._full, clock=OWN_CLOCK)

    @property
    def of_database(self) -> Mapping[str, str]:
        """What PostgreSQL is started under."""
        return shim.environment(self._library, live=self.live, disk_full=self._full, clock=self._clock("postgres"))

    def is_under(self, pid: int) -> bool:
        """Whether a process has the library in it: the loader goes on without one that it cannot read."""
        return shim.is_loaded(self._library, pid)

    def lose_power(self, seed: str) -> shim.Lost:
        """What was not synced is gone, in part or as a whole; every process with a hand on it is dead."""
        random = Random(seed)
        return shim.power_loss(self.live, torn=random if random.random() < 0.5 else None)

    def fill_disk(self, *, every_write: bool) -> None:
        """Nothing more fits on the disk of the database."""
        shim.fill_disk(self._full, every_write=every_write)

    def free_disk(self) -> None:
        """There is room again."""
        shim.free_disk(self._full)

    def jump(self, whom: str, seconds: float) -> None:
        """The clock of a service or of `postgres` is so far off."""
        shim.jump(self._clock(whom), seconds)

    def _clock(self, whom: str) -> Path:
        if whom == "postgres" and self._cluster is not None:
            return self._cluster.directory / "clock"
        return self._folder / whom / "clock"
