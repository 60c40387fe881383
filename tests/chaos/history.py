"""One call as its events tell it; read here without the code that is under test."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tests.chaos.evidence import Event
from toolbus_contracts.values import Json

ENDS = frozenset({"succeeded", "failed", "refused", "denied", "approval_voided", "cancelled", "expired"})
STATUS = {
    "requested": "requested",
    "refused": "refused",
    "wait_asked": "waiting",
    "resumed": "requested",
    "dispatched": "dispatched",
    "attempt_started": "running",
    "attempt_failed": "retrying",
    "in_doubt": "in_doubt",
    "succeeded": "succeeded",
    "failed": "failed",
    "denied": "denied",
    "approval_voided": "refused",
    "cancelled": "cancelled",
    "expired": "expired",
}
STANDS = ENDS | {"in_doubt", "waiting"}  # nothing moves by itself any more, and a person can see it


def verb(event: Event) -> str:
    """What happened, without category and version."""
    return event.kind.split(".")[1]


@dataclass(frozen=True)
class History:
    """The events of one call, in order."""

    call_id: str
    events: Sequence[Event]

    @property
    def status(self) -> str:
        """How the call stands after all of them."""
        found = "unknown"
        for event in self.events:
            if verb(event) == "doubt_settled" and event.data.get("outcome") == "retry":
                found = "retrying"
            elif found not in ENDS:
                found = STATUS.get(verb(event), found)
        return found

    @property
    def stands(self) -> bool:
        """Whether it ended, or waits visibly for somebody; a doubt that a probe will be asked about does not yet."""
        doubts = self.of("in_doubt")
        if self.status != "in_doubt" or doubts[-1].data.get("probe_at") is None:
            return self.status in STANDS
        return any(event.position > doubts[-1].position for event in self.of("doubt_probed"))

    def of(self, *verbs: str) -> list[Event]:
        """The events of these kinds."""
        return [event for event in self.events if verb(event) in verbs]

    @property
    def tool(self) -> str:
        """The tool that was called."""
        return next((str(event.data.get("tool")) for event in self.of("requested")), "")

    def told(self) -> str:
        """All of it on one line."""
        return "; ".join(str(event) for event in self.events) or "no event"


def histories(events: Iterable[Event]) -> dict[str, History]:
    """The histories of all calls, by call id."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        found[event.call_id].append(event)
    return {call_id: History(call_id, listed) for call_id, listed in found.items()}


def error_of(event: Event) -> dict[str, Json]:
    """The error that an event carries."""
    error = event.data.get("error")
    return error if isinstance(error, dict) else {}


def answered(event: Event) -> int | None:
    """The status that the target had answered, as the event tells it."""
    response = error_of(event).get("response")
    status = response.get("status_code") if isinstance(response, dict) else None
    return status if isinstance(status, int) else None


def says_nothing_was_sent(event: Event) -> bool:
    """Whether a failure claims that no byte of the request left."""
    return answered(event) is None and error_of(event).get("effect_happened") == "no"


def moment(value: Json) -> datetime:
    """A time of an event's data."""
    return datetime.fromisoformat(str(value))
