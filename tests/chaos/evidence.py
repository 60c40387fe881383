"""What is known after a run, as plain values: the log, the target's journal, what was accepted, what was broken."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from toolbus_contracts.values import Json


class Event(NamedTuple):
    """One event of a call, as it lies in the store."""

    position: int
    call_id: str
    kind: str
    at: datetime
    data: Mapping[str, Json]

    def __str__(self) -> str:
        attempt = f" {self.data['attempt']}" if "attempt" in self.data else ""
        return f"#{self.position} {self.at:%H:%M:%S.%f} {self.kind.split('.')[1]}{attempt}"


class Request(NamedTuple):
    """
    One request as the target saw it: `call_id` is its Idempotency-Key, `at` is in seconds since 1970.

    `mood` is how the target treated it, `status` what it answered, or would have (0: nothing). Without effect were
    reads, what was cut before it was read whole, and what was answered with an error. A connection that was cut
    before anything was read has no name.
    """

    call_id: str
    name: str
    method: str
    at: float
    mood: str
    status: int
    has_effect: bool

    def __str__(self) -> str:
        return f"{self.method} {self.name} at {datetime.fromtimestamp(self.at).astimezone():%H:%M:%S.%f} ({self.mood})"


class Span(NamedTuple):
    """When something was broken: seconds since 1970; `skew_s` is how far off it put a clock."""

    kind: str
    whom: str
    began: float
    ended: float
    skew_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """A call that the client was told of as accepted."""

    call_id: str
    name: str
    tool: str


@dataclass(frozen=True)
class Evidence:
    """
    Everything that the checker looks at.

    `unsafe_tools` may not be repeated; `retry_on` are statuses after which they may all the same; `writing_tools`
    are those and the others that change something. `shown` is what the lists of the product tell, by call id;
    `chain_fault` what the verification of the store found, `orphans` what the product counts as such.
    """

    events: tuple[Event, ...]
    requests: tuple[Request, ...]
    accepted: tuple[Accepted, ...]
    faults: tuple[Span, ...] = ()
    unsafe_tools: frozenset[str] = frozenset()
    writing_tools: frozenset[str] = frozenset()
    retry_on: frozenset[int] = frozenset()
    shown: Mapping[str, str] = field(default_factory=dict)
    chain_fault: str | None = None
    orphans: int = 0
