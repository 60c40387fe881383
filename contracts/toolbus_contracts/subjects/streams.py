"""Streams and durables as deployment declares them."""

from dataclasses import dataclass
from typing import Literal

from toolbus_contracts.subjects.names import CALL_COMMANDS, EXECUTOR_TYPES, MAX_MESSAGE_BYTES, PAYLOAD_BUCKET, SECRETS


@dataclass(frozen=True)
class Stream:
    """
    A JetStream stream as deployment declares it. Ages in seconds, sizes in bytes.

    `is_protected`: nobody can purge it or delete a message from it by name. `allows_direct`: single
    messages can be read by subject without a consumer.
    """

    name: str
    subjects: tuple[str, ...]
    retention: Literal["workqueue", "limits"]
    max_age_s: float = 0
    max_bytes: int = -1
    max_msg_bytes: int = 1024 * 1024
    duplicate_window_s: float = 0.1
    max_msgs_per_subject: int = -1
    allows_direct: bool = False
    is_protected: bool = True


@dataclass(frozen=True)
class Durable:
    """
    A durable pull consumer.

    `ack_wait_s` is kept alive by the loop; deliveries are unlimited because code buries by their number.
    """

    name: str
    stream: str
    filter_subject: str
    ack_wait_s: float = 10.0
    max_ack_pending: int = 4096


GIB = 1024**3
STREAMS: tuple[Stream, ...] = (
    Stream("COMMANDS", tuple(f"toolbus.cmd.*.call.{verb}" for verb in CALL_COMMANDS), "workqueue", max_bytes=4 * GIB),
    Stream("INTERNAL", ("toolbus.int.*.*",), "workqueue", max_bytes=4 * GIB),
    Stream("WORK", ("toolbus.work.*.*.*",), "workqueue", max_bytes=8 * GIB),
    Stream("EVENTS", ("toolbus.evt.>",), "limits", max_age_s=7 * 86400, max_bytes=8 * GIB),
    Stream(
        "DEAD",
        ("toolbus.dead.*.*",),
        "limits",
        max_age_s=30 * 86400,
        max_bytes=GIB,
        max_msg_bytes=MAX_MESSAGE_BYTES,
        is_protected=False,  # operators delete what they have dealt with
    ),
    Stream(
        PAYLOAD_BUCKET,
        ("toolbus.payload.*.*",),
        "limits",
        max_age_s=86400,
        max_bytes=4 * GIB,
        max_msgs_per_subject=1,
        allows_direct=True,
        is_protected=False,
    ),
    # A copy of a table: without a bound in bytes, since a full stream of this kind would drop the oldest.
    Stream(SECRETS, ("toolbus.secret.*.*",), "limits", max_msgs_per_subject=1, allows_direct=True),
)
DURABLES: dict[str, Durable] = {
    "commands": Durable("dispatcher", "COMMANDS", "toolbus.cmd.*.call.*"),
    "outcomes": Durable("dispatcher", "INTERNAL", "toolbus.int.dispatcher.*"),
    **{
        name: Durable(name, "WORK", f"toolbus.work.{tool_type}.*.*")
        for durables in EXECUTOR_TYPES.values()
        for name, tool_type in durables.items()
    },
}


def stream(name: str) -> Stream:
    """The declared stream of this name."""
    return next(found for found in STREAMS if found.name == name)
