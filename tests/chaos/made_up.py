"""Histories that the tests of the rules make up."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from tests.chaos.checker import check
from tests.chaos.evidence import Accepted, Event, Evidence, Request
from tests.chaos.history import histories
from toolbus_contracts.values import Json

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class Log:
    """Builds a history, an event a second; `waits` are the events of waits in it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.waits: list[Event] = []
        self._position = 0

    def add(self, call_id: str, verb: str, **data: Json) -> "Log":
        """One more event of this call."""
        self.events.append(self._event(call_id, f"call.{verb}.v1", data))
        return self

    def said(self, verb: str, wait_id: str = "w1", **data: Json) -> "Log":
        """One more event of a wait of the first call."""
        self.waits.append(self._event("c1", f"wait.{verb}.v1", {"wait_id": wait_id, **data}))
        return self

    def begun(self, tool: str = "act", call_id: str = "c1", name: str = "n1") -> "Log":
        """The call was requested and dispatched."""
        self.requested(tool, call_id, name)
        return self.add(call_id, "dispatched", attempt=1)

    def requested(self, tool: str, call_id: str = "c1", name: str = "n1") -> "Log":
        """The call was requested."""
        return self.add(call_id, "requested", tool=tool, arguments={"name": name}, idempotency_key=f"key {name}")

    def started(self, attempt: int = 1) -> "Log":
        """The attempt was started."""
        at = T0 + timedelta(seconds=self._position + 1)
        stop_by = at + timedelta(seconds=12)
        return self.add("c1", "attempt_started", attempt=attempt, at=at.isoformat(), stop_by=stop_by.isoformat())

    def _event(self, call_id: str, kind: str, data: dict[str, Json]) -> Event:
        self._position += 1
        return Event(self._position, call_id, kind, T0 + timedelta(seconds=self._position), data)


def asked(seconds: float, *, call_id: str = "c1", method: str = "POST", mood: str = "answer", **more: Json) -> Request:
    """A request of the call, so many seconds after the beginning; `more` arrived besides its name."""
    status = {"answer": 200, "error": 502}.get(mood, 0)
    has_effect = method != "GET" and mood not in {"error", "cut_request"}
    at, said = T0.timestamp() + seconds, {"name": "n1", **more}
    return Request(call_id, "n1", method, at, mood, status, has_effect=has_effect, said=said)


def broken(log: Log, *requests: Request, tool: str = "act", **more: object) -> set[str]:
    """The rules that this evidence breaks; doubts are shown as they should be."""
    evidence = Evidence(
        events=tuple(log.events),
        requests=requests,
        accepted=(Accepted("c1", "n1", tool),),
        unsafe_tools=frozenset({"act", "guard", "fill"}),
        writing_tools=frozenset({"act", "put", "guard", "fill"}),
        guarded_tools=frozenset({"guard"}),
        filled_tools=frozenset({"fill"}),
        functions=frozenset({"work"}),
        retry_on=frozenset({502}),
        waits=(*log.waits, *_doubts(log.events)),
        **more,  # type: ignore[arg-type]  # each test knows what it gives
    )
    return {violation.rule for violation in check(evidence)}


def _doubts(events: Iterable[Event]) -> Iterable[Event]:
    for call_id, history in histories(events).items():
        if history.status == "in_doubt":
            doubt = history.of("in_doubt")[-1]
            data = {"wait_id": f"doubt of {call_id}", "wait_kind": "doubt", "attempt": doubt.data["attempt"]}
            yield Event(doubt.position, call_id, "wait.opened.v1", doubt.at, data)
