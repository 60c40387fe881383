"""When a target wants to be asked again, in every form that HTTP knows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.api_caller.making import READ, UNSAFE, answer, judged
from toolbus_api_caller.core.response import Wanted
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.retry_after import http_date, retry_after_s

NOW = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)

DAYS = "Mon Tue Wed Thu Fri Sat Sun"
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"


def told(value: str, date: str | None = None) -> float | None:
    """What these headers say."""
    headers = [(b"Retry-After", value.encode("latin-1"))]
    return retry_after_s(headers if date is None else [(b"Date", date.encode()), *headers], NOW)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        (" \t7 ", 7),
        ("-5", 0),
        ("007", 7),
        ("9" * 10_000, 2**31),
        ("Sun, 06 Nov 1994 08:50:07 GMT", 30),
        ("Sunday, 06-Nov-94 08:50:07 GMT", 30),
        ("Sun Nov  6 08:50:07 1994", 30),
        ("Sun Nov 06 08:50:07 1994", 30),
        ("Mon, 06 nov 1994 08:50:07 GMT", 30),
        ("Sun, 06 Nov 1994 08:49:60 GMT", 22),
        ("Sun, 06 Nov 1994 08:49:07 GMT", 0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 2**31),
    ],
)
def test_seconds_and_dates(value: str, seconds: float) -> None:
    """A number of seconds, or a date in any of the three forms; what has passed is 0."""
    assert told(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "1.5",
        "+5",
        "5 s",
        "1e3",
        "\xb2",
        "5, 7",
        "2030-01-01T00:00:00Z",
        "Sun, 06 Nov 1994 08:50:07",
        "Sun, 06 Nov 1994 08:50:07 CET",
        "Sun, 6 Nov 1994 08:50:07 GMT",
        "Sun, 31 Feb 1994 08:50:07 GMT",
        "Sun, 06 Foo 1994 08:50:07 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 0000 08:50:07 GMT",
        "Sun, 00 Nov 1994 08:50:07 GMT",
        "Sun Nov  0 08:50:07 1994",
    ],
)
def test_what_cannot_be_read_says_nothing(value: str) -> None:
    """No guess is made of it."""
    assert told(value) is None


def test_a_target_that_does_not_say() -> None:
    """Without the header there is nothing; of two the first counts."""
    assert retry_after_s([(b"Date", b"Sun, 06 Nov 1994 08:50:07 GMT")], NOW) is None
    assert retry_after_s([(b"retry-after", b"1"), (b"Retry-After", b"2")], NOW) == 1


@pytest.mark.parametrize(
    ("date", "seconds"),
    [("Sun, 06 Nov 1994 07:50:07 GMT", 3600), ("Sun, 06 Nov 1994 09:50:07 GMT", 0), ("yesterday", 30)],
)
def test_a_date_counts_from_the_date_of_the_answer(date: str, seconds: float) -> None:
    """A clock that is wrong at the target does no harm; a date that cannot be read is none."""
    assert told("Sun, 06 Nov 1994 08:50:07 GMT", date) == seconds


def test_years_of_two_digits() -> None:
    """At most fifty years ahead; further ahead it was the last century."""
    for now, text, year in ((1994, "44", 1944), (1994, "43", 1943), (2030, "80", 2080), (2030, "81", 1981)):
        found = http_date(f"Sunday, 06-Nov-{text} 08:49:37 GMT", datetime(now, 1, 1, tzinfo=UTC))
        assert found is not None
        assert found.year == year


@given(value=st.text(st.characters(max_codepoint=255), max_size=40), date=st.binary(max_size=40))
def test_nothing_that_a_target_says_breaks_anything(value: str, date: bytes) -> None:
    """Any bytes are read as a number of seconds that is not negative, or as nothing."""
    found = retry_after_s([(b"retry-after", value.encode("latin-1")), (b"date", date)], NOW)
    assert found is None or found >= 0


@given(at=st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - bounds
def test_every_date_reads_back(at: datetime) -> None:
    """What is written in the first form is read to the second."""
    days, months = DAYS.split(), MONTHS.split()
    text = f"{days[at.weekday()]}, {at.day:02} {months[at.month - 1]} {at.year} {at:%H:%M:%S} GMT"
    assert http_date(text, NOW) == at - timedelta(microseconds=at.microsecond)


@pytest.mark.parametrize(("status", "seconds"), [(429, 7), (503, 7), (301, 7), (200, None)])
def test_it_is_told_of_answers_that_are_no_success(status: int, seconds: float | None) -> None:
    """With the outcome; also of an answer whose body broke off, and never of a success."""
    for failure in (None, Failure("lost", "broken off", is_sent=True)):
        for terms in (READ, UNSAFE):
            found = answer(status, headers={"Retry-After": "7"}, failure=failure)
            assert judged(found, Wanted(terms)).retry_after_s == seconds
