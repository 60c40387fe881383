"""Commands about waits, grants and delegations: what people, clients and clocks may ask for."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AwareDatetime,
    BeforeValidator,
    Field,
    StrictFloat,
    StrictInt,
    StringConstraints,
    model_validator,
)

from toolbus_contracts.keys import Subject
from toolbus_contracts.tools import JsonObject, ToolName, ToolScope
from toolbus_contracts.values import Json, Message, refuse_number

Digest: TypeAlias = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Note: TypeAlias = Annotated[str, StringConstraints(max_length=4000)]
Moment: TypeAlias = Annotated[AwareDatetime, BeforeValidator(refuse_number)]
LeaseId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^lease_[0-9a-f]{32}$")]
MAX_USES = 10_000


class ApproveWait(Message):
    """Agree to what this digest stands for, or (`arguments`) change it and agree to that."""

    digest: Digest
    note: Note = ""
    arguments: JsonObject | None = Field(None, description="the whole arguments, edited")


class DenyWait(Message):
    """Say no, and why."""

    digest: Digest
    note: Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class AnswerWait(Message):
    """Supply the values that a call asks a person for."""

    digest: Digest
    values: JsonObject


class DelegateWait(Message):
    """Let somebody else decide this wait in one's place, until then."""

    to: Subject
    until: Moment


class FunctionError(Message):
    """Why a client's function came to nothing."""

    message: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    code: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")] = "function_failed"


class CompleteCall(Message):
    """What a client's function came to: `output`, which may be any value, or `error`."""

    output: Json = None
    error: FunctionError | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "CompleteCall":
        if self.error is not None and self.output is not None:
            raise ValueError("output or error, not both")
        return self


class CompleteByToken(CompleteCall):
    """As `CompleteCall`, on the bus: which call, and its own token, which stands in for a key."""

    call_id: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    token: Annotated[str, StringConstraints(min_length=1, max_length=255)]


class LeaseWaits(Message):
    """Take waiting calls of these functions to work on; each is this worker's until `visibility_s` have passed."""

    tools: tuple[ToolName, ...] = Field(min_length=1, max_length=100)
    max: StrictInt = Field(1, ge=1, le=100)
    visibility_s: StrictFloat = Field(60.0, ge=1, le=86400)


class HeartbeatWait(Message):
    """Keep a leased call for longer, from now on."""

    lease_id: LeaseId
    visibility_s: StrictFloat = Field(60.0, ge=1, le=86400)


class ReleaseWait(Message):
    """Give a leased call back, so that another worker may have it at once."""

    lease_id: LeaseId


class GiveGrant(Message):
    """
    Agree beforehand to the next calls of a tool: `uses` of them, until a moment, while a CEL condition holds.

    The condition knows `call` (`tool`, `arguments`, `actor`, `labels`). It is the tool as it is now that is agreed to:
    once it is defined anew, the grant speaks for none of its calls.
    """

    tool: ToolName
    scope: ToolScope = Field("tenant", description="where the tool is defined")
    uses: StrictInt = Field(ge=1, le=MAX_USES)
    until: Moment
    condition: Annotated[str, StringConstraints(min_length=1, max_length=4096)] | None = Field(None, alias="while")
    note: Note = ""


class GiveDelegation(Message):
    """Let somebody else decide in one's place, until then."""

    to: Subject
    until: Moment
    note: Note = ""


class SimulateWait(Message):
    """Ask who would have to approve this call; nothing is recorded."""

    tool: ToolName
    arguments: JsonObject = Field(default_factory=dict)
    on_behalf_of: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None


class Spoken(Message):
    """Who says something about a wait: the person, with roles and key, and since when."""

    subject: str
    roles: tuple[str, ...] = ()
    key_id: str | None = None
    via: Literal["http", "inbox", "webhook", "lease", "grant", "internal"] = "http"
    at: datetime
