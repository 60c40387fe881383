"""Following the log live, on scripted streams."""

import json
from typing import Any

import pytest

from tests.unit.client import shapes
from tests.unit.client.test_flows import no, ok
from toolbus import NotAllowed, UnexpectedAnswer, Unreachable
from toolbus.client.exchange import Answer, Lost
from toolbus.client.flows import Emit, Open, Opened, Pause, Read, Reply, Send
from toolbus.client.following import MAX_SILENT_TRIES, follow, follow_execution
from toolbus.client.requests.server import stream_events

BROKEN = Lost("broken", may_have_arrived=True)
GOES_ON = shapes.execution(status="running")


class Wire:
    """Streams, each a list of pieces (None closes it, Lost breaks it), and answers to whole requests."""

    def __init__(
        self, streams: list[list[str | Lost | None] | Answer | Lost], answers: list[Answer] | None = None
    ) -> None:
        self.streams = iter(streams)
        self.answers = iter(answers or [])
        self.opened: list[str | None] = []
        self.sent: list[str] = []
        self.items: list[Any] = []
        self.pauses: list[float] = []

    def run(self, flow: Any, most: int = 1000) -> None:
        """Carry the flow out until it ends or `most` items were handed out."""
        pieces: Any = iter(())
        reply: Reply = None
        while len(self.items) < most:
            try:
                step = flow.send(reply)
            except StopIteration:
                return
            reply = None
            match step:
                case Emit(item=item):
                    self.items.append(item)
                case Open(request=request):
                    self.opened.append(request.headers.get("last-event-id"))
                    found = next(self.streams)
                    pieces, reply = (iter(found), Opened()) if isinstance(found, list) else (iter(()), found)
                case Read():
                    reply = next(pieces, None)
                case Send(request=request):
                    self.sent.append(request.path + "?" + "&".join(f"{k}={v}" for k, v in request.query))
                    reply = next(self.answers)
                case Pause(seconds=seconds):
                    self.pauses.append(seconds)

    @property
    def positions(self) -> list[int]:
        """The positions that were handed out."""
        return [event.position for event in self.items]


def events(*positions: int, kind: str = "call.requested.v1") -> str:
    """A piece of a stream."""
    return shapes.sse(*(shapes.event(position, kind) for position in positions))


def test_a_broken_stream_goes_on_after_the_last_position() -> None:
    """Last-Event-ID is what was handed out last; what comes twice is handed out once."""
    wire = Wire([[events(4, 5), BROKEN], [events(5, 6)]])
    wire.run(follow(lambda last: stream_events({}, last), 3), most=3)
    assert wire.positions == [4, 5, 6]
    assert wire.opened == ["3", "5"]


def test_half_an_event_is_not_handed_out() -> None:
    """It comes again, whole, on the next connection."""
    text = events(1, 2)
    wire = Wire([[text[:-20], BROKEN], [events(2, 3)]])
    wire.run(follow(lambda last: stream_events({}, last), None), most=3)
    assert (wire.positions, wire.opened) == ([1, 2, 3], [None, "1"])


def test_restarts_of_the_server_are_waited_out() -> None:
    """Refused connections and 503 in between are no end."""
    wire = Wire([[events(1), None], Lost("refused", may_have_arrived=False), no("unavailable", 503), [events(2)]])
    wire.run(follow(lambda last: stream_events({}, last), 0), most=2)
    assert wire.positions == [1, 2]
    assert all(pause > 0 for pause in wire.pauses)


def test_a_server_that_stays_away_is_told() -> None:
    """After ten tries in a row there is an error."""
    wire = Wire([Lost("refused", may_have_arrived=False)] * MAX_SILENT_TRIES)
    with pytest.raises(Unreachable, match="refused"):
        wire.run(follow(lambda last: stream_events({}, last), 0))


def test_silent_streams_that_last_are_no_failed_tries() -> None:
    """A proxy that cuts quiet connections does not end the following."""
    now = iter(range(0, 100_000, 60))
    quiet: list[list[str | Lost | None] | Answer | Lost] = [[": still here\n\n", None] for _ in range(50)]
    wire = Wire([*quiet, [events(1)]])
    wire.run(follow(lambda last: stream_events({}, last), 0, clock=lambda: float(next(now))), most=1)
    assert wire.positions == [1]


def test_an_answer_that_says_no_is_raised() -> None:
    """Without the scope there is nothing to wait for."""
    wire = Wire([no("forbidden", 403)])
    with pytest.raises(NotAllowed):
        wire.run(follow(lambda last: stream_events({}, last), 0))
    assert wire.pauses == []


def test_what_is_no_event_is_told() -> None:
    """Something else answers there."""
    for data in ("not json", "{}", '{"position": "x"}'):
        with pytest.raises(UnexpectedAnswer):
            Wire([[f"id: 1\ndata: {data}\n\n"]]).run(follow(lambda last: stream_events({}, last), 0))


def test_fields_of_a_newer_server_are_left_out() -> None:
    """An event may have more than this client knows."""
    event = {**shapes.event(1), "later_field": 1}
    wire = Wire([[shapes.sse(event)]])
    wire.run(follow(lambda last: stream_events({}, last), 0), most=1)
    assert wire.positions == [1]


def test_an_execution_is_followed_to_its_last_event() -> None:
    """When it has ended, what was recorded meanwhile is read too, and nothing twice."""
    ended = ok(shapes.execution())
    rest = ok(shapes.page(shapes.event(4, "call.succeeded.v1")))
    wire = Wire([[events(1, 2), events(3, kind="call.succeeded.v1")]], [ok(GOES_ON), ended, rest])
    wire.run(follow_execution(shapes.EXECUTION, 0))
    assert wire.positions == [1, 2, 3, 4]
    assert "after=3" in wire.sent[-1]


def test_an_execution_whose_other_calls_run_is_followed_further() -> None:
    """The end of one call is not the end of the execution."""
    streams: list[list[str | Lost | None] | Answer | Lost] = [
        [events(1, kind="call.succeeded.v1"), BROKEN],
        [events(2, kind="call.failed.v1")],
    ]
    wire = Wire(
        streams, [ok(GOES_ON), ok(GOES_ON), ok(GOES_ON), ok(shapes.execution(status="failed")), ok(shapes.page())]
    )
    wire.run(follow_execution(shapes.EXECUTION, 0))
    assert wire.positions == [1, 2]


def test_an_execution_that_has_ended_is_read_without_a_stream() -> None:
    """Its events are listed, page after page."""
    first = ok(shapes.page(shapes.event(1), next_cursor="1"))
    wire = Wire([], [ok(shapes.execution()), first, ok(shapes.page(shapes.event(2)))])
    wire.run(follow_execution(shapes.EXECUTION, 0))
    assert (wire.positions, wire.opened) == ([1, 2], [])
    assert "after=1" in wire.sent[-1]


def test_events_survive_being_written_as_json() -> None:
    """What a stream carries is what a page carries."""
    event = shapes.event(1)
    assert json.loads(shapes.sse(event).split("data: ")[1]) == event
