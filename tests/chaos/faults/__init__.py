"""Every kind of fault by its name."""

from tests.chaos.fault import Kind
from tests.chaos.faults import deliveries, machine, network, processes, servers

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (*processes.KINDS, *servers.KINDS, *network.KINDS, *deliveries.KINDS, *machine.KINDS)
}
