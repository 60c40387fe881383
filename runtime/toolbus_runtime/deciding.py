"""What a decision is made of: the streams it may look at, the command, and what comes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter

from toolbus_contracts.envelope import StoredEvent, stream_name
from toolbus_contracts.keys import Actor


@dataclass(frozen=True)
class Aggregate:
    """
    How the streams of one category are read: where they start, how events parse and change the state.

    `rests` tells of a state that nothing will be decided on for long, perhaps weeks.
    """

    category: str
    initial: Any
    events: TypeAdapter[Any]
    evolve: Callable[[Any, Any], Any]
    correlate: Callable[[Any], str]
    rests: Callable[[Any], bool] = lambda _: False


class Snapshot:
    """
    The states a decision may look at; looking at one makes the decision depend on it.

    A state that was not loaded yet raises `NotLoaded`; the batcher loads it and decides again.
    """

    __slots__ = ("_states", "_versions", "seen")

    def __init__(self, states: Mapping[str, Any], versions: Mapping[str, int]) -> None:
        self._states = states
        self._versions = versions
        self.seen: dict[str, int] = {}

    def of(self, tenant: str, category: str, subject_id: str) -> Any:
        """The state of one stream."""
        stream = stream_name(tenant, category, subject_id)
        if stream not in self._versions:
            raise NotLoaded(stream)
        self.seen[stream] = self._versions[stream]
        return self._states[stream]


class NotLoaded(Exception):
    """A decision looked at a stream that is not loaded yet."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.stream = stream


Decide = Callable[[Snapshot, datetime], Sequence[BaseModel]]


class Command(NamedTuple):
    """
    One command on its way to a decision.

    `decide` is pure: it reads states from the snapshot and gives the events for the stream
    (tenant, category, subject_id). `needs` are streams worth loading in the first query. `is_first`
    says that the stream is hardly there yet, so that it need not be looked for: if it is, the append
    says so.
    """

    tenant: str
    category: str
    subject_id: str
    causation_id: str
    actor: Actor
    decide: Decide
    needs: tuple[str, ...] = ()
    is_first: bool = False
    traceparent: str | None = None

    @property
    def stream(self) -> str:
        """The stream that the events go to."""
        return stream_name(self.tenant, self.category, self.subject_id)


class Decided(NamedTuple):
    """What came of a command: the state of its stream after the commit, and the events that were new."""

    state: Any
    events: tuple[StoredEvent, ...]
