"""The stored event: names, times and the hash chain."""

from datetime import UTC, datetime, timedelta, timezone

from toolbus_contracts.envelope import GENESIS, StoredEvent, event_hash, stream_name, time_text

EVENT = StoredEvent(
    position=1,
    id="evt_1",
    tenant="acme",
    category="call",
    stream="acme/call/call_1",
    version=1,
    kind="call.expired.v1",
    data='{"kind":"call.expired.v1"}',
    actor="{}",
    correlation_id="exec_1",
    causation_id="cmd_1",
    ordinal=0,
    traceparent=None,
    recorded_at=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    previous_hash=GENESIS,
    hash="",
)


def test_a_stream_is_named_by_tenant_category_and_id() -> None:
    """The id may be read off the name again."""
    assert stream_name("acme", "call", "call_1") == EVENT.stream
    assert EVENT.subject_id == "call_1"


def test_the_hash_of_an_event_never_changes() -> None:
    """A log written today is verified by every later version: this vector is published."""
    assert event_hash(EVENT) == "ba56a3855eecd65d371db5e8ee01bc0aec33b1781600f42a905797934d7adf41"


def test_text_cannot_move_between_fields() -> None:
    """Each field is hashed with its length, so `ab` + `c` is not `a` + `bc`."""
    one = EVENT._replace(correlation_id="ab", causation_id="c")
    other = EVENT._replace(correlation_id="a", causation_id="bc")
    assert event_hash(one) != event_hash(other)


def test_a_trace_is_part_of_the_hash() -> None:
    """An event with a traceparent hashes otherwise than one without."""
    assert event_hash(EVENT._replace(traceparent="00-aa-bb-01")) != event_hash(EVENT)


def test_times_are_written_in_utc() -> None:
    """The same moment seen from another zone has the same text."""
    there = EVENT.recorded_at.astimezone(timezone(timedelta(hours=9)))
    assert time_text(there) == time_text(EVENT.recorded_at) == "2026-01-02T03:04:05.000006Z"
