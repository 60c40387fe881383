"""What `toolbus up` is told."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class UpOptions:
    """
    How everything is run on this machine.

    `data` holds databases, streams and credentials; port 0 takes a free one; `database` and `nats` name
    servers that run already; `allow_egress` is a comma list of what calls may reach although the guard
    would refuse it.
    """

    data: Path = Path(".toolbus")
    port: int = 8700
    nats_port: int = 4222
    database: str | None = None
    nats: str | None = None
    processes: bool = False
    allow_egress: str = ""
