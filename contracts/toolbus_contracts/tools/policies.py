"""What a definition promises beside its effect: when it is tried again, how much at once, who knows what came of it."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StringConstraints, model_validator

from toolbus_contracts.values import Json, Message

Approver: TypeAlias = Annotated[
    str,
    StringConstraints(
        pattern=r"^(role:[a-z][a-z0-9_-]{0,63}|(user|service|agent):[A-Za-z0-9][A-Za-z0-9._@+-]{0,127})$"
    ),
    Field(description="role:<role> or a subject"),
]
StatusCode: TypeAlias = Annotated[StrictInt, Field(ge=300, le=599)]
ToolName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
JsonObject: TypeAlias = dict[str, Json]
MAX_DELAY_S = 86400.0
MAX_WAIT_S = 31 * 86400.0
MAX_APPROVERS = 100


class RetryBudget(Message):
    """
    How many attempts may be further ones, over all calls of a tool: `ratio` of its calls, and `per_s` besides.

    Counted by each dispatcher for itself. When it is used up, the answer at hand is the outcome.
    """

    ratio: StrictFloat = Field(0.2, ge=0, le=10)
    per_s: StrictFloat = Field(1.0, ge=0, le=10_000)


class Retry(Message):
    """
    When and how often a call is tried again.

    `attempts` counts the first one. The n-th delay is `first_delay_s · factor ** (n - 1)`, at most
    `max_delay_s`, less a share of up to `jitter`; a Retry-After of the target makes it longer.
    `retry_on` are statuses after which another attempt is wanted: of a tool that is not safe to repeat
    too, since an answer was received.
    """

    attempts: StrictInt = Field(3, ge=1, le=100)
    first_delay_s: StrictFloat = Field(0.5, ge=0, le=MAX_DELAY_S)
    factor: StrictFloat = Field(2.0, ge=1, le=100)
    max_delay_s: StrictFloat = Field(60.0, ge=0, le=MAX_DELAY_S)
    jitter: StrictFloat = Field(0.2, ge=0, le=1)
    retry_on: tuple[StatusCode, ...] = Field((), max_length=64)
    budget: RetryBudget | None = None


class Rate(Message):
    """At most `calls` in any `per_s` seconds."""

    calls: StrictInt = Field(ge=1, le=100_000)
    per_s: StrictFloat = Field(1.0, gt=0, le=86400)


class Limits(Message):
    """How many calls run at once, and how many begin in a time."""

    concurrency: StrictInt | None = Field(None, ge=1, le=100_000)
    rate: Rate | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> "Limits":
        if self.concurrency is None and self.rate is None:
            raise ValueError("concurrency or rate is needed")
        return self


class Limit(Message):
    """A limit that holds for a call, with whose it is: it is counted over all calls that share `of` and `name`."""

    of: Literal["tool", "key", "tenant"]
    name: str
    concurrency: int | None = None
    rate: Rate | None = None


class Probe(Message):
    """
    How to find out whether an effect happened after all: a read tool that is called `settle_after_s` after the doubt.

    Texts in `arguments` that begin with `$ ` are CEL expressions over `call`; `happened` is one over
    `call` and `output`, the output of the probe, and must be true or false.
    """

    tool: ToolName
    arguments: JsonObject = Field(default_factory=dict)
    happened: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    settle_after_s: StrictFloat = Field(0.0, ge=0, le=86400)


class Escalation(Message):
    """After so long without a decision these may decide as well."""

    after_s: StrictFloat = Field(gt=0, le=MAX_WAIT_S)
    to: tuple[Approver, ...] = Field(min_length=1, max_length=MAX_APPROVERS)


class Approval(Message):
    """
    Who has to agree before anything is sent: `quorum` different persons among `approvers`.

    When none are named, anybody may whose key has the scope `approve`. One that says no ends the call. Nobody
    counts for who asked for the call, unless `requester_may_approve`. Without enough decisions within `expires_s`
    the call is denied, or (`on_expiry: expire`) ends as expired. `may_edit`: an approver may change the arguments,
    which voids earlier decisions; whoever edits cannot complete the quorum alone.
    """

    required: Literal[True] = True
    approvers: tuple[Approver, ...] = Field((), max_length=MAX_APPROVERS)
    quorum: StrictInt = Field(1, ge=1, le=20)
    requester_may_approve: StrictBool = False
    expires_s: StrictFloat = Field(86400.0, gt=0, le=MAX_WAIT_S)
    on_expiry: Literal["deny", "expire"] = "deny"
    may_edit: StrictBool = False
    escalate: tuple[Escalation, ...] = Field((), max_length=10)


class AskUser(Message):
    """
    Values that a person supplies before the call goes on: `fields` are properties in JSON Schema.

    The answer is checked against them and merged over the model's arguments.
    """

    fields: JsonObject = Field(min_length=1, max_length=50)
    required: tuple[str, ...] | None = Field(None, description="absent: all of them")
    message: Annotated[str, StringConstraints(max_length=4096)] = ""
    expires_s: StrictFloat = Field(86400.0, gt=0, le=MAX_WAIT_S)


class FunctionWebhook(Message):
    """
    Where the client of a function hears of calls: signed after Standard Webhooks with the secrets of a webhook.

    `secret` names it: `secret://client_webhook` are the secrets of `PUT /v1/webhooks/client_webhook`.
    """

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$", max_length=8192)]
    secret: Annotated[str, StringConstraints(pattern=r"^secret://[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
