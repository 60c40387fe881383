"""Commands about a call: what clients, executors and people may ask for."""

from datetime import datetime
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import (
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    Tag,
    model_validator,
)

from toolbus_contracts.calls.asking import InputAsked
from toolbus_contracts.keys import Actor
from toolbus_contracts.stored import CallContext
from toolbus_contracts.tools import Approval, AskUser, JsonObject, ToolDefinition
from toolbus_contracts.values import Json, Message

EffectHappened = Literal["no", "yes", "unknown"]

ToolRef: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}(@[1-9][0-9]{0,8})?$"),
    Field(description="name, or name@version"),
]
ExecutionId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^exec_[0-9a-f]{32}$")]
Key: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=255)]
MAX_LABELS = 32
Labels: TypeAlias = Annotated[
    dict[
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$")],
        Annotated[str, StringConstraints(max_length=256)],
    ],
    Field(max_length=MAX_LABELS),
]


def _tool_form(value: object) -> str:
    return "name" if isinstance(value, str) else "definition"


ToolForm: TypeAlias = Annotated[
    Annotated[ToolRef, Tag("name")] | Annotated[ToolDefinition, Tag("definition")], Discriminator(_tool_form)
]


class SubmitCall(Message):
    """Ask for one tool to be run once with these arguments; `context` tells whose stored values hold for it."""

    tool: ToolForm
    arguments: JsonObject = Field(default_factory=dict)
    idempotency_key: Key | None = None
    execution_id: ExecutionId | None = None
    external_id: Key | None = None
    deadline_s: StrictFloat | None = Field(None, gt=0, le=31 * 86400)
    priority: StrictInt = Field(5, ge=0, le=9)
    labels: Labels = Field(default_factory=dict)
    on_behalf_of: Key | None = None
    context: CallContext | None = None
    expected_definition_hash: str | None = Field(None, pattern=r"^sha256:[0-9a-f]{64}$")
    approval: Approval | None = Field(None, description="asked for by whoever submits; that of the tool comes first")
    ask_user: AskUser | None = Field(None, description="as `approval`")
    dry_run: StrictBool = False


class CancelCall(Message):
    """Ask for a call to be stopped."""

    call_id: Key
    reason: str = Field("", max_length=1000)


class CheckArguments(Message):
    """Ask whether a call could go on with these arguments, before anybody agrees to them."""

    call_id: str
    tenant: str
    arguments: JsonObject


class GetCall(Message):
    """Ask for a call as it is now."""

    call_id: Key


class StartAttempt(Message):
    """
    Ask, just before an unsafe effect, whether it may be made.

    `start_id` is minted per delivery and gets the same answer each time. `digest` is that of what is about to be
    sent, given when the work item names what was approved: nothing else may go out.
    """

    call_id: str
    tenant: str
    attempt: int
    start_id: str
    executor: str
    digest: str | None = None


class StartAnswer(Message):
    """
    `go` until `start_by` and no longer than `stop_by`; `drop` the work; or `taken` by another until `stop_by`.

    All times are of the dispatcher's clock, `answered_at` too: what lies between them holds on any clock.
    """

    verdict: Literal["go", "drop", "taken"]
    start_by: datetime | None = None
    stop_by: datetime | None = None
    answered_at: datetime | None = None


class ResponseExcerpt(Message):
    """What a target answered when that is part of an error; the excerpt is at most 4 KiB."""

    status_code: int
    headers: dict[str, str]
    body_excerpt: str


class Detail(Message):
    """One thing wrong, with the path to it."""

    path: str
    message: str


class ArgumentFaults(Message):
    """What is wrong with arguments, by JSON Pointer; nothing when they fit."""

    faults: tuple[Detail, ...] = ()


class CallError(Message):
    """Why a call did not succeed, and whether its effect happened all the same."""

    code: str
    message: str
    retryable: bool = False
    effect_happened: EffectHappened = "no"
    details: tuple[Detail, ...] = ()
    response: ResponseExcerpt | None = None


class RecordOutcome(Message):
    """
    What an executor found out about one attempt.

    `failed`: an answer came that is no success, or a rule refused the request. `not_sent`: it broke
    before a byte of the request was handed to the socket. `unknown`: the request was sent and no answer
    tells what became of it. `input_required`: its server did nothing yet, and wants to know what is `asked`.
    `retry_after_s` is what the target asked for in Retry-After. `duration_ms` is the time of the whole run,
    `response_ms` that since the request was handed to the socket. `delivery_id` is minted for each run of the work,
    so that one run reported twice is one outcome; it is the `start_id` of a run that asked to start.
    """

    call_id: str
    tenant: str
    attempt: int
    delivery_id: str
    executor: str
    result: Literal["succeeded", "failed", "not_sent", "unknown", "input_required"]
    output: Json = None
    error: CallError | None = None
    asked: InputAsked | None = None
    retry_after_s: float | None = None
    response_ms: float | None = None
    duration_ms: float = 0.0

    @model_validator(mode="after")
    def _asks_when_it_says_so(self) -> Self:
        if (self.result == "input_required") != (self.asked is not None):
            message = "asked goes with input_required, and with nothing else"
            raise ValueError(message)
        return self


class SettleDoubt(Message):
    """Say what really happened to a call in doubt."""

    call_id: Key
    outcome: Literal["succeeded", "failed", "retry"]
    output: Json = None
    note: str = Field(min_length=1, max_length=4000)


class SettleForPerson(Message):
    """Settle a call in doubt for somebody whom another service let in, and who may operate."""

    tenant: str
    actor: Actor
    settlement: SettleDoubt


class DoubtAttempt(Message):
    """An unsafe attempt was started and stayed silent beyond its `stop_by`."""

    call_id: str
    attempt: int


class ReleaseCall(Message):
    """A call that waited for a free slot, or for its next attempt, may be given to the executors."""

    call_id: str
    attempt: int = Field(description="the attempt that is to begin")


class RecordProbe(Message):
    """What a probe found out about a call in doubt; `unclear` leaves it to a person."""

    call_id: str
    attempt: int
    probe_call_id: str
    verdict: Literal["happened", "not_happened", "unclear"]
    output: Json = None
    note: str


class ResumeCall(Message):
    """The wait that a call stood still for was closed; see `WaitClosed` for what the fields mean."""

    call_id: str
    wait_id: str
    digest: str
    outcome: Literal["approved", "denied", "answered", "completed", "failed", "expired"]
    arguments: Json = None
    answers: JsonObject | None = None
    output: Json = None
    error: CallError | None = None
    by: tuple[str, ...] = ()
    note: str = ""
