"""One wait as its events tell it, and whether waits and calls agree; read here without the code that is under test."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.evidence import Event
from tests.chaos.history import History, verb
from toolbus_contracts.values import Json


@dataclass(frozen=True)
class WaitHistory:
    """The events of one wait, in order."""

    wait_id: str
    call_id: str
    events: Sequence[Event]

    @property
    def kind(self) -> str:
        """`approval`, `function`, `input` or `doubt`."""
        return str(self.events[0].data.get("wait_kind"))

    @property
    def closed(self) -> Event | None:
        """How it ended first; none while it is open."""
        return next(iter(self.of("closed")), None)

    @property
    def outcome(self) -> str:
        """What came of it; nothing while it is open."""
        return str(self.closed.data.get("outcome")) if self.closed else ""

    def of(self, *verbs: str) -> list[Event]:
        """The events of these kinds."""
        return [event for event in self.events if verb(event) in verbs]

    def arguments(self, digest: Json) -> Json:
        """The arguments that this digest stands for, as they were opened, edited or closed with."""
        found = [event for event in self.of("opened", "edited", "closed") if event.data.get("digest") == digest]
        told = [event.data["arguments"] for event in found if event.data.get("arguments") is not None]
        return told[-1] if told else None

    def editors(self, digest: Json) -> set[Json]:
        """Who made this digest out of another one."""
        return {event.data["subject"] for event in self.of("edited") if event.data.get("digest") == digest}

    def deciders(self, decision: str, digest: Json) -> set[Json]:
        """Who decided so of what this digest stands for."""
        return {
            event.data["subject"]
            for event in self.of("decision_recorded")
            if event.data.get("digest") == digest and event.data.get("decision") == decision
        }

    def told(self) -> str:
        """All of it on one line."""
        return f"{self.kind} {self.wait_id}: {'; '.join(str(event) for event in self.events)}"


def wait_histories(events: Iterable[Event]) -> dict[str, WaitHistory]:
    """The histories of all waits, by wait id."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        found[str(event.data["wait_id"])].append(event)
    return {wait_id: WaitHistory(wait_id, listed[0].call_id, listed) for wait_id, listed in found.items()}


def wanted_waits(history: History) -> set[str]:
    """The kinds of waits that have to be open for this call as it stands: one, or none."""
    match history.status:
        case "waiting":
            return {str(history.of("wait_asked")[-1].data["wait_kind"])}
        case "in_doubt":
            return {"doubt"}
        case _:
            return set()


def loose_ends(calls: Mapping[str, History], waits: Mapping[str, WaitHistory]) -> Iterator[tuple[str, str, str]]:
    """
    Calls without the wait that they stand still for, and open waits that nobody needs: rule, call id and what.

    A call may be about to move, so this has to hold only when nothing happens any more.
    """
    opened: dict[str, list[WaitHistory]] = defaultdict(list)
    for wait in waits.values():
        if wait.closed is None:
            opened[wait.call_id].append(wait)
    for call_id, history in calls.items():
        missing = wanted_waits(history) - {wait.kind for wait in opened[call_id]}
        if missing:
            yield "without_wait", call_id, f"it is {history.status} and no {', '.join(missing)} is open"
    for call_id, some in opened.items():
        left = wanted_waits(calls[call_id]) if call_id in calls else set()
        for wait in some:
            if wait.kind not in left or not _is_newest(wait, calls[call_id]):
                yield "stale_wait", call_id, f"nobody needs {wait.told()}"
            left -= {wait.kind}


def _is_newest(wait: WaitHistory, history: History) -> bool:
    """Whether it is what the call stands still for now, not for what it did so before."""
    if wait.kind == "doubt":
        return bool(wait.events[0].data.get("attempt") == history.of("in_doubt")[-1].data["attempt"])
    return bool(wait.wait_id == history.of("wait_asked")[-1].data["wait_id"])
