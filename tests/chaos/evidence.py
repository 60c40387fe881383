"""What is known after a run, as plain values: the log, the target's journal, what was accepted, what was broken."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from toolbus_contracts.values import Json


class Event(NamedTuple):
    """One event of a call, or of one of its waits, as it lies in the store."""

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
    before anything was read has no name. `said` are the arguments that arrived, by path and body; none when it was
    not read whole.
    """

    call_id: str
    name: str
    method: str
    at: float
    mood: str
    status: int
    has_effect: bool
    said: Mapping[str, Json] | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.name} at {datetime.fromtimestamp(self.at).astimezone():%H:%M:%S.%f} ({self.mood})"


class Span(NamedTuple):
    """When something was broken: seconds since 1970; `skew_s` is how far off it put a clock."""

    kind: str
    whom: str
    began: float
    ended: float
    skew_s: float = 0.0


class Word(NamedTuple):
    """
    What somebody said about a wait until it was answered, and the answer: `status`, and `code` when it was refused.

    `what` is `approve`, `edit`, `deny`, `fill` or `complete`; `digest` what it spoke of (of an edit: what it made),
    `value` the arguments or what the function came to. `subject` is who spoke.
    """

    call_id: str
    wait_id: str
    what: str
    subject: str
    digest: str
    value: Json
    status: int
    code: str = ""

    def __str__(self) -> str:
        return f"{self.subject} said {self.what} of {self.wait_id or self.call_id}, answered {self.status} {self.code}"


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

    `waits` are the events of waits, `words` what people and clients said of them with its answer, `unheard` what
    nobody took in time, `open_shown` the waits that are shown as open. `guarded_tools` need an approval, of
    `filled_tools` a person supplies a value, `functions` a client does.
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
    waits: tuple[Event, ...] = ()
    words: tuple[Word, ...] = ()
    unheard: tuple[str, ...] = ()
    open_shown: frozenset[str] | None = None
    guarded_tools: frozenset[str] = frozenset()
    filled_tools: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
