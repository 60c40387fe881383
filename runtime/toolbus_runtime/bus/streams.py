"""Streams, durables and the payload bucket, declared on the server exactly as `subjects.py` says."""

from collections.abc import Iterable, Mapping
from typing import Any

import structlog

from toolbus_contracts.errors import BusRefused
from toolbus_contracts.subjects import DURABLES, STREAMS, Durable, Stream
from toolbus_runtime.bus.lookups import NOT_FOUND, Lookups

log = structlog.get_logger(__name__)
SECOND_NS = 1_000_000_000
Config = dict[str, Any]


def stream_config(declared: Stream, replicas: int = 1) -> Config:
    """The stream as JetStream's API takes it."""
    return {
        "name": declared.name,
        "subjects": list(declared.subjects),
        "retention": declared.retention,
        "storage": "file",
        # A full work queue refuses new messages and never drops one that it took.
        "discard": "new" if declared.retention == "workqueue" else "old",
        "max_age": int(declared.max_age_s * SECOND_NS),
        "max_bytes": declared.max_bytes,
        "max_msgs": -1,
        "max_consumers": -1,
        "max_msg_size": declared.max_msg_bytes,
        "max_msgs_per_subject": declared.max_msgs_per_subject,
        "duplicate_window": int(declared.duplicate_window_s * SECOND_NS),
        "num_replicas": replicas,
        "allow_direct": declared.allows_direct,
        "allow_msg_schedules": False,
        "allow_msg_ttl": False,
        "deny_purge": declared.is_protected,
        "deny_delete": declared.is_protected,
    }


def durable_config(declared: Durable, replicas: int = 1) -> Config:
    """The durable pull consumer as JetStream's API takes it; deliveries are not limited."""
    return {
        "durable_name": declared.name,
        "name": declared.name,
        "filter_subject": declared.filter_subject,
        "ack_policy": "explicit",
        "ack_wait": int(declared.ack_wait_s * SECOND_NS),
        "deliver_policy": "all",
        "max_ack_pending": declared.max_ack_pending,
        "max_deliver": -1,
        "max_waiting": 512,
        "num_replicas": replicas,
        "replay_policy": "instant",
    }


async def declare(bus: Lookups, *, replicas: int = 1) -> list[str]:
    """
    Every stream and durable exists as declared; the answer names what was created or changed.

    Raises:
        BusRefused: the server does not take a change (a stream's retention cannot change, for one).
    """
    changed = []
    for stream in STREAMS:
        changed += await declare_stream(bus, stream, replicas=replicas)
    for durable in DURABLES.values():
        changed += await declare_durable(bus, durable, replicas=replicas)
    for name in changed:
        log.info("stream.declared", name=name)
    return changed


async def restore(bus: Lookups, *, replicas: int = 1) -> list[str]:
    """Every stream and durable exists; one that is there stays as it is. The answer names what was created."""
    created = []
    for stream in STREAMS:
        created += await declare_stream(bus, stream, replicas=replicas, may_update=False)
    for durable in DURABLES.values():
        if await bus.consumer_state(durable.stream, durable.name) is None:
            created += await declare_durable(bus, durable, replicas=replicas)
    for name in created:
        log.warning("stream.recreated", name=name)
    return created


async def declare_stream(bus: Lookups, stream: Stream, *, replicas: int = 1, may_update: bool = True) -> list[str]:
    """The stream exists as declared, or, without `may_update`, exists at all."""
    wanted = stream_config(stream, replicas)
    there = await _config(bus, f"STREAM.INFO.{stream.name}")
    if there is None:
        await bus.api(f"STREAM.CREATE.{stream.name}", wanted)
    elif may_update and _differences(stream.name, wanted, there):
        await bus.api(f"STREAM.UPDATE.{stream.name}", wanted)
    else:
        return []
    return [stream.name]


async def declare_durable(bus: Lookups, durable: Durable, *, replicas: int = 1) -> list[str]:
    """The durable exists as declared."""
    wanted = durable_config(durable, replicas)
    place = f"{durable.stream}.{durable.name}"
    there = await _config(bus, f"CONSUMER.INFO.{place}")
    if there is not None and not _differences(place, wanted, there):
        return []
    # The filter is part of the subject, so that a user's permission pins it.
    order = {"stream_name": durable.stream, "config": wanted, "action": ""}
    await bus.api(f"CONSUMER.CREATE.{place}.{durable.filter_subject}", order)
    return [place]


async def verify(bus: Lookups, *, replicas: int = 1) -> list[str]:
    """What differs between the declaration and the server, a readable line each; empty when nothing does."""
    found: list[str] = []
    for stream in STREAMS:
        there = await _config(bus, f"STREAM.INFO.{stream.name}")
        found += _differences(stream.name, stream_config(stream, replicas), there)
    for durable in DURABLES.values():
        place = f"{durable.stream}.{durable.name}"
        there = await _config(bus, f"CONSUMER.INFO.{place}")
        found += _differences(place, durable_config(durable, replicas), there)
    return found


async def _config(bus: Lookups, verb: str) -> Config | None:
    try:
        answer = await bus.api(verb)
    except BusRefused as error:
        if error.reply_status == NOT_FOUND:
            return None
        raise
    config: Config = answer["config"]
    return config


def _differences(name: str, wanted: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterable[str]:
    if there is None:
        return [f"{name} is missing"]
    # The server leaves out what is false, zero or one replica of a consumer.
    return [
        f"{name}.{key} is {there.get(key)!r}, declared {value!r}"
        for key, value in wanted.items()
        if (there.get(key) or 0) != (value or 0) and not (key == "num_replicas" and not there.get(key))
    ]
