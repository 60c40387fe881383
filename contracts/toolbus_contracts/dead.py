"""Dead letters: messages that nobody could use, as people see them, and what redriving one came to."""

from datetime import datetime
from typing import Literal, TypeAlias

from toolbus_contracts.values import Json, Message

RedriveOutcome: TypeAlias = Literal["decided", "recorded", "sent", "dropped"]


class DeadLetterView(Message):
    """
    A message that nobody could use.

    `subject`, `stream`, `sequence` and `stored_at` tell where it came from and `deliveries` how often it was
    tried; they are null in a note about an event that could not be told. `reason` is a code, `error` its text.
    """

    id: str
    reason: str
    subject: str | None
    stream: str | None
    sequence: int | None
    stored_at: datetime | None
    died_at: datetime
    deliveries: int | None
    error: str
    bytes: int
    is_redrivable: bool


class OpenedLetterView(DeadLetterView):
    """
    A dead letter with what is in it: `body` when it is JSON, else `content` in base64.

    `call_id` is the call that it speaks of, or that it would become; null when that cannot be read.
    """

    call_id: str | None
    headers: dict[str, str]
    body: Json = None
    content: str | None = None


class Redriven(Message):
    """
    A dead letter that was dealt with and is gone.

    `decided`: a command was decided, or had been before. `recorded`: the same of an executor's outcome.
    `sent`: the work of a call was sent to its executors again. `dropped`: the call did not need it any more.
    """

    id: str
    outcome: RedriveOutcome
    call_id: str | None
