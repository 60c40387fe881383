"""Every channel of the bus: its address, what travels there, and who the server lets do what."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from toolbus_contracts import subjects
from toolbus_contracts.catalogue import event_types
from toolbus_contracts.subjects import DURABLES, STREAMS, BusUser

TENANT = "{tenant}"


@dataclass(frozen=True)
class Channel:
    """
    One address with its placeholders, and the messages on it by name.

    A message is named by the component that describes it. `answers` are the messages that come back on
    the reply subject of a request.
    """

    name: str
    address: str
    says: str
    messages: tuple[str, ...]
    answers: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def stream(self) -> str | None:
        """The stream that keeps what is published here; none for core NATS."""
        kept = (stream.name for stream in STREAMS for one in stream.subjects if overlaps(one, self.address))
        return next(kept, None)

    def publishers(self, users: tuple[BusUser, ...]) -> list[str]:
        """Who may publish here."""
        return [user.name for user in users if any(overlaps(one, self.address) for one in user.permissions.publish)]

    def readers(self, users: tuple[BusUser, ...]) -> list[str]:
        """Who may subscribe here, or read it through a durable or by its subject."""
        return [
            user.name
            for user in users
            if any(overlaps(one, self.address) for one in user.permissions.subscribe)
            or any(overlaps(one, self.address) for one in (*_pulled(user), *_looked_up(user)))
        ]


def overlaps(pattern: str, address: str) -> bool:
    """Whether a NATS pattern takes subjects of this address, whose placeholders stand for one token each."""
    wanted, given = pattern.split("."), address.split(".")
    if wanted[-1] == ">":
        wanted, given = wanted[:-1], given[: len(wanted) - 1] if len(given) >= len(wanted) else []
    same = (w in {"*", g} or _is_placeholder(g) for w, g in zip(wanted, given, strict=False))
    return len(wanted) == len(given) and all(same)


def channels() -> tuple[Channel, ...]:
    """Every channel there is; a test compares them with the streams and permissions."""
    return (*_commands(), *_asks(), *_events(), *_work(), *_described(), *_internal(), *_operational())


def _commands() -> Iterator[Channel]:
    says = {
        "submit": "Submit a call. At least once: give an `idempotency_key`, or the header of the same name.",
        "cancel": "Stop a call that can still be stopped.",
    }
    for verb in subjects.CALL_COMMANDS:
        message = {"submit": "call.submit", "cancel": "call.cancel"}[verb]
        yield Channel(f"command.call.{verb}", subjects.command(TENANT, verb), says[verb], (message,))


def _asks() -> Iterator[Channel]:
    says = {
        "submit": "Submit a call and be answered after it is committed.",
        "get": "Read a call as it is now.",
        "cancel": "Stop a call and be answered after that is committed.",
    }
    for verb in subjects.ASK_VERBS:
        message = {"submit": "call.submit", "get": "call.get", "cancel": "call.cancel"}[verb]
        yield Channel(f"ask.call.{verb}", subjects.ask(TENANT, verb), says[verb], (message,), ("call.answer",))
    yield Channel(
        "ask.call.complete",
        subjects.ask(TENANT, "complete"),
        "Say with its own token what the function of a call came to, and be answered once that shows in the call.",
        ("call.complete_by_token",),
        ("call.answer",),
    )


def _events() -> Iterator[Channel]:
    for kind, event in event_types().items():
        category = kind.split(".")[0]
        if category in subjects.PRIVATE_CATEGORIES:
            continue
        says = " ".join((event.__doc__ or "").split())
        yield Channel(f"event.{kind}", subjects.event(TENANT, category, "{id}", kind), says, (kind,))
    yield Channel(
        "event.command.refused",
        subjects.refusal(TENANT, "{message_id}"),
        "A command from the bus never became a call; the problem says why.",
        ("command.refused",),
    )


def _work() -> Iterator[Channel]:
    for service, durables in subjects.EXECUTOR_TYPES.items():
        for tool_type in durables.values():
            yield Channel(
                f"work.{tool_type}",
                subjects.work(tool_type, TENANT, "{route}"),
                f"One attempt at a call, for the executors of `{service}`.",
                ("work_item",),
            )


def _described() -> Iterator[Channel]:
    yield Channel(
        "describe",
        subjects.DESCRIBE,
        "The dispatcher asks, when a tool is defined, what its provider or its MCP server says of it.",
        ("tool.describe",),
        ("tool_surface",),
    )


def _internal() -> Iterator[Channel]:
    yield Channel(
        "start",
        subjects.START,
        "An executor asks, just before an unsafe effect, whether it may be made.",
        ("call.start",),
        ("start_answer",),
    )
    yield Channel(
        "check",
        subjects.CHECK,
        "The service that holds waits asks whether a call could go on with edited arguments.",
        ("call.check",),
        ("argument_faults",),
    )
    yield Channel(
        "settle",
        subjects.SETTLE,
        "The service that people sign in at settles a call in doubt for one of them.",
        ("call.settle_for_person",),
        ("call.answer",),
    )
    yield Channel("outcome", subjects.OUTCOME, "What an executor found out about an attempt.", ("call.record_outcome",))
    yield Channel(
        "wake", subjects.WAKE, "Events of these kinds are committed at these positions; read the store.", ("wake",)
    )
    yield Channel(
        "payload",
        subjects.payload_chunk("{digest}", 0).removesuffix("0") + "{part}",
        "A part of a large body; part 0 tells in `Toolbus-Parts` how many there are.",
        ("part",),
    )
    yield Channel(
        "secret",
        subjects.secret(TENANT, "{name}"),
        "A secret as it is stored, or that it was removed; one message for each, `=` in its name stands for a dot. The"
        f" one at `{subjects.SECRETS_FILLED}` is written when all others are there: before it, none counts as unknown.",
        ("sealed_secret", "removed_secret"),
    )


def _operational() -> Iterator[Channel]:
    yield Channel(
        "dead",
        subjects.dead(TENANT, "{reason}"),
        "A message that nobody could use, as it came; the headers say what is known about it.",
        ("dead_letter",),
    )


def _pulled(user: BusUser) -> Iterator[str]:
    for durable in DURABLES.values():
        if f"$JS.API.CONSUMER.MSG.NEXT.{durable.stream}.{durable.name}" in user.permissions.publish:
            yield durable.filter_subject


def _looked_up(user: BusUser) -> Iterator[str]:
    for stream in STREAMS:
        place = f"$JS.API.DIRECT.GET.{stream.name}."
        yield from (one.removeprefix(place) for one in user.permissions.publish if one.startswith(place))


def _is_placeholder(token: str) -> bool:
    return token.startswith("{") and token.endswith("}")
