"""
Everything on the bus: subjects, streams, durables, and what each user may do with them.

The server enforces these permissions from the first start on: whoever forges an outcome, a work item
or another tenant's command is refused by NATS itself. All of it is data, so that the server
configuration, the documentation and the tests come from this one place.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

CALL_COMMANDS = ("submit", "cancel")
ASK_VERBS = ("submit", "get", "cancel")
EXECUTOR_TYPES = {"api_caller": "api_call"}  # service → the tool type it executes
DEFAULT_ROUTE = "default"
PAYLOAD_BUCKET = "PAYLOADS"
MAX_MESSAGE_BYTES = 2 * 1024 * 1024  # a dead letter holds a whole message and what is known about it
MAX_TOKEN_CHARS = 128
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
    """
    Make one subject token of an id, at most 128 characters long.

    What NATS reserves (dot, star, greater) and all that is not printable ASCII becomes `_`: an id that
    somebody else chose can end neither the token nor the line. An empty id is `_`.
    """
    return _NO_TOKEN.sub("_", text[:MAX_TOKEN_CHARS]) or "_"


_NO_TOKEN = re.compile(r"[^!-~]|[.*>]")


def refusal(tenant: str, message_id: str) -> str:
    """Where the refusal of a command that never became a call is told."""
    return f"toolbus.evt.{tenant}.command.{subject_token(message_id)}.refused"


def dead(tenant: str, reason: str) -> str:
    """Where messages lie that nobody could use."""
    return f"toolbus.dead.{tenant}.{reason}"


def payload_chunk(digest: str, number: int) -> str:
    """Where a part of a large body lies; `digest` is that of the whole body, part 0 says how many there are."""
    return f"toolbus.payload.{digest.removeprefix('sha256:')}.{number}"


def tenant_of(subject: str) -> str | None:
    """The tenant that a subject names; None when it names none."""
    tokens = subject.split(".")
    place = _TENANT_PLACES.get(".".join(tokens[:2]))
    return tokens[place] if place is not None and place < len(tokens) else None


_TENANT_PLACES = {
    "toolbus.cmd": 2,
    "toolbus.ask": 2,
    "toolbus.evt": 2,
    "toolbus.dead": 2,
    "toolbus.work": 4,
}


def timer(name: str) -> str:
    """Where a scheduled message waits until it is due."""
    return f"toolbus.timer.{name}"


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
    allows_schedules: bool = False
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
    Stream(
        "TIMERS",
        ("toolbus.timer.>", "toolbus.due.>"),
        "workqueue",
        max_bytes=GIB,
        allows_schedules=True,
        is_protected=False,  # schedules replace their own messages: the server does not protect such a stream
    ),
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
)
DURABLES: dict[str, Durable] = {
    "commands": Durable("dispatcher", "COMMANDS", "toolbus.cmd.*.call.*"),
    "outcomes": Durable("dispatcher", "INTERNAL", "toolbus.int.dispatcher.*"),
    **{
        service: Durable(service, "WORK", f"toolbus.work.{tool_type}.*.*")
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
    """
    One NATS user: a service, the operator, or a tenant's client.

    `tenant` is set for clients alone. Each tenant has a NATS account of its own, into which exactly its
    client's subjects are imported. Permissions would not do: whoever publishes chooses the reply subject,
    and the server, or a service that answers, would publish there for it, in anybody's stream.
    """

    name: str
    permissions: Permissions = field(default_factory=lambda: Permissions((), ()))
    tenant: str | None = None

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
            f"$JS.API.STREAM.INFO.{durable.stream}",
            f"$JS.ACK.{place}.>",
            *_declares_durable(durable),
        ]
    return tuple(found)


def _declares_durable(durable: Durable) -> tuple[str, ...]:
    """What declaring this durable needs: its filter is part of the subject, so no other can be asked for."""
    place = f"{durable.stream}.{durable.name}"
    return (f"$JS.API.CONSUMER.INFO.{place}", f"$JS.API.CONSUMER.CREATE.{place}.{durable.filter_subject}")


def _bucket() -> tuple[str, ...]:
    """
    What moving payloads needs: parts are written and read by subject.

    JetStream's object store reads through consumers, and whoever may create a consumer on a stream that
    it writes to can have any text delivered to any subject.
    """
    return (
        "toolbus.payload.*.*",
        f"$JS.API.DIRECT.GET.{PAYLOAD_BUCKET}.toolbus.payload.*.*",
        f"$JS.API.STREAM.MSG.GET.{PAYLOAD_BUCKET}",
    )


def _streams(*names: str, verbs: Iterable[str]) -> tuple[str, ...]:
    """These operations of JetStream's API on these streams."""
    return tuple(f"$JS.API.STREAM.{verb}.{name}" for name in names for verb in verbs)


def users(tenants: Iterable[str]) -> tuple[BusUser, ...]:
    """Every NATS user of an installation: the operator, the services, and one client for each tenant."""
    return (
        _operator(),
        _dispatcher(),
        *(_executor(name) for name in EXECUTOR_TYPES),
        *(client(tenant) for tenant in tenants),
    )


def _operator() -> BusUser:
    """The user of deployment and of people: declares streams and durables, reads and removes dead letters."""
    user = BusUser("operator")
    return BusUser(
        user.name,
        Permissions(
            publish=(
                *_streams(*(declared.name for declared in STREAMS), verbs=("INFO", "CREATE", "UPDATE")),
                *(subject for durable in DURABLES.values() for subject in _declares_durable(durable)),
                *_streams("DEAD", verbs=("MSG.GET", "MSG.DELETE")),
                "$JS.API.INFO",
            ),
            subscribe=(f"{user.inbox_prefix}.>",),
        ),
    )


def _dispatcher() -> BusUser:
    """Decides and relays; re-creates a stream that was lost, and changes none."""
    user = BusUser("dispatcher")
    return BusUser(
        user.name,
        Permissions(
            publish=(
                "toolbus.evt.>",
                "toolbus.work.>",
                "toolbus.timer.>",
                "toolbus.dead.*.*",
                "toolbus.int.dispatcher.*",
                WAKE,
                *_pulls((DURABLES["commands"], DURABLES["outcomes"])),
                *_streams(*(declared.name for declared in STREAMS), verbs=("INFO", "CREATE")),
                *_streams("EVENTS", "INTERNAL", "WORK", "DEAD", verbs=("MSG.GET",)),
                *(subject for service in EXECUTOR_TYPES for subject in _declares_durable(DURABLES[service])),
                *_bucket(),
                "$JS.API.INFO",
            ),
            subscribe=(f"{user.inbox_prefix}.>", "toolbus.ask.>", "toolbus.intask.*", WAKE),
            may_respond=True,
        ),
    )


def _executor(service: str) -> BusUser:
    """Reads its own work, asks for starts, tells outcomes, moves payloads."""
    user = BusUser(service)
    return BusUser(
        service,
        Permissions(
            publish=(OUTCOME, START, "toolbus.dead.*.*", *_pulls((DURABLES[service],)), *_bucket()),
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
        tenant,
    )
