"""What service and host say to each other."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from toolbus_contracts.calls import ResponseExcerpt
from toolbus_contracts.integrations import ProviderFault, ProviderView
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json, Message

Side: TypeAlias = Literal["setup", "arguments"]


class Begin(Message):
    """The first frame: under which rules this host runs. Sizes in bytes."""

    type: Literal["begin"] = "begin"
    egress_allow: str
    folder: str
    memory_bytes: int


class Check(Message):
    """Ask whether setup and arguments fit a method."""

    type: Literal["check"] = "check"
    id: int
    method: str
    setup: JsonObject
    arguments: Json


class Perform(Message):
    """
    Run a method. `send_by` is on the steady clock of this machine: nothing leaves after it.

    `bindings`: the hosts of each secret in the setup that is bound to some; the call reaches what is in every list.
    `secrets`: those in the setup, by name; they are taken out of what is told of a failure before that is cut off.
    """

    type: Literal["perform"] = "perform"
    id: int
    method: str
    setup: JsonObject
    arguments: Json
    tenant: str
    call_id: str
    max_output_bytes: int
    send_by: float | None = None
    bindings: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    secrets: dict[str, str] = Field(default_factory=dict, repr=False)


class Cancel(Message):
    """
    Stop the method; it is answered as `Stopped`, unless it ends otherwise meanwhile.

    Where it has returned already, `Giving` says so, and what it gave follows.
    """

    type: Literal["cancel"] = "cancel"
    id: int


class Ping(Message):
    """Ask for a sign of life."""

    type: Literal["ping"] = "ping"


class Ready(Message):
    """The provider is loaded."""

    type: Literal["ready"] = "ready"
    view: ProviderView


class Broken(Message):
    """The provider cannot be loaded; the host ends."""

    type: Literal["broken"] = "broken"
    fault: ProviderFault


class SideFault(Message):
    """One thing wrong with setup or arguments, with the path to it inside."""

    side: Side
    path: str
    message: str


class Checked(Message):
    """What is wrong; nothing when everything fits."""

    type: Literal["checked"] = "checked"
    id: int
    faults: tuple[SideFault, ...] = ()


class Gave(Message):
    """The method gave its output."""

    type: Literal["gave"] = "gave"
    id: int
    output: JsonObject


class FailedMethod(Message):
    """
    An answer was received, and it is the outcome. `retry_after_s`: for how long the vendor wants to be left alone.

    `effects` counts what was sent that may have changed something; `has_effect` is what the provider knows of it.
    """

    type: Literal["failed"] = "failed"
    id: int
    code: str
    message: str
    retryable: bool = False
    retry_after_s: float | None = None
    response: ResponseExcerpt | None = None
    effects: int = 0
    has_effect: bool | None = None


class Interrupted(Message):
    """No answer: the exchange broke (`lost`), was too slow, came too late to be sent, or was refused by the guard."""

    type: Literal["interrupted"] = "interrupted"
    id: int
    kind: Literal["timeout", "lost", "too_late", "denied"]
    message: str


class Raised(Message):
    """The method raised what it may not raise: a fault of the provider."""

    type: Literal["raised"] = "raised"
    id: int
    message: str


class Stopped(Message):
    """The method was stopped as it was told."""

    type: Literal["stopped"] = "stopped"
    id: int


class Giving(Message):
    """The method had returned before it was to be stopped: its output is being written."""

    type: Literal["giving"] = "giving"
    id: int


class Pong(Message):
    """A sign of life."""

    type: Literal["pong"] = "pong"


Ended: TypeAlias = Gave | FailedMethod | Interrupted | Raised | Stopped
ToHost: TypeAlias = Annotated[Begin | Check | Perform | Cancel | Ping, Field(discriminator="type")]
FromHost: TypeAlias = Annotated[
    Ready | Broken | Checked | Gave | FailedMethod | Interrupted | Raised | Stopped | Giving | Pong,
    Field(discriminator="type"),
]
TO_HOST: TypeAdapter[ToHost] = TypeAdapter(ToHost)
FROM_HOST: TypeAdapter[FromHost] = TypeAdapter(FromHost)
