"""What a definition promises beside its effect: when it is tried again, how much at once, who knows what came of it."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StrictFloat, StrictInt, StringConstraints, model_validator

from toolbus_contracts.values import Json, Message

StatusCode: TypeAlias = Annotated[StrictInt, Field(ge=300, le=599)]
ToolName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
JsonObject: TypeAlias = dict[str, Json]
MAX_DELAY_S = 86400.0


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
