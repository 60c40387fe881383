"""The timeline of an execution: what it says, and that it fits."""

import io
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from tests.unit.client import shapes
from toolbus.cli.lanes import lanes_of
from toolbus.cli.timeline import FINE, MAX_EVENTS, PLAIN, Glyphs, timeline
from toolbus.client.views import EventView
from toolbus_contracts.executions import ExecutionView

A, B = "call_" + "0a" * 16, "call_" + "1b" * 16


def events(*given: dict[str, Any]) -> list[EventView]:
    """Events as the client reads them."""
    return [EventView.model_validate(event) for event in given]


def drawn(
    found: list[EventView], *, width: int = 80, now_s: float = 1.0, glyphs: Glyphs = FINE, **changes: Any
) -> list[str]:
    """The lines of a timeline on a terminal so many cells wide."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=10_000,  # what is too wide would be folded and go unseen
        markup=False,
        highlight=False,
        emoji=False,
        color_system=None,
    )
    execution = ExecutionView.model_validate(shapes.execution(**changes))
    now = shapes.START + timedelta(seconds=now_s)
    console.print(timeline(execution, found, now=now, width=width, glyphs=glyphs))
    return out.getvalue().splitlines()


STORY = events(
    shapes.event(1, "call.requested.v1", 0.0, call_id=A, tool="get_weather"),
    shapes.event(2, "call.dispatched.v1", 0.25, call_id=A, attempt=1),
    shapes.event(3, "call.requested.v1", 0.25, call_id=B, tool="refund"),
    shapes.event(4, "call.dispatched.v1", 0.25, call_id=B, attempt=1),
    shapes.event(5, "call.attempt_started.v1", 0.5, call_id=B, attempt=1, executor="api_caller"),
    shapes.event(6, "call.succeeded.v1", 0.5, call_id=A, attempt=1, executor="api_caller"),
    shapes.event(7, "call.in_doubt.v1", 0.75, call_id=B, attempt=2, error=shapes.error("connection_lost")),
)


def test_lanes_tell_what_became_of_each_call() -> None:
    """Stretches, status, attempts, end and reason."""
    weather, refund = lanes_of(STORY)
    assert (weather.tool, weather.status, weather.attempts) == ("get_weather", "succeeded", 1)
    assert [stretch.phase for stretch in weather.segments] == ["queued", "with_executor"]
    assert weather.segments[-1].end == weather.end
    assert (refund.status, refund.attempts, refund.end) == ("in_doubt", 2, None)
    assert [stretch.phase for stretch in refund.segments] == ["queued", "with_executor", "started", "doubt"]
    assert refund.told.startswith("connection_lost: ")


@pytest.mark.parametrize(
    ("kind", "status", "phases"),
    [
        ("call.resumed.v1", "requested", ["queued", "waiting", "queued"]),
        ("call.denied.v1", "denied", ["queued", "waiting"]),
        ("call.approval_voided.v1", "refused", ["queued", "waiting"]),
    ],
)
def test_a_call_that_stands_still_waits_until_somebody_spoke(kind: str, status: str, phases: list[str]) -> None:
    """Then it goes on, or ends."""
    (lane,) = lanes_of(
        events(
            shapes.event(1, "call.requested.v1", 0.0, call_id=A, tool="refund"),
            shapes.event(2, "call.wait_asked.v1", 0.0, call_id=A, wait_id="wait_1"),
            shapes.event(3, kind, 0.5, call_id=A),
        )
    )
    assert (lane.status, [stretch.phase for stretch in lane.segments]) == (status, phases)
    assert (lane.end is None) == (status == "requested")


def test_kinds_of_the_future_change_no_lane() -> None:
    """They stand in the list of events, and nothing breaks."""
    found = events(
        *(event.model_dump(mode="json") for event in STORY), shapes.event(8, "call.polished.v1", 0.8, call_id=B)
    )
    assert lanes_of(found) == lanes_of(STORY)
    assert any("call.polished" in line for line in drawn(found))


def test_what_is_no_call_and_what_has_no_beginning_is_left_out() -> None:
    """Events of the execution itself, and of a call whose request is not among them."""
    found = events(shapes.event(1, "execution.started.v1"), shapes.event(2, "call.succeeded.v1", call_id=A))
    assert lanes_of(found) == []
    assert drawn(found)[0].startswith(shapes.EXECUTION)


def test_lanes_are_drawn_to_scale() -> None:
    """A quarter of the time is a quarter of the bar; the end has its mark; what goes on reaches to now."""
    lines = drawn(STORY, status="running", finished_at=None, calls={"succeeded": 1, "in_doubt": 1})
    weather = next(line for line in lines if line.startswith("get_weather"))
    refund = next(line for line in lines if line.startswith("refund"))
    bar = weather[14:58].rstrip()
    quarter = 44 / 4
    assert bar.count("·") == pytest.approx(quarter, abs=1)
    assert bar.count("░") == pytest.approx(quarter, abs=1)
    assert bar.endswith("✓")
    assert weather.endswith("500 ms  succeeded")
    assert refund.startswith("refund (2)")
    assert refund.rstrip().endswith("750 ms  in_doubt")
    assert refund.index("█") < refund.index("?")


def test_everything_a_person_needs_is_there() -> None:
    """Ids to go on with, counts, times, the reason, the legend, the events with their positions."""
    text = "\n".join(drawn(STORY, status="running", finished_at=None, calls={"succeeded": 1, "in_doubt": 1}))
    for part in (
        A,
        B,
        "2 calls: 1 in_doubt, 1 succeeded",
        "for 1.00 s",
        "connection_lost: ",
        "? in doubt",
        "2026-11-30",
    ):
        assert part in text
    assert "       5    +500 ms  call.attempt_started    refund  attempt 1  by api_caller" in text


def test_long_histories_are_cut_at_the_front() -> None:
    """The newest events are shown; how to see the others is told."""
    many = events(*(shapes.event(number, "call.noted.v1") for number in range(1, MAX_EVENTS + 8)))
    lines = drawn(many)
    assert "7 earlier events" in "\n".join(lines)
    assert lines[-1].split()[0] == str(MAX_EVENTS + 7)


def test_terminals_without_unicode_get_plain_signs() -> None:
    """Nothing but ASCII is drawn."""
    assert "\n".join(drawn(STORY, glyphs=PLAIN)).isascii()


def test_wide_letters_keep_their_line_inside_the_width() -> None:
    """A letter that takes two cells is counted as two."""
    kinds = ("call.requested.v1", "call.dispatched.v1")
    found = events(*(shapes.event(n, kind, 0.0, call_id=A, tool="毼" * 40) for n, kind in enumerate(kinds)))
    lines = drawn(found, width=80, now_s=1.0)
    assert all(cell_len(line) <= 80 for line in lines)


TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
KINDS = st.sampled_from(
    [
        "call.requested.v1",
        "call.dispatched.v1",
        "call.attempt_started.v1",
        "call.succeeded.v1",
        "call.failed.v1",
        "call.in_doubt.v1",
        "call.cancelled.v1",
        "call.refused.v1",
        "call.other.v1",
        "execution.finished.v1",
    ]
)
EVENT = st.builds(
    lambda kind, seconds, call, tool, told, attempt: shapes.event(
        1, kind, seconds, call_id=call, tool=tool, reason=told, attempt=attempt, error={"code": told, "message": tool}
    ),
    KINDS,
    st.floats(0, 8e7),
    st.sampled_from([A, B, "x"]),
    TEXT,
    TEXT,
    st.integers(-3, 10**9) | st.none() | TEXT,
)


@given(st.lists(EVENT, max_size=8), st.integers(60, 200), st.floats(0, 8e7), st.sampled_from([FINE, PLAIN]))
def test_whatever_happened_it_fits_and_steers_nothing(
    found: list[dict[str, Any]], width: int, now_s: float, glyphs: Glyphs
) -> None:
    """Any order of any events, with any text, stays inside the width and holds no active character."""
    lines = drawn(events(*found), width=width, now_s=now_s, glyphs=glyphs)
    assert all(cell_len(line) <= width for line in lines)
    assert "\x1b" not in "".join(lines)
