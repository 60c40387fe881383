"""Dead letters: whose handler a letter goes back to, which call it speaks of, and what people see of it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from toolbus_contracts import digests, subjects
from toolbus_contracts.calls import Call
from toolbus_contracts.dead import DeadLetterView, OpenedLetterView
from toolbus_contracts.errors import Conflict, Fault, Unreadable
from toolbus_contracts.values import Json, parse_json
from toolbus_dispatcher.core.envelopes import read_command

Destination: TypeAlias = Literal["command", "outcome", "work"]
PREFIX = "dead_"
_MAX_DIGITS = 18


class Origin(NamedTuple):
    """
    The message that died: where it lay, and how often it was tried.

    `stream_created` and `stored_at` are the server's own texts. Where `stream_created` or `headers` is None,
    it was not written down, and nobody can say which message it was.
    """

    subject: str
    stream: str
    sequence: int
    stored_at: str
    deliveries: int
    error: str
    stream_created: str | None
    headers: Mapping[str, str] | None


@dataclass(frozen=True)
class Letter:
    """A message in DEAD. `size` counts the bytes of `data`, which lists leave out; without an origin it is a note."""

    sequence: int
    tenant: str
    reason: str
    died_at: datetime
    error: str
    size: int
    origin: Origin | None
    data: bytes = b""

    @property
    def id(self) -> str:
        """Its name: the place where it lies."""
        return f"{PREFIX}{self.sequence}"


def sequence_in(letter_id: str) -> int | None:
    """The place that an id names; None when it is no id of a letter."""
    digits = letter_id.removeprefix(PREFIX)
    is_id = letter_id.startswith(PREFIX) and digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS
    return int(digits) if is_id and digits[0] != "0" else None


def destination(letter: Letter) -> Destination | None:
    """
    Whose handler takes the letter; None when it cannot be handled again.

    A letter that tells of another tenant's subject is none: whoever may bury a message could have written it.
    """
    origin = letter.origin
    if origin is None or origin.stream_created is None or origin.headers is None:
        return None
    match origin.stream:
        case "COMMANDS" if origin.subject in {subjects.command(letter.tenant, verb) for verb in subjects.CALL_COMMANDS}:
            return "command"
        case "INTERNAL" if origin.subject == subjects.OUTCOME:
            return "outcome"
        case "WORK" if subjects.tenant_of(origin.subject) == letter.tenant:
            return "work"
        case _:
            return None


def attempt_in(letter: Letter) -> tuple[str, int]:
    """
    The call and the attempt that an executor's work is about.

    Raises:
        Unreadable: it names none.
        Conflict: it is another tenant's.
    """
    said = parse_json(letter.data)
    call_id, attempt = _named(said), said.get("attempt") if isinstance(said, dict) else None
    if call_id is None:
        raise Unreadable("invalid_request", "the work names no call", (Fault("/call_id", "not the id of a call"),))
    if not isinstance(attempt, int):
        raise Unreadable("invalid_request", "the work names no attempt", (Fault("/attempt", "not a number"),))
    check_tenant(letter, said.get("tenant"))
    return call_id, attempt


def check_tenant(letter: Letter, tenant: Json) -> None:
    """
    Refuse a letter whose message speaks for another tenant than the one it lies with.

    Raises:
        Conflict: `not_redrivable`.
    """
    if tenant != letter.tenant:
        raise Conflict("not_redrivable", f"{letter.id} holds a message of another tenant")


def is_wanted(call: Call, attempt: int) -> bool:
    """Whether executors are still to carry out this attempt."""
    return call.status == "dispatched" and call.attempt == attempt


def call_of(letter: Letter) -> str | None:
    """The call that a letter speaks of, or that its command becomes; None when that cannot be read."""
    try:
        match destination(letter), letter.origin:
            case "command", Origin(subject=subject, headers=headers) as origin:
                verb = subject.rpartition(".")[2]
                body = read_command(letter.data, headers or {}, verb).body
                return _becomes(letter.tenant, body, origin) if verb == "submit" else _named(body)
            case "outcome" | "work", _:
                return _named(parse_json(letter.data))
            case _:
                return None
    except Unreadable:
        return None


def _becomes(tenant: str, body: dict[str, Json], origin: Origin) -> str | None:
    """The call that a submitted command becomes."""
    key = body.get("idempotency_key")
    if key is None:
        return digests.call_id_for_message(tenant, origin.stream_created or "", origin.sequence, origin.stored_at)
    return digests.call_id_for_key(tenant, key) if isinstance(key, str) else None


def _named(said: Json) -> str | None:
    call_id = said.get("call_id") if isinstance(said, dict) else None
    return call_id if isinstance(call_id, str) else None


def view(letter: Letter) -> DeadLetterView:
    """Show a letter without what is in it."""
    origin = letter.origin
    return DeadLetterView(
        id=letter.id,
        reason=letter.reason,
        subject=origin.subject if origin else None,
        stream=origin.stream if origin else None,
        sequence=origin.sequence if origin else None,
        stored_at=datetime.fromisoformat(origin.stored_at) if origin else None,
        died_at=letter.died_at,
        deliveries=origin.deliveries if origin else None,
        error=letter.error,
        bytes=letter.size,
        is_redrivable=destination(letter) is not None,
    )


def opened(letter: Letter) -> OpenedLetterView:
    """Show a letter with its message: as JSON when it is strict JSON, else as bytes."""
    body: Json = None
    content: str | None = None
    try:
        body = parse_json(letter.data)
    except Unreadable:
        content = base64.b64encode(letter.data).decode()
    return OpenedLetterView(
        **view(letter).model_dump(),
        call_id=call_of(letter),
        headers=dict(letter.origin.headers or {}) if letter.origin else {},
        body=body,
        content=content,
    )
