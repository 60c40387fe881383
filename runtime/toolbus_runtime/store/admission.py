"""
What appends become, given the heads of their streams: pure, the same for every adapter.

The adapter takes its lock, reads `Heads`, calls `admit`, and stores the events of every `Appended`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import uuid_utils

from toolbus_contracts.envelope import GENESIS, StoredEvent, hash_of
from toolbus_runtime.store.port import Append, Appended, Duplicate, Moved

Result = Appended | Moved | Duplicate
NO_STREAM = (0, GENESIS)


def mint_id() -> str:
    """Make an event id: a UUIDv7 in hex, so that ids sort by time."""
    return uuid_utils.uuid7().hex


@dataclass(slots=True)
class Heads:
    """
    What the log looks like under the lock; `admit` moves it on.

    `streams` holds version and hash of the newest event of every stream that exists, `causes` the
    stream of every (tenant, causation id) that is stored already.
    """

    position: int
    now: datetime
    streams: dict[str, tuple[int, str]]
    causes: dict[tuple[str, str], str]


def streams_of(appends: Iterable[Append]) -> list[str]:
    """Every stream whose head `admit` will ask for, guards included."""
    wanted: dict[str, None] = {}
    for append in appends:
        wanted[append.stream] = None
        for stream, _ in append.guards:
            wanted[stream] = None
    return list(wanted)


def admit(appends: Sequence[Append], heads: Heads, *, mint: Callable[[], str] = mint_id) -> list[Result]:
    """
    Decide each append in order, each seeing the ones before it; `heads.now` must not lie before the newest event.

    An append counts on the ones before it in the list: when one drops out, those that name its stream
    drop out too, even where somebody else's events happen to give the version that they expect.
    """
    results: list[Result] = []
    dropped: set[str] = set()
    for append in appends:
        result = _admit_one(append, heads, mint, dropped)
        if not isinstance(result, Appended):
            dropped.add(append.stream)
        results.append(result)
    return results


def stored(results: Iterable[Result]) -> list[StoredEvent]:
    """The events to insert, in position order."""
    return [event for result in results if isinstance(result, Appended) for event in result.events]


def _admit_one(append: Append, heads: Heads, mint: Callable[[], str], dropped: set[str]) -> Result:
    cause = (append.tenant, append.causation_id)
    repeated = heads.causes.get(cause)
    if repeated is not None:
        return Duplicate(repeated)
    for stream, version in ((append.stream, append.expected_version), *append.guards):
        if stream in dropped or heads.streams.get(stream, NO_STREAM)[0] != version:
            return Moved(stream)
    if not append.events:
        return Appended(())
    events = tuple(_chained(append, heads, mint))
    heads.causes[cause] = append.stream
    return Appended(events)


def _chained(append: Append, heads: Heads, mint: Callable[[], str]) -> Iterable[StoredEvent]:
    version, previous_hash = heads.streams.get(append.stream, NO_STREAM)
    position = heads.position
    for ordinal, new in enumerate(append.events):
        position += 1
        version += 1
        fields = (
            position,
            mint(),
            append.tenant,
            append.category,
            append.stream,
            version,
            new.kind,
            new.data,
            append.actor,
            append.correlation_id,
            append.causation_id,
            ordinal,
            append.traceparent,
            heads.now,
            previous_hash,
        )
        previous_hash = hash_of(fields)
        yield StoredEvent(*fields, previous_hash)
    heads.position = position
    heads.streams[append.stream] = (version, previous_hash)
