"""Events of a call that stands still for somebody, and of what it was given leave to do."""

from datetime import datetime
from functools import partial
from operator import is_
from typing import Literal

from pydantic import Field

from toolbus_contracts.calls.asking import InputAsked
from toolbus_contracts.calls.commands import CallError
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json, Message


class WaitAsked(Message):
    """
    The call stands still until somebody has spoken: its wait is opened by the service that holds waits.

    `digest` is that of what would run now; `number` counts the waits of the call from 1.
    """

    kind: Literal["call.wait_asked.v1"] = "call.wait_asked.v1"
    call_id: str
    wait_id: str
    wait_kind: Literal["approval", "function", "input"]
    number: int
    digest: str
    expires_at: datetime
    at: datetime


class CallResumed(Message):
    """
    Its wait was closed and the call goes on: with other `arguments` if a person changed them.

    After an approval `digest` is what was approved; nothing else may be sent. `answers` are for a server that had
    asked, and void an approval that was given without knowing them.
    """

    kind: Literal["call.resumed.v1"] = "call.resumed.v1"
    call_id: str
    wait_id: str
    wait_kind: Literal["approval", "input"]
    arguments: Json = Field(None, description="absent: as before")
    answers: JsonObject | None = Field(None, exclude_if=partial(is_, None))
    digest: str
    by: tuple[str, ...]
    at: datetime


class InputRequired(Message):
    """
    The server of this attempt did nothing yet: it wants to know more first.

    What follows in the same append tells how it goes on: a person is asked, or the call is made again.
    """

    kind: Literal["call.input_required.v1"] = "call.input_required.v1"
    call_id: str
    attempt: int
    executor: str
    asked: InputAsked
    duration_ms: float
    response_ms: float | None = None
    at: datetime


class CallDenied(Message):
    """Whoever was asked said no, or nobody spoke in time; nothing more is sent."""

    kind: Literal["call.denied.v1"] = "call.denied.v1"
    call_id: str
    wait_id: str
    error: CallError
    by: tuple[str, ...]
    at: datetime


class ApprovalVoided(Message):
    """What would be sent is not any more what was approved; it is not sent, and the call is refused."""

    kind: Literal["call.approval_voided.v1"] = "call.approval_voided.v1"
    call_id: str
    wait_id: str
    error: CallError
    at: datetime
