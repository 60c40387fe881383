"""The calendar of a process."""

from datetime import UTC, datetime, timedelta

from toolbus_runtime.calendar import Calendar


def test_it_goes_with_the_clock_and_never_back() -> None:
    """It tells the time of day; each answer is no earlier than the one before."""
    calendar = Calendar()
    told = [calendar.now() for _ in range(1000)]
    assert told == sorted(told)
    assert abs(datetime.now(UTC) - calendar.now()) < timedelta(seconds=5)
    assert abs(calendar.step()) < timedelta(seconds=5)
