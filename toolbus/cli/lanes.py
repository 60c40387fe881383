"""What became of each call of an execution, folded from its events: the lanes that the timeline draws."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from toolbus_contracts.values import Json

if TYPE_CHECKING:
    from toolbus.client.views import EventView

Phase = Literal["queued", "with_executor", "started", "waiting", "doubt"]
ENDS = {
    "call.succeeded.v1": "succeeded",
    "call.failed.v1": "failed",
    "call.cancelled.v1": "cancelled",
    "call.expired.v1": "expired",
    "call.denied.v1": "denied",
    "call.refused.v1": "refused",
    "call.approval_voided.v1": "refused",
}
# An event of a kind that is not named here changes no lane; it still stands in the list of events.
PHASES: dict[str, tuple[Phase, str]] = {
    "call.dispatched.v1": ("with_executor", "dispatched"),
    "call.attempt_started.v1": ("started", "running"),
    "call.attempt_failed.v1": ("queued", "retrying"),
    "call.wait_asked.v1": ("waiting", "waiting"),
    "call.resumed.v1": ("queued", "requested"),
    "call.in_doubt.v1": ("doubt", "in_doubt"),
}


@dataclass
class Segment:
    """A stretch of a call's time; one without an end goes on."""

    phase: Phase
    begin: datetime
    end: datetime | None = None


@dataclass
class Lane:
    """One call: its stretches, how it stands, and what went wrong."""

    call_id: str
    tool: str
    begin: datetime
    status: str = "requested"
    attempts: int = 0
    end: datetime | None = None
    told: str = ""
    segments: list[Segment] = field(default_factory=list)

    def enter(self, phase: Phase, at: datetime) -> None:
        """Begin another stretch."""
        self.leave(at)
        self.segments.append(Segment(phase, at))

    def leave(self, at: datetime) -> None:
        """End the stretch that goes on."""
        if self.segments and self.segments[-1].end is None:
            self.segments[-1].end = at


def lanes_of(events: "Iterable[EventView]") -> list[Lane]:
    """Fold events, oldest first, into one lane for each call, in the order they were requested."""
    lanes: dict[str, Lane] = {}
    for event in events:
        data = event.data if isinstance(event.data, dict) else {}
        call_id = str(data.get("call_id", event.subject_id))
        if event.kind in {"call.requested.v1", "call.refused.v1"}:
            lanes.setdefault(call_id, Lane(call_id, str(data.get("tool", "?")), moment_of(event)))
        lane = lanes.get(call_id)
        if lane is not None:
            _apply(lane, event, data)
    return list(lanes.values())


def _apply(lane: Lane, event: "EventView", data: dict[str, Json]) -> None:
    at = moment_of(event)
    lane.attempts = max(lane.attempts, _number(data.get("attempt")))
    if event.kind == "call.requested.v1":
        lane.enter("queued", at)
    elif event.kind in ENDS:
        lane.leave(at)
        lane.status, lane.end = ENDS[event.kind], at
        lane.told = told_by(data)
    elif event.kind in PHASES:
        phase, lane.status = PHASES[event.kind]
        lane.enter(phase, at)
        lane.told = told_by(data)


def moment_of(event: "EventView") -> datetime:
    """When it happened: the time in the event, else the time it was recorded."""
    at = event.data.get("at") if isinstance(event.data, dict) else None
    if isinstance(at, str):
        try:
            found = datetime.fromisoformat(at)
        except ValueError:
            return event.recorded_at
        return found if found.tzinfo else event.recorded_at
    return event.recorded_at


def told_by(data: dict[str, Json]) -> str:
    """What an event says about a reason or an error, in a few words."""
    error = data.get("error")
    if isinstance(error, dict):
        return f"{error.get('code', 'error')}: {error.get('message', '')}"
    return str(data.get("reason") or data.get("note") or "")


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
