"""
A calendar that never jumps: the time of day when the process began, and what has passed since by a steady clock.

Somebody may set the machine's clock, by hand or by a first synchronisation. Whoever waited until a moment that
such a clock told would wait for a day, or not at all. What drifts is corrected by the system in the steady
clock too, so a calendar is right for as long as the clock was right when the process began.
"""

import time
from datetime import UTC, datetime, timedelta

# On macOS CLOCK_MONOTONIC counts sleep; on Linux only CLOCK_BOOTTIME does.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Calendar:
    """Begun once for a process, and asked by all its parts."""

    def __init__(self) -> None:
        self._began_at = datetime.now(UTC)
        self._began_s = time.clock_gettime(_STEADY)

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return self._began_at + timedelta(seconds=time.clock_gettime(_STEADY) - self._began_s)

    def step(self) -> timedelta:
        """How much further ahead the machine's clock is."""
        return datetime.now(UTC) - self.now()
