"""Every kind of fault by its name."""

from tests.chaos.faults import deliveries, network, processes, servers
from tests.chaos.faults.kind import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (*processes.KINDS, *servers.KINDS, *network.KINDS, *deliveries.KINDS)
}
