"""Lanes: held calls in the order in which they go, those of one tenant under the same limits together."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from toolbus_contracts.tools import Limit
from toolbus_dispatcher.core.limits import Count

Where = Literal["held", "granted", "out", "later", "still"]
Head: TypeAlias = tuple[int, int, str]  # of a lane: urgency (less is more), position, id of the call


class OpenCall(NamedTuple):
    """What the backlog has to know of a call. `attempt` is the last one that was given to executors, 0 before that."""

    call_id: str
    tenant: str
    priority: int
    position: int
    limits: tuple[Limit, ...] = ()
    attempt: int = 0


class Grant(NamedTuple):
    """A call that may go now, with the number of the attempt that is to begin."""

    tenant: str
    call_id: str
    attempt: int


@dataclass(slots=True)
class Lane:
    """Held calls of one tenant under the same limits: the most urgent first, then the oldest."""

    tenant: str
    counts: tuple[Count, ...]
    key: tuple[object, ...]
    heap: list[Head] = field(default_factory=list)
    held: int = 0
    tickets: int = 0


class Place(NamedTuple):
    """Where a lane stands among those of its tenant. No two heads are the same: lanes are not compared."""

    head: Head
    lane: Lane


class Turn(NamedTuple):
    """Where a tenant stands among the others: by how much of the executors it has, then by its first head."""

    burden: float
    head: Head
    lanes: list[Place]


@dataclass(slots=True)
class Ticket:
    """
    Where one open call is.

    `held` in its lane · `granted`, let go and not heard of yet · `out` with the executors · `later`, its
    next attempt is due some time · `still`, somebody has to act.
    """

    lane: Lane
    priority: int
    position: int
    attempt: int
    where: Where = "still"
