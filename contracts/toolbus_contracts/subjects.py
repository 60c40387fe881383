"""
Everything on the bus: subjects, streams, durables, and what each user may do with them.

The server enforces these permissions from the first start on: whoever forges an outcome, a work item
or another tenant's command is refused by NATS itself. All of it is data, so that the server
configuration, the documentation and the tests come from this one place.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

CALL_COMMANDS = ("submit", "cancel")
ASK_VERBS = ("submit", "get", "cancel")
EXECUTOR_TYPES = {"api_caller": "api_call"}  # service → the tool type it executes
DEFAULT_ROUTE = "default"
PAYLOAD_BUCKET = "PAYLOADS"
WAKE = "toolbus.wake"
START = "toolbus.intask.start"
OUTCOME = "toolbus.int.dispatcher.outcome"


def command(tenant: str, verb: str) -> str:
    """Where clients publish a command about a call."""
    return f"toolbus.cmd.{tenant}.call.{verb}"


def ask(tenant: str, verb: str, noun: str = "call") -> str:
    """Where clients ask and are answered after the commit."""
    return f"toolbus.ask.{tenant}.{noun}.{verb}"


def work(tool_type: str, tenant: str, route: str = DEFAULT_ROUTE) -> str:
    """Where an executor finds its work."""
    return f"toolbus.work.{tool_type}.{route}.{tenant}"


def event(tenant: str, category: str, subject_id: str, kind: str) -> str:
    """Where an event is told: `call.attempt_started.v1` becomes `….call.<id>.attempt_started`."""
    return f"toolbus.evt.{tenant}.{category}.{subject_token(subject_id)}.{kind.split('.')[1]}"


def subject_token(text: str) -> str:
    """Make one subject token of an id: what NATS reserves (dot, star, greater, space) becomes `_`."""
    return text.translate(_RESERVED)


_RESERVED = str.maketrans({".": "_", "*": "_", ">": "_", " ": "_"})


def refusal(tenant: str, message_id: str) -> str:
    """Where the refusal of a command that never became a call is told."""
    return f"toolbus.evt.{tenant}.command.{subject_token(message_id)}.refused"


def dead(tenant: str, reason: str) -> str:
    """Where messages lie that nobody could use."""
    return f"toolbus.dead.{tenant}.{reason}"


def timer(name: str) -> str:
    """Where a scheduled message waits until it is due."""
    return f"toolbus.timer.{name}"


@dataclass(frozen=True)
class Stream:
    """A JetStream stream as deployment declares it. Ages in seconds, sizes in bytes."""

    name: str
    subjects: tuple[str, ...]
    retention: Literal["workqueue", "limits"]
    max_age_s: float = 0
    max_bytes: int = -1
    max_msg_bytes: int = 1024 * 1024
    duplicate_window_s: float = 0.1
    allows_schedules: bool = False


@dataclass(frozen=True)
class Durable:
    """
    A durable pull consumer.

    `ack_wait_s` is kept alive by the loop; deliveries are unlimited because code buries by their number.
    """

    name: str
    stream: str
    filters: tuple[str, ...]
    ack_wait_s: float = 10.0
    max_ack_pending: int = 4096


GIB = 1024**3
STREAMS: tuple[Stream, ...] = (
    Stream("COMMANDS", tuple(f"toolbus.cmd.*.call.{verb}" for verb in CALL_COMMANDS), "workqueue", max_bytes=4 * GIB),
    Stream("INTERNAL", ("toolbus.int.*.*",), "workqueue", max_bytes=4 * GIB),
    Stream("TIMERS", ("toolbus.timer.>", "toolbus.due.>"), "workqueue", max_bytes=GIB, allows_schedules=True),
    Stream("WORK", ("toolbus.work.*.*.*",), "workqueue", max_bytes=8 * GIB),
    Stream("EVENTS", ("toolbus.evt.>",), "limits", max_age_s=7 * 86400, max_bytes=8 * GIB),
    Stream("DEAD", ("toolbus.dead.*.*",), "limits", max_age_s=30 * 86400, max_bytes=GIB),
)
DURABLES: dict[str, Durable] = {
    "commands": Durable("dispatcher", "COMMANDS", ("toolbus.cmd.*.call.*",)),
    "outcomes": Durable("dispatcher", "INTERNAL", ("toolbus.int.dispatcher.*",)),
    **{
        service: Durable(service, "WORK", (f"toolbus.work.{tool_type}.*.*",), ack_wait_s=10.0)
        for service, tool_type in EXECUTOR_TYPES.items()
    },
}


def stream(name: str) -> Stream:
    """The declared stream of this name."""
    return next(found for found in STREAMS if found.name == name)


@dataclass(frozen=True)
class Permissions:
    """
    Subjects that a NATS user may publish to and subscribe to; everything else is refused.

    `may_respond`: it may also answer, once, on the reply subject of a message that it received.
    """

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    may_respond: bool = False


@dataclass(frozen=True)
class BusUser:
    """One NATS user: a service, the operator, or a tenant's client."""

    name: str
    permissions: Permissions = field(default_factory=lambda: Permissions((), ()))

    @property
    def inbox_prefix(self) -> str:
        """The prefix of this user's own inboxes; nobody else may listen there."""
        return f"_INBOX_{self.name}"


