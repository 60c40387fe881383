"""What each NATS user may publish and hear; the server enforces it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolbus_contracts.subjects.names import (
    ASK_COMPLETE,
    CALL_COMMANDS,
    CHECK,
    DESCRIBE,
    EXECUTOR_TYPES,
    OUTCOME,
    PAYLOAD_BUCKET,
    SECRETS,
    SETTLE,
    START,
    STOPPED,
    WAKE,
    command,
)
from toolbus_contracts.subjects.streams import DURABLES, STREAMS, Durable


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


def _executor_durables(*services: str) -> tuple[Durable, ...]:
    """The durables where these executors find their work."""
    return tuple(DURABLES[name] for service in services for name in EXECUTOR_TYPES[service])


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


def _sealed_secrets() -> tuple[str, ...]:
    """What reading sealed secrets needs: one by its subject, from the leader too, where a replica lags."""
    return (f"$JS.API.DIRECT.GET.{SECRETS}.toolbus.secret.*.*", f"$JS.API.STREAM.MSG.GET.{SECRETS}")


def _streams(*names: str, verbs: Iterable[str]) -> tuple[str, ...]:
    """These operations of JetStream's API on these streams."""
    return tuple(f"$JS.API.STREAM.{verb}.{name}" for name in names for verb in verbs)


def users(tenants: Iterable[str]) -> tuple[BusUser, ...]:
    """Every NATS user of an installation: the operator, the services, and one client for each tenant."""
    return (
        _operator(),
        _dispatcher(),
        _approvals(),
        _executor("api_caller"),
        _executor(
            "integrations", tells=("toolbus.secret.*.*", *_streams(SECRETS, verbs=("INFO",))), answers=(DESCRIBE,)
        ),
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
    """Decides and relays; re-creates a stream that was lost, and changes none. Removes letters that it redrove."""
    user = BusUser("dispatcher")
    return BusUser(
        user.name,
        Permissions(
            publish=(
                "toolbus.evt.>",
                "toolbus.work.>",
                "toolbus.dead.*.*",
                "toolbus.int.dispatcher.*",
                WAKE,
                DESCRIBE,
                *_pulls((DURABLES["commands"], DURABLES["outcomes"])),
                *_streams(*(declared.name for declared in STREAMS), verbs=("INFO", "CREATE")),
                *_streams("EVENTS", "INTERNAL", "WORK", verbs=("MSG.GET",)),
                *_streams("DEAD", verbs=("MSG.GET", "MSG.DELETE")),
                *(subject for found in _executor_durables(*EXECUTOR_TYPES) for subject in _declares_durable(found)),
                *_bucket(),
                *_sealed_secrets(),
                "$JS.API.INFO",
            ),
            subscribe=(f"{user.inbox_prefix}.>", "toolbus.ask.>", "toolbus.intask.*", WAKE),
            may_respond=True,
        ),
    )


def _approvals() -> BusUser:
    """Holds waits; tells and hears of commits, asks whether arguments fit, settles for people, takes answers."""
    user = BusUser("approvals")
    heard = (f"{user.inbox_prefix}.>", WAKE, ASK_COMPLETE)
    return BusUser(user.name, Permissions(publish=(WAKE, CHECK, SETTLE), subscribe=heard, may_respond=True))


def _executor(service: str, *, tells: tuple[str, ...] = (), answers: tuple[str, ...] = ()) -> BusUser:
    """
    Reads its own work and sealed secrets, hears what is to be stopped, asks for starts, tells outcomes, moves payloads.

    `tells`: what it publishes besides; `answers`: where it is asked something.
    """
    user = BusUser(service)
    return BusUser(
        service,
        Permissions(
            publish=(
                OUTCOME,
                START,
                "toolbus.dead.*.*",
                *_pulls(_executor_durables(service)),
                *_bucket(),
                *_sealed_secrets(),
                *tells,
            ),
            subscribe=(f"{user.inbox_prefix}.>", *STOPPED, *answers),
            may_respond=bool(answers),
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
