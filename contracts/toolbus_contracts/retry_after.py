"""When a target wants to be asked again: the header Retry-After. Source: RFC 9110 §10.2.3 and §5.6.7."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

LONGEST_S = 2.0**31  # what a larger number of seconds is taken for. Source: RFC 9111 §1.2.2
_SECONDS = re.compile(r"-?[0-9]+", re.ASCII)
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
# Names of days are not looked at: a wrong one makes no date unreadable.
_DATES = (
    re.compile(rf"[A-Za-z]{{3}}, (?P<day>\d\d) (?P<month>[A-Za-z]{{3}}) (?P<year>\d{{4}}) {_CLOCK} GMT", re.ASCII),
    re.compile(rf"[A-Za-z]{{6,9}}, (?P<day>\d\d)-(?P<month>[A-Za-z]{{3}})-(?P<year>\d\d) {_CLOCK} GMT", re.ASCII),
    re.compile(rf"[A-Za-z]{{3}} (?P<month>[A-Za-z]{{3}}) (?P<day>[ \d]\d) {_CLOCK} (?P<year>\d{{4}})", re.ASCII),
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SHORT_YEAR = 2
_FAR_YEARS = 50
_LAST_SECOND = 59  # a leap second is written 60


def retry_after_s(headers: Iterable[tuple[bytes, bytes]], now: datetime) -> float | None:
    """
    For how many seconds a target wants to be left alone, 0 when that time has passed; none when it does not say.

    A date counts from the answer's own `Date`, so that a clock that is wrong there does no harm; from
    `now` when there is none. What cannot be read says nothing.
    """
    found: dict[bytes, str] = {}
    for name, value in headers:
        found.setdefault(name.lower(), value.decode("latin-1").strip(" \t"))
    told = found.get(b"retry-after")
    if told is None:
        return None
    if _SECONDS.fullmatch(told):
        return min(max(float(told), 0.0), LONGEST_S)
    at = http_date(told, now)
    if at is None:
        return None
    since = http_date(found.get(b"date", ""), now) or now
    return min(max((at - since).total_seconds(), 0.0), LONGEST_S)


def http_date(text: str, now: datetime) -> datetime | None:
    """
    A date in one of the three forms of HTTP, or none.

    A year of two digits that would lie more than 50 years ahead is the last one that ended so.
    """
    match = next(filter(None, (form.fullmatch(text) for form in _DATES)), None)
    if match is None or match["month"].lower() not in _MONTHS:
        return None
    year = int(match["year"])
    if len(match["year"]) == _SHORT_YEAR:
        year += now.year - now.year % 100
        if year > now.year + _FAR_YEARS:
            year -= 100
    hour, minute, second = int(match["hour"]), int(match["minute"]), min(int(match["second"]), _LAST_SECOND)
    try:
        return datetime(
            year, _MONTHS.index(match["month"].lower()) + 1, int(match["day"]), hour, minute, second, tzinfo=UTC
        )
    except ValueError:
        return None
