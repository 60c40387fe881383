"""Time: the calendar, and a clock that also counts while the machine sleeps."""

import time
from datetime import UTC, datetime
from typing import Protocol

# On macOS CLOCK_MONOTONIC counts sleep; on Linux only CLOCK_BOOTTIME does.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Where the service reads time."""

    def now(self) -> datetime:
        """The calendar's time, in UTC."""
        ...

    def steady_s(self) -> float:
        """Seconds on a clock that never jumps and never stands still."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> datetime:
        """The calendar's time, in UTC."""
        return datetime.now(UTC)

    def steady_s(self) -> float:
        """Seconds since some moment, sleep of the machine included."""
        return time.clock_gettime(_STEADY)
