"""Wake-ups: what one process tells the others about a commit, so that most need not even look at it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from toolbus_contracts.envelope import StoredEvent

_TEXT = re.compile(rb"([0-9]{1,18}) ([0-9]{1,18}) ([a-z0-9_.,]{1,65536})")


class Wake(NamedTuple):
    """Events of these kinds were committed at the positions `first` to `last`, without a gap."""

    first: int
    last: int
    kinds: frozenset[str]


def written(events: Sequence[StoredEvent]) -> bytes:
    """A wake-up as it goes over the bus: `<first> <last> <kind>,<kind>…`."""
    kinds = ",".join(sorted({event.kind for event in events}))
    return f"{events[0].position} {events[-1].position} {kinds}".encode()


def read(data: bytes) -> Wake | None:
    """The wake-up that a message holds; none when it holds none: a lost one costs a moment only."""
    found = _TEXT.fullmatch(data)
    if found is None:
        return None
    return Wake(int(found[1]), int(found[2]), frozenset(found[3].decode().split(",")))
