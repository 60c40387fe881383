"""Reading points in time as people write them."""

import re
from datetime import UTC, datetime, timedelta

import typer

_AGO = re.compile(r"^(\d+(?:\.\d+)?)(s|m|h|d)$")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def length(text: str) -> timedelta | None:
    """A length of time such as 15m, 2h or 30d, or nothing when it is none."""
    found = _AGO.match(text)
    return timedelta(seconds=float(found[1]) * _SECONDS[found[2]]) if found else None


def moment(text: str | None, option: str, *, ahead: bool = False) -> datetime | None:
    """A point in time: RFC 3339 with an offset, or a length of time ago (or ahead)."""
    if text is None:
        return None
    span = length(text)
    if span is not None:
        now = datetime.now(UTC)
        return now + span if ahead else now - span
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise typer.BadParameter(
            f"{text!r} is neither a time with an offset (2026-01-31T12:00:00Z) nor a length (15m, 2h, 3d)",
            param_hint=option,
        )
    return found


def place(text: str | None, option: str) -> datetime | int | None:
    """A place in the log: a position (a whole number), or a point in time."""
    return int(text) if text is not None and text.isdecimal() else moment(text, option)
