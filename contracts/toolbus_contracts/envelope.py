"""The stored event: what surrounds a fact, and the hash that chains it to the one before."""

import hashlib
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

GENESIS = "0" * 64  # previous hash of the first event of a stream


class StoredEvent(NamedTuple):
    """
    One row of the event store.

    `data` is the exact JSON text that was hashed; `position` is the gapless place in the whole log,
    `version` the place in the event's own stream, `ordinal` the place among the events that one
    command caused. Hashes are hex.
    """

    position: int
    id: str
    tenant: str
    category: str
    stream: str
    version: int
    kind: str
    data: str
    actor: str
    correlation_id: str
    causation_id: str
    ordinal: int
    traceparent: str | None
    recorded_at: datetime
    previous_hash: str
    hash: str

    @property
    def subject_id(self) -> str:
        """The id of the thing the stream belongs to (the last part of the stream's name)."""
        return self.stream.rsplit("/", 1)[1]


def stream_name(tenant: str, category: str, subject_id: str) -> str:
    """Name a stream; the tenant is part of it, so that no id of one tenant opens another's stream."""
    return f"{tenant}/{category}/{subject_id}"


@lru_cache(maxsize=256)  # all events of one transaction share their time
def time_text(moment: datetime) -> str:
    """Write an aware time as the one text that hashes and stores use (UTC, microseconds, Z), whatever its zone."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def event_hash(event: StoredEvent) -> str:
    """
    Hash an event together with the hash of the one before it in its stream.

    SHA-256 over every field in the order of `StoredEvent` except `hash`, each as UTF-8 text with its
    length in bytes as 8 big-endian bytes before it; an absent traceparent is the empty text.
    """
    return hash_of(event[:-1])


def hash_of(fields: tuple[Any, ...]) -> str:
    """The hash of the event that has these fields, all but `hash`, in the order of `StoredEvent`."""
    (position, event_id, tenant, category, stream, version, kind, data, actor) = fields[:9]
    (correlation_id, causation_id, ordinal, traceparent, recorded_at, previous_hash) = fields[9:]
    framed = (
        _framed(str(position)),
        _framed(event_id),
        _often(tenant),
        _often(category),
        _framed(stream),
        _often(str(version)),
        _often(kind),
        _framed(data),
        _often(actor),
        _framed(correlation_id),
        _framed(causation_id),
        _often(str(ordinal)),
        _often(traceparent or ""),
        _often(time_text(recorded_at)),
        _framed(previous_hash),
    )
    return hashlib.sha256(b"".join(framed)).hexdigest()


def _framed(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(8, "big") + encoded


_often = lru_cache(maxsize=4096)(_framed)  # for what many events have in common