def _pulls(durables: Iterable[Durable]) -> tuple[str, ...]:
    """What a service needs to read its durables, and to re-create one that was deleted."""
    found: list[str] = []
    for durable in durables:
        place = f"{durable.stream}.{durable.name}"
        found += [
            f"$JS.API.CONSUMER.MSG.NEXT.{place}",
            f"$JS.API.CONSUMER.INFO.{place}",
            f"$JS.API.CONSUMER.CREATE.{place}",
            f"$JS.API.CONSUMER.CREATE.{place}.>",
            f"$JS.API.CONSUMER.DURABLE.CREATE.{place}",
            f"$JS.API.STREAM.INFO.{durable.stream}",
            f"$JS.ACK.{place}.>",
        ]
    return tuple(found)


def _bucket() -> tuple[str, ...]:
    """What moving payloads through the object store needs."""
    store = f"OBJ_{PAYLOAD_BUCKET}"
    return (
        f"$O.{PAYLOAD_BUCKET}.>",
        f"$JS.API.STREAM.INFO.{store}",
        f"$JS.API.STREAM.MSG.GET.{store}",
        f"$JS.API.STREAM.PURGE.{store}",
        f"$JS.API.DIRECT.GET.{store}.>",
        f"$JS.API.CONSUMER.CREATE.{store}.>",
        f"$JS.API.CONSUMER.CREATE.{store}",
        f"$JS.API.CONSUMER.DELETE.{store}.>",
        f"$JS.FC.{store}.>",
    )


def _streams(*names: str) -> tuple[str, ...]:
    """What declaring these streams needs."""
    return tuple(f"$JS.API.STREAM.{verb}.{name}" for name in names for verb in ("INFO", "CREATE", "UPDATE"))


def users(tenants: Iterable[str]) -> tuple[BusUser, ...]:
    """Every NATS user of an installation: the services, and one client for each tenant."""
    names = tuple(declared.name for declared in STREAMS)
    dispatcher = BusUser("dispatcher")
    dispatcher = BusUser(
        "dispatcher",
        Permissions(
            publish=(
                "toolbus.evt.>",
                "toolbus.work.>",
                "toolbus.timer.>",
                "toolbus.dead.>",
                WAKE,
                "toolbus.int.dispatcher.*",
                *_pulls((DURABLES["commands"], DURABLES["outcomes"])),
                *_streams(*names),
                *(f"$JS.API.STREAM.MSG.GET.{name}" for name in ("EVENTS", "DEAD", "WORK")),
                *(f"$JS.API.CONSUMER.INFO.{DURABLES[s].stream}.{DURABLES[s].name}" for s in EXECUTOR_TYPES),
                *_bucket(),
                *_streams(f"OBJ_{PAYLOAD_BUCKET}"),
                "$JS.API.INFO",
            ),
            subscribe=(f"{dispatcher.inbox_prefix}.>", "toolbus.ask.>", "toolbus.intask.*", WAKE),
            may_respond=True,
        ),
    )
    return (
        dispatcher,
        *(_executor(name) for name in EXECUTOR_TYPES),
        *(client(tenant) for tenant in tenants),
    )


def _executor(service: str) -> BusUser:
    user = BusUser(service)
    return BusUser(
        service,
        Permissions(
            publish=(OUTCOME, START, "toolbus.dead.*.*", *_pulls((DURABLES[service],)), *_bucket(), "$JS.API.INFO"),
            subscribe=(f"{user.inbox_prefix}.>",),
        ),
    )


def client(tenant: str) -> BusUser:
    """The user that a tenant's programs share: it submits, asks and listens, and can do nothing else."""
    user = BusUser(f"client_{tenant}")
    return BusUser(
        user.name,
        Permissions(
            publish=(*(command(tenant, verb) for verb in CALL_COMMANDS), f"toolbus.ask.{tenant}.>"),
            subscribe=(f"toolbus.evt.{tenant}.>", f"{user.inbox_prefix}.>"),
        ),
    )
